package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/store"
)

const (
	// maxSalesRead bounds the locks that one answer adds up. Reading them from the index takes about a second.
	maxSalesRead = 500_000

	day = 24 * time.Hour
	// hoursSpan and daysSpan bound the number of buckets.
	hoursSpan = 7 * day
	daysSpan  = 366 * day
)

type salesQuery struct {
	PathID
	By string `query:"by" enum:"hour,day" default:"day" doc:"hour covers the last 7 days, day the last 366 days."`
}

type salesBody struct {
	By      string           `json:"by" enum:"hour,day"`
	From    string           `json:"from" format:"date-time"`
	Until   string           `json:"until" format:"date-time" doc:"The present time of the database's clock."`
	Buckets []saleBucketBody `json:"buckets" nullable:"false" doc:"Oldest first. Hours and days without a sale are left out."`
	IsCut   bool             `json:"isCut" doc:"Whether older sales were left out, because only the newest 500,000 are read."`
}

type saleBucketBody struct {
	Start string `json:"start" format:"date-time" doc:"The beginning of the hour or day in UTC."`
	Locks int64  `json:"locks" doc:"Number of locks that were sold."`
	Seats int64  `json:"seats"`
}

func newSaleBucketBody(b store.SaleBucket) saleBucketBody {
	return saleBucketBody{Start: formatTime(b.Start), Locks: b.Locks, Seats: b.Seats}
}

func (a *api) registerEventReportRoutes() {
	tags := []string{"Operators"}
	route(a, huma.Operation{
		OperationID: "get-event-summary", Method: http.MethodGet, Path: "/api/admin/events/{id}", Tags: tags,
		Summary:     "Get the seats of an event by their state",
		Description: "Available, locked, sold and blocked seats, of one snapshot.", Errors: []int{http.StatusNotFound},
	}, config.ScopeAdmin, func(ctx context.Context, in *PathID) (*found[eventSummaryBody], error) {
		if err := a.overviewSemaphore.acquire(ctx, "Overview"); err != nil {
			return nil, err
		}
		defer a.overviewSemaphore.release()
		return a.eventSummary(ctx, parseID(in.ID))
	})
	route(a, huma.Operation{
		OperationID: "get-event-sales", Method: http.MethodGet, Path: "/api/admin/events/{id}/sales", Tags: tags,
		Summary:     "Get the sales of an event over time",
		Description: "Sold seats by the hour or day in which the customer locked them. Sales that were cancelled later are left out.",
		Errors:      []int{http.StatusNotFound},
	}, config.ScopeAdmin, a.eventSales)
}

func (a *api) eventSummary(ctx context.Context, id holdfast.ID) (*found[eventSummaryBody], error) {
	s, err := a.Overview.EventSummary(ctx, id)
	if err != nil {
		return nil, err
	}
	body := newEventSummaryBody(s)
	if s.Status == holdfast.Cancelled {
		var wish store.Cancellation
		wish, _, err = a.Overview.CancellationOfEvent(ctx, id)
		body.CancelRunID, body.CancelLeft, body.CancelProblem = wish.RunID, wish.Left, wish.Why
	}
	return &found[eventSummaryBody]{Body: body}, err
}

func (a *api) eventSales(ctx context.Context, in *salesQuery) (*found[salesBody], error) {
	if _, err := a.Seats.GetEvent(ctx, parseID(in.ID)); err != nil {
		return nil, err
	}
	if err := a.salesSemaphore.acquire(ctx, "The report of sales"); err != nil {
		return nil, err
	}
	defer a.salesSemaphore.release()
	span := daysSpan
	if in.By == "hour" {
		span = hoursSpan
	}
	s, err := a.Overview.SalesOf(ctx, parseID(in.ID), in.By, span, maxSalesRead)
	return &found[salesBody]{Body: salesBody{
		By: in.By, From: formatTime(s.From), Until: formatTime(s.Until), Buckets: newBodies(s.Buckets, newSaleBucketBody), IsCut: s.IsCut,
	}}, err
}
