package seats

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/internal/fault"
)

// Customers tells which of some users there are not, each with its refusal.
// seats knows nothing else of users; nil means that everybody may come.
type Customers func(ctx context.Context, userIDs []ID) (unknown map[ID]error, err error)

// errStrangers says that a batch has requests of users that there are not. It
// never reaches a caller.
var errStrangers = fault.New("STRANGERS", "The batch has requests of unknown users.")

// askTime bounds a look-up, below the time of a transaction.
const askTime = 10 * time.Second

// lookUp is a question for the users of a batch, asked beside its transaction.
type lookUp struct {
	done    chan struct{}
	unknown map[ID]error
	err     error
}

// ask starts the look-up of a batch's users; nil if there is nobody to look for.
func (s *Service) ask(ctx context.Context, batch []*request) *lookUp {
	named := make(map[ID]bool, len(batch))
	for _, r := range batch {
		if r.take != nil {
			named[r.take.UserID] = true
		}
	}
	if s.customers == nil || len(named) == 0 {
		return nil
	}
	userIDs := make([]ID, 0, len(named))
	for id := range named {
		userIDs = append(userIDs, id)
	}
	l := &lookUp{done: make(chan struct{})}
	s.queues.committers.Go(func() { // which Close waits for; the caller is one
		defer close(l.done)
		ctx, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		l.unknown, l.err = s.customers(ctx, userIDs)
	})
	return l
}

// wait returns nil once all users are known to exist. A transaction asks before
// it ends.
func (l *lookUp) wait() error {
	if l == nil {
		return nil
	}
	<-l.done
	if l.err == nil && len(l.unknown) > 0 {
		return errStrangers
	}
	return l.err
}

// without splits a batch: the requests of unknown users are refused, the others
// go on.
func (l *lookUp) without(batch []*request) (others []*request, refusals []error) {
	refusals = make([]error, len(batch))
	for i, r := range batch {
		if r.take != nil && l.unknown[r.take.UserID] != nil {
			refusals[i] = l.unknown[r.take.UserID]
			continue
		}
		others = append(others, r)
	}
	return others, refusals
}
