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

	word []byte
	mu   sync.Mutex
	open []net.Conn
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
	var passing sync.WaitGroup
	passing.Go(func() {
		for {
			process, err := listener.Accept()
			if err != nil {
				return
			}
			mongod, err := net.Dial("tcp", server.Host)
			if err != nil {
				t.Error(err)
				process.Close() //nolint:errcheck // nothing was sent
				return
			}
			w.mu.Lock()
			w.open = append(w.open, process, mongod)
			w.mu.Unlock()
			passing.Go(func() { pass(mongod, io.TeeReader(process, &listening{wiretap: w})) })
			passing.Go(func() { pass(process, mongod) })
		}
	})
	t.Cleanup(func() {
		listener.Close() //nolint:errcheck // the test is over
		w.mu.Lock()
		for _, c := range w.open {
			c.Close() //nolint:errcheck // the test is over
		}
		w.mu.Unlock()
		passing.Wait()
	})
	return w
}

// pass copies until one side ends, and then ends the other.
func pass(to net.Conn, from io.Reader) {
	io.Copy(to, from) //nolint:errcheck // connections end
	to.Close()        //nolint:errcheck // it may be closed
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
