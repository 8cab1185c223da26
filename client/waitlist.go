package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// WaitlistEntry is a customer's place on the waiting list of an event.
type WaitlistEntry struct {
	ID      string `json:"id"`
	EventID string `json:"eventId"`
	UserID  string `json:"userId"` // "" if a holder has the entry
	Holder  string `json:"holder"`
	EntryWish
	Status    string    `json:"status"`   // WAITING, OFFERED, ACCEPTED, DECLINED, EXPIRED, LEFT, CLOSED
	Position  int64     `json:"position"` // 1 for the first that is WAITING; 0 if the entry does not wait
	LockID    string    `json:"lockId"`   // of the offer: GetLock returns its seats and its end
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
	ShopData
}

// EntryWish is what an entry waits for: a number of seats and, in an event with a seating plan, which ones, as in BestAvailable.
// A section of general admission has only Seats with it.
type EntryWish struct {
	Seats           int64    `json:"seats"`                // 1 to 50
	Categories      []string `json:"categories,omitempty"` // keys, the preferred one first; nil means all
	Section         string   `json:"section,omitempty"`    // key of the only section
	AccessibleSeats int64    `json:"accessibleSeats,omitempty"`
	Adjacent        string   `json:"adjacent,omitempty"` // AdjacentRequired or AdjacentPreferred, the default
}

// JoinRequest describes an entry for JoinWaitlist.
type JoinRequest struct {
	EventID, UserID string
	Holder          string // in place of UserID
	EntryWish
	ShopData
}

// JoinWaitlist returns the customer's place on the waiting list of an event. If the customer has an open entry with the same wish,
// it is that one, so the call may be repeated. It fails with EntryExists if the open entry has another wish, EventNotOnSale,
// WaitlistClosed, SeatLimitReached, SeatsStillAvailable if AcquireLock would get the seats now, or WaitlistFull.
func (c *Client) JoinWaitlist(ctx context.Context, r JoinRequest) (e WaitlistEntry, err error) {
	body := map[string]any{"seats": r.Seats}
	setCustomer(body, r.UserID, r.Holder)
	if r.Categories != nil {
		body["categories"] = r.Categories
	}
	if r.AccessibleSeats != 0 {
		body["accessibleSeats"] = r.AccessibleSeats
	}
	for field, text := range map[string]string{"section": r.Section, "adjacent": r.Adjacent} {
		if text != "" {
			body[field] = text
		}
	}
	r.addTo(body)
	_, err = c.call(ctx, request{method: http.MethodPost, path: waitlistPath(r.EventID), body: body}, &e)
	return e, err
}

func waitlistPath(event string) string { return "/api/events/" + url.PathEscape(event) + "/waitlist" }

// GetEntry returns an entry of a waiting list.
func (c *Client) GetEntry(ctx context.Context, id string) (WaitlistEntry, error) {
	return get[WaitlistEntry](ctx, c, "/api/waitlist/", id)
}

// EntryFilter selects entries of a waiting list; see Filter.
type EntryFilter struct{ UserID, Holder, Status *string }

// ListEntries iterates over the entries of an event's waiting list in their order, as ListEvents does.
func (c *Client) ListEntries(ctx context.Context, eventID string, f EntryFilter) iter.Seq2[WaitlistEntry, error] {
	return listBy[WaitlistEntry](ctx, c, waitlistPath(eventID), map[string]*string{
		"userId": f.UserID, "holder": f.Holder, "status": f.Status,
	})
}

// DeclineEntry gives an offer back: its lock is released, and its open booking is cancelled. It fails with NotOffered if the entry
// still waits, LockExpired if the offer has ended, LockConsumed if it was bought, LockReleased if the customer has left, or
// WaitlistClosed.
func (c *Client) DeclineEntry(ctx context.Context, id string) (WaitlistEntry, error) {
	return post[WaitlistEntry](ctx, c, "/api/waitlist/", id, "/decline", nil)
}

// LeaveWaitlist ends an entry that waits, or gives its offer back as DeclineEntry does.
func (c *Client) LeaveWaitlist(ctx context.Context, id string) (e WaitlistEntry, err error) {
	_, err = c.call(ctx, request{method: http.MethodDelete, path: "/api/waitlist/" + url.PathEscape(id)}, &e)
	return e, err
}
