package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/seats"
)

// changeBody is a CloudEvent 1.0 in structured JSON.
type changeBody struct {
	SpecVersion string `json:"specversion" enum:"1.0"`
	ID          string `json:"id" doc:"The same in every list and at every delivery."`
	Source      string `json:"source" doc:"/holdfast/ and the name of the database."`
	Type        string `json:"type"`
	Subject     string `json:"subject" doc:"The resource, such as locks/ and its ID."`
	Time        string `json:"time" format:"date-time"`
	Sequence    string `json:"sequence" doc:"The resource's revision, in a fixed width. A later change has no lower one."`

	DataContentType string `json:"datacontenttype" enum:"application/json"`
	DataSchema      string `json:"dataschema" format:"uri"`
	Data            any    `json:"data" doc:"The resource as its route would have answered right after the change, without idempotencyKey."`

	Actor     string `json:"actor,omitempty" doc:"The name of the key, the claim holder or sub of a token, or the job."`
	RequestID string `json:"requestid,omitempty"`
	RunID     string `json:"runid,omitempty" doc:"The run of the job that made the change."`
}

type changeFilter struct {
	PageQuery
	FilterQuery
	EventID string `query:"eventId" pattern:"^[0-9a-fA-F]{24}$"`
	Type    string `query:"type" minLength:"1" maxLength:"64" doc:"A type, or the beginning of types with * at its end."`

	Subjects []string `query:"subject,explode" maxItems:"10" doc:"events/, locks/, bookings/, payments/ or waitlist/ and an ID; repeatable."`
	Since    string   `query:"since" maxLength:"40" doc:"A time of RFC 3339. Changes of up to some minutes before are listed too."`
	Until    string   `query:"until" maxLength:"40" doc:"A time of RFC 3339. Changes of up to some minutes later are listed too."`
}

func (in *changeFilter) filter() (f changes.Filter, err error) {
	f.EventID = parseID(in.EventID)
	if in.Type != "" {
		if f.Types, err = changes.TypesOf(in.Type); err != nil {
			return f, err
		}
	}
	for _, text := range in.Subjects {
		subject, err := changes.ParseSubject(text)
		if err != nil {
			return f, err
		}
		f.Subjects = append(f.Subjects, subject)
	}
	if f.Since, err = parseTime("query.since", in.Since); err == nil {
		f.Until, err = parseTime("query.until", in.Until)
	}
	return f, err
}

// parseTime reads a time of a query; an empty text is the zero time, and no other one is.
func parseTime(where, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || holdfast.CheckTime(where, t) != nil {
		return time.Time{}, holdfast.RefuseInput(where, "Give a time of RFC 3339, such as 2026-06-15T10:00:00Z.")
	}
	return timestamp{t}.utc(), nil
}

func (a *api) registerChangeRoutes() {
	route(a, huma.Operation{
		OperationID: "list-changes", Method: http.MethodGet, Path: "/api/changes", Tags: []string{"Changes"}, Summary: "List changes",
		Description: "Of locks, bookings, payments, events, entries of waiting lists and seating plans, in an order in which each follows " +
			"those that it depends on. " +
			"nextPageToken is there on the last page too, to go on later from there; a page may be shorter or empty although more follow, " +
			"until the token stays the same. No change is skipped, however late its transaction commits. " +
			"With subject, give eventId and since too: the changes of one lock or booking are looked for among those of its event.",
		Errors: []int{http.StatusGone}, Metadata: map[string]any{metadataRepeats: "subject"},
	}, config.ScopeAdmin, a.listChanges)
}

func (a *api) listChanges(ctx context.Context, in *changeFilter) (*list[changeBody], error) {
	var from *changes.Position
	filter, err := in.filter()
	if err != nil {
		return nil, err
	}
	if in.PageToken != "" {
		position, err := changes.ParseToken(in.PageToken)
		if err != nil {
			return nil, err
		}
		from = &position
	}
	found, next, err := a.Changes.List(ctx, from, filter, in.PageSize)
	if err != nil {
		return nil, err
	}
	bodies := make([]changeBody, 0, len(found))
	for _, c := range found {
		body, err := a.changeBody(ctx, c)
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, body)
	}
	return newList(bodies, next.Token(), func(b changeBody) changeBody { return b }), nil
}

func (a *api) changeBody(ctx context.Context, c holdfast.Change) (changeBody, error) {
	data, kind, err := a.changed(ctx, c)
	return changeBody{
		SpecVersion: "1.0", ID: c.ID(), Source: "/holdfast/" + a.Changes.Database(), Type: string(c.Type), Subject: c.Subject(),
		Time: formatTime(c.At), Sequence: fmt.Sprintf("%019d", c.Revision),
		DataContentType: "application/json", DataSchema: "urn:holdfast:schema:" + kind + ":1", Data: data,
		Actor: c.Actor, RequestID: c.RequestID, RunID: c.RunID,
	}, err
}

// usualChange is a bit more than the bytes of a usual change.
const usualChange = 800

// NewChangeEncoder returns the encoder of the items of GET /api/changes, for webhooks. Of the services it needs Seats,
// Plans, Changes and Log.
func NewChangeEncoder(s Services) func(context.Context, holdfast.Change) ([]byte, error) {
	a := &api{Services: s}
	return func(ctx context.Context, c holdfast.Change) ([]byte, error) {
		body, err := a.changeBody(ctx, c)
		err = cmp.Or(a.canTellPlaces(ctx, c), err)
		if err != nil {
			return nil, err
		}
		var text bytes.Buffer
		text.Grow(usualChange)
		err = jsonFormat.Marshal(&text, body)
		return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
	}
}

// canTellPlaces fails if the plan of a change can't be read. A route then answers the seats' IDs alone, but an event for a
// webhook is made once, so it must be complete.
func (a *api) canTellPlaces(ctx context.Context, c holdfast.Change) (err error) {
	switch {
	case c.Lock != nil:
		_, err = a.readPlaces(ctx, c.EventID, c.PlanID, c.Lock.SeatIDs, c.Lock.Section)
	case c.Booking != nil:
		_, err = a.readPlaces(ctx, c.EventID, c.PlanID, c.Booking.SeatIDs, c.Booking.Section)
		if p := c.Previous; p != nil && err == nil {
			_, err = a.readPlaces(ctx, c.EventID, c.PlanID, p.SeatIDs, p.Section)
		}
	}
	if holdfast.IsNotFound(err) { // other software removed it
		return nil
	}
	return err
}

// changed is the resource as its route would have answered right after the change.
func (a *api) changed(ctx context.Context, c holdfast.Change) (data any, kind string, err error) {
	switch {
	case c.Lock != nil:
		return newLockBody(*c.Lock, a.placesIn(ctx, c.EventID, c.PlanID, c.Lock.SeatIDs, c.Lock.Section)), "lock", nil
	case c.Booking != nil:
		return a.changedBooking(ctx, c), "booking", nil
	case c.Payment != nil:
		return newPaymentBody(*c.Payment), "payment", nil
	case c.Event != nil:
		return newEventBody(*c.Event), "event", nil
	case c.Entry != nil:
		return newEntryBody(*c.Entry), "waitlist-entry", nil
	default: // plans are never changed
		plan, err := a.Plans.Summary(ctx, c.PlanID)
		if holdfast.IsNotFound(err) { // other software removed it
			plan, err = seats.PlanSummary{ID: c.PlanID, CreatedAt: c.At}, nil
		}
		return newSeatingPlanSummaryBody(plan), "seating-plan", err
	}
}

// changedBookingBody is a booking after a change, and what it had before it.
type changedBookingBody struct {
	bookingBody
	Previous *previousBody `json:"previous,omitempty"`
}

type previousBody struct {
	Seats  int64       `json:"seats"`
	Places []placeBody `json:"places,omitempty" nullable:"false"`
	UserID string      `json:"userId,omitempty"`
	Holder string      `json:"holder,omitempty"`
}

func (a *api) changedBooking(ctx context.Context, c holdfast.Change) changedBookingBody {
	body := changedBookingBody{
		bookingBody: newBookingBody(*c.Booking, a.placesIn(ctx, c.EventID, c.PlanID, c.Booking.SeatIDs, c.Booking.Section)),
	}
	if p := c.Previous; p != nil {
		body.Previous = &previousBody{
			Seats: p.Seats, Places: a.placesIn(ctx, c.EventID, c.PlanID, p.SeatIDs, p.Section),
			UserID: Customer{p.UserID, p.Holder}.userID(), Holder: p.Holder,
		}
	}
	return body
}
