package peers

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/groupcommit"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// unconnected is a session without a connection. abandoned receives what becomes of callers that gave up.
func unconnected() (s *session, abandoned chan inventory.Result) {
	abandoned = make(chan inventory.Result, 10)
	return newSession(func(_ *request, r inventory.Result) { abandoned <- r }, clock.System), abandoned
}

// giveUpOn asks, and gives up once the command was sent.
func giveUpOn(t *testing.T, s *session) (id int64) {
	t.Helper()
	ctx, giveUp := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.ask(ctx, &request{Acquire: &inventory.Acquire{LockID: holdfast.ID{9}}})
		done <- err
	}()
	id = (<-s.out).ID
	if got := s.waiting([]int64{id, id + 1}); len(got) != 1 || got[0] != id {
		t.Errorf("%v wait", got)
	}
	giveUp()
	if err := <-done; !errors.Is(err, groupcommit.ErrInFlight) {
		t.Errorf("got %v", err)
	}
	if got := s.waiting([]int64{id}); len(got) != 0 {
		t.Errorf("a caller that gave up waits: %v", got)
	}
	if m := <-s.out; m.ID != id || !m.GaveUp {
		t.Errorf("the owner is told %+v", m)
	}
	return id
}

// What arrives for a caller that has given up is told, so that its seats can be released.
func TestSession_TellsTheResultsOfAbandonedCommands(t *testing.T) {
	t.Parallel()
	s, abandoned := unconnected()
	s.deliver(giveUpOn(t, s), &reply{Lock: &holdfast.Lock{ID: holdfast.ID{9}}})
	if r := <-abandoned; r.Lock == nil || r.Lock.ID != (holdfast.ID{9}) || r.Err != nil {
		t.Errorf("got %+v", r)
	}
	s.deliver(giveUpOn(t, s), &reply{NotTaken: true})
	giveUpOn(t, s)
	s.fail()
	if r := <-abandoned; !errors.Is(r.Err, errLost) {
		t.Errorf("got %+v", r)
	}
	if len(abandoned) > 0 {
		t.Errorf("more was told: %+v", <-abandoned)
	}
}

// Callers that wait when a session ends are told that there is no answer; later ones, that nothing was sent.
func TestSession_EndsForAll(t *testing.T) {
	t.Parallel()
	s, abandoned := unconnected()
	done := make(chan error, 1)
	go func() {
		_, err := s.ask(t.Context(), &request{})
		done <- err
	}()
	<-s.out
	s.fail()
	if err := <-done; !errors.Is(err, errLost) {
		t.Errorf("got %v", err)
	}
	if _, err := s.ask(t.Context(), &request{}); !errors.Is(err, errNotTaken) || len(abandoned) > 0 {
		t.Errorf("got %v", err)
	}
}

// Commands that could not be sent soon are not taken, and not remembered.
func TestSession_TakesWhatItCanSend(t *testing.T) {
	t.Parallel()
	s, _ := unconnected()
	for range cap(s.out) {
		s.out <- toOwner{}
	}
	if _, err := s.ask(t.Context(), &request{}); !errors.Is(err, errNotTaken) || s.isBusy() {
		t.Errorf("got %v, busy: %v", err, s.isBusy())
	}
}

// An envelope has what is ready, and not more than it may.
func TestSeal_HasABound(t *testing.T) {
	t.Parallel()
	ready := make(chan int, 3*maxMessages)
	for i := range 2 * maxMessages {
		ready <- i + 1
	}
	if e := seal(0, ready); len(e.Messages) != maxMessages || e.Messages[maxMessages-1] != maxMessages-1 {
		t.Errorf("%d messages, the last is %d", len(e.Messages), e.Messages[len(e.Messages)-1])
	}
	for len(ready) > 0 {
		<-ready
	}
	if e := seal(7, ready); len(e.Messages) != 1 {
		t.Errorf("%v", e.Messages)
	}
}

// A process that does not say in time which callers wait has none that do, and its session ends. Nor is it waited for if nothing
// can be sent to it.
func TestClient_ThatIsSilentHasNoCallers(t *testing.T) {
	t.Parallel()
	for name, isFull := range map[string]bool{"no answer": false, "nothing can be sent": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			c := newClient(nil, ctx.Done(), cancel)
			for isFull && len(c.out) < cap(c.out) {
				c.out <- toClient{}
			}
			began := time.Now()
			if got := c.Waiting([]int64{1}); got != nil || time.Since(began) < waitingTimeout || ctx.Err() == nil || len(c.questions) > 0 {
				t.Errorf("got %v after %v; ended: %v", got, time.Since(began), ctx.Err())
			}
			if got := c.Waiting([]int64{1}); got != nil {
				t.Errorf("after the end: %v", got)
			}
		})
	}
}

// An answer belongs to its question.
func TestClient_AnswersBelongToTheirQuestions(t *testing.T) {
	t.Parallel()
	c := newClient(nil, make(chan struct{}), func() {})
	go func() {
		m := <-c.out
		c.receiveAnswer(m.ID+1, []int64{8})
		c.receiveAnswer(m.ID, m.Question)
	}()
	if got := c.Waiting([]int64{3, 4}); len(got) != 2 {
		t.Errorf("got %v", got)
	}
}
