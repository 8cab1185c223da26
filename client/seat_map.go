package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
)

// SeatMap has the taken seats of an event with a seating plan. It does not distinguish held, sold and blocked
// seats.
type SeatMap struct {
	EventID    string          `json:"-"`
	Rev        int64           `json:"rev"`      // the event's revision; it rises with every change
	Sections   []SectionSeats  `json:"sections"` // in plan order
	Categories []CategorySeats `json:"categories"`

	keys []string // keys of the sections that were asked for; nil means all
	etag string
}

// SectionSeats is a section of a SeatMap.
type SectionSeats struct {
	Key       string `json:"key"`
	Total     int64  `json:"total"`
	Available int64  `json:"available"`
	Oversold  int64  `json:"oversold"` // places taken beyond the capacity
	// Bitmap has one bit for each seat of the rows, in plan order, the highest bit first; see Taken. It is nil
	// for general admission.
	Bitmap []byte `json:"bitmap"`
}

// CategorySeats is a category of a SeatMap, in the whole event.
type CategorySeats struct {
	Key       string `json:"key"`
	Total     int64  `json:"total"`
	Available int64  `json:"available"`
}

// Taken reports whether a seat is not available. Seats are counted from 0 in plan order, without gaps, as
// Section.AllSeats does. A seat beyond the section is taken.
func (s SectionSeats) Taken(seat int) bool {
	if seat < 0 || int64(seat) >= s.Total || seat/8 >= len(s.Bitmap) {
		return true
	}
	return s.Bitmap[seat/8]&(0x80>>(seat%8)) != 0
}

// Section returns a section by its key. It returns false if the map does not have the section.
func (m SeatMap) Section(key string) (SectionSeats, bool) {
	for _, s := range m.Sections {
		if s.Key == key {
			return s, true
		}
	}
	return SectionSeats{}, false
}

// AllSeats iterates over the seats of a section's rows without the gaps, each with its number in the
// section, from 0. The plan must be written out, as GetSeatingPlan returns it.
func (s Section) AllSeats() iter.Seq2[int, *Seat] {
	return func(yield func(int, *Seat) bool) {
		n := 0
		for _, row := range s.Rows {
			for _, seat := range row.Seats {
				if seat == nil {
					continue
				}
				if !yield(n, seat) {
					return
				}
				n++
			}
		}
	}
}

// GetSeatMap returns the taken seats of an event with a seating plan. If sections are given, it has only the
// sections with these keys.
func (c *Client) GetSeatMap(ctx context.Context, eventID string, sections ...string) (SeatMap, error) {
	fresh, _, err := c.RefreshSeatMap(ctx, SeatMap{EventID: eventID, keys: sections})
	return fresh, err
}

// RefreshSeatMap returns a map that GetSeatMap or RefreshSeatMap has returned before, as it is now. If
// nothing has changed since, the answer is short, and changed is false. After an error, the map is the previous
// one.
func (c *Client) RefreshSeatMap(ctx context.Context, m SeatMap) (fresh SeatMap, changed bool, err error) {
	query := url.Values{}
	for _, key := range m.keys {
		query.Add("section", key)
	}
	header, err := c.call(ctx, request{
		method: http.MethodGet, path: "/api/events/" + url.PathEscape(m.EventID) + "/seats", query: query, etag: m.etag,
	}, &fresh)
	if err != nil || fresh.Sections == nil { // not modified
		return m, false, err
	}
	fresh.EventID, fresh.keys, fresh.etag = m.EventID, m.keys, header.Get("ETag")
	return fresh, true, nil
}

// The states of a SeatHolder. A seat under a due lock is AVAILABLE.
const (
	SeatAvailable = "AVAILABLE"
	SeatLocked    = "LOCKED"
	SeatSold      = "SOLD"
	SeatBlocked   = "BLOCKED"
)

// SeatHolder is a seat with the lock that has it.
type SeatHolder struct {
	ID        string `json:"id"`
	Section   string `json:"section"` // its key
	Row       string `json:"row"`     // its label
	Label     string `json:"label"`
	Category  string `json:"category"` // its key
	State     string `json:"state"`    // AVAILABLE, LOCKED, SOLD, BLOCKED
	LockID    string `json:"lockId"`   // "" if there is none, or if the seat is blocked by the venue
	BookingID string `json:"bookingId"`
}

// GetSeat returns a seat of an event with a seating plan, and the lock that has it.
func (c *Client) GetSeat(ctx context.Context, eventID, seatID string) (s SeatHolder, err error) {
	path := "/api/events/" + url.PathEscape(eventID) + "/seats/" + url.PathEscape(seatID)
	_, err = c.call(ctx, request{method: http.MethodGet, path: path}, &s)
	return s, err
}

// BlockSeats takes seats out of sale, at most 10,000, all of them or none, and returns how many seats of the
// event are blocked then. Seats that are blocked already stay so. It fails with SeatsUnavailable if a seat is
// locked or sold. Repeats have the same effect.
func (c *Client) BlockSeats(ctx context.Context, eventID string, seatIDs []string) (blocked int64, err error) {
	return c.changeBlock(ctx, eventID, "/seats/block", seatIDs)
}

// UnblockSeats puts blocked seats on sale again, at most 10,000, and returns how many seats of the event are
// still blocked. Seats that are not blocked stay as they are. Repeats have the same effect.
func (c *Client) UnblockSeats(ctx context.Context, eventID string, seatIDs []string) (blocked int64, err error) {
	return c.changeBlock(ctx, eventID, "/seats/unblock", seatIDs)
}

func (c *Client) changeBlock(ctx context.Context, eventID, action string, seatIDs []string) (int64, error) {
	answer, err := post[struct {
		Blocked int64 `json:"blocked"`
	}](ctx, c, "/api/events/", eventID, action, map[string]any{"seatIds": seatIDs})
	return answer.Blocked, err
}
