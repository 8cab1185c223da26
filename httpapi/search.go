package httpapi

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/store"
)

// maxHits bounds the hits of a kind in the answer to a search.
const maxHits = 50

// The kinds of hits.
const (
	kindEvent   = "event"
	kindUser    = "user"
	kindHolder  = "holder"
	kindLock    = "lock"
	kindBooking = "booking"
	kindPayment = "payment"
	kindPlan    = "seating-plan"
	kindSeat    = "seat"
)

type searchQuery struct {
	FilterQuery
	Text    string `query:"q" required:"true" minLength:"1" maxLength:"254" doc:"An ID, email address, holder, reference, seat or name."`
	EventID string `query:"eventId" pattern:"^[0-9a-fA-F]{24}$" doc:"With it, the text may be the ID of a seat of this event."`
}

// hitBody is a document that a search has found. Fields that its kind does not have are absent.
type hitBody struct {
	Kind      string `json:"kind" enum:"event,user,holder,lock,booking,payment,seating-plan,seat"`
	ID        string `json:"id" doc:"24 hex digits; of a seat, its ID in the plan."`
	MatchedBy string `json:"matchedBy" enum:"id,email,holder,reference,paymentReference,seat,name"`
	Name      string `json:"name,omitempty" doc:"The name of an event, a user or a plan, or the section, row and label of a seat."`
	Status    string `json:"status,omitempty" doc:"The status of an event, a lock, a booking or a payment, or the state of a seat."`
	Seats     int64  `json:"seats,omitempty" doc:"Number of seats of a lock or a booking."`
	Email     string `json:"email,omitempty" doc:"Of a user."`
	EventDate string `json:"eventDate,omitempty" format:"date-time" doc:"Of an event."`
	EventID   string `json:"eventId,omitempty"`
	UserID    string `json:"userId,omitempty"`
	Holder    string `json:"holder,omitempty"`
	LockID    string `json:"lockId,omitempty" doc:"The lock that has the seat."`
	BookingID string `json:"bookingId,omitempty" doc:"The booking of a seat, a lock or a payment."`
}

type searchBody struct {
	Items []hitBody `json:"items" nullable:"false"`
	More  bool      `json:"more" doc:"Whether there are further hits of a kind."`
}

func (a *api) registerSearchRoutes() {
	route(a, huma.Operation{
		OperationID: "search", Method: http.MethodGet, Path: "/api/admin/search", Tags: []string{"Operators"}, Summary: "Look something up",
		Description: "Finds what matches the whole text: an event, a user, a lock, a booking, a payment or a seating plan by its ID, " +
			"a user by the email address in any case, a holder of a lock or a booking, the events, locks and bookings with a reference, " +
			"the bookings and payments with a payment reference, and, with eventId, a seat. " +
			"If nothing does, it finds events and users whose name contains the text, in any case, among the newest 5,000 events and " +
			"100,000 users. " +
			"An empty list is the answer if nothing matches. At most 50 hits of a kind.",
	}, config.ScopeAdmin, a.search)
}

func (a *api) search(ctx context.Context, in *searchQuery) (*found[searchBody], error) {
	// A holder and a reference may have blanks at their ends, and characters that other names don't have.
	hits, err := a.findHolder(ctx, in.Text)
	if err != nil {
		return nil, err
	}
	named, hasMore, err := a.findByReference(ctx, in.Text)
	if err != nil {
		return nil, err
	}
	text := strings.TrimSpace(in.Text)
	if text == "" {
		err = holdfast.RefuseInput("query.q", "The text is blank. Give an ID, an email address, a holder, a reference, a seat or a name.")
	} else {
		err = holdfast.CheckText("query.q", text, holdfast.MaxEmailLength)
	}
	if err != nil && len(hits)+len(named) > 0 {
		return &found[searchBody]{Body: searchBody{Items: append(hits, named...), More: hasMore}}, nil
	}
	if err != nil {
		return nil, err
	}
	for _, find := range []func(context.Context, string, holdfast.ID) ([]hitBody, error){a.findByID, a.findByEmail, a.findSeat} {
		more, err := find(ctx, text, parseID(in.EventID))
		if err != nil {
			return nil, err
		}
		hits = append(hits, more...)
	}
	if len(named) == 0 && text != in.Text {
		if named, hasMore, err = a.findByReference(ctx, text); err != nil {
			return nil, err
		}
	}
	hits = append(hits, named...)
	paid, err := a.Overview.BookingsByReference(ctx, text, maxHits+1)
	if err != nil {
		return nil, err
	}
	hasMore = hasMore || len(paid) > maxHits
	for _, b := range paid[:min(len(paid), maxHits)] {
		hits = append(hits, bookingHit(b, "paymentReference"))
	}
	payments, hasMorePayments, err := a.findPayments(ctx, text)
	if err != nil {
		return nil, err
	}
	hits, hasMore = append(hits, payments...), hasMore || hasMorePayments
	if len(hits) == 0 {
		hits, hasMore, err = a.findByName(ctx, text)
	}
	return &found[searchBody]{Body: searchBody{Items: hits, More: hasMore}}, err
}

func (a *api) findByName(ctx context.Context, text string) (hits []hitBody, hasMore bool, err error) {
	if err := a.searchSemaphore.acquire(ctx, "Search"); err != nil {
		return nil, false, err
	}
	defer a.searchSemaphore.release()
	hits = []hitBody{}
	events, _, err := a.Overview.EventSummaries(ctx, store.EventFilter{Name: text}, holdfast.ID{}, maxHits+1)
	if err != nil {
		return nil, false, err
	}
	for _, e := range events[:min(len(events), maxHits)] {
		hits = append(hits, eventHit(e.Event, "name"))
	}
	users, err := a.Users.FindByName(ctx, text, maxHits+1)
	for _, u := range users[:min(len(users), maxHits)] {
		hits = append(hits, userHit(u, "name"))
	}
	return hits, len(events) > maxHits || len(users) > maxHits, err
}

// findByID looks for the ID in each collection.
func (a *api) findByID(ctx context.Context, text string, _ holdfast.ID) (hits []hitBody, err error) {
	id, err := holdfast.ParseID(text)
	if err != nil || id.IsZero() {
		return nil, nil //nolint:nilerr // the text is not an ID
	}
	const byID = "id"
	for _, find := range []func() (hitBody, error){
		func() (hitBody, error) {
			e, err := a.Seats.GetEvent(ctx, id)
			return eventHit(e, byID), err
		},
		func() (hitBody, error) {
			b, err := a.Bookings.GetBooking(ctx, id)
			return bookingHit(b, byID), err
		},
		func() (hitBody, error) {
			p, err := a.Bookings.GetPayment(ctx, id)
			return paymentHit(p, byID), err
		},
		func() (hitBody, error) {
			l, err := a.Seats.GetLock(ctx, id)
			return lockHit(l, byID), err
		},
		func() (hitBody, error) {
			u, err := a.Users.GetUser(ctx, id)
			return userHit(u, byID), err
		},
		func() (hitBody, error) {
			p, err := a.Plans.Summary(ctx, id)
			return hitBody{Kind: kindPlan, ID: p.ID.String(), MatchedBy: byID, Name: p.Name}, err
		},
	} {
		hit, err := find()
		switch {
		case holdfast.IsNotFound(err):
		case err != nil:
			return nil, err
		default:
			hits = append(hits, hit)
		}
	}
	return hits, nil
}

func (a *api) findByEmail(ctx context.Context, text string, _ holdfast.ID) ([]hitBody, error) {
	if !strings.Contains(text, "@") {
		return nil, nil
	}
	u, exists, err := a.Users.FindUser(ctx, text)
	if err != nil || !exists {
		return nil, err
	}
	return []hitBody{userHit(u, "email")}, nil
}

func (a *api) findHolder(ctx context.Context, text string) ([]hitBody, error) {
	hits := []hitBody{}
	f := holdfast.LockFilter{Holder: text}
	if f.Check() != nil {
		return hits, nil
	}
	locks, _, err := a.Seats.ListLocks(ctx, f, holdfast.Page{})
	if err != nil {
		return nil, err
	}
	bookings, _, err := a.Bookings.ListBookings(ctx, holdfast.BookingFilter{Holder: text}, holdfast.Page{})
	if err != nil || len(locks)+len(bookings) == 0 {
		return hits, err
	}
	return []hitBody{{Kind: kindHolder, ID: holdfast.HolderID(text).String(), MatchedBy: kindHolder, Holder: text}}, nil
}

func (a *api) findSeat(ctx context.Context, text string, event holdfast.ID) ([]hitBody, error) {
	if event.IsZero() {
		return nil, nil
	}
	s, err := a.Seats.Seat(ctx, event, text)
	hasNone := holdfast.IsNotFound(err) || holdfast.HasCode(err, holdfast.CodeInvalid) // the latter without a plan
	if err != nil && !hasNone {
		return nil, err
	}
	if hasNone {
		return nil, nil
	}
	return []hitBody{{
		Kind: kindSeat, ID: s.SeatID, MatchedBy: kindSeat, Name: strings.Join([]string{s.Section, s.Row, s.Label}, ", "), Status: string(s.State),
		EventID: event.String(), LockID: formatID(s.LockID), BookingID: formatID(s.BookingID),
	}}, nil
}

// findByReference finds what the shop calls so.
func (a *api) findByReference(ctx context.Context, text string) (hits []hitBody, hasMore bool, err error) {
	const byReference = "reference"
	if text == "" || (holdfast.EventFilter{Reference: text}).Check() != nil {
		return nil, false, nil
	}
	page := holdfast.Page{Size: maxHits}
	events, moreEvents, err := a.Seats.ListEvents(ctx, holdfast.EventFilter{Reference: text}, page)
	if err != nil {
		return nil, false, err
	}
	for _, e := range events {
		hits = append(hits, eventHit(e, byReference))
	}
	bookings, moreBookings, err := a.Bookings.ListBookings(ctx, holdfast.BookingFilter{Reference: text}, page)
	if err != nil {
		return nil, false, err
	}
	for _, b := range bookings {
		hits = append(hits, bookingHit(b, byReference))
	}
	locks, moreLocks, err := a.Seats.ListLocks(ctx, holdfast.LockFilter{Reference: text}, page)
	for _, l := range locks {
		hits = append(hits, lockHit(l, byReference))
	}
	return hits, moreEvents+moreBookings+moreLocks != "", err
}

func lockHit(l holdfast.Lock, matchedBy string) hitBody {
	return hitBody{
		Kind: kindLock, ID: l.ID.String(), MatchedBy: matchedBy, Status: string(l.Status), Seats: l.Seats,
		EventID: formatID(l.EventID), UserID: Customer{l.UserID, l.Holder}.userID(), Holder: l.Holder, BookingID: formatID(l.BookingID),
	}
}

func bookingHit(b holdfast.Booking, matchedBy string) hitBody {
	return hitBody{
		Kind: kindBooking, ID: b.ID.String(), MatchedBy: matchedBy, Status: string(b.Status), Seats: b.Seats,
		EventID: formatID(b.EventID), UserID: Customer{b.UserID, b.Holder}.userID(), Holder: b.Holder, LockID: formatID(b.LockID),
	}
}

func eventHit(e holdfast.Event, matchedBy string) hitBody {
	return hitBody{
		Kind: kindEvent, ID: e.ID.String(), MatchedBy: matchedBy, Name: e.Name, Status: string(e.Status), EventDate: formatTime(e.EventDate),
	}
}

func userHit(u holdfast.User, matchedBy string) hitBody {
	return hitBody{Kind: kindUser, ID: u.ID.String(), MatchedBy: matchedBy, Name: u.Name, Email: u.Email}
}
