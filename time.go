package holdfast

import "time"

// Until is a requested time: absolute, or a duration from now by the database's clock.
// Both zero: no time was requested.
type Until struct {
	At  time.Time
	For time.Duration
}

// IsZero reports whether no time was requested.
func (u Until) IsZero() bool { return u.At.IsZero() && u.For == 0 }

// From is the absolute time of the request at now, in whole milliseconds.
func (u Until) From(now time.Time) time.Time {
	if !u.At.IsZero() {
		return u.At.UTC().Truncate(time.Millisecond)
	}
	return now.Add(u.For)
}

// Fields says which time of a request is meant. A refusal names its fields.
type Fields int

// The times in requests for locks and for bookings.
const (
	LockFields    Fields = iota // expiresAt, ttlSeconds
	PaymentFields               // paymentExpiresAt, paymentTtlSeconds
)

// names returns the names of the fields for an absolute time and for a duration.
func (f Fields) names() (at, duration string) {
	if f == PaymentFields {
		return "paymentExpiresAt", "paymentTtlSeconds"
	}
	return "expiresAt", "ttlSeconds"
}

// Check refuses two times at once, a negative duration, or a duration beyond longest.
func (u Until) Check(f Fields, longest time.Duration) error {
	at, duration := f.names()
	switch {
	case u.For < 0:
		return RefuseInput("body."+duration, "A duration is above 0.")
	case u.For > 0 && !u.At.IsZero():
		return RefuseInput("body."+duration, "Give %s or %s, not both.", at, duration)
	case u.For > longest:
		return u.TooLate(f, longest)
	default:
		return nil
	}
}

// TooLate refuses a time beyond the maximum, and names the field.
func (u Until) TooLate(f Fields, longest time.Duration) error {
	at, field := f.names()
	if !u.At.IsZero() {
		field = at
	}
	return RefuseInput("body."+field, "The time is too far ahead: at most %v.", longest)
}

// Page asks for a part of a list, which is ordered by ID.
type Page struct {
	Size  int    // 1 to MaxPageSize; 0 means DefaultPageSize
	Token string // "" for the first page, otherwise the token from the last page
}

// Bounds of a page.
const (
	DefaultPageSize = 50
	MaxPageSize     = 500
)
