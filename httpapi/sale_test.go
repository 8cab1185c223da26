package httpapi_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/client"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// at is a time from now, as requests and answers write it.
func at(d time.Duration) string { return time.Now().Add(d).UTC().Format("2006-01-02T15:04:05.000Z") }

// Before the start of the sale, an answer says when it opens and how long to wait; from the end on the event is not on sale.
func TestSale_OnlyBetweenItsTimes(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event := s.user(), s.event(10)
	request := fields{"eventId": event, "userId": user, "seats": 2, "idempotencyKey": "k"}
	for name, c := range map[string]struct {
		opens       time.Duration
		least, most int
	}{
		"soon": {20 * time.Second, 10, 20}, "much later": {30 * time.Hour, 3600, 3600},
	} {
		opens := at(c.opens)
		s.want(s.patch(event, fields{"saleStartsAt": opens}), 200, "")
		a := s.want(s.call("POST", "/api/locks", request), 409, "SALE_NOT_OPEN")
		wait, err := strconv.Atoi(a.header.Get("Retry-After"))
		if err != nil || wait < c.least || wait > c.most || a.text("opensAt") != opens {
			t.Errorf("%s: Retry-After %s, %s", name, a.header.Get("Retry-After"), a.raw)
		}
	}
	s.want(s.patch(event, fields{"status": "CLOSED"}), 200, "")
	s.want(s.call("POST", "/api/locks", request), 409, "EVENT_NOT_ON_SALE")
	s.want(s.patch(event, fields{"status": "ON_SALE", "saleStartsAt": at(-time.Hour), "maxSeatsPerUser": 2}), 200, "")
	lock := s.want(s.call("POST", "/api/locks", request), 201, "").text("id")
	s.want(s.patch(event, fields{"saleEndsAt": at(-time.Minute)}), 200, "")
	if a := s.want(s.call("POST", "/api/locks", request), 201, ""); a.text("id") != lock {
		t.Errorf("a repeat: %s", a.raw)
	}
	ended := s.want(s.call("POST", "/api/locks", fields{"eventId": event, "userId": user, "seats": 9}), 409, "EVENT_NOT_ON_SALE")
	if ended.header.Get("Retry-After") != "" {
		t.Errorf("Retry-After %s", ended.header.Get("Retry-After"))
	}
	testenv.CheckInvariants(t, s.w.DB.Database)
}

func TestSale_TimesAreSettings(t *testing.T) {
	t.Parallel()
	s := open(t)
	const starts, ends, later = "2030-01-02T03:04:05.678Z", "2030-01-03T03:04:05.000Z", "2030-02-01T00:00:00.000Z"
	newEvent := fields{"name": "E", "totalSeats": 10, "eventDate": later, "saleEndsAt": ends}
	newEvent["saleStartsAt"] = "2030-01-02T04:04:05.678999+01:00"
	created := s.want(s.call("POST", "/api/events", newEvent), 201, "")
	event := created.text("id")
	path := "/api/events/" + event
	get := func() answer { return s.want(s.call("GET", path, nil), 200, "") }
	for _, a := range []answer{created, get()} {
		if a.text("saleStartsAt") != starts || a.text("saleEndsAt") != ends {
			t.Errorf("answered %s", a.raw)
		}
	}
	before := get().raw
	for field, values := range map[string][]any{
		"saleStartsAt": {ends, later, "", "tomorrow", 5, true, []string{starts}, fields{}, "2030-01-02", "2030-02-30T00:00:00Z",
			"9999-12-31T23:59:59-01:00"},
		"saleEndsAt": {starts, "2030-01-02T03:04:05.6789Z", "2029-01-01T00:00:00Z", "", "x", 1.5, false, "2030-01-02T24:00:00Z",
			"0000-01-01T00:00:00+01:00"},
	} {
		for _, value := range values {
			s.wantInvalid(s.patch(event, fields{field: value}), "body."+field)
			refused := fields{"name": "E", "totalSeats": 10, "eventDate": later, "saleStartsAt": starts, "saleEndsAt": ends}
			refused[field] = value
			if field == "saleEndsAt" || value != ends && value != later { // of two that are given, the end is named
				s.wantInvalid(s.call("POST", "/api/events", refused), "body."+field)
			}
		}
	}
	if after := get().raw; after != before {
		t.Errorf("a refused change has changed\n%s to\n%s", before, after)
	}
	s.wantInvalid(s.patch(event, fields{"saleStartsAt": later, "saleEndsAt": later}), "body.saleEndsAt")
	moved := s.want(s.patch(event, fields{"saleStartsAt": ends, "saleEndsAt": later}), 200, "")
	if moved.text("saleStartsAt") != ends || moved.text("saleEndsAt") != later {
		t.Errorf("moved: %s", moved.raw)
	}
	s.want(s.patch(event, fields{"saleEndsAt": nil}), 200, "")
	if a := s.want(s.patch(event, fields{"saleStartsAt": nil}), 200, ""); a.body["saleStartsAt"] != nil || a.body["saleEndsAt"] != nil {
		t.Errorf("after the removal: %s", a.raw)
	}
	none := fields{"name": "E", "totalSeats": 10, "eventDate": later, "saleStartsAt": nil, "saleEndsAt": nil}
	if a := s.want(s.call("POST", "/api/events", none), 201, ""); a.body["saleStartsAt"] != nil || a.body["saleEndsAt"] != nil {
		t.Errorf("without times: %s", a.raw)
	}
}

// The times are part of the request that a key names.
func TestSale_TimesAreOfTheRequestThatAKeyNames(t *testing.T) {
	t.Parallel()
	s := open(t)
	request := fields{"name": "E", "totalSeats": 1, "eventDate": at(0), "idempotencyKey": "k", "saleStartsAt": at(time.Hour)}
	s.want(s.call("POST", "/api/events", request), 201, "")
	if a := s.want(s.call("POST", "/api/events", request), 201, ""); a.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("a repeat: %s", a.raw)
	}
	request["saleStartsAt"] = at(2 * time.Hour)
	s.want(s.call("POST", "/api/events", request), 422, "IDEMPOTENCY_KEY_REUSED")
	delete(request, "saleStartsAt")
	s.want(s.call("POST", "/api/events", request), 422, "IDEMPOTENCY_KEY_REUSED")
}

// A stream has both times, and sends them when they change. So do changes.
func TestSale_TimesAreSent(t *testing.T) {
	t.Parallel()
	s := open(t)
	event := s.event(10)
	l := s.listen(event, "")
	if first := l.next(); first.state.SaleStartsAt != "" || first.state.SaleEndsAt != "" {
		t.Errorf("first %+v", first)
	}
	starts, ends := at(time.Hour), at(2*time.Hour)
	_, token := s.changes("pageSize=500")
	for _, step := range []struct {
		change       fields
		starts, ends string
	}{
		{fields{"saleStartsAt": starts}, starts, ""}, {fields{"saleEndsAt": ends}, starts, ends}, {fields{"saleStartsAt": nil}, "", ends},
		{fields{"saleEndsAt": nil}, "", ""},
	} {
		changed := s.want(s.patch(event, step.change), 200, "")
		token = s.wantChanges("times", token, changed, []string{"event.changed"})
		if m := l.next(); m.state.SaleStartsAt != step.starts || m.state.SaleEndsAt != step.ends {
			t.Errorf("after %v: %s", step.change, m.data)
		}
	}
}

// The client of Go has the times too, and removes one by the zero time.
func TestClient_HasTheTimesOfASale(t *testing.T) {
	t.Parallel()
	s := openShop(t, passThrough)
	opens := time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)
	event, err := s.CreateEvent(t.Context(), client.NewEvent{Name: "E", TotalSeats: 5, EventDate: opens, SaleStartsAt: opens})
	if err != nil || !event.SaleStartsAt.Equal(opens) || !event.SaleEndsAt.IsZero() {
		t.Fatalf("%+v %v", event, err)
	}
	user, err := s.CreateUser(t.Context(), "A", "a@example.com")
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.AcquireLock(t.Context(), client.LockRequest{EventID: event.ID, UserID: user.ID, Seats: 1})
	var refusal *client.Error
	if !errors.As(err, &refusal) || refusal.Code != client.SaleNotOpen || !refusal.OpensAt.Equal(opens) || refusal.RetryAfter != time.Hour {
		t.Errorf("%+v %v", refusal, err)
	}
	ends := client.SaleTime{Time: opens.Add(time.Hour)}
	event, err = s.UpdateEvent(t.Context(), event.ID, client.EventChange{SaleStartsAt: &client.SaleTime{}, SaleEndsAt: &ends})
	if err != nil || !event.SaleStartsAt.IsZero() || !event.SaleEndsAt.Equal(ends.Time) {
		t.Errorf("%+v %v", event, err)
	}
}
