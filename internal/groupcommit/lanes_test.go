package groupcommit

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// alwaysShare are options of a queue whose keys share commits; negative commands can't.
var alwaysShare = testOptions{MayShare: func(command int) bool { return command >= 0 }, Lanes: 2}

// nextGroups returns the next call of Commit, which must have these keys with these commands.
func (s *harness) nextGroups(want string) *call {
	s.t.Helper()
	c := s.next()
	got := ""
	for _, g := range c.batch.Groups {
		got += fmt.Sprint(g.Key, g.Commands, " ")
	}
	if got != want+" " {
		s.t.Fatalf("the batch is %s, want %s", got, want)
	}
	return c
}

// busy fills each lane with a commit, so that later commands wait for a lane.
func (s *harness) busy() (first, second *call) {
	s.t.Helper()
	s.submit("x", 100)
	first = s.nextGroups("x[100]")
	s.submit("y", 200)
	return first, s.nextGroups("y[200]")
}

func TestLanes_KeysThatWaitShareACommit(t *testing.T) {
	withHarness(t, alwaysShare, func(s *harness) {
		first, second := s.busy()
		a, b, c, another := s.submit("a", 1), s.submit("b", 2), s.submit("c", 3), s.submit("b", 4)
		s.noCall()
		first.succeed()
		shared := s.nextGroups("a[1] b[2 4] c[3]")
		late := s.submit("b", 5)
		second.succeed() // its lane finds no key that is ready: b is in a commit
		s.noCall()
		shared.succeed()
		a.wantResult("ok 1")
		b.wantResult("ok 2")
		another.wantResult("ok 4")
		c.wantResult("ok 3")
		s.nextGroups("b[5]").succeed()
		late.wantResult("ok 5")
	})
}

func TestLanes_ASharedCommitIsBounded(t *testing.T) {
	o := alwaysShare
	o.MaxBatch = 3
	withHarness(t, o, func(s *harness) {
		first, second := s.busy()
		for i, key := range []string{"a", "a", "b", "b", "c"} {
			s.submit(key, i)
		}
		first.succeed()
		some := s.nextGroups("a[0 1] b[2]")
		second.succeed()
		rest := s.nextGroups("c[4]") // b is in a commit
		some.succeed()
		s.nextGroups("b[3]").succeed()
		rest.succeed()
	})
}

func TestLanes_CallersThatGaveUpAreLeftOut(t *testing.T) {
	withHarness(t, alwaysShare, func(s *harness) {
		first, second := s.busy()
		a, b := s.submit("a", 1), s.submit("b", 2)
		c, d := s.submit("c", 3), s.submit("c", 4)
		a.giveUp()
		a.wantError(ErrNotStarted)
		c.giveUp()
		c.wantError(ErrNotStarted)
		first.succeed()
		s.nextGroups("b[2] c[4]").succeed()
		b.wantResult("ok 2")
		d.wantResult("ok 4")
		second.succeed()
	})
}

// A key with a command that can't share does not wait for a lane, and neither does a contested key.
func TestLanes_CommandsThatCantShareGoApart(t *testing.T) {
	withHarness(t, alwaysShare, func(s *harness) {
		first, second := s.busy()
		alone := s.submit("a", -1)
		own := s.nextGroups("a[-1]")
		s.submit("b", 1)
		s.submit("b", -2) // it waits for a lane already
		s.submit("c", 3)
		s.noCall()
		first.succeed()
		calls := map[string]*call{}
		for range 2 {
			c := s.next()
			calls[fmt.Sprint(c.batch.Groups[0].Key, c.batch.Groups[0].Commands)] = c
		}
		for _, want := range []string{"b[1 -2]", "c[3]"} {
			if calls[want] == nil {
				t.Fatalf("the batches are %v, want %s", calls, want)
			}
			calls[want].succeed()
		}
		third := s.submit("d", 4)
		s.submit("a", 5)
		fourth := s.nextGroups("d[4]") // in the first lane
		own.succeed()
		alone.wantResult("ok -1")
		s.noCall() // the key waits for a lane again
		fourth.succeed()
		third.wantResult("ok 4")
		s.nextGroups("a[5]").succeed()
		second.succeed()
	})
}

// A lane with few keys waits until the commit of a long line ends, but not for long.
func TestLanes_MakeWayForALongLine(t *testing.T) {
	withHarness(t, alwaysShare, func(s *harness) {
		first, second := s.busy()
		for i := range longLine {
			s.submit("a", i)
		}
		first.succeed()
		long := s.next()
		for i := range longLine {
			s.submit("a", i)
		}
		s.submit("b", 1)
		s.submit("c", 2)
		s.noCall() // though there is a lane
		long.succeed()
		calls := map[int]*call{}
		for range 2 {
			c := s.next()
			calls[len(c.batch.Groups)] = c
		}
		if len(calls) != 2 {
			t.Fatalf("the batches are %v, want a's, and that of b and c", calls)
		}
		calls[2].succeed()

		s.submit("b", 3)
		s.noCall()
		<-time.After(longLineTimeout)
		s.nextGroups("b[3]").succeed()
		calls[1].succeed()
		second.succeed()
	})
}

// A key with many commands has a commit of its own, and does not wait for a lane.
func TestLanes_ALongLineGoesApart(t *testing.T) {
	withHarness(t, alwaysShare, func(s *harness) {
		first, second := s.busy()
		for i := range longLine {
			s.submit("a", i)
		}
		s.submit("b", 1)
		s.noCall() // the line was short when it began to wait
		first.succeed()
		calls := []*call{s.next(), s.next()}
		for _, c := range calls {
			if len(c.batch.Groups) != 1 {
				t.Errorf("a long line shares its commit: %+v", c.batch.Groups)
			}
		}
		s.submit("c", 1)
		s.noCall()
		for range longLine {
			s.queue.Post("a", 1)
		}
		for _, c := range calls {
			c.succeed()
		}
		for range 2 {
			s.next().succeed()
		}
		second.succeed()
	})
}

func TestLanes_AGroupThatIsLeftApartIsCommittedByItself(t *testing.T) {
	withHarness(t, alwaysShare, func(s *harness) {
		first, second := s.busy()
		a, b := s.submit("a", 1), s.submit("b", 2)
		first.succeed()
		shared := s.nextGroups("a[1] b[2]")
		result := succeeded(shared.batch)
		result.Groups[0] = GroupResult[string]{Apart: true}
		shared.answer(result)
		b.wantResult("ok 2")
		s.nextGroups("a[1]").succeed()
		a.wantResult("ok 1")
		second.succeed()
	})
}

// If a shared commit fails for any reason, each key is committed by itself, at the same time, so that a slow key
// does not delay the others.
func TestLanes_AfterAFailureEachKeyIsCommittedByItself(t *testing.T) {
	for name, c := range map[string]struct {
		fail     func(*call)
		settling bool
	}{
		"error":    {func(c *call) { c.fail(errOther) }, false},
		"rejected": {func(c *call) { c.fail(errRejected) }, false},
		"unknown":  {func(c *call) { c.fail(errUnknown) }, true},
		"panic":    {func(c *call) { c.panic("bad luck") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			withHarness(t, alwaysShare, func(s *harness) {
				first, second := s.busy()
				callers := []*caller{s.submit("a", 1), s.submit("b", 2), s.submit("c", 3)}
				first.succeed()
				c.fail(s.nextGroups("a[1] b[2] c[3]"))
				for range callers {
					own := s.next()
					if len(own.batch.Groups) != 1 || own.batch.Settling != c.settling {
						t.Errorf("the batch is %+v", own.batch)
					}
					if own.batch.Groups[0].Key == "b" {
						own.panic("bad luck")
					} else {
						own.succeed()
					}
				}
				callers[0].wantResult("ok 1")
				callers[1].wantError(ErrUnknown)
				callers[2].wantResult("ok 3")
				second.succeed()
			})
		})
	}
}

// The unknown outcome of a shared commit stays that of each key until its own settling has an answer.
func TestLanes_AnUnknownOutcomeIsSettledForEachKey(t *testing.T) {
	o := alwaysShare
	o.SettleTimeout = time.Second
	withHarness(t, o, func(s *harness) {
		first, second := s.busy()
		a, b := s.submit("a", 1), s.submit("b", 2)
		first.succeed()
		s.nextGroups("a[1] b[2]").fail(errUnknown)
		second.succeed()
		for range 30 {
			select {
			case c := <-s.calls:
				if c.batch.Groups[0].Key == "a" {
					c.fail(errOther) // a failure to settle says nothing of the earlier commit
				} else {
					c.succeed()
				}
			case <-time.After(100 * time.Millisecond):
			}
		}
		a.wantError(ErrUnknown, errUnknown)
		b.wantResult("ok 2")
	})
}

// A commit that takes long leaves its lane to other keys.
func TestLanes_ASlowCommitKeepsNoLane(t *testing.T) {
	withHarness(t, alwaysShare, func(s *harness) {
		slow, alsoSlow := s.busy()
		a := s.submit("a", 1)
		s.noCall()
		<-time.After(laneTimeout)
		s.nextGroups("a[1]").succeed()
		a.wantResult("ok 1")
		slow.succeed()
		alsoSlow.succeed()
		s.noCall()
		if s.queue.lanes != 0 {
			t.Errorf("%d lanes are open without work", s.queue.lanes)
		}
		first, second := s.busy() // as many lanes as before
		s.submit("b", 2)
		s.noCall()
		first.succeed()
		s.nextGroups("b[2]").succeed()
		second.succeed()
	})
}

// After failures keys share fewer commits, because a commit that conflicts with other processes is wasted.
func TestSharing_BacksOffAfterFailures(t *testing.T) {
	t.Parallel()
	var s sharing
	alone := func() (n int) {
		for s.next(5) == 1 {
			n++
		}
		return n
	}
	var got []int
	for range 12 {
		s.note(false)
		got = append(got, alone())
	}
	if want := []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1024}; !slices.Equal(got, want) {
		t.Errorf("batches alone after each failure: %v, want %v", got, want)
	}
	for range 9 {
		s.note(true)
	}
	if n := alone(); n != 0 {
		t.Errorf("%d batches alone after a success", n)
	}
	s.note(false)
	if n := alone(); n != 4 {
		t.Errorf("%d batches alone after many successes and a failure, want 4", n)
	}
}

// While keys don't share, they don't wait for each other either.
func TestSharing_WithoutItEachKeyHasALane(t *testing.T) {
	withHarness(t, alwaysShare, func(s *harness) {
		s.queue.sharing.left = 4
		var calls []*call
		for i, key := range []string{"a", "b", "c", "d"} {
			s.submit(key, i)
			calls = append(calls, s.nextGroups(fmt.Sprintf("%s[%d]", key, i)))
		}
		for i := range 3 { // they share again, and there are more lanes than there may be
			s.submit(fmt.Sprint(i), i)
		}
		s.noCall()
		calls[0].succeed()
		calls[1].succeed()
		s.noCall()
		calls[2].succeed()
		s.nextGroups("0[0] 1[1] 2[2]").succeed()
		calls[3].succeed()
	})
}

// Keys that wait already when sharing ends need no more commands to get lanes.
func TestSharing_KeysThatWaitGetLanesOnceItEnds(t *testing.T) {
	withHarness(t, alwaysShare, func(s *harness) {
		first, second := s.busy()
		for i, key := range []string{"a", "b", "c", "d"} {
			s.submit(key, i)
		}
		s.queue.sharing.left = 10
		first.succeed()
		var calls []*call
		for range 4 {
			calls = append(calls, s.next())
		}
		for _, c := range calls {
			c.succeed()
		}
		second.succeed()
	})
}
