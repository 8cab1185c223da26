package seatctl

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/booking"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats"
)

// filter narrows lists.
type filter struct {
	Event  string `help:"Of this event."`
	User   string `help:"Of this user."`
	Status string `help:"With this status."`
	Limit  int    `default:"50" help:"Items at most; 0 for all."`
}

func (f filter) parse() (event, user ids.ID, err error) {
	for _, part := range []struct {
		text, flag string
		id         *ids.ID
	}{{f.Event, "--event", &event}, {f.User, "--user", &user}} {
		if part.text == "" {
			continue
		}
		if *part.id, err = ids.Parse(part.text); err != nil {
			return event, user, fmt.Errorf("%s %q is no ID: 24 hex digits", part.flag, part.text)
		}
	}
	return event, user, nil
}

// pages gathers items page after page, up to limit.
func pages[T any](limit int, read func(mongodb.Page) ([]T, string, error)) (all []T, err error) {
	page := mongodb.Page{Size: mongodb.MaxPageSize}
	for {
		items, next, err := read(page)
		if err != nil {
			return nil, err
		}
		all = append(all, items...)
		if limit > 0 && len(all) >= limit {
			return all[:limit], nil
		}
		if page.Token = next; next == "" {
			return all, nil
		}
	}
}

type events struct {
	Status string `help:"With this status: ON_SALE, CLOSED or CANCELLED."`
	Limit  int    `default:"50" help:"Items at most; 0 for all."`
}

// eventLine is an event as it is printed, exported and imported.
type eventLine struct {
	ID              string    `json:"id"`
	Name            string    `json:"name"`
	TotalSeats      int64     `json:"totalSeats"`
	AvailableSeats  int64     `json:"availableSeats"`
	Oversold        int64     `json:"oversold,omitempty"`
	Status          string    `json:"status"`
	EventDate       time.Time `json:"eventDate"`
	MaxSeatsPerUser int64     `json:"maxSeatsPerUser,omitempty"`
}

func lineOf(e seats.Event) eventLine {
	return eventLine{e.ID.String(), e.Name, e.TotalSeats, e.AvailableSeats, e.Oversold, string(e.Status), e.EventDate, e.MaxSeatsPerUser}
}

func (e *events) run(ctx context.Context, s *session) (int, error) {
	all, err := pages(0, func(p mongodb.Page) ([]seats.Event, string, error) { return s.Seats.Events(ctx, p) })
	if err != nil {
		return failed, err
	}
	var lines []eventLine
	for _, event := range all {
		if (e.Status == "" || e.Status == string(event.Status)) && (e.Limit == 0 || len(lines) < e.Limit) {
			lines = append(lines, lineOf(event))
		}
	}
	return well, rows(s.out, lines, []any{"id", "name", "seats", "available", "oversold", "status", "date"}, func(l eventLine) []any {
		return []any{l.ID, l.Name, l.TotalSeats, l.AvailableSeats, l.Oversold, l.Status, when(l.EventDate)}
	})
}

type locks struct {
	filter `embed:""`
}

func (f *locks) run(ctx context.Context, s *session) (int, error) {
	event, user, err := f.parse()
	if err != nil {
		return usage, err
	}
	all, err := pages(f.Limit, func(p mongodb.Page) ([]seats.Lock, string, error) {
		return s.Seats.Locks(ctx, seats.LockFilter{EventID: event, UserID: user, Status: seats.Status(f.Status)}, p)
	})
	if err != nil {
		return failed, err
	}
	type line struct {
		ID        string    `json:"id"`
		EventID   string    `json:"eventId"`
		UserID    string    `json:"userId"`
		Seats     int64     `json:"seats"`
		Status    string    `json:"status"`
		ExpiresAt time.Time `json:"expiresAt"`
	}
	var lines []line
	for _, l := range all {
		lines = append(lines, line{l.ID.String(), l.EventID.String(), l.UserID.String(), l.Seats, string(l.Status), l.ExpiresAt})
	}
	return well, rows(s.out, lines, []any{"id", "event", "user", "seats", "status", "expires at"}, func(l line) []any {
		return []any{l.ID, l.EventID, l.UserID, l.Seats, l.Status, when(l.ExpiresAt)}
	})
}

type bookings struct {
	filter `embed:""`
}

func (f *bookings) run(ctx context.Context, s *session) (int, error) {
	event, user, err := f.parse()
	if err != nil {
		return usage, err
	}
	all, err := pages(f.Limit, func(p mongodb.Page) ([]booking.Booking, string, error) {
		return s.Bookings.List(ctx, booking.Filter{EventID: event, UserID: user, Status: booking.Status(f.Status)}, p)
	})
	if err != nil {
		return failed, err
	}
	type line struct {
		ID               string     `json:"id"`
		LockID           string     `json:"lockId"`
		EventID          string     `json:"eventId"`
		UserID           string     `json:"userId"`
		Seats            int64      `json:"seats"`
		Status           string     `json:"status"`
		PaymentExpiresAt *time.Time `json:"paymentExpiresAt,omitempty"`
		PaymentReference string     `json:"paymentReference,omitempty"`
	}
	var lines []line
	for _, b := range all {
		l := line{b.ID.String(), b.LockID.String(), b.EventID.String(), b.UserID.String(), b.Seats, string(b.Status), nil, b.PaymentReference}
		if !b.PaymentExpiresAt.IsZero() {
			l.PaymentExpiresAt = &b.PaymentExpiresAt
		}
		lines = append(lines, l)
	}
	return well, rows(s.out, lines, []any{"id", "lock", "event", "user", "seats", "status", "payment until", "reference"}, func(l line) []any {
		until := ""
		if l.PaymentExpiresAt != nil {
			until = when(*l.PaymentExpiresAt)
		}
		return []any{l.ID, l.LockID, l.EventID, l.UserID, l.Seats, l.Status, until, l.PaymentReference}
	})
}

// export writes events.
type export struct{}

func (*export) run(ctx context.Context, s *session) (int, error) {
	all, err := pages(0, func(p mongodb.Page) ([]seats.Event, string, error) { return s.Seats.Events(ctx, p) })
	if err != nil {
		return failed, err
	}
	encoder := json.NewEncoder(s.out.w)
	for _, e := range all {
		if err := encoder.Encode(lineOf(e)); err != nil {
			return failed, err
		}
	}
	return well, nil
}

// imports makes events. A line that is wrong is told with its number, and no
// later one is read.
type imports struct{}

func (*imports) run(ctx context.Context, s *session) (int, error) {
	const longest = 1 << 20
	lines := bufio.NewScanner(s.in)
	lines.Buffer(nil, longest)
	made, there := 0, 0
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		err := s.importLine(ctx, lines.Bytes())
		switch {
		case errors.Is(err, seats.ErrEventExists):
			there++
		case err != nil:
			return failed, fmt.Errorf("line %d: %w; %d events were made before it", n, err, made)
		default:
			made++
		}
	}
	if err := lines.Err(); err != nil {
		return failed, err
	}
	type done struct {
		Made  int `json:"made"`
		There int `json:"wereThere"`
	}
	return well, rows(s.out, []done{{made, there}}, []any{"made", "were there"}, func(d done) []any { return []any{d.Made, d.There} })
}

func (s *session) importLine(ctx context.Context, text []byte) error {
	var line eventLine
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&line); err != nil {
		return err
	}
	n := seats.NewEvent{Name: line.Name, TotalSeats: line.TotalSeats, EventDate: line.EventDate, MaxSeatsPerUser: line.MaxSeatsPerUser}
	var err error
	if line.ID != "" {
		if n.ID, err = ids.Parse(line.ID); err != nil {
			return fmt.Errorf("id %q: %w", line.ID, err)
		}
	}
	if n.Name == "" || n.TotalSeats < 1 || n.TotalSeats > seats.MaxSeats || n.MaxSeatsPerUser < 0 {
		return fmt.Errorf("an event has a name, 1 to %d totalSeats, and no negative maxSeatsPerUser", seats.MaxSeats)
	}
	status := seats.SaleStatus(line.Status)
	switch status {
	case "", seats.OnSale, seats.Closed, seats.Cancelled:
	default:
		return fmt.Errorf("status %q is none of ON_SALE, CLOSED, CANCELLED", line.Status)
	}
	e, err := s.Seats.CreateEvent(ctx, n)
	if err == nil && status != "" && status != seats.OnSale {
		_, err = s.Seats.UpdateEvent(ctx, e.ID, seats.EventChange{Status: &status})
	}
	return err
}
