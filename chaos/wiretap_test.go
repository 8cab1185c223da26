package chaos_test

import (
	"bytes"
	"net/url"
	"sync/atomic"
	"testing"
)

// wiretap passes a process's connections on to MongoDB and counts how often a
// word is sent there.
type wiretap struct {
	*front
	uri   string // where the process connects to
	heard atomic.Int64
}

func tapped(t *testing.T, uri, word string) *wiretap {
	t.Helper()
	server, err := url.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	w := &wiretap{front: newFront(t, server.Host, "")}
	w.uri = "mongodb://" + w.addr + "/?directConnection=true"
	w.listen(func(said []byte, asking bool) bool {
		if asking { // a word that two packets share is not counted; there are others
			w.heard.Add(int64(bytes.Count(said, []byte(word))))
		}
		return true
	})
	return w
}
