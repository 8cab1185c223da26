package holdfast

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// CreationKey is the idempotency key of a request that creates a user or an event. It is
// kept for 24 h. Two callers may use the same key.
type CreationKey struct {
	Caller string // such as the name of an API key
	Key    string // "" for none
}

// Hash is different for different requests with one idempotency key.
func (n NewEvent) Hash() string {
	hash := requestHash("%q|%d|%d|%d|%s", n.Name, n.TotalSeats, n.EventDate.UnixMilli(), n.MaxSeatsPerUser, n.ID)
	if s := n.Seating; s != (Seating{}) {
		hash = requestHash("%s|%s|%s|%s", hash, s.PlanID, s.OrphanRule, s.AccessiblePolicy)
	}
	if l := n.LatePayments; l != nil {
		hash = requestHash("%s|late|%s|%d", hash, l.Policy, l.Seconds)
	}
	if len(n.Sections) > 0 {
		hash = requestHash("%s|sections|%q", hash, fmt.Sprint(n.Sections))
	}
	return hash
}

// Hash is different for different requests with one idempotency key.
func (n NewUser) Hash() string { return requestHash("%q|%q", n.Name, n.Email) }

func requestHash(format string, values ...any) string {
	return hashOf(fmt.Appendf(nil, format, values...))
}

func hashOf(text []byte) string {
	const hashBytes = 16
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:hashBytes])
}
