package holdfast

import "time"

// Until is a requested time: absolute, or a duration from now by the database's clock.
// Both zero: no time was requested.
type Until struct {
	At  time.Time
	For time.Duration
	// Ahead refuses a time that has passed by the database's clock. Otherwise such a time
	// is accepted, and what it is for is due at once.
	Ahead bool
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

// Check refuses two times at once, a negative duration, a duration beyond longest, or a time
// that can't be written in RFC 3339.
func (u Until) Check(f Fields, longest time.Duration) error {
	at, duration := f.names()
	switch {
	case u.For < 0:
		return RefuseInput("body."+duration, "A duration is above 0.")
	case u.For > 0 && !u.At.IsZero():
		return RefuseInput("body."+duration, "Give %s or %s, not both.", at, duration)
	case u.For > longest:
		return u.TooLate(f, longest)
	case !isWritable(u.At):
		return refuseYear("body." + at)
	default:
		return nil
	}
}

// Passed refuses a time that has passed at now, by the database's clock, if the request
// must name one ahead of it.
func (u Until) Passed(f Fields, now time.Time) error {
	if !u.Ahead || u.At.IsZero() || u.At.After(now) {
		return nil
	}
	at, _ := f.names()
	return RefuseInput("body."+at, "The time has passed. Give a later one.")
}

// CheckTime refuses a time that can't be written in RFC 3339; where is its field.
func CheckTime(where string, t time.Time) error {
	if !isWritable(t) {
		return refuseYear(where)
	}
	return nil
}

// isWritable reports whether RFC 3339 has a form for the time in UTC.
func isWritable(t time.Time) bool {
	year := t.UTC().Year()
	return 1 <= year && year <= 9999
}

func refuseYear(where string) *Error {
	return RefuseInput(where, "A time is within the years 1 to 9999, in UTC.")
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
