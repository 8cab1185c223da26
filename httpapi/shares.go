package httpapi

import (
	"net/http"
	"sync"

	"github.com/holdfast-dev/holdfast"
)

const (
	// defaultCustomerRequests is more than a browser sends at a time.
	defaultCustomerRequests = 32
	// defaultCustomerStreams is enough for a dozen pages with a map of seats.
	defaultCustomerStreams = 24
	// defaultCustomerAnswers is how many large answers one customer is sent at a time.
	defaultCustomerAnswers = 4
)

// shares limits what each customer uses at a time of something that is there for all callers, so that one
// token can't use up all of it. A key acts for all customers, so only the total limits it.
type shares struct {
	most int

	mu   sync.Mutex
	used map[holdfast.ID]int // by the ID of the token's customer, above 0
}

func newShares(most int) *shares { return &shares{most: most, used: map[holdfast.ID]int{}} }

// take counts one for the caller until free is called. Above the limit it refuses with codeTooMany.
func (s *shares) take(info *requestInfo, what string) (free func(), err error) {
	if info.scope != scopeCustomer {
		return func() {}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used[info.UserID] >= s.most {
		return nil, newProblem(http.StatusTooManyRequests, codeTooMany, "This customer has too many "+what+" at a time. End one, or retry later.")
	}
	s.used[info.UserID]++
	return func() { s.free(info.UserID) }, nil
}

func (s *shares) free(user holdfast.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used[user]--; s.used[user] == 0 {
		delete(s.used, user)
	}
}
