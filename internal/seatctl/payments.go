package seatctl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/clock"
)

// paymentsCmd lists payments, sums them up, or prints one.
type paymentsCmd struct {
	ID        *string        `arg:"" optional:"" help:"ID of a payment: print this one alone."`
	Event     *string        `help:"Only of this event."`
	Booking   *string        `help:"Only of this booking."`
	Status    *string        `help:"Only with this status: ACCEPTED, REFUND_DUE or REFUNDED."`
	Reference *string        `help:"Only with this reference of the provider."`
	Provider  *string        `help:"Only of this provider."`
	OlderThan *time.Duration `help:"Only those that got their status longer ago, such as 4h, longest ago first."`
	Totals    bool           `help:"Sum up by event, status, reason and currency."`
	Limit     *limit         `help:"Maximum number of items; 0 for all. The default is 50, and all with --totals."`
}

// most is the maximum number of items; 0 is no limit. A sum is of no use if some of it is left out.
func (c *paymentsCmd) most() limit {
	const listed = 50
	switch {
	case c.Limit != nil:
		return *c.Limit
	case c.Totals:
		return 0
	}
	return listed
}

// Validate is called by the parser.
func (c *paymentsCmd) Validate() error {
	hasFilter := c.Event != nil || c.Booking != nil || c.Status != nil || c.Reference != nil || c.Provider != nil
	switch {
	case c.ID != nil && (hasFilter || c.OlderThan != nil || c.Totals):
		return errors.New("the ID of a payment needs no filter and no --totals")
	case c.Totals && c.OlderThan != nil:
		return errors.New("--totals can't be combined with --older-than")
	case c.OlderThan != nil && *c.OlderThan < 0:
		return fmt.Errorf("--older-than %s is negative", *c.OlderThan)
	case c.Reference != nil && *c.Reference == "":
		return errors.New("--reference is empty")
	case c.Provider != nil && *c.Provider == "":
		return errors.New("--provider is empty")
	}
	return checkStatus(c.Status, holdfast.PaymentStatuses())
}

func (c *paymentsCmd) filter() (f holdfast.PaymentFilter, err error) {
	if f.EventID, err = parseID("--event", c.Event); err != nil {
		return f, err
	}
	if f.BookingID, err = parseID("--booking", c.Booking); err != nil {
		return f, err
	}
	if c.Status != nil {
		f.Status = holdfast.PaymentStatus(*c.Status)
	}
	if c.Reference != nil {
		f.Reference = *c.Reference
	}
	if c.Provider != nil {
		f.Provider = *c.Provider
	}
	return f, nil
}

func (c *paymentsCmd) run(ctx context.Context, s *session) (int, error) {
	if c.ID != nil {
		id, err := parseID("the payment", c.ID)
		if err != nil {
			return exitUsage, err
		}
		p, err := s.Bookings.GetPayment(ctx, *id)
		if err != nil {
			return exitFailed, err
		}
		return exitOK, printPayments(s, []holdfast.Payment{p})
	}
	f, err := c.filter()
	if err != nil {
		return exitUsage, err
	}
	if c.Totals {
		return c.sumUp(ctx, s, f)
	}
	most := c.most()
	if c.OlderThan != nil { // the oldest are known when all were read
		most = 0
	}
	all, err := readPages(most, func(p holdfast.Page) ([]holdfast.Payment, string, error) { return s.Bookings.ListPayments(ctx, f, p) })
	if err != nil {
		return exitFailed, err
	}
	if c.OlderThan != nil {
		before := clock.System().Add(-*c.OlderThan)
		all = slices.DeleteFunc(all, func(p holdfast.Payment) bool { return p.UpdatedAt.After(before) })
		slices.SortFunc(all, func(a, b holdfast.Payment) int { return a.UpdatedAt.Compare(b.UpdatedAt) })
		if most := int(c.most()); most > 0 && len(all) > most {
			all = all[:most]
		}
	}
	return exitOK, printPayments(s, all)
}

// paymentLine is a payment as it is printed.
type paymentLine struct {
	ID              string    `json:"id"`
	Provider        string    `json:"provider"`
	Reference       string    `json:"reference"`
	Part            string    `json:"paymentPart,omitempty"`
	BookingID       string    `json:"bookingId"`
	EventID         string    `json:"eventId,omitempty"`
	UserID          string    `json:"userId,omitempty"`
	Amount          *int64    `json:"amount,omitempty"`
	Currency        string    `json:"currency,omitempty"`
	Status          string    `json:"status"`
	Reason          string    `json:"reason,omitempty"`
	RefundReference string    `json:"refundReference,omitempty"`
	CreatedAt       time.Time `json:"createdAt"`
	UpdatedAt       time.Time `json:"updatedAt"` // when it got its status
}

func printPayments(s *session, payments []holdfast.Payment) error {
	var lines []paymentLine
	for _, p := range payments {
		lines = append(lines, paymentLine{
			ID: p.ID.String(), Provider: p.Provider, Reference: p.Reference, Part: p.Part, BookingID: idOrNone(p.BookingID),
			EventID: idOrNone(p.EventID), UserID: idOrNone(p.UserID), Amount: p.Amount, Currency: p.Currency,
			Status: string(p.Status), Reason: string(p.Reason), RefundReference: p.RefundReference,
			CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
		})
	}
	columns := []any{"id", "reference", "part", "booking", "event", "amount", "status", "since", "reason", "refund"}
	return printRows(s.out, lines, columns, func(l paymentLine) []any {
		return []any{
			l.ID, l.Provider + " " + l.Reference, l.Part, l.BookingID, l.EventID, formatAmount(l.Amount, l.Currency), l.Status,
			formatTime(l.UpdatedAt), l.Reason, l.RefundReference,
		}
	})
}

func (c *paymentsCmd) sumUp(ctx context.Context, s *session, f holdfast.PaymentFilter) (int, error) {
	totals, err := s.Store.PaymentTotals(ctx, f)
	if err != nil {
		return exitFailed, err
	}
	type line struct {
		EventID  string `json:"eventId,omitempty"`
		Status   string `json:"status"`
		Reason   string `json:"reason,omitempty"`
		Payments int64  `json:"payments"`
		Amount   *int64 `json:"amount,omitempty"`
		Currency string `json:"currency,omitempty"`
	}
	var lines []line
	for _, t := range totals {
		lines = append(lines, line{
			EventID: idOrNone(t.EventID), Status: string(t.Status), Reason: string(t.Reason), Payments: t.Payments,
			Amount: t.Amount, Currency: t.Currency,
		})
	}
	left := 0
	if most := int(c.most()); most > 0 && len(lines) > most {
		lines, left = lines[:most], len(lines)-most
	}
	err = printRows(s.out, lines, []any{"event", "status", "reason", "payments", "amount"}, func(l line) []any {
		return []any{l.EventID, l.Status, l.Reason, l.Payments, formatAmount(l.Amount, l.Currency)}
	})
	if err == nil && left > 0 {
		_, err = fmt.Fprintf(s.errs, "Totals that are left out: %d. To see all, omit --limit.\n", left)
	}
	return exitOK, err
}

// idOrNone is "" for an ID that other software has left out.
func idOrNone(id holdfast.ID) string {
	if id.IsZero() {
		return ""
	}
	return id.String()
}

// formatAmount prints minor units: how many make a unit depends on the currency.
func formatAmount(amount *int64, currency string) string {
	switch {
	case amount == nil:
		return ""
	case currency == "":
		return fmt.Sprint(*amount)
	}
	return fmt.Sprintf("%d %s", *amount, currency)
}
