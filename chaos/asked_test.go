package chaos_test

import (
	"context"
	"errors"
	"net/http"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/client"
)

// asked is one request with all its answers but the last, which is definite.
type asked struct {
	move
	reply
	send  func(context.Context, *client.Client) (reply, error)
	what  string // of it, for people
	key   string
	twin  bool    // the same request is under way twice
	calls []int64 // when it was asked without an answer: it may have been done, or not
}

// ask asks until the answer is definite, and records it.
func (c *crowd) ask(side int, a asked) reply {
	deadline := time.Now().Add(enough)
	for ; ; side++ {
		called := time.Now().UnixMilli()
		ctx, cancel := context.WithTimeout(context.Background(), askTime)
		got, err := a.send(ctx, c.apis[side%len(c.apis)])
		cancel()
		returned := time.Now().UnixMilli()
		if refused := (*client.Error)(nil); err == nil || errors.As(err, &refused) && !isIndefinite(refused) {
			a.reply = got
			a.called, a.returned = called, returned
			c.note(a, refused)
			return a.reply
		}
		if !surelyNot(err) {
			a.calls = append(a.calls, called)
		}
		c.mu.Lock()
		c.attempts++
		c.mu.Unlock()
		if time.Now().After(deadline) {
			c.broke("answers", "%s %s had no definite answer within %v: last %v", a.deed, a.what, enough, err)
			return reply{code: "NONE"}
		}
		pause(context.Background(), retryWait)
	}
}

func isIndefinite(refused *client.Error) bool {
	return refused.Status == http.StatusServiceUnavailable || refused.Status == http.StatusBadGateway
}

// surelyNot reports whether what had no answer was not done either.
func surelyNot(err error) bool {
	var refused *client.Error
	if !errors.As(err, &refused) {
		return errors.Is(err, syscall.ECONNREFUSED)
	}
	return refused.Status == http.StatusBadGateway || refused.Code == client.Unavailable
}

// replies in the model's words.

func refusal(err error) (r reply, _ error) {
	if err != nil {
		r.code = "NO CODE"
		if refused := (*client.Error)(nil); errors.As(err, &refused) && refused.Code != "" {
			r.code, r.available = string(refused.Code), refused.Available
		}
	}
	return r, err
}

func lockReply(l client.Lock, err error) (reply, error) {
	if err != nil {
		return refusal(err)
	}
	return reply{id: l.ID, status: l.Status, expires: l.ExpiresAt.UnixMilli(), replayed: l.Replayed}, nil
}

func bookingReply(b client.Booking, err error) (reply, error) {
	if err != nil {
		return refusal(err)
	}
	return reply{id: b.ID, status: b.Status}, nil
}

func eventReply(e client.Event, err error) (reply, error) {
	if err != nil {
		return refusal(err)
	}
	return reply{id: e.ID, status: e.Status}, nil
}
