package chaos_test

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// wiretap passes a process's connections on to MongoDB and counts how often a
// word is sent there.
type wiretap struct {
	uri   string // where the process connects to
	heard atomic.Int64
	word  []byte
}

func tapped(t *testing.T, uri, word string) *wiretap {
	t.Helper()
	server, err := url.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wiretap{uri: "mongodb://" + listener.Addr().String() + "/?directConnection=true", word: []byte(word)}
	relay(t, listener, server.Host, func() io.Writer { return &listening{wiretap: w} })
	return w
}

// listening counts the word in one connection.
type listening struct {
	*wiretap
	tail []byte // what may be a word's beginning
}

func (l *listening) Write(b []byte) (int, error) {
	text := append(l.tail, b...)
	l.heard.Add(int64(bytes.Count(text, l.word)))
	l.tail = bytes.Clone(text[max(0, len(text)-len(l.word)+1):])
	return len(b), nil
}

// relay passes what comes to listener on to an address, until the test ends.
// Each connection's ear, if there is one, hears what is sent there.
func relay(t *testing.T, listener net.Listener, to string, ear func() io.Writer) {
	t.Helper()
	var mu sync.Mutex
	var open []net.Conn
	var passing sync.WaitGroup
	passing.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				client.Close() //nolint:errcheck // nothing was sent
				continue
			}
			mu.Lock()
			open = append(open, client, server)
			mu.Unlock()
			var said io.Reader = client
			if ear != nil {
				said = io.TeeReader(client, ear())
			}
			passing.Go(func() { pass(server, said) })
			passing.Go(func() { pass(client, server) })
		}
	})
	t.Cleanup(func() {
		listener.Close() //nolint:errcheck // the test is over
		mu.Lock()
		for _, c := range open {
			c.Close() //nolint:errcheck // the test is over
		}
		mu.Unlock()
		passing.Wait()
	})
}

// pass copies until one side ends, and then ends the other.
func pass(to net.Conn, from io.Reader) {
	io.Copy(to, from) //nolint:errcheck // connections end
	to.Close()        //nolint:errcheck // it may be closed
}
