package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// ledger is a fake database with idempotent commits. It counts how often each command is
// carried out, and injects faults.
type ledger struct {
	mu       sync.Mutex
	fault    func() fault
	carried  map[int]int // by command
	orphaned map[int]int // by command
	inFlight map[string]bool
	shared   int      // commits of several keys
	wrong    []string // broken promises of the queue
}

type fault int

const (
	noFault         fault = iota
	unansweredFault       // committed, and the answer is lost
	unknownFault          // not committed, and the answer is lost
	rejectedFault         // rejects a batch with an odd command
	otherFault
	panicFault
	undecidedFault // leaves every third command undecided
	apartFault     // leaves out every second key
	faults
)

func newLedger(next func() fault) *ledger {
	return &ledger{fault: next, carried: map[int]int{}, orphaned: map[int]int{}, inFlight: map[string]bool{}}
}

func (l *ledger) queue() *testQueue {
	return newQueue(testOptions{
		Commit:         l.commit,
		IsUnknown:      func(err error) bool { return errors.Is(err, errUnknown) },
		Orphaned:       func(_ string, command int, _ string) { l.note(command) },
		MayShare:       mayShare,
		Log:            discard,
		MaxBatch:       50,
		MaxInFlight:    3,
		SettleTimeout:  50 * time.Millisecond,
		SettleInterval: time.Millisecond,
	})
}

func (l *ledger) note(command int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.orphaned[command]++
}

// keys is the number of keys of a stampede: command i is for key i%keys.
const keys = 7

// mayShare refuses some commands of one key.
func mayShare(command int) bool { return command%(keys*keys) != 0 }

func (l *ledger) commit(_ context.Context, b *testBatch) (testResult, error) {
	for _, g := range b.Groups {
		defer l.enter(g.Key)()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inspect(b)
	now := l.fault()
	switch now {
	case unknownFault:
		return testResult{}, errUnknown
	case otherFault:
		return testResult{}, errOther
	case panicFault:
		panic("fault")
	case rejectedFault:
		for _, g := range b.Groups {
			for _, c := range g.Commands {
				if c%2 == 1 {
					return testResult{}, errRejected
				}
			}
		}
	}
	r := succeeded(b)
	for i, g := range b.Groups {
		if now == apartFault && len(b.Groups) > 1 && i%2 == 0 {
			r.Groups[i] = GroupResult[string]{Apart: true}
			continue
		}
		l.carryOut(g.Commands, r.Groups[i].Outcomes, now, b.Settling)
	}
	if now == unansweredFault {
		return testResult{}, errUnknown
	}
	return r, nil
}

func (l *ledger) carryOut(commands []int, outcomes []Outcome[string], now fault, settling bool) {
	for i, c := range commands {
		if now == undecidedFault && i%3 == 0 && !settling {
			outcomes[i] = Outcome[string]{Undecided: true}
			continue
		}
		if l.carried[c] == 0 || !settling {
			l.carried[c]++
		}
	}
}

// inspect checks a batch.
func (l *ledger) inspect(b *testBatch) {
	if len(b.Groups) > 1 {
		l.shared++
	}
	commands, isWrong := 0, len(b.Groups) == 0 || len(b.Groups) > 1 && b.Settling
	for _, g := range b.Groups {
		commands += len(g.Commands)
		isWrong = isWrong || len(g.Commands) == 0 || len(b.Groups) > 1 && !allShare(g.Commands)
	}
	if isWrong || commands > 50 {
		l.wrong = append(l.wrong, fmt.Sprint("batch ", b.Groups))
	}
}

func allShare(commands []int) bool {
	return !slices.ContainsFunc(commands, func(c int) bool { return !mayShare(c) })
}

// enter checks that a key has one commit at a time.
func (l *ledger) enter(key string) (leave func()) {
	set := func(on bool) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.inFlight[key] == on {
			l.wrong = append(l.wrong, "two commits of key "+key)
		}
		l.inFlight[key] = on
	}
	set(true)
	return func() { set(false) }
}

// check compares a caller's answer with the ledger.
func (l *ledger) check(command int, result string, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	times := l.carried[command]
	possible := false
	switch {
	case err == nil:
		possible = times == 1 && result == fmt.Sprint("ok ", command)
	case errors.Is(err, ErrUnknown):
		possible = times <= 1
	case errors.Is(err, ErrInFlight):
		possible = times <= 1 && l.orphaned[command] <= times
	default: // ErrNotStarted, ErrFull, or an error of Commit
		possible = times == 0
	}
	if !errors.Is(err, ErrInFlight) && l.orphaned[command] > 0 {
		possible = false
	}
	if !possible {
		return fmt.Errorf("command %d was carried out %d times, orphaned %d times, and its caller got %q, %w",
			command, times, l.orphaned[command], result, err)
	}
	return nil
}

// stampede submits n commands at once, some by callers that soon give up,
// and checks all answers.
func (l *ledger) stampede(n int, patience func(command int) time.Duration) error {
	q := l.queue()
	results, errs := make([]string, n), make([]error, n)
	var callers sync.WaitGroup
	for i := range n {
		callers.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience(i))
			defer cancel()
			results[i], errs[i] = q.Submit(ctx, fmt.Sprint(i%keys), i)
		})
	}
	callers.Wait()
	if err := q.Close(context.Background()); err != nil {
		return err
	}
	if q.InFlight() != 0 || q.lanes != 0 || q.waiting != 0 || len(q.ready) != 0 {
		return fmt.Errorf("after Close %d keys are in flight, %d lanes open, %d commands waiting and %d keys ready",
			q.InFlight(), q.lanes, q.waiting, len(q.ready))
	}
	var wrong error
	for i := range n {
		wrong = errors.Join(wrong, l.check(i, results[i], errs[i]))
	}
	for _, w := range l.wrong {
		wrong = errors.Join(wrong, errors.New(w))
	}
	return wrong
}

func TestStampede_PatientCallersAllGetTheirResults(t *testing.T) {
	t.Parallel()
	const tries = 50 // long lines share no commit: how many keys are ready at once depends on the scheduler
	for range tries {
		l := newLedger(func() fault { return noFault })
		if err := l.stampede(5000, func(int) time.Duration { return time.Hour }); err != nil {
			t.Error(err)
		}
		if len(l.carried) != 5000 {
			t.Errorf("%d commands are carried out, want all", len(l.carried))
		}
		if l.shared > 0 {
			return
		}
	}
	t.Errorf("no commit was shared in %d stampedes", tries)
}

func TestStampede_AnswersAgreeWithTheLedgerDespiteFaults(t *testing.T) {
	t.Parallel()
	l := newLedger(func() fault { return max(noFault, fault(rand.IntN(2*int(faults)))-faults) })
	err := l.stampede(3000, func(int) time.Duration { return time.Duration(rand.IntN(30_000)) * time.Microsecond })
	if err != nil {
		t.Error(err)
	}
}

// In any order of faults, the answers agree with the ledger.
func TestStampede_AnyFaults(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		plan := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) fault {
			return fault(rapid.IntRange(0, int(faults)-1).Draw(t, "fault"))
		}), 1, 20).Draw(t, "faults")
		patience := rapid.SliceOfN(rapid.IntRange(0, 3000), 1, 60).Draw(t, "patience in microseconds")
		i := -1
		l := newLedger(func() fault {
			if i++; i < len(plan) {
				return plan[i]
			}
			return noFault
		})
		if err := l.stampede(len(patience), func(c int) time.Duration {
			return time.Duration(patience[c]) * time.Microsecond
		}); err != nil {
			t.Fatal(err)
		}
	})
}
