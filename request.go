package holdfast

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Until is a requested time: absolute, or a duration from now by the database's clock.
// If both are zero, no time was requested.
type Until struct {
	At  time.Time
	For time.Duration
	// Ahead refuses a time that has passed by the database's clock. Otherwise such a time
	// is accepted, and the lock or booking is due at once.
	Ahead bool
}

// IsZero reports whether no time was requested.
func (u Until) IsZero() bool { return u.At.IsZero() && u.For == 0 }

// From is the absolute time of the request at now, in whole milliseconds.
func (u Until) From(now time.Time) time.Time {
	if !u.At.IsZero() {
		return Instant(u.At)
	}
	return now.Add(u.For)
}

// Instant is a time in UTC, in the whole milliseconds that MongoDB keeps. Go's zero time means that there is none, so the
// first instant of the year 1 is kept a nanosecond later.
func Instant(t time.Time) time.Time {
	if whole := t.UTC().Truncate(time.Millisecond); t.IsZero() || !whole.IsZero() {
		return whole
	}
	return time.Time{}.Add(1)
}

// Fields names the fields of a time in a request, for refusals.
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
		return RefuseInput("body."+duration, "%s must be greater than 0.", duration)
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
	return RefuseInput("body."+at, "The time has passed. Give a later time.")
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
	return RefuseInput(where, "The time must be within the years 1 to 9999 in UTC.")
}

// TooLate refuses a time beyond the maximum, and names the field.
func (u Until) TooLate(f Fields, longest time.Duration) error {
	at, field := f.names()
	if !u.At.IsZero() {
		field = at
	}
	return RefuseInput("body."+field, "The time is too far ahead. The maximum is %v.", longest)
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

// Lengths of text in characters. Every text is UTF-8 without control characters.
const (
	MaxNameLength      = 200
	MaxEmailLength     = 254
	MaxKeyLength       = 200 // of an idempotency key
	MaxReferenceLength = 200 // of a payment or a refund
	MaxPartLength      = 100 // of a payment
	MaxProviderLength  = 64  // of a payment
)

// CheckText refuses text that is too long, is not UTF-8, or has control characters, also those that change the direction of
// the text after them, by which a name can look like another one; where is its field.
func CheckText(where, text string, most int) error {
	switch {
	case !utf8.ValidString(text):
		return RefuseInput(where, "The text must be valid UTF-8.")
	case len(text) > most && utf8.RuneCountInString(text) > most:
		return RefuseInput(where, "The text must have at most %d characters.", most)
	case strings.ContainsFunc(text, isControl):
		return RefuseInput(where, "The text must not have control characters.")
	default:
		return nil
	}
}

// isControl reports whether a character is a control character, or an embedding, override or isolate of the bidirectional
// algorithm (Unicode, UAX #9).
func isControl(r rune) bool {
	return unicode.IsControl(r) || '\u202a' <= r && r <= '\u202e' || '\u2066' <= r && r <= '\u2069'
}

// CheckReference is CheckText for a name of a payment provider. It refuses blanks at the ends, because a
// copy without them would be another name.
func CheckReference(where, text string, most int) error {
	if strings.TrimSpace(text) != text {
		return RefuseInput(where, "The text must not begin or end with blanks.")
	}
	return CheckText(where, text, most)
}

// CheckName refuses a name that no user and no event can have.
func CheckName(where, name string) error {
	if strings.TrimSpace(name) == "" {
		return RefuseInput(where, "name must not be blank.")
	}
	return CheckText(where, name, MaxNameLength)
}

// CheckEmail refuses what is not an address, and an address with a display name.
func CheckEmail(where, email string) error {
	if err := CheckText(where, email, MaxEmailLength); err != nil {
		return err
	}
	if address, err := mail.ParseAddress(email); err != nil || address.Address != email {
		return RefuseInput(where, "The text is not a valid email address. Give the address alone, such as ada@example.com.")
	}
	return nil
}

// checkFilter refuses a filter that nothing can match, because it is a mistake of the caller. To ignore it
// would return documents that the caller did not ask for.
func checkFilter[S ~string](event, user *ID, holder string, status S, statuses []S) error {
	if err := checkFilterID("query.eventId", event); err != nil {
		return err
	}
	if err := checkFilterID("query.userId", user); err != nil {
		return err
	}
	if holder != "" && user != nil {
		return RefuseInput("query.holder", "Give userId or holder, not both.")
	}
	if holder != "" {
		if err := checkHolderText("query.holder", holder); err != nil {
			return err
		}
	}
	if status != "" && !slices.Contains(statuses, status) {
		return RefuseInput("query.status", "The status is not valid. Use one of %v.", statuses)
	}
	return nil
}

func checkFilterID(where string, id *ID) error {
	if id != nil && id.IsZero() {
		return RefuseInput(where, "The ID must not be all zeros. Give another ID, or leave the filter out.")
	}
	return nil
}

// CreationKey is the idempotency key of a request that creates a user, an event, a seating plan or a
// webhook. It is kept for 24 h, and names one request of its caller. Two callers may use the same key.
type CreationKey struct {
	Caller string // such as the name of an API key
	Key    string // "" for none
}

func requestHash(format string, values ...any) string {
	return hashOf(fmt.Appendf(nil, format, values...))
}

func hashOf(text []byte) string {
	const hashBytes = 16
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:hashBytes])
}
