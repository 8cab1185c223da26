package groupcommit

import (
	"fmt"
	"testing"
	"testing/synctest"
)

func TestSubmit_CommandsThatWaitAreCommittedTogetherInOrderOfArrival(t *testing.T) {
	withHarness(t, testOptions{}, func(s *harness) {
		var callers []*caller
		for i := range 6 {
			callers = append(callers, s.submit("k", i))
		}
		if n := s.queue.Waiting("k"); n != 5 {
			t.Errorf("%d commands wait, want 5", n)
		}
		s.nextIs(0).succeed()
		s.nextIs(1, 2, 3, 4, 5).succeed()
		for i, c := range callers {
			c.wantResult(fmt.Sprint("ok ", i))
		}
	})
}

func TestSubmit_BatchIsBounded(t *testing.T) {
	withHarness(t, testOptions{MaxBatch: 2}, func(s *harness) {
		for i := range 4 {
			s.submit("k", i)
		}
		s.nextIs(0).succeed()
		s.nextIs(1, 2).succeed()
		s.nextIs(3).succeed()
	})
}

func TestSubmit_UndecidedCommandsGoFirstInTheNextBatch(t *testing.T) {
	withHarness(t, testOptions{MaxBatch: 3}, func(s *harness) {
		var callers []*caller
		for i := range 7 {
			callers = append(callers, s.submit("k", i))
		}
		s.nextIs(0).succeed()
		s.nextIs(1, 2, 3).undecided(0, 2)
		callers[2].wantResult("ok 2")
		callers[1].wantNoAnswer()
		s.nextIs(1, 3, 4).undecided(0, 1, 2) // a batch that decides nothing
		s.nextIs(1, 3, 4).succeed()
		callers[1].wantResult("ok 1")
		s.nextIs(5, 6).undecided(1)
		s.nextIs(6).succeed() // the batch has no other command
		callers[6].wantResult("ok 6")
	})
}

func TestSubmit_KeysDoNotWaitForEachOther(t *testing.T) {
	withHarness(t, testOptions{}, func(s *harness) {
		a, b := s.submit("a", 1), s.submit("b", 2)
		first, second := s.next(), s.next()
		if first.batch.Groups[0].Key == second.batch.Groups[0].Key {
			t.Error("a key has two committers")
		}
		if n := s.queue.InFlight(); n != 2 {
			t.Errorf("%d keys in flight, want 2", n)
		}
		second.succeed()
		first.succeed()
		a.wantResult("ok 1")
		b.wantResult("ok 2")
	})
}

// A commit that waits for its next attempt lets another key commit, and continues when a slot is free again.
func TestQueue_ARestLetsAnotherKeyCommit(t *testing.T) {
	withHarness(t, testOptions{MaxInFlight: 1}, func(s *harness) {
		a := s.submit("a", 1)
		held := s.nextIs(1)
		b := s.submit("b", 2)
		s.noCall()
		wait, rested := make(chan struct{}), make(chan struct{})
		go func() {
			held.batch.Rest(func() { <-wait })
			close(rested)
		}()
		other := s.nextIs(2)
		close(wait)
		synctest.Wait()
		select {
		case <-rested:
			t.Error("two commits run together")
		default:
		}
		other.succeed()
		b.wantResult("ok 2")
		<-rested
		held.succeed()
		a.wantResult("ok 1")
	})
}

func TestSubmit_CommitsInFlightAreBounded(t *testing.T) {
	withHarness(t, testOptions{MaxInFlight: 2}, func(s *harness) {
		s.submit("a", 1)
		s.submit("b", 2)
		first, second := s.next(), s.next()
		third, impatient := s.submit("c", 3), s.submit("c", 4)
		s.noCall()
		impatient.giveUp() // not taken up while it waits for a slot
		impatient.wantError(ErrNotStarted)
		first.succeed()
		s.nextIs(3).succeed()
		third.wantResult("ok 3")
		second.succeed()
	})
}

func TestSubmit_FullQueueRefusesCallersBeforePosts(t *testing.T) {
	withHarness(t, testOptions{MaxWaiting: 2}, func(s *harness) {
		for i := range 3 { // one in flight, two that wait
			s.submit("k", i)
		}
		s.submit("k", 3).wantError(ErrFull)
		if !s.queue.Post("k", 4) || !s.queue.Post("k", 5) {
			t.Error("a post is refused before twice as many commands wait")
		}
		if s.queue.Post("k", 6) {
			t.Error("the queue has no limit for posts")
		}
		if !s.queue.Post("other", 7) {
			t.Error("another key is refused")
		}
		for range 3 {
			s.next().succeed()
		}
	})
}

func TestPost_IsCommittedWithoutACaller(t *testing.T) {
	withHarness(t, testOptions{Orphaned: func(_ string, command int, _ string) {
		t.Errorf("posted command %d is orphaned", command)
	}}, func(s *harness) {
		s.queue.Post("k", 1)
		c := s.nextIs(1)
		if c.batch.Groups[0].Abandoned(0) {
			t.Error("a posted command is abandoned")
		}
		c.succeed()
		s.queue.Post("k", 2)
		s.nextIs(2).fail(errOther)
	})
}

func TestQueue_CommitterRunsOnlyWhileThereIsWork(t *testing.T) {
	withHarness(t, testOptions{}, func(s *harness) {
		for i := range 3 {
			c := s.submit("k", i)
			if n := s.queue.InFlight(); n != 1 {
				t.Errorf("%d keys in flight, want 1", n)
			}
			s.nextIs(i).succeed()
			c.wantResult(fmt.Sprint("ok ", i))
			synctest.Wait()
			if running := s.queue.running; running != 0 || s.queue.InFlight() != 0 || s.queue.Waiting("k") != 0 {
				t.Errorf("%d committers run without work", running)
			}
		}
	})
}

// Before a committer forms a batch, it yields while commands arrive: at most maxYields times, and not for more than
// a batch.
func TestQueue_YieldsWhileCommandsArrive(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		waiting, arrive int // commands; one arrives at each yield
		yields          int
	}{
		"none waits":          {0, 0, 1},
		"one waits":           {1, 0, 1},
		"some arrive":         {1, 3, 4},
		"they always arrive":  {1, 99, 16},
		"a batch is full":     {30, 99, 0},
		"a batch becomes so":  {28, 99, 2},
		"more than a batch":   {31, 99, 0},
		"just short of batch": {29, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := newQueue(testOptions{MaxBatch: 30})
			waiting := c.waiting
			yields := 0
			q.yield = func() {
				if yields++; yields > 100 {
					panic("it yields without end")
				}
				if yields <= c.arrive {
					waiting++
				}
			}
			q.awaitCallers(func() int { return waiting })
			if yields != c.yields {
				t.Errorf("it yields %d times, want %d", yields, c.yields)
			}
		})
	}
}

// The array behind the queue does not keep requests of a batch in memory.
func TestQueue_TakenUpRequestsLeaveTheQueue(t *testing.T) {
	t.Parallel()
	q := newQueue(testOptions{MaxBatch: 1})
	first, second := &request[int, string]{command: 1}, &request[int, string]{command: 2}
	l := &line[string, int, string]{waiting: []*request[int, string]{first, second}}
	array := l.waiting
	if batch := q.takeUp(l, 1); len(batch) != 1 || batch[0] != first {
		t.Errorf("took up %v", batch)
	}
	if array[0] != nil || len(l.waiting) != 1 || l.waiting[0] != second {
		t.Error("the queue still holds the request")
	}
}

func TestNew_ZeroOptionsHaveDefaults(t *testing.T) {
	t.Parallel()
	q := newQueue(testOptions{})
	o := q.options
	if o.MaxBatch != 500 || o.MaxWaiting != 20_000 || cap(q.slots) != 48 ||
		o.SettleTimeout != defaultSettleTimeout || o.SettleInterval != defaultSettleInterval || o.Log == nil {
		t.Errorf("got %+v", o)
	}
	if o.IsUnknown(errUnknown) {
		t.Error("an error has a meaning that no option gave it")
	}
	o.Orphaned("k", 1, "") // may be left out
}
