package groupcommit

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestCommit_ErrorIsForTheWholeBatch(t *testing.T) {
	withHarness(t, testOptions{}, func(s *harness) {
		s.submit("k", 1)
		a, b := s.submit("k", 2), s.submit("k", 3)
		s.nextIs(1).succeed()
		s.nextIs(2, 3).fail(errOther)
		a.wantError(errOther)
		b.wantError(errOther)
	})
}

func TestCommit_PanicIsLoggedWithItsStackAndTheQueueGoesOn(t *testing.T) {
	withHarness(t, testOptions{}, func(s *harness) {
		a, b := s.submit("k", 1), s.submit("k", 2)
		s.nextIs(1).panic("counter is negative")
		a.wantError(ErrUnknown)
		s.nextIs(2).succeed()
		b.wantResult("ok 2")
		log := s.log.String()
		for _, want := range []string{"level=ERROR", "Committing a batch panicked", "keys=[k]", "counter is negative", "harness_test.go"} {
			if !strings.Contains(log, want) {
				t.Errorf("the log has no %q: %s", want, log)
			}
		}
	})
}

// If Commit panics with an error, the caller gets it as the cause. The queue does not
// settle, whatever the error is.
func TestCommit_PanicWithAnErrorIsItsCauseAndFinal(t *testing.T) {
	for _, cause := range []error{errUnknown, errRejected} {
		t.Run(cause.Error(), func(t *testing.T) {
			withHarness(t, testOptions{}, func(s *harness) {
				s.submit("k", 1)
				a, b := s.submit("k", 2), s.submit("k", 3)
				s.nextIs(1).succeed()
				s.nextIs(2, 3).panic(cause)
				a.wantError(ErrUnknown, cause)
				b.wantError(ErrUnknown, cause)
				s.noCall()
			})
		})
	}
}

func TestCommit_EachCommandNeedsOneOutcome(t *testing.T) {
	two := make([]Outcome[string], 2)
	for name, groups := range map[string][]GroupResult[string]{
		"no group":       nil,
		"too few":        {{}},
		"too many":       {{Outcomes: two}},
		"one group more": {{Outcomes: two[:1]}, {}},
	} {
		t.Run(name, func(t *testing.T) {
			withHarness(t, testOptions{}, func(s *harness) {
				c := s.submit("k", 1)
				s.nextIs(1).answer(testResult{Groups: groups})
				c.wantError(ErrUnknown)
				if !strings.Contains(s.log.String(), "one outcome for each command") {
					t.Errorf("the log does not say why: %s", s.log.String())
				}
			})
		})
	}
}

func TestSettle_CommitsTheSameCommandsAgainUntilItSucceeds(t *testing.T) {
	withHarness(t, testOptions{SettleInterval: time.Second}, func(s *harness) {
		s.submit("k", 1)
		a, b := s.submit("k", 2), s.submit("k", 3)
		s.nextIs(1).succeed()
		began := time.Now()
		c := s.nextIs(2, 3)
		if c.batch.Settling {
			t.Error("the first commit settles")
		}
		slices.Reverse(c.batch.Groups[0].Commands) // the queue builds a new batch for each attempt
		c.fail(errUnknown)
		later := s.submit("k", 4)
		for i, err := range []error{errUnknown, errOther, errRejected} {
			c := s.nextIs(2, 3)
			if !c.batch.Settling || time.Since(began) != time.Duration(i)*time.Second {
				t.Errorf("attempt %d after %v, settling: %t", i, time.Since(began), c.batch.Settling)
			}
			if deadline, _ := c.deadline(); !deadline.Equal(began.Add(defaultSettleTimeout)) {
				t.Errorf("attempt %d may last until %v", i, deadline)
			}
			c.fail(err)
			a.wantNoAnswer()
			<-time.After(time.Second)
		}
		s.nextIs(2, 3).succeed()
		a.wantResult("ok 2")
		b.wantResult("ok 3")
		c = s.nextIs(4)
		if c.batch.Settling {
			t.Error("the next batch settles too")
		}
		c.succeed()
		later.wantResult("ok 4")
	})
}

func TestSettle_TimesOutWithTheCause(t *testing.T) {
	var attempts, settling int
	o := testOptions{SettleTimeout: 10 * time.Second, SettleInterval: 3 * time.Second}
	o.Commit = func(_ context.Context, b *testBatch) (testResult, error) {
		attempts++
		if b.Settling {
			settling++
			return testResult{}, errOther
		}
		return testResult{}, errUnknown
	}
	withHarness(t, o, func(s *harness) {
		began := time.Now()
		c := s.submit("k", 1)
		c.wantError(ErrUnknown, errUnknown)
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("settled for %v, want 10s", took)
		}
		if attempts != 5 || settling != 4 { // at 0, 3, 6 and 9 seconds
			t.Errorf("%d attempts of which %d settled, want 5 and 4", attempts, settling)
		}
	})
}

// The outcome stays unknown, and one caller has given up: Unsettled gets its command, so
// that its lock can be released.
func TestCommit_UnsettledGetsTheCommandOfACallerThatGaveUp(t *testing.T) {
	unsettled := make(chan int, 2)
	o := testOptions{Unsettled: func(_ string, command int) { unsettled <- command }}
	withHarness(t, o, func(s *harness) {
		first := s.submit("k", 1)
		commit := s.next()
		gone, patient := s.submit("k", 2), s.submit("k", 3)
		commit.succeed()
		first.wantResult("ok 1")
		commit = s.nextIs(2, 3)
		gone.giveUp()
		gone.wantError(ErrInFlight)
		commit.panic("the commit is broken")
		patient.wantError(ErrUnknown)
		synctest.Wait()
		if len(unsettled) != 1 || <-unsettled != 2 {
			t.Error("want Unsettled called with command 2 alone")
		}
	})
}

func TestUnsettled_PanicKeepsNoAnswerFromTheOthers(t *testing.T) {
	withHarness(t, testOptions{Unsettled: func(string, int) { panic("orphanage closed") }}, func(s *harness) {
		first := s.submit("k", 1)
		commit := s.next()
		gone, patient := s.submit("k", 2), s.submit("k", 3)
		commit.succeed()
		first.wantResult("ok 1")
		commit = s.nextIs(2, 3)
		gone.giveUp()
		gone.wantError(ErrInFlight)
		commit.panic("the commit is broken")
		patient.wantError(ErrUnknown)
		synctest.Wait()
		if log := s.log.String(); !strings.Contains(log, "orphanage closed") || !strings.Contains(log, "failure_test.go") {
			t.Errorf("the log has no panic with its stack: %s", log)
		}
	})
}

func TestSettle_PanicEndsIt(t *testing.T) {
	withHarness(t, testOptions{}, func(s *harness) {
		c := s.submit("k", 1)
		s.nextIs(1).fail(errUnknown)
		s.nextIs(1).panic("cannot settle")
		c.wantError(ErrUnknown)
		s.noCall()
	})
}

func TestSettle_MayLeaveCommandsUndecided(t *testing.T) {
	withHarness(t, testOptions{}, func(s *harness) {
		c := s.submit("k", 1)
		s.nextIs(1).fail(errUnknown)
		s.nextIs(1).undecided(0)
		again := s.nextIs(1)
		if again.batch.Settling {
			t.Error("an undecided command is settled twice")
		}
		again.succeed()
		c.wantResult("ok 1")
	})
}
