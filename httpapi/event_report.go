package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

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

type reportQuery struct {
	PathID
	Format string `query:"format" enum:"json,csv" default:"json"`
}

type reportBody struct {
	EventID    string `json:"eventId"`
	TotalSeats int64  `json:"totalSeats"`
	CountsBody
	Offered    int64                `json:"offered" doc:"Seats that are offered to the waiting list."`
	Waiting    int64                `json:"waiting" doc:"Entries of the waiting list that wait."`
	Sections   []sectionCountsBody  `json:"sections,omitempty" nullable:"false" doc:"A lock counts with the seats whose places it names."`
	Categories []categoryCountsBody `json:"categories,omitempty" nullable:"false"`
}

// CountsBody has numbers of seats by their state. It is exported because the document leaves out embedded types that are not.
type CountsBody struct {
	Available int64 `json:"available" doc:"The total without held, sold, blocked and offered seats, at least 0."`
	Held      int64 `json:"held" doc:"Seats in ACTIVE locks that have not expired, without those offered."`
	Sold      int64 `json:"sold"`
	Blocked   int64 `json:"blocked" doc:"Seats that the venue has taken out of sale."`
	Oversold  int64 `json:"oversold,omitempty" doc:"Seats taken beyond the total, or a section's, by other software."`
}

type sectionCountsBody struct {
	Key      string `json:"key"`
	Category string `json:"category" doc:"The section's own; its seats may have others."`
	Total    int64  `json:"total"`
	CountsBody
}

type categoryCountsBody struct {
	Key   string `json:"key"`
	Total int64  `json:"total"`
	CountsBody
}

func newCountsBody(c holdfast.SeatCounts, oversold int64) CountsBody {
	return CountsBody{Available: c.Available(), Held: c.Held, Sold: c.Sold, Blocked: c.Blocked, Oversold: oversold}
}

func newReportBody(r holdfast.EventReport) reportBody {
	return reportBody{
		EventID: r.EventID.String(), TotalSeats: r.Total, CountsBody: newCountsBody(r.SeatCounts, r.Oversold()),
		Offered: r.Offered, Waiting: r.Waiting,
		Sections: newBodies(r.Sections, func(s holdfast.SectionCounts) sectionCountsBody {
			return sectionCountsBody{Key: s.Key, Category: s.Category, Total: s.Total, CountsBody: newCountsBody(s.SeatCounts, s.Oversold())}
		}),
		Categories: newBodies(r.Categories, func(c holdfast.CategoryCounts) categoryCountsBody {
			return categoryCountsBody{Key: c.Key, Total: c.Total, CountsBody: newCountsBody(c.SeatCounts, c.Oversold())}
		}),
	}
}

// csv returns the rows of the report with a header. No value needs quotes.
func (b reportBody) csv() []byte {
	text := []byte("row,key,category,total,available,held,sold,blocked,oversold,offered,waiting\n")
	row := func(kind, key, category string, total int64, c CountsBody, more string) {
		text = fmt.Appendf(text, "%s,%s,%s,%d,%d,%d,%d,%d,%d,%s\n",
			kind, key, category, total, c.Available, c.Held, c.Sold, c.Blocked, c.Oversold, more)
	}
	row("event", b.EventID, "", b.TotalSeats, b.CountsBody, fmt.Sprintf("%d,%d", b.Offered, b.Waiting))
	for _, s := range b.Sections {
		row("section", s.Key, s.Category, s.Total, s.CountsBody, ",")
	}
	for _, c := range b.Categories {
		row("category", c.Key, c.Key, c.Total, c.CountsBody, ",")
	}
	return text
}

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

func (a *api) registerReportRoute() {
	schemas := a.huma.OpenAPI().Components.Schemas
	route(a, huma.Operation{
		OperationID: "get-event-report", Method: http.MethodGet, Path: "/api/events/{id}/report", Tags: []string{"Events"},
		Summary:     "Count the seats of an event by their state",
		Description: "At one moment, also by section and category if the event has a seating plan. It reads all locks of the event.",
		Errors:      []int{http.StatusNotFound}, Metadata: map[string]any{metadataTimeout: surveyTimeout},
		Responses: map[string]*huma.Response{strconv.Itoa(http.StatusOK): {Description: "OK", Content: map[string]*huma.MediaType{
			"application/json": {Schema: schemas.Schema(reflect.TypeFor[reportBody](), true, "")},
			"text/csv":         {Schema: &huma.Schema{Type: huma.TypeString, Description: "A row for the event, each section and each category."}},
		}}},
	}, config.ScopeBooking, a.eventReport)
}

func (a *api) eventReport(ctx context.Context, in *reportQuery) (*huma.StreamResponse, error) {
	const patience = 2 * time.Second // requests that wait hold slots that sales need
	short, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := a.reportSemaphore.acquire(short, "The report"); err != nil {
		return nil, err
	}
	defer a.reportSemaphore.release()
	report, err := a.Seats.Report(ctx, parseID(in.ID))
	if err != nil {
		return nil, err
	}
	body := newReportBody(report)
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		_, w := humago.Unwrap(ctx)
		if in.Format != "csv" {
			writeJSON(w, http.StatusOK, "application/json", body)
			return
		}
		w.Header().Set("Content-Type", "text/csv; charset=utf-8")
		writeBody(w, body.csv())
	}}, nil
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
