package seatctl

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats"
)

// filter selects items of a list.
type filter struct {
	Event  *string `help:"Only of this event."`
	User   *string `help:"Only of this user."`
	Status *string `help:"Only with this status: ON_SALE, CLOSED or CANCELLED."`
	Limit  limit   `default:"50" help:"Maximum number of items; 0 for all."`
}

// parse reads the IDs; nil for a flag that is not given.
func (f filter) parse() (event, user *holdfast.ID, err error) {
	event, err = parseID("--event", f.Event)
	if err == nil {
		user, err = parseID("--user", f.User)
	}
	return event, user, err
}

// limit is a number of items; 0 is no limit.
type limit int

// maxLimit is more than a terminal shows.
const maxLimit = 1_000_000

// Validate is called by the parser.
func (l limit) Validate() error {
	if l < 0 || l > maxLimit {
		return fmt.Errorf("%d is out of range: use 1 to %d, or 0 for all", l, maxLimit)
	}
	return nil
}

// status is "" for a flag that is not given.
func (f filter) status() string {
	if f.Status == nil {
		return ""
	}
	return *f.Status
}

// checkStatus refuses a status that no item can have. nil is a flag that is not given.
func checkStatus[T ~string](given *string, allowed []T) error {
	if given == nil || slices.Contains(allowed, T(*given)) {
		return nil
	}
	names := make([]string, len(allowed))
	for i, status := range allowed {
		names[i] = string(status)
	}
	last := len(names) - 1
	return fmt.Errorf("--status %q is not a status: use %s or %s", *given, strings.Join(names[:last], ", "), names[last])
}

func parseID(flag string, text *string) (*holdfast.ID, error) {
	if text == nil {
		return nil, nil //nolint:nilnil // no filter
	}
	id, err := holdfast.ParseID(*text)
	if err != nil || id.IsZero() {
		return nil, fmt.Errorf("%s %q is not a valid ID: use 24 hex digits, not all of them 0", flag, *text)
	}
	return &id, nil
}

// readPages reads items page by page, up to most; 0 is no limit.
func readPages[T any](most limit, read func(holdfast.Page) ([]T, string, error)) (all []T, err error) {
	page := holdfast.Page{Size: holdfast.MaxPageSize}
	for {
		items, next, err := read(page)
		if err != nil {
			return nil, err
		}
		all = append(all, items...)
		if most > 0 && len(all) >= int(most) {
			return all[:most], nil
		}
		if page.Token = next; next == "" {
			return all, nil
		}
	}
}

type eventsCmd struct {
	Status *string `help:"Only with this status: ON_SALE, CLOSED or CANCELLED."`
	Limit  limit   `default:"50" help:"Maximum number of items; 0 for all."`
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

	SeatingPlanID    string         `json:"seatingPlanId,omitempty"`
	Sections         []capacityLine `json:"sections,omitempty"`
	OrphanRule       string         `json:"orphanRule,omitempty"`
	AccessiblePolicy string         `json:"accessiblePolicy,omitempty"`

	LatePayments       string `json:"latePayments,omitempty"`
	LatePaymentSeconds *int64 `json:"latePaymentSeconds,omitempty"`
}

// capacityLine is the capacity of an area of general admission.
type capacityLine struct {
	Key      string `json:"key"`
	Capacity int64  `json:"capacity"`
}

func newEventLine(e holdfast.Event) eventLine {
	line := eventLine{
		ID: e.ID.String(), Name: e.Name, TotalSeats: e.TotalSeats, AvailableSeats: e.AvailableSeats, Oversold: e.Oversold,
		Status: string(e.Status), EventDate: e.EventDate, MaxSeatsPerUser: e.MaxSeatsPerUser, SeatingPlanID: formatID(e.Seating.PlanID),
		OrphanRule: string(e.Seating.OrphanRule), AccessiblePolicy: string(e.Seating.AccessiblePolicy),
		LatePayments: string(e.LatePayments.Policy), LatePaymentSeconds: &e.LatePayments.Seconds,
	}
	for _, s := range e.Sections {
		line.Sections = append(line.Sections, capacityLine(s))
	}
	return line
}

// newEvent is the event that a line asks for. The seats of a seated event are those of its plan and its sections.
func (l eventLine) newEvent() (n holdfast.NewEvent, err error) {
	n = holdfast.NewEvent{
		Name: l.Name, TotalSeats: l.TotalSeats, EventDate: l.EventDate, MaxSeatsPerUser: l.MaxSeatsPerUser,
		Seating: holdfast.Seating{
			OrphanRule: holdfast.OrphanRule(l.OrphanRule), AccessiblePolicy: holdfast.AccessiblePolicy(l.AccessiblePolicy),
		},
	}
	if l.ID != "" {
		if n.ID, err = holdfast.ParseID(l.ID); err != nil {
			return n, fmt.Errorf("id %q: %w", l.ID, err)
		}
	}
	if l.SeatingPlanID != "" {
		if n.Seating.PlanID, err = holdfast.ParseID(l.SeatingPlanID); err != nil {
			return n, fmt.Errorf("seatingPlanId %q: %w", l.SeatingPlanID, err)
		}
		n.TotalSeats = 0
	}
	for _, s := range l.Sections {
		n.Sections = append(n.Sections, holdfast.SectionCapacity(s))
	}
	if l.LatePayments != "" || l.LatePaymentSeconds != nil {
		late := holdfast.DefaultLatePayments()
		late.Policy = cmp.Or(holdfast.LatePaymentPolicy(l.LatePayments), late.Policy)
		if seconds := l.LatePaymentSeconds; seconds != nil {
			late.Seconds = *seconds
		}
		n.LatePayments = &late
	}
	return n, nil
}

// Validate is called by the parser.
func (e *eventsCmd) Validate() error { return checkStatus(e.Status, holdfast.EventStatuses()) }

func (e *eventsCmd) run(ctx context.Context, s *session) (int, error) {
	all, err := readPages(0, func(p holdfast.Page) ([]holdfast.Event, string, error) { return s.Seats.ListEvents(ctx, p) })
	if err != nil {
		return exitFailed, err
	}
	var lines []eventLine
	for _, event := range all {
		if (e.Status == nil || *e.Status == string(event.Status)) && (e.Limit == 0 || len(lines) < int(e.Limit)) {
			lines = append(lines, newEventLine(event))
		}
	}
	return exitOK, printRows(s.out, lines, []any{"id", "name", "seats", "available", "oversold", "status", "date"}, func(l eventLine) []any {
		return []any{l.ID, l.Name, l.TotalSeats, l.AvailableSeats, l.Oversold, l.Status, formatTime(l.EventDate)}
	})
}

type locksCmd struct {
	filter `embed:""`
}

// Validate is called by the parser.
func (f *locksCmd) Validate() error { return checkStatus(f.Status, holdfast.LockStatuses()) }

func (f *locksCmd) run(ctx context.Context, s *session) (int, error) {
	event, user, err := f.parse()
	if err != nil {
		return exitUsage, err
	}
	all, err := readPages(f.Limit, func(p holdfast.Page) ([]holdfast.Lock, string, error) {
		return s.Seats.ListLocks(ctx, holdfast.LockFilter{EventID: event, UserID: user, Status: holdfast.LockStatus(f.status())}, p)
	})
	if err != nil {
		return exitFailed, err
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
		lines = append(lines, line{
			ID: l.ID.String(), EventID: l.EventID.String(), UserID: l.UserID.String(),
			Seats: l.Seats, Status: string(l.Status), ExpiresAt: l.ExpiresAt,
		})
	}
	return exitOK, printRows(s.out, lines, []any{"id", "event", "user", "seats", "status", "expires at"}, func(l line) []any {
		return []any{l.ID, l.EventID, l.UserID, l.Seats, l.Status, formatTime(l.ExpiresAt)}
	})
}

type bookingsCmd struct {
	filter `embed:""`
}

// Validate is called by the parser.
func (f *bookingsCmd) Validate() error { return checkStatus(f.Status, holdfast.BookingStatuses()) }

func (f *bookingsCmd) run(ctx context.Context, s *session) (int, error) {
	event, user, err := f.parse()
	if err != nil {
		return exitUsage, err
	}
	all, err := readPages(f.Limit, func(p holdfast.Page) ([]holdfast.Booking, string, error) {
		return s.Bookings.ListBookings(ctx, holdfast.BookingFilter{EventID: event, UserID: user, Status: holdfast.BookingStatus(f.status())}, p)
	})
	if err != nil {
		return exitFailed, err
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
		l := line{
			ID: b.ID.String(), LockID: b.LockID.String(), EventID: b.EventID.String(), UserID: b.UserID.String(),
			Seats: b.Seats, Status: string(b.Status), PaymentReference: b.PaymentReference,
		}
		if !b.PaymentExpiresAt.IsZero() {
			l.PaymentExpiresAt = &b.PaymentExpiresAt
		}
		lines = append(lines, l)
	}
	columns := []any{"id", "lock", "event", "user", "seats", "status", "payment until", "reference"}
	return exitOK, printRows(s.out, lines, columns, func(l line) []any {
		until := ""
		if l.PaymentExpiresAt != nil {
			until = formatTime(*l.PaymentExpiresAt)
		}
		return []any{l.ID, l.LockID, l.EventID, l.UserID, l.Seats, l.Status, until, l.PaymentReference}
	})
}

// exportCmd writes all events.
type exportCmd struct{}

func (*exportCmd) run(ctx context.Context, s *session) (int, error) {
	all, err := readPages(0, func(p holdfast.Page) ([]holdfast.Event, string, error) { return s.Seats.ListEvents(ctx, p) })
	if err != nil {
		return exitFailed, err
	}
	for _, e := range all {
		if err := s.out.printJSON(newEventLine(e), ""); err != nil {
			return exitFailed, err
		}
	}
	return exitOK, nil
}

// importCmd creates events. It stops at the first invalid line and reports its
// number.
type importCmd struct{}

func (*importCmd) run(ctx context.Context, s *session) (int, error) {
	const maxLineBytes = 1 << 20
	input := bufio.NewScanner(s.in)
	input.Buffer(nil, maxLineBytes)
	created, existing := 0, 0
	for n := 1; input.Scan(); n++ {
		if len(bytes.TrimSpace(input.Bytes())) == 0 {
			continue
		}
		err := s.importLine(ctx, input.Bytes())
		switch {
		case errors.Is(err, seats.ErrEventExists):
			existing++
		case err != nil:
			return exitFailed, fmt.Errorf("line %d: %w; %d events were created before it", n, err, created)
		default:
			created++
		}
	}
	if err := input.Err(); err != nil {
		return exitFailed, err
	}
	type line struct {
		Created  int `json:"made"`
		Existing int `json:"wereThere"`
	}
	lines := []line{{Created: created, Existing: existing}}
	return exitOK, printRows(s.out, lines, []any{"created", "existed already"}, func(l line) []any { return []any{l.Created, l.Existing} })
}

func (s *session) importLine(ctx context.Context, text []byte) error {
	var line eventLine
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&line); err != nil {
		return err
	}
	n, err := line.newEvent()
	if err != nil {
		return err
	}
	isSeated := !n.Seating.PlanID.IsZero()
	if n.Name == "" || !isSeated && (n.TotalSeats < 1 || n.TotalSeats > holdfast.MaxSeats) || n.MaxSeatsPerUser < 0 {
		return fmt.Errorf("an event needs a name, 1 to %d totalSeats or a seatingPlanId, and a maxSeatsPerUser that is not negative",
			holdfast.MaxSeats)
	}
	status := holdfast.EventStatus(line.Status)
	switch status {
	case "", holdfast.OnSale, holdfast.Closed, holdfast.Cancelled:
	default:
		return fmt.Errorf("invalid status %q: use ON_SALE, CLOSED or CANCELLED", line.Status)
	}
	e, err := s.Seats.CreateEvent(ctx, n)
	if holdfast.HasCode(err, holdfast.CodeSeatingPlanNotFound) {
		return fmt.Errorf("this database does not have the seating plan %s: copy it with seatctl plans export and seatctl plans import, "+
			"and put the ID that this prints in the place of seatingPlanId", line.SeatingPlanID)
	}
	if err == nil && status != "" && status != holdfast.OnSale {
		_, err = s.Seats.UpdateEvent(ctx, e.ID, holdfast.EventChange{Status: &status})
	}
	return err
}
