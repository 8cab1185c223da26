package chaos_test

import (
	"bytes"
	"net/url"
	"sync/atomic"
	"testing"
)

// countingProxy forwards a process's connections to MongoDB and counts how often a word is
// sent there.
type countingProxy struct {
	*proxy
	uri   string // where the process connects to
	count atomic.Int64
}

func newCountingProxy(t *testing.T, uri, word string) *countingProxy {
	t.Helper()
	server, err := url.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	p := &countingProxy{proxy: newProxy(t, server.Host, "")}
	p.uri = "mongodb://" + p.addr + "/?directConnection=true"
	p.inspectWith(func(packet []byte, d direction) bool {
		// A word that two packets share is not counted, which is rare. Each process looks at the
		// validators and the indexes of the collections.
		isLook := bytes.Contains(packet, []byte("listCollections")) || bytes.Contains(packet, []byte("listIndexes"))
		if d == toServer && !isLook {
			p.count.Add(int64(bytes.Count(packet, []byte(word))))
		}
		return true
	})
	return p
}
