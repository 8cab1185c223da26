package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats"
)

// eventLine is an event as it is exported and imported.
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

	SaleStartsAt time.Time `json:"saleStartsAt,omitzero"`
	SaleEndsAt   time.Time `json:"saleEndsAt,omitzero"`

	Waitlist             string `json:"waitlist,omitempty"`
	WaitlistOfferSeconds int64  `json:"waitlistOfferSeconds,omitempty"`
	WaitlistFit          string `json:"waitlistFit,omitempty"`

	Reference string            `json:"reference,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`
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
		SaleStartsAt: e.SaleStartsAt, SaleEndsAt: e.SaleEndsAt,
		Waitlist: string(e.Waitlist.Status), WaitlistOfferSeconds: e.Waitlist.OfferSeconds, WaitlistFit: string(e.Waitlist.Fit),
		Reference: e.Reference, Metadata: e.Metadata,
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
		SaleStartsAt: l.SaleStartsAt, SaleEndsAt: l.SaleEndsAt,
		Seating: holdfast.Seating{
			OrphanRule: holdfast.OrphanRule(l.OrphanRule), AccessiblePolicy: holdfast.AccessiblePolicy(l.AccessiblePolicy),
		},
		ShopData: holdfast.ShopData{Reference: l.Reference, Metadata: l.Metadata},
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
	if l.Waitlist != "" || l.WaitlistOfferSeconds != 0 || l.WaitlistFit != "" {
		list := holdfast.DefaultWaitlist()
		n.Waitlist = &holdfast.Waitlist{
			Status:       cmp.Or(holdfast.WaitlistStatus(l.Waitlist), list.Status),
			OfferSeconds: cmp.Or(l.WaitlistOfferSeconds, list.OfferSeconds),
			Fit:          cmp.Or(holdfast.WaitlistFit(l.WaitlistFit), list.Fit),
		}
	}
	return n, nil
}

// exportCmd writes all events.
type exportCmd struct{}

func (*exportCmd) run(ctx context.Context, s *session) (int, error) {
	for page := (holdfast.Page{Size: holdfast.MaxPageSize}); ; {
		events, next, err := s.Seats.ListEvents(ctx, holdfast.EventFilter{}, page)
		if err != nil {
			return exitFailed, err
		}
		for _, e := range events {
			if err := s.out.printJSON(newEventLine(e), ""); err != nil {
				return exitFailed, err
			}
		}
		if page.Token = next; next == "" {
			return exitOK, nil
		}
	}
}

// importCmd creates events. It stops at the first invalid line and reports its number. It leaves out an event that never sells:
// other software may have stored one, but it can't be created.
type importCmd struct{}

// errNeverSells says that the sale of an event would end before it begins.
var errNeverSells = errors.New("saleEndsAt is not later than saleStartsAt, so the event never sells; it was left out")

func (*importCmd) run(ctx context.Context, s *session) (int, error) {
	const maxLineBytes = 1 << 20
	input := bufio.NewScanner(s.in)
	input.Buffer(nil, maxLineBytes)
	created, existing, leftOut := 0, 0, 0
	for n := 1; input.Scan(); n++ {
		if len(bytes.TrimSpace(input.Bytes())) == 0 {
			continue
		}
		err := s.importLine(ctx, input.Bytes())
		switch {
		case errors.Is(err, seats.ErrEventExists):
			existing++
		case errors.Is(err, errNeverSells):
			leftOut++
			printError(s.errs, fmt.Errorf("line %d: %w", n, err))
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
		LeftOut  int `json:"leftOut"`
	}
	code := exitOK
	if leftOut > 0 {
		code = exitFindings
	}
	return code, printRows(s.out, []line{{created, existing, leftOut}}, []any{"created", "existed already", "left out"},
		func(l line) []any { return []any{l.Created, l.Existing, l.LeftOut} })
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
	switch isSeated := !n.Seating.PlanID.IsZero(); {
	case n.Name == "":
		return errors.New("name must not be blank")
	case !isSeated && (n.TotalSeats < 1 || n.TotalSeats > holdfast.MaxSeats):
		return fmt.Errorf("totalSeats must be 1 to %d, unless the event has a seatingPlanId", holdfast.MaxSeats)
	case n.MaxSeatsPerUser < 0:
		return errors.New("maxSeatsPerUser must not be negative")
	case holdfast.Event{SaleStartsAt: holdfast.Instant(n.SaleStartsAt), SaleEndsAt: holdfast.Instant(n.SaleEndsAt)}.NeverSells():
		return errNeverSells
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
			"and set seatingPlanId to the ID that import prints", line.SeatingPlanID)
	}
	if err == nil && status != "" && status != holdfast.OnSale {
		_, err = s.Seats.UpdateEvent(ctx, e.ID, holdfast.EventChange{Status: &status})
	}
	return err
}

// formatID is "" for the zero ID.
func formatID(id holdfast.ID) string {
	if id.IsZero() {
		return ""
	}
	return id.String()
}
