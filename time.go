package holdfast

import "time"

// Until is a time as a client asks for it: an absolute one, or a duration from now
// by the database's clock. Both zero: the client asked for none.
type Until struct {
	At  time.Time
	For time.Duration
}

// IsZero reports whether the client asked for no time.
func (u Until) IsZero() bool { return u.At.IsZero() && u.For == 0 }

// From is the time that is meant, reckoned from now, in whole milliseconds.
func (u Until) From(now time.Time) time.Time {
	if !u.At.IsZero() {
		return u.At.UTC().Truncate(time.Millisecond)
	}
	return now.Add(u.For)
}

// Fields are the two names of a time in requests.
type Fields struct{ At, For string }

// The names in requests for locks and bookings.
var (
	LockFields    = Fields{At: "expiresAt", For: "ttlSeconds"}
	PaymentFields = Fields{At: "paymentExpiresAt", For: "paymentTtlSeconds"}
)

// Check refuses a time that can't be meant, or a duration beyond longest.
func (u Until) Check(f Fields, longest time.Duration) error {
	switch {
	case u.For < 0:
		return RefuseInput("body."+f.For, "A duration is above 0.")
	case u.For > 0 && !u.At.IsZero():
		return RefuseInput("body."+f.For, "Give %s or %s, not both.", f.At, f.For)
	case u.For > longest:
		return u.TooLate(f, longest)
	default:
		return nil
	}
}

// TooLate refuses a time beyond a cap, and names the field.
func (u Until) TooLate(f Fields, longest time.Duration) error {
	field := f.For
	if !u.At.IsZero() {
		field = f.At
	}
	return RefuseInput("body."+field, "The time is too far ahead: at most %v.", longest)
}

// Page asks for a part of a list, which is ordered by ID.
type Page struct {
	Size  int    // 1 to MaxPageSize; 0 means DefaultPageSize
	Token string // "" for the first page, else the token that came with the page before
}

// Bounds of a page.
const (
	DefaultPageSize = 50
	MaxPageSize     = 500
)
