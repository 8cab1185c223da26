package chaos_test

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// proxy is in front of a server and can lose packets in each direction. Meanwhile connections
// stay open, like in a network that drops packets. heal closes the connections that lost packets.
type proxy struct {
	addr, target string
	http         bool // the server speaks HTTP
	// affects selects the connections that can lose packets: their first packet contains
	// this text. If it is empty, all connections can.
	affects []byte
	// inspect is called with each packet before it is forwarded. It returns false to lose
	// the packet. It may be nil.
	inspect func(packet []byte, d direction) bool

	mu          sync.Mutex
	losing      losses
	connections map[*connection]bool
	listener    net.Listener
	running     sync.WaitGroup
}

// direction of a packet.
type direction int

const (
	toServer direction = iota
	toClient
)

// losses are the directions whose packets a proxy loses.
type losses struct{ toServer, toClient bool }

func (l losses) lose(d direction) bool {
	return (d == toServer && l.toServer) || (d == toClient && l.toClient)
}

// connection is one client's connection through a proxy, with both ends.
type connection struct {
	client, server net.Conn
	affected       bool // it can lose something
	lossy          bool // it has lost something
}

func (c *connection) close() {
	closeQuietly(c.client)
	closeQuietly(c.server)
}

// newProxy accepts connections until the test ends.
func newProxy(t *testing.T, target, affects string) *proxy {
	t.Helper()
	return (&proxy{target: target, affects: []byte(affects)}).start(t, listenLocally(t))
}

// newHTTPProxy is a proxy of a server that speaks HTTP. It answers 502 while the server is down.
func newHTTPProxy(t *testing.T, target string) *proxy {
	t.Helper()
	return (&proxy{target: target, http: true}).start(t, listenLocally(t))
}

func listenLocally(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// start forwards the listener's connections until the test ends.
func (p *proxy) start(t *testing.T, listener net.Listener) *proxy {
	t.Helper()
	p.addr, p.connections, p.listener = listener.Addr().String(), map[*connection]bool{}, listener
	p.running.Go(p.accept)
	t.Cleanup(func() {
		closeQuietly(listener)
		p.mu.Lock()
		for c := range p.connections {
			c.close()
		}
		p.mu.Unlock()
		p.running.Wait()
	})
	return p
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.serve(client) })
	}
}

func (p *proxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		if p.http {
			answerBadGateway(client)
		}
		closeQuietly(client)
		return
	}
	c := &connection{client: client, server: server, affected: len(p.affects) == 0}
	p.mu.Lock()
	p.connections[c] = true
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { p.forward(c, client, server, toServer) })
	both.Go(func() { p.forward(c, server, client, toClient) })
	both.Wait()
	p.mu.Lock()
	delete(p.connections, c)
	p.mu.Unlock()
}

// answerBadGateway answers a request as a load balancer does whose server is down. Errors are ignored:
// the client may have closed the connection. It waits for the request, because a client logs an answer to none.
func answerBadGateway(client net.Conn) {
	_ = client.SetReadDeadline(time.Now().Add(5 * time.Second))
	if n, _ := client.Read(make([]byte, 1)); n == 0 {
		return
	}
	_ = client.SetReadDeadline(time.Time{})
	_, _ = io.WriteString(client, "HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}")
	_ = client.(*net.TCPConn).CloseWrite()
	_, _ = io.Copy(io.Discard, client)
}

// forward copies until one end closes, and then closes the other.
func (p *proxy) forward(c *connection, from, to net.Conn, d direction) {
	defer c.close()
	buffer := make([]byte, 64<<10)
	for first := true; ; first = false {
		n, err := from.Read(buffer)
		if n > 0 {
			if d == toServer && first {
				p.classify(c, buffer[:n])
			}
			if p.passes(c, buffer[:n], d) {
				if _, err := to.Write(buffer[:n]); err != nil {
					return
				}
			}
		}
		if err != nil {
			return
		}
	}
}

// classify decides by a client's first packet whether its connection can lose something.
func (p *proxy) classify(c *connection, packet []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.affects) > 0 {
		c.affected = bytes.Contains(packet, p.affects)
	}
}

// passes reports whether a packet reaches the other end. A connection that has lost a packet
// loses all later ones too: the rest would make no sense to the other end.
func (p *proxy) passes(c *connection, packet []byte, d direction) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.lossy || (c.affected && p.losing.lose(d)) {
		c.lossy = true
		return false
	}
	if p.inspect != nil && !p.inspect(packet, d) {
		c.lossy = true
		return false
	}
	return true
}

// lose starts to lose the packets of some directions.
func (p *proxy) lose(l losses) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.losing = l
}

// heal ends all losses and closes the connections that have lost something.
func (p *proxy) heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.losing, p.inspect = losses{}, nil
	for c := range p.connections {
		if c.lossy {
			c.close()
		}
	}
}

// inspectWith sets what sees each packet.
func (p *proxy) inspectWith(inspect func(packet []byte, d direction) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inspect = inspect
}
