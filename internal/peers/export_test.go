package peers

import (
	"crypto/tls"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// ForwardAlways forwards the commands of an event from now on.
func (p *Peers) ForwardAlways(event holdfast.ID) {
	p.routes.mu.Lock()
	defer p.routes.mu.Unlock()
	p.routes.get(event, p.o.Clock()).until = p.o.Clock().Add(time.Hour)
}

// IsConnectedTo reports whether there is a session with a process. If not, it begins to open one.
func (p *Peers) IsConnectedTo(name string) bool {
	for _, o := range *p.others.Load() {
		if o.Name == name {
			return o.current() != nil
		}
	}
	return false
}

// OwnerOf is the process that owns an event, as this process sees it.
func (p *Peers) OwnerOf(event holdfast.ID) string { return owner(event, p.names(*p.others.Load())) }

// Kill ends the connections of this process at once. Commands under way go on, like those of a process that is not heard any more.
func (p *Peers) Kill() { p.server.Stop() }

// NewCertificate is a certificate like that of a process.
func NewCertificate() (tls.Certificate, error) { return newCertificate() }

// SilenceTimeout is how long a process waits for a sign of life.
const SilenceTimeout = silenceTimeout
