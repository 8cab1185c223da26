package groupcommit

import (
	"slices"
	"testing"
	"time"
)

func TestPace_SeesContendersByTheRevision(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		revisions []int64 // after each commit, 0 if unknown
		yields    int
	}{
		"first commit":                      {[]int64{10}, 0},
		"alone":                             {[]int64{10, 11, 12}, 0},
		"nothing written":                   {[]int64{10, 10}, 0},
		"a contender":                       {[]int64{10, 12}, 4},
		"many contenders":                   {[]int64{10, 90}, 4},
		"contenders seen again":             {[]int64{10, 12, 13, 14, 16}, 4},
		"contenders gone":                   {[]int64{10, 12, 13, 14, 15}, 1},
		"contenders long gone":              {[]int64{10, 12, 13, 14, 15, 16, 17}, 0},
		"unknown revision hides own writes": {[]int64{10, 0, 14}, 0},
		"unknown revision tells nothing":    {[]int64{10, 12, 0, 0}, 4},
		"known again":                       {[]int64{10, 0, 14, 16}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var p pace
			for _, revision := range c.revisions {
				p.observe(Written{Revision: revision, Took: time.Millisecond}, time.Time{}, time.Time{})
			}
			if p.yields != c.yields {
				t.Errorf("yields for %d batches, want %d", p.yields, c.yields)
			}
		})
	}
}

func TestPace_DelayIsAboutATransaction(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		pace   pace
		jitter float64
		want   time.Duration
	}{
		"no contenders":       {pace{took: 20 * ms}, 1, 0},
		"shortest":            {pace{yields: 4, took: 20 * ms}, 0, 10 * ms},
		"middle":              {pace{yields: 1, took: 20 * ms}, 0.5, 20 * ms},
		"longest":             {pace{yields: 1, took: 20 * ms}, 1, 30 * ms},
		"slow, shortest":      {pace{yields: 1, took: time.Hour}, 0, 15 * ms},
		"slow, middle":        {pace{yields: 1, took: time.Hour}, 0.5, 30 * ms},
		"slow, longest":       {pace{yields: 1, took: time.Hour}, 1, 45 * ms},
		"no transaction time": {pace{yields: 1}, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.pace.delay(c.jitter, time.Time{}); got != c.want {
				t.Errorf("delay %v, want %v", got, c.want)
			}
		})
	}
}

// at replies with a revision.
func at(revision int64) func(*call) {
	return func(c *call) {
		r := succeeded(c.batch)
		r.Groups[0].Revision, r.Groups[0].Took = revision, 20*time.Millisecond
		c.answer(r)
	}
}

// delays replies to one batch after the other, and returns the delay before each. A
// waiting command keeps the committer running, so that it keeps its pace.
func (s *harness) delays(replies ...func(*call)) []time.Duration {
	s.queue.jitter = func() float64 { return 0.5 }
	s.queue.Post("k", 0)
	var delays []time.Duration
	for i, reply := range replies {
		began := time.Now()
		c := <-s.calls
		delays = append(delays, time.Since(began))
		if i < len(replies)-1 {
			s.queue.Post("k", i+1)
		}
		reply(c)
	}
	return delays
}

func TestQueue_YieldsToContendersForFourBatches(t *testing.T) {
	withHarness(t, testOptions{}, func(s *harness) {
		const yieldDelay = 20 * time.Millisecond
		got := s.delays(at(10), at(12), at(13), at(14), at(15), at(16), at(17))
		if want := []time.Duration{0, 0, yieldDelay, yieldDelay, yieldDelay, yieldDelay, 0}; !slices.Equal(got, want) {
			t.Errorf("the delays are %v, want %v", got, want)
		}
	})
}

// A failed commit may have raised the revision, which is not contention.
func TestQueue_FailedCommitForgetsTheRevision(t *testing.T) {
	for name, fail := range map[string]func(*harness, *call){
		"error":    func(_ *harness, c *call) { c.fail(errOther) },
		"panic":    func(_ *harness, c *call) { c.panic("bad luck") },
		"unknown":  func(s *harness, c *call) { c.fail(errUnknown); at(12)(<-s.calls) },
		"rejected": func(_ *harness, c *call) { c.fail(errRejected) },
	} {
		t.Run(name, func(t *testing.T) {
			withHarness(t, testOptions{}, func(s *harness) {
				got := s.delays(at(10), func(c *call) { fail(s, c) }, at(13), at(14))
				if slices.Max(got) > 0 {
					t.Errorf("the queue yields to itself: %v", got)
				}
			})
		})
	}
}

// Commands that arrive during the delay join the batch, and callers can still give up.
func TestQueue_BatchIsTakenUpAfterTheDelay(t *testing.T) {
	withHarness(t, testOptions{}, func(s *harness) {
		s.queue.jitter = func() float64 { return 1 }
		s.submit("k", 0)
		first := s.nextIs(0)
		s.submit("k", 1)
		at(10)(first)
		second := s.nextIs(1)
		early, impatient := s.submit("k", 2), s.submit("k", 3)
		at(12)(second)
		s.noCall()
		late := s.submit("k", 4)
		impatient.giveUp()
		impatient.wantError(ErrNotStarted)
		<-time.After(30 * time.Millisecond)
		s.nextIs(2, 4).succeed()
		early.wantResult("ok 2")
		late.wantResult("ok 4")
	})
}
