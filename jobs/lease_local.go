package jobs

import (
	"context"
	"sync"
)

// LocalLeases keeps leases in the memory of this process. It prevents that a single
// instance runs a job twice at the same time, and nothing more.
type LocalLeases struct {
	mu   sync.Mutex
	held map[string]*localLease
}

// NewLocalLeases returns an empty store.
func NewLocalLeases() *LocalLeases { return &LocalLeases{held: map[string]*localLease{}} }

// Kind is KindNone.
func (s *LocalLeases) Kind() string { return StoreNone }

// Ping returns nil.
func (s *LocalLeases) Ping(context.Context, ...string) error { return nil }

// Acquire tries once; see Store. The lease has no TTL: it ends with the process.
func (s *LocalLeases) Acquire(_ context.Context, name, holder string) (Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l, ok := s.held[name]; ok {
		return nil, &HeldError{name, Holding{Holder: l.holder}}
	}
	l := &localLease{store: s, name: name, holder: holder}
	s.held[name] = l
	return l, nil
}

// Read returns the holder of a lease; see Store.
func (s *LocalLeases) Read(_ context.Context, name string) (Holding, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l, ok := s.held[name]; ok {
		return Holding{Holder: l.holder}, nil
	}
	return Holding{}, nil
}

// Free removes a lease; see Store.
func (s *LocalLeases) Free(ctx context.Context, name string) (Holding, error) {
	holding, err := s.Read(ctx, name)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.held, name)
	return holding, err
}

type localLease struct {
	store        *LocalLeases
	name, holder string
}

// Renew reports whether the lease was freed meanwhile; see Lease.
func (l *localLease) Renew(context.Context) error {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	if current, ok := l.store.held[l.name]; !ok {
		return &HeldError{Name: l.name}
	} else if current != l {
		return &HeldError{l.name, Holding{Holder: current.holder}}
	}
	return nil
}

// Release frees the lease; see Lease.
func (l *localLease) Release(context.Context) error {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	if l.store.held[l.name] == l {
		delete(l.store.held, l.name)
	}
	return nil
}
