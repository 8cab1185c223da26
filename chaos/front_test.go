package chaos_test

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"
)

// front stands before a server: everybody reaches the server through it, and it
// can lose what is said. Connections live on meanwhile, as they do where a network
// drops packets; when it heals, those that lost something are closed.
type front struct {
	addr, to string
	http     bool // the server speaks HTTP
	// whose connections it can hurt: those that begin by saying this word; "" all.
	whose []byte
	// heard, where it is set, is told of what is said to the server (asking), or by
	// it, before that is passed on; false loses it.
	heard func(said []byte, asking bool) bool

	mu       sync.Mutex
	deaf     bool // loses what is said to the server
	mute     bool // loses what the server says
	open     map[*passage]bool
	listener net.Listener
	passing  sync.WaitGroup
}

// passage is a connection through a front, with its two ends.
type passage struct {
	client, server net.Conn
	subject        bool // it can be hurt
	lost           bool // something was
}

func (p *passage) close() {
	p.client.Close() //nolint:errcheck // it may be closed
	p.server.Close() //nolint:errcheck // it may be closed
}

// newFront listens until the test ends.
func newFront(t *testing.T, to, whose string) *front {
	t.Helper()
	return (&front{to: to, whose: []byte(whose)}).standAt(t, ownPort(t))
}

// newDoor is a front of a server that speaks HTTP.
func newDoor(t *testing.T, to string) *front {
	t.Helper()
	return (&front{to: to, http: true}).standAt(t, ownPort(t))
}

func ownPort(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// standAt lets everybody in who comes to the listener, until the test ends.
func (f *front) standAt(t *testing.T, listener net.Listener) *front {
	t.Helper()
	f.addr, f.open, f.listener = listener.Addr().String(), map[*passage]bool{}, listener
	f.passing.Go(f.accept)
	t.Cleanup(func() {
		listener.Close() //nolint:errcheck // the test is over
		f.mu.Lock()
		for p := range f.open {
			p.close()
		}
		f.mu.Unlock()
		f.passing.Wait()
	})
	return f
}

func (f *front) accept() {
	for {
		client, err := f.listener.Accept()
		if err != nil {
			return
		}
		f.passing.Go(func() { f.serve(client) })
	}
}

func (f *front) serve(client net.Conn) {
	server, err := net.Dial("tcp", f.to)
	if err != nil {
		if f.http { // as a balancer would say
			io.WriteString(client, "HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}") //nolint:errcheck // it may be closed
			client.(*net.TCPConn).CloseWrite()                                                                     //nolint:errcheck // it may be closed
			io.Copy(io.Discard, client)                                                                            //nolint:errcheck // it may be closed
		}
		client.Close() //nolint:errcheck // nobody is there
		return
	}
	p := &passage{client: client, server: server, subject: len(f.whose) == 0}
	f.mu.Lock()
	f.open[p] = true
	f.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { f.pass(p, client, server, true) })
	both.Go(func() { f.pass(p, server, client, false) })
	both.Wait()
	f.mu.Lock()
	delete(f.open, p)
	f.mu.Unlock()
}

// pass copies until one side ends, and then ends the other.
func (f *front) pass(p *passage, from, to net.Conn, asking bool) {
	defer p.close()
	buffer := make([]byte, 64<<10)
	for first := true; ; first = false {
		n, err := from.Read(buffer)
		if n > 0 && f.passes(p, buffer[:n], asking, first) {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// passes reports whether what was said reaches the other side.
func (f *front) passes(p *passage, said []byte, asking, first bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if asking && first && len(f.whose) > 0 {
		p.subject = bytes.Contains(said, f.whose)
	}
	if p.lost || (p.subject && ((asking && f.deaf) || (!asking && f.mute))) {
		p.lost = true
		return false
	}
	if f.heard != nil && !f.heard(said, asking) {
		p.lost = true
		return false
	}
	return true
}

// lose makes it deaf, mute or both; heal ends that.
func (f *front) lose(deaf, mute bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deaf, f.mute = deaf, mute
}

func (f *front) heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deaf, f.mute, f.heard = false, false, nil
	for p := range f.open {
		if p.lost {
			p.close()
		}
	}
}

// listen sets what hears both sides.
func (f *front) listen(heard func(said []byte, asking bool) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.heard = heard
}
