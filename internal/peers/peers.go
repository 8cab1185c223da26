package peers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/pipeline"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Peer is an API process, as its heartbeat shows it.
type Peer struct {
	Name        string
	Addr        string // that it listens on for other processes; "": it carries out nothing for them
	Certificate string // the SHA-256 of its certificate, in hex
	Writer      int32  // what events note of it
	// Build is different for processes that may decide differently: of another version, or with other rules.
	Build string
}

// Options of Open.
type Options struct {
	Addr string // to listen on; its host is what other processes connect to
	Self Peer   // without Addr and Certificate
	// List returns the processes that show a heartbeat.
	List     func(context.Context) ([]Peer, error)
	Pipeline *pipeline.Pipeline // of this process
	Clock    clock.Clock
	Log      *slog.Logger
	Observe  Observer
}

// Observer has callbacks for metrics.
type Observer struct {
	Forwarded func(Outcome)
	Received  func() // a command of another process
}

// Outcome says what became of a command that was to be forwarded.
type Outcome string

// The outcomes.
const (
	Answered  Outcome = "answered"
	Returned  Outcome = "returned"  // this process carries it out: the owner did not take it
	Lost      Outcome = "lost"      // this process carries it out: there is no answer
	Abandoned Outcome = "abandoned" // its caller gave up
)

// Peers are the other API processes. It is safe for concurrent use.
type Peers struct {
	o            Options
	self         Peer
	certificate  tls.Certificate
	routes       *routes
	server       *grpc.Server
	others       atomic.Pointer[[]*other]
	leaving      atomic.Bool
	stopped      atomic.Bool
	underWay     atomic.Int64  // commands of other processes
	closing      chan struct{} // closed when all of them are answered
	sessions     sync.WaitGroup
	refreshing   sync.Mutex
	unknownPeers *rate.Limiter // of the reads that they cause
}

// Open listens for other processes. Nothing is forwarded before Run.
func Open(ctx context.Context, o Options) (*Peers, error) {
	certificate, err := newCertificate()
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Addr)
	if err != nil {
		return nil, err
	}
	p := &Peers{
		o: o, self: o.Self, certificate: certificate,
		unknownPeers: rate.NewLimiter(rate.Every(unknownPeerInterval), 1), closing: make(chan struct{}),
		routes: &routes{self: o.Self.Writer, events: map[holdfast.ID]*route{}},
	}
	p.self.Addr, p.self.Certificate = listener.Addr().String(), hashOf(certificate.Certificate[0])
	p.others.Store(&[]*other{})
	p.server = p.serve(listener)
	return p, nil
}

// Self is this process, as its heartbeat shows it.
func (p *Peers) Self() Peer { return p.self }

// refreshInterval is how old the list of processes may become.
const refreshInterval = time.Second

// Run keeps the list of processes fresh until ctx ends.
func (p *Peers) Run(ctx context.Context) {
	ticker := time.NewTicker(refreshInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		p.Refresh(ctx)
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// Refresh reads the list of processes. The former list stays if that fails, or if not even this process is in the new one:
// it is the database that is out of reach, or its clock that has moved.
func (p *Peers) Refresh(ctx context.Context) {
	p.refreshing.Lock()
	defer p.refreshing.Unlock()
	if p.stopped.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, refreshInterval)
	defer cancel()
	listed, err := p.o.List(ctx)
	if err != nil {
		p.o.Log.DebugContext(ctx, "Could not read which processes there are", slog.Any("error", err))
		return
	}
	former := map[Peer]*other{}
	for _, o := range *p.others.Load() {
		former[o.Peer] = o
	}
	if !slices.ContainsFunc(listed, func(l Peer) bool { return l.Name == p.self.Name }) {
		return
	}
	now := []*other{}
	for _, peer := range listed {
		if peer.Name == p.self.Name || peer.Addr == "" || peer.Build != p.self.Build {
			continue
		}
		known := former[peer]
		if known == nil {
			if known, err = p.newOther(peer); err != nil {
				p.o.Log.WarnContext(ctx, "Another process's address can't be used", slog.String("process", peer.Name), slog.Any("error", err))
				continue
			}
		}
		delete(former, peer)
		now = append(now, known)
	}
	p.others.Store(&now)
	for _, gone := range former {
		gone.retire()
	}
}

// Leave makes the other processes send nothing more to this one; what arrives meanwhile is carried out.
func (p *Peers) Leave() { p.leaving.Store(true) }

// Close waits for the commands of other processes, at most until ctx ends, and closes all connections.
func (p *Peers) Close(ctx context.Context) (err error) {
	if p == nil || p.stopped.Swap(true) {
		return nil
	}
	p.Leave()
	ended := make(chan struct{})
	ticker := time.NewTicker(closeInterval)
	defer ticker.Stop()
	for p.underWay.Load() > 0 && err == nil {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			err = fmt.Errorf("commands of other processes have not ended: %w", ctx.Err())
		}
	}
	close(p.closing)
	go func() {
		p.server.GracefulStop()
		close(ended)
	}()
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case <-ended:
	case <-ctx.Done():
		go p.server.Stop()
	case <-timer.C:
		go p.server.Stop() // it waits for the handshakes of strangers
	}
	p.refreshing.Lock()
	for _, o := range *p.others.Swap(&[]*other{}) {
		o.close()
	}
	p.refreshing.Unlock()
	p.sessions.Wait()
	return err
}

const (
	closeInterval = 10 * time.Millisecond
	// stopTimeout bounds the end of connections without commands.
	stopTimeout = 500 * time.Millisecond
)

// Contended implements pipeline.Forwarder.
func (p *Peers) Contended(event holdfast.ID, writers []int32) (isForwarded bool) {
	others := *p.others.Load()
	isPeer := func(writer int32) bool {
		for _, o := range others {
			if o.Writer == writer {
				return true
			}
		}
		return false
	}
	now := p.o.Clock()
	if p.routes.contended(event, writers, isPeer, now) {
		p.o.Log.Debug("Several processes sell an event: its commands go to its owner",
			slog.Any("event", event), slog.String("owner", owner(event, p.names(others))))
	}
	o := p.ownerOf(event, others, now)
	return o != nil && o.current() != nil
}

// names are the processes that may own events, this one among them.
func (p *Peers) names(others []*other) []string {
	names := make([]string, 0, 1+len(others))
	if !p.leaving.Load() {
		names = append(names, p.self.Name)
	}
	for _, o := range others {
		if !o.leaving.Load() {
			names = append(names, o.Name)
		}
	}
	return names
}

// Forward implements pipeline.Forwarder.
func (p *Peers) Forward(ctx context.Context, event holdfast.ID, c inventory.Command) (inventory.Result, pipeline.Forwarded, error) {
	var none inventory.Result
	others := *p.others.Load()
	if len(others) == 0 {
		return none, pipeline.NotForwarded, nil
	}
	now := p.o.Clock()
	owner := p.ownerOf(event, others, now)
	if owner == nil {
		p.routes.noteOwnCommand(event, now)
		return none, pipeline.NotForwarded, nil
	}
	q, isForwarded := requestOf(ctx, p.self.Writer, event, c)
	if !isForwarded {
		return none, pipeline.NotForwarded, nil
	}
	answer, err := owner.carryOut(ctx, q)
	switch {
	case errors.Is(err, errNotTaken):
		p.o.Observe.Forwarded(Returned)
		return none, pipeline.NotForwarded, nil
	case errors.Is(err, errLost):
		p.o.Observe.Forwarded(Lost)
		return none, pipeline.Lost, nil
	case err != nil:
		p.o.Observe.Forwarded(Abandoned)
		return none, pipeline.Carried, err
	}
	p.o.Observe.Forwarded(Answered)
	p.routes.answered(event, answer.IsWorthIt, p.o.Clock())
	result, err := answer.result()
	if holdfast.HasCode(err, holdfast.CodeOutcomeUnknown) {
		return none, pipeline.Lost, nil
	}
	return result, pipeline.Carried, err
}

// ownerOf is the process that an event's commands are forwarded to; nil: they are not.
func (p *Peers) ownerOf(event holdfast.ID, others []*other, now time.Time) *other {
	if !p.routes.isForwarded(event, now) {
		return nil
	}
	name := owner(event, p.names(others))
	i := slices.IndexFunc(others, func(o *other) bool { return o.Name == name })
	if i < 0 {
		return nil
	}
	return others[i]
}

// onAbandoned releases what was made for a caller that had given up.
func (p *Peers) onAbandoned(q *request, result inventory.Result) {
	p.o.Pipeline.Orphaned(q.Event, q.command(), q.Origin, result)
}
