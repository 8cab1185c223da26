package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

func TestSubmit_CallerThatGivesUpBeforeItIsTakenUpIsDropped(t *testing.T) {
	withHarness(t, testOptions{}, func(s *harness) {
		s.submit("k", 1)
		dropped, kept := s.submit("k", 2), s.submit("k", 3)
		dropped.giveUp()
		dropped.wantError(ErrNotStarted, context.Canceled)
		s.nextIs(1).succeed()
		s.nextIs(3).succeed()
		kept.wantResult("ok 3")
	})
}

func TestSubmit_BatchOfDroppedCommandsIsNotCommitted(t *testing.T) {
	withHarness(t, testOptions{}, func(s *harness) {
		s.submit("k", 1)
		s.submit("k", 2).giveUp()
		synctest.Wait()
		s.nextIs(1).succeed()
		s.noCall()
	})
}

func TestSubmit_EndedContextIsNotQueued(t *testing.T) {
	withHarness(t, testOptions{}, func(s *harness) {
		s.submit("k", 1)
		c := s.nextIs(1)
		ctx, cancel := context.WithCancel(s.t.Context())
		cancel()
		if _, err := s.queue.Submit(ctx, "k", 2); !errors.Is(err, ErrNotStarted) || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want ErrNotStarted with the context's error", err)
		}
		if n := s.queue.Waiting("k"); n != 0 {
			t.Errorf("%d commands wait, want none", n)
		}
		c.succeed()
	})
}

func TestSubmit_CallerThatGivesUpInFlightIsAnsweredAtOnceAndTheCommitGoesOn(t *testing.T) {
	var orphans []string
	o := testOptions{Orphaned: func(key string, command int, result string) {
		orphans = append(orphans, fmt.Sprint(key, command, result))
	}}
	withHarness(t, o, func(s *harness) {
		s.submit("k", 1)
		impatient, patient := s.submit("k", 2), s.submit("k", 3)
		s.nextIs(1).succeed()
		c := s.nextIs(2, 3)
		g := c.batch.Groups[0]
		if g.Abandoned(0) || g.Abandoned(1) {
			t.Error("a command is abandoned although its caller waits")
		}
		impatient.giveUp()
		impatient.wantError(ErrInFlight, context.Canceled)
		patient.wantNoAnswer()
		if !g.Abandoned(0) || g.Abandoned(1) {
			t.Error("the command of the caller that gave up is abandoned, and only that one")
		}
		if c.ended() != nil {
			t.Error("a caller that gives up ends the commit")
		}
		if len(orphans) != 0 {
			t.Error("a result is orphaned before it is there")
		}
		c.succeed()
		patient.wantResult("ok 3")
		synctest.Wait()
		if want := []string{"k2ok 2"}; !slices.Equal(orphans, want) {
			t.Errorf("orphaned: %q, want %q", orphans, want)
		}
	})
}

func TestSubmit_FailedCommitLeavesNoOrphan(t *testing.T) {
	withHarness(t, testOptions{Orphaned: func(string, int, string) { t.Error("an error is orphaned") }}, func(s *harness) {
		c := s.submit("k", 1)
		c.giveUp()
		c.wantError(ErrInFlight)
		s.nextIs(1).fail(errOther)
	})
}

// An abandoned command that is undecided stays in flight: Commit sees that it is
// abandoned, and decides whether to carry it out.
func TestSubmit_AbandonedCommandIsDecidedByCommit(t *testing.T) {
	withHarness(t, testOptions{}, func(s *harness) {
		caller := s.submit("k", 1)
		c := s.nextIs(1)
		caller.giveUp()
		caller.wantError(ErrInFlight)
		c.undecided(0)
		c = s.nextIs(1)
		if !c.batch.Groups[0].Abandoned(0) {
			t.Error("the command is not abandoned in its second batch")
		}
		c.succeed()
	})
}

func TestSubmit_CommitHasNoDeadlineOfACaller(t *testing.T) {
	withHarness(t, testOptions{}, func(s *harness) {
		ctx, cancel := context.WithTimeout(s.t.Context(), defaultSettleTimeout)
		defer cancel()
		go func() { _, _ = s.queue.Submit(ctx, "k", 1) }()
		c := s.next()
		if _, limited := c.deadline(); limited {
			t.Error("the commit ends with a caller's deadline")
		}
		c.succeed()
	})
}

func TestOrphaned_MayPost(t *testing.T) {
	var q *testQueue
	withHarness(t, testOptions{Orphaned: func(key string, command int, _ string) {
		if !q.Post(key, -command) {
			t.Error("the post is refused")
		}
	}}, func(s *harness) {
		q = s.queue
		c := s.submit("k", 1)
		c.giveUp()
		c.wantError(ErrInFlight)
		s.nextIs(1).succeed()
		s.nextIs(-1).succeed()
	})
}

func TestOrphaned_PanicKeepsNoResultFromTheOthers(t *testing.T) {
	withHarness(t, testOptions{Orphaned: func(string, int, string) { panic("orphanage closed") }}, func(s *harness) {
		s.submit("k", 1)
		impatient, patient := s.submit("k", 2), s.submit("k", 3)
		s.nextIs(1).succeed()
		c := s.nextIs(2, 3)
		impatient.giveUp()
		impatient.wantError(ErrInFlight)
		c.succeed()
		patient.wantResult("ok 3")
		synctest.Wait()
		if log := s.log.String(); !strings.Contains(log, "orphanage closed") || !strings.Contains(log, "caller_test.go") {
			t.Errorf("the log has no panic with its stack: %s", log)
		}
	})
}

func TestGroup_BuiltByHandHasNoAbandonedCommand(t *testing.T) {
	t.Parallel()
	if (Group[string, int]{Key: "k", Commands: []int{1}}).Abandoned(0) {
		t.Error("a command without a caller is abandoned")
	}
}

// This test walks every pair of a ticket's state and transition.
func TestTicket_EachTransitionFromEachState(t *testing.T) {
	t.Parallel()
	transitions := map[string]func(*request[int, string]) bool{
		"takeUp": func(r *request[int, string]) bool { return r.takeUp() },
		"giveUp": func(r *request[int, string]) bool { return r.giveUp() != nil },
		"answer": func(r *request[int, string]) bool { return r.answer("", nil) },
	}
	allowed := map[int32]map[string]int32{
		waiting:  {"takeUp": inFlight, "giveUp": dropped},
		inFlight: {"answer": answered, "giveUp": abandoned},
	}
	for from := waiting; from <= answered; from++ {
		for name, transition := range transitions {
			t.Run(fmt.Sprint(name, " from ", from), func(t *testing.T) {
				t.Parallel()
				r := &request[int, string]{done: make(chan struct{})}
				r.state.Store(from)
				to, want := allowed[from][name]
				if got := transition(r); got != want {
					t.Errorf("allowed: %t, want %t", got, want)
				}
				if !want {
					to = from
				}
				if got := r.state.Load(); got != to {
					t.Errorf("state %d, want %d", got, to)
				}
			})
		}
	}
}

// A caller whose context ends just as its answer arrives gets the answer.
func TestSubmit_AnswerWinsAgainstAContextThatEnds(t *testing.T) {
	t.Parallel()
	for range 200 { // Submit's select picks either of both at random
		ctx, cancel := context.WithCancel(t.Context())
		q := newQueue(testOptions{
			Commit: func(_ context.Context, b *testBatch) (testResult, error) { return succeeded(b), nil },
			Orphaned: func(string, int, string) {
				t.Error("an answer that was there is orphaned")
			},
		})
		r := &request[int, string]{command: 1, done: make(chan struct{})}
		q.enqueue("k", r, 1)
		if err := q.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		cancel()
		if result, err := r.wait(ctx); result != "ok 1" || err != nil {
			t.Fatalf("got %q, %v, want the result", result, err)
		}
	}
}
