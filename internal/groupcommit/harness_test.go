package groupcommit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

var (
	errUnknown  = errors.New("no answer from the database")
	errRejected = errors.New("document fails validation")
	errOther    = errors.New("not primary")
)

// discard is the log of tests that do not read it.
var discard = slog.New(slog.DiscardHandler)

type (
	testQueue   = Queue[string, int, string]
	testOptions = Options[string, int, string]
	testBatch   = Batch[string, int]
	testResult  = Committed[string]
)

// newQueue returns a queue on the test's clock.
func newQueue(o testOptions) *testQueue {
	o.Now = time.Now
	return New(o)
}

// harness is a queue in a synctest bubble. Its commits wait until the test replies.
type harness struct {
	t     *testing.T
	queue *testQueue
	calls chan *call
	log   bytes.Buffer
}

// withHarness runs a test in a bubble, which fails if a goroutine does not end.
func withHarness(t *testing.T, o testOptions, test func(*harness)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &harness{t: t, calls: make(chan *call)}
		if o.Commit == nil {
			o.Commit = s.commit
		}
		o.IsUnknown = func(err error) bool { return errors.Is(err, errUnknown) }
		o.Log = slog.New(slog.NewTextHandler(&s.log, nil))
		s.queue = newQueue(o)
		test(s)
		synctest.Wait()
		if n := s.queue.InFlight(); n != 0 {
			t.Errorf("%d keys are still in flight at the end", n)
		}
	})
}

func (s *harness) commit(ctx context.Context, b *testBatch) (testResult, error) {
	c := &call{batch: b, reply: make(chan reply), ended: ctx.Err, deadline: ctx.Deadline}
	s.calls <- c
	r := <-c.reply
	if r.panics != nil {
		panic(r.panics)
	}
	return r.committed, r.err
}

// next returns the next call of Commit.
func (s *harness) next() *call {
	s.t.Helper()
	synctest.Wait()
	select {
	case c := <-s.calls:
		return c
	default:
		s.t.Fatal("Commit is not called")
		return nil
	}
}

// nextIs returns the next call of Commit, which must carry these commands.
func (s *harness) nextIs(commands ...int) *call {
	s.t.Helper()
	c := s.next()
	if got := c.batch.Groups[0].Commands; !slices.Equal(got, commands) {
		s.t.Fatalf("the batch is %v, want %v", got, commands)
	}
	return c
}

// noCall fails if Commit is called.
func (s *harness) noCall() {
	s.t.Helper()
	synctest.Wait()
	select {
	case c := <-s.calls:
		s.t.Fatalf("Commit is called with %v", c.batch.Groups)
	default:
	}
}

// submit submits a command. It returns once the command waits, is in flight or is answered.
func (s *harness) submit(key string, command int) *caller {
	ctx, cancel := context.WithCancel(s.t.Context())
	c := &caller{t: s.t, giveUp: cancel, done: make(chan struct{})}
	go func() {
		defer cancel()
		defer close(c.done)
		c.result, c.err = s.queue.Submit(ctx, key, command)
	}()
	synctest.Wait()
	return c
}

// caller is a call of Submit.
type caller struct {
	t      *testing.T
	giveUp context.CancelFunc
	done   chan struct{}
	result string
	err    error
}

func (c *caller) wantNoAnswer() {
	c.t.Helper()
	synctest.Wait()
	select {
	case <-c.done:
		c.t.Fatalf("answered with %q, %v", c.result, c.err)
	default:
	}
}

func (c *caller) wantResult(want string) {
	c.t.Helper()
	if <-c.done; c.result != want || c.err != nil {
		c.t.Errorf("got %q, %v, want %q", c.result, c.err, want)
	}
}

// wantError checks that the error is or wraps each wanted one.
func (c *caller) wantError(want ...error) {
	c.t.Helper()
	<-c.done
	for _, w := range want {
		if !errors.Is(c.err, w) {
			c.t.Errorf("got error %v, want %v", c.err, w)
		}
	}
	if c.result != "" {
		c.t.Errorf("got result %q with an error", c.result)
	}
}

// call is a call of Commit that waits for its reply.
type call struct {
	batch    *testBatch
	reply    chan reply
	ended    func() error             // of Commit's context
	deadline func() (time.Time, bool) // of Commit's context
}

type reply struct {
	committed testResult
	err       error
	panics    any
}

func (c *call) fail(err error)      { c.reply <- reply{err: err} }
func (c *call) panic(p any)         { c.reply <- reply{panics: p} }
func (c *call) succeed()            { c.reply <- reply{committed: succeeded(c.batch)} }
func (c *call) answer(r testResult) { c.reply <- reply{committed: r} }
func (c *call) undecided(indexes ...int) {
	r := succeeded(c.batch)
	for _, i := range indexes {
		r.Groups[0].Outcomes[i] = Outcome[string]{Undecided: true}
	}
	c.answer(r)
}

// succeeded has the result "ok N" for each command N.
func succeeded(b *testBatch) testResult {
	var r testResult
	for _, g := range b.Groups {
		outcomes := make([]Outcome[string], len(g.Commands))
		for i, c := range g.Commands {
			outcomes[i].Result = fmt.Sprint("ok ", c)
		}
		r.Groups = append(r.Groups, GroupResult[string]{Outcomes: outcomes})
	}
	return r
}
