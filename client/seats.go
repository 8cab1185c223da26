package client

import (
	"context"
	"net/http"
	"net/url"
)

// Place is where a seat of a lock or a booking is. Of general admission it has Section and Category
// alone.
type Place struct {
	SeatID   string `json:"seatId"`
	Section  string `json:"section"` // its key
	Row      string `json:"row"`     // its label
	Label    string `json:"label"`
	Category string `json:"category"` // its key
}

// SeatIDs returns the IDs of the lock's numbered seats, in plan order; nil if it has none.
func (l Lock) SeatIDs() []string { return seatIDs(l.Places) }

// Section returns the key of the section of a lock of general admission; "" for any other lock.
func (l Lock) Section() string { return generalSection(l.Places) }

// SeatIDs returns the IDs of the booking's numbered seats, in plan order; nil if it has none.
func (b Booking) SeatIDs() []string { return seatIDs(b.Places) }

// Section returns the key of the section of a booking of general admission; "" for any other booking.
func (b Booking) Section() string { return generalSection(b.Places) }

func seatIDs(places []Place) (ids []string) {
	for _, p := range places {
		if p.SeatID != "" {
			ids = append(ids, p.SeatID)
		}
	}
	return ids
}

func generalSection(places []Place) string {
	if len(places) == 1 && places[0].SeatID == "" {
		return places[0].Section
	}
	return ""
}

// Wish is the request of ChangeSeats, ChangeBookingSeats and SellSeats for seats. It must have exactly one form: Seats of an
// event without a seating plan; SeatIDs; BestAvailable; or Section with Seats, for general admission.
type Wish struct {
	Seats           int64
	SeatIDs         []string // 1 to 50
	AccessibleSeats int64    // number of accessible seats among SeatIDs, which are locked only when they are asked for
	BestAvailable   *BestAvailable
	Section         string // key
}

// Values of BestAvailable.Adjacent.
const (
	AdjacentRequired  = "REQUIRED"
	AdjacentPreferred = "PREFERRED"
)

// BestAvailable leaves the choice of seats to the engine. All of them are of one category.
type BestAvailable struct {
	Seats           int64    `json:"seats"`                     // 1 to 50
	Categories      []string `json:"categories,omitempty"`      // keys, the preferred one first; default: the plan's order
	Section         string   `json:"section,omitempty"`         // key of the only section; default: any
	AccessibleSeats int64    `json:"accessibleSeats,omitempty"` // exact number of accessible seats
	Adjacent        string   `json:"adjacent,omitempty"`        // default: PREFERRED
}

// addTo adds the wish to the body of a request. A wish of several forms is sent as it is: the API refuses it.
func (w Wish) addTo(body map[string]any) {
	if w.SeatIDs != nil {
		body["seatIds"] = w.SeatIDs
	}
	if w.AccessibleSeats != 0 {
		body["accessibleSeats"] = w.AccessibleSeats
	}
	if w.BestAvailable != nil {
		body["bestAvailable"] = w.BestAvailable
	}
	if w.Section != "" {
		body["section"] = w.Section
	}
	if w.Seats != 0 || w.SeatIDs == nil && w.BestAvailable == nil {
		body["seats"] = w.Seats
	}
}

// ChangeSeats replaces the seats of an ACTIVE lock that has no booking, and returns the lock. The lock gets
// the whole wish, or stays as it is; its expiry does not change, and its old seats count as free. It fails
// with SeatsUnavailable, SeatsNotAdjacent or SeatOrphaned as AcquireLock does. Repeats have the same effect;
// of the calls of several callers, the last one that was executed counts.
func (c *Client) ChangeSeats(ctx context.Context, lockID string, w Wish) (l Lock, err error) {
	body := map[string]any{}
	w.addTo(body)
	path := inEvent(c.event, "/locks/") + url.PathEscape(lockID) + "/seats"
	_, err = c.call(ctx, request{method: http.MethodPut, path: path, body: body}, &l)
	return l, err
}
