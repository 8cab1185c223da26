package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Change is a committed change of a lock, a booking, an event or a seating plan: a CloudEvent.
type Change struct {
	ID       string          `json:"id"`       // the same in every list and at every delivery
	Type     string          `json:"type"`     // such as holdfast.lock.created
	Subject  string          `json:"subject"`  // such as locks/ and the lock's ID
	Sequence string          `json:"sequence"` // the subject's revision; a later change has no lower one
	Time     time.Time       `json:"time"`
	Data     json.RawMessage `json:"data"` // a Lock, ChangedBooking, Payment, Event, WaitlistEntry or SeatingPlan, right after the change
	Actor    string          `json:"actor"`
	Request  string          `json:"requestid"`
	Run      string          `json:"runid"`
}

// ChangedBooking is the data of a change of a booking. Previous is set by holdfast.booking.transferred, and by
// holdfast.booking.changed if the seats changed.
type ChangedBooking struct {
	Booking
	Previous *PreviousBooking `json:"previous"`
}

// PreviousBooking is what a change of a booking's seats or of its customer has replaced.
type PreviousBooking struct {
	Seats  int64   `json:"seats"`
	Places []Place `json:"places"`
	UserID string  `json:"userId"` // "" if a holder had the booking
	Holder string  `json:"holder"`
}

// ChangeFilter selects changes; an empty field selects all.
type ChangeFilter struct {
	EventID string
	Type    string // a type, or the beginning of types with * at its end
	// Subjects are events/, locks/, bookings/, payments/ or waitlist/ and an ID. Give EventID and Since too, or all changes are read.
	Subjects []string
	// Since and Until are not exact: changes of up to some minutes before or after are listed too.
	Since, Until time.Time
}

// ListChanges returns a page of changes behind a token, "" for the oldest ones that are kept, and the token of the
// next page. Keep the token: the last page has one too, from which to continue later, and no change is skipped. A page may be empty
// although more follow: continue until the token stays the same. It fails with ChangesGone if changes behind the token
// were removed. It needs a key with the scope admin.
func (c *Client) ListChanges(ctx context.Context, token string, f ChangeFilter) (changes []Change, next string, err error) {
	const pageSize = 500
	query := url.Values{"pageSize": {strconv.Itoa(pageSize)}}
	for name, value := range map[string]string{"pageToken": token, "eventId": f.EventID, "type": f.Type} {
		if value != "" {
			query.Set(name, value)
		}
	}
	for name, at := range map[string]time.Time{"since": f.Since, "until": f.Until} {
		if !at.IsZero() {
			query.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	if len(f.Subjects) > 0 {
		query["subject"] = f.Subjects
	}
	var page struct {
		Items []Change `json:"items"`
		Next  string   `json:"nextPageToken"`
	}
	_, err = c.call(ctx, request{method: http.MethodGet, path: "/api/changes", query: query}, &page)
	return page.Items, page.Next, err
}
