package groupcommit

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// closing calls Close, and returns the channel of its error.
func (s *harness) closing(ctx context.Context) <-chan error {
	closed := make(chan error, 1)
	go func() { closed <- s.queue.Close(ctx) }()
	return closed
}

func wantOpen(t *testing.T, closed <-chan error) {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-closed:
		t.Fatalf("Close returned too early, with %v", err)
	default:
	}
}

func TestClose_WaitsUntilEveryCommandHasItsAnswer(t *testing.T) {
	withHarness(t, testOptions{}, func(s *harness) {
		s.submit("a", 1)
		s.submit("b", 2)
		s.queue.Post("b", 3)
		first, second := s.closing(s.t.Context()), s.closing(s.t.Context())
		for range 3 {
			wantOpen(t, first)
			wantOpen(t, second)
			s.next().succeed()
		}
		if err := errors.Join(<-first, <-second); err != nil {
			t.Error(err)
		}
	})
}

func TestClose_ReturnsWhenItsContextEnds(t *testing.T) {
	withHarness(t, testOptions{}, func(s *harness) {
		caller := s.submit("k", 1)
		ctx, cancel := context.WithTimeout(s.t.Context(), time.Second)
		defer cancel()
		if err := <-s.closing(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the context's error", err)
		}
		s.next().succeed()
		caller.wantResult("ok 1")
	})
}

func TestClose_IdleQueueReturnsAtOnceAndAcceptsCommands(t *testing.T) {
	withHarness(t, testOptions{}, func(s *harness) {
		for range 2 {
			if err := <-s.closing(s.t.Context()); err != nil {
				t.Error(err)
			}
			caller := s.submit("k", 1)
			closed := s.closing(s.t.Context())
			wantOpen(t, closed)
			s.next().succeed()
			caller.wantResult("ok 1")
			if err := <-closed; err != nil {
				t.Error(err)
			}
		}
	})
}

func TestClose_WaitsForHelpersOfCommit(t *testing.T) {
	withHarness(t, testOptions{}, func(s *harness) {
		caller := s.submit("k", 1)
		c, finish := s.next(), make(chan struct{})
		s.queue.Go(func() { <-finish })
		closed := s.closing(s.t.Context())
		c.succeed()
		caller.wantResult("ok 1")
		wantOpen(t, closed)
		if n := s.queue.InFlight(); n != 0 {
			t.Errorf("%d keys are in flight, want none", n)
		}
		close(finish)
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}
