package httpapi_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/config"
)

// number gives all changes their numbers, as the job does.
func (s *site) number() {
	s.t.Helper()
	for {
		n, err := s.w.Changes.Number(s.w.Ctx())
		if err != nil {
			s.t.Fatal(err)
		}
		if n == 0 {
			return
		}
	}
}

// changes lists all changes behind a token.
func (s *site) changes(query string) (items []fields, next string) {
	s.t.Helper()
	s.number()
	page := s.want(s.call("GET", "/api/changes?"+query, nil), 200, "")
	for _, item := range page.body["items"].([]any) {
		items = append(items, item.(map[string]any))
	}
	return items, page.text("nextPageToken")
}

func typesOf(items []fields) (types []string) {
	for _, c := range items {
		types = append(types, strings.TrimPrefix(fmt.Sprint(c["type"]), "holdfast."))
	}
	return types
}

// wantChanges compares the changes that a step has made, since a token, with what the routes answer now.
func (s *site) wantChanges(name, since string, step answer, want []string) (next string) {
	s.t.Helper()
	if step.status/100 != 2 {
		s.t.Fatalf("%s: %s", name, step.raw)
	}
	items, next := s.changes("pageSize=500&pageToken=" + since)
	if got := typesOf(items); !slices.Equal(got, want) {
		s.t.Fatalf("%s: told %v, want %v", name, got, want)
	}
	for _, c := range items {
		route := "/api/" + fmt.Sprint(c["subject"])
		now := s.want(s.call("GET", route, nil), 200, "").body
		delete(now, "idempotencyKey")
		if !reflect.DeepEqual(c["data"], now) {
			s.t.Errorf("%s: told %v, but %s answers %v", name, c["data"], route, now)
		}
		if c["specversion"] != "1.0" || c["requestid"] != step.header.Get("X-Request-Id") || c["datacontenttype"] != "application/json" ||
			c["source"] != "/holdfast/"+s.w.DB.Name() || len(fmt.Sprint(c["sequence"])) != 19 {
			s.t.Errorf("%s: %v", name, c)
		}
	}
	return next
}

// Each step is told, with the resource as its route answers right after it.
func TestChanges_TellWhatRoutesAnswer(t *testing.T) {
	t.Parallel()
	s := open(t)
	user := s.user()
	_, next := s.changes("")
	var event, lock, other, booking string
	step := func(name string, act func() answer, want ...string) {
		t.Helper()
		next = s.wantChanges(name, next, act(), want)
	}
	post := func(path string, body any) func() answer { return func() answer { return s.call("POST", path, body) } }
	step("event", func() answer {
		a := s.call("POST", "/api/events", fields{"name": "Show", "totalSeats": 5, "eventDate": "2030-01-02T03:04:05Z"})
		event = a.text("id")
		return a
	}, "event.created")
	step("lock", func() answer {
		a := s.call("POST", "/api/locks", fields{"eventId": event, "userId": user, "seats": 2, "idempotencyKey": "k"})
		lock = a.text("id")
		return a
	}, "lock.created")
	step("repeat", post("/api/locks", fields{"eventId": event, "userId": user, "seats": 2, "idempotencyKey": "k"}))
	step("extend", post("/api/locks/"+lock+"/extend", fields{"ttlSeconds": 1800}), "lock.extended")
	step("the rest", func() answer {
		a := s.call("POST", "/api/locks", fields{"eventId": event, "userId": user, "seats": 3})
		other = a.text("id")
		return a
	}, "lock.created", "event.sold_out")
	fewer := func() answer { return s.call("PUT", "/api/locks/"+other+"/seats", fields{"seats": 1}) }
	step("other seats", fewer, "lock.changed", "event.available")
	step("the same seats", fewer)
	step("release", func() answer { return s.call("DELETE", "/api/locks/"+other, nil) }, "lock.released")
	step("again", func() answer { return s.call("DELETE", "/api/locks/"+other, nil) })
	step("booking", func() answer {
		a := s.call("POST", "/api/bookings", fields{"eventId": event, "userId": user, "lockId": lock})
		booking = a.text("id")
		return a
	}, "lock.changed", "booking.created")
	step("pay", post("/api/bookings/"+booking+"/pay", fields{"paymentTtlSeconds": 3600}), "lock.extended", "booking.payment_pending")
	step("confirm", post("/api/bookings/"+booking+"/confirm", fields{"paymentReference": "p"}),
		"lock.consumed", "booking.confirmed", "payment.accepted")
	step("cancel", post("/api/bookings/"+booking+"/cancel", nil), "lock.released", "booking.cancelled", "payment.refund_due")
	step("rename", func() answer { return s.call("PATCH", "/api/events/"+event, fields{"name": "Other"}) }, "event.changed")
	step("smaller", func() answer { return s.call("PATCH", "/api/events/"+event, fields{"totalSeats": 1}) }, "event.changed")
	step("call off", func() answer { return s.call("PATCH", "/api/events/"+event, fields{"status": "CANCELLED"}) }, "event.cancelled")

	items, _ := s.changes("pageSize=500&type=holdfast.lock.*&eventId=" + event)
	for _, c := range items {
		if !strings.HasPrefix(fmt.Sprint(c["type"]), "holdfast.lock.") {
			t.Errorf("a filter for locks lists %v", c)
		}
	}
	if len(items) != 9 {
		t.Errorf("%d changes of locks: %v", len(items), typesOf(items))
	}
}

// Seats of plans, blocks and plans themselves are told too.
func TestChanges_OfSeatedEvents(t *testing.T) {
	t.Parallel()
	s := open(t)
	event := s.seatedEvent(nil)
	lock := s.want(s.call("POST", "/api/locks", fields{"eventId": event, "userId": s.user(), "seatIds": []string{"A-1-1", "A-1-2"}}), 201, "")
	s.want(s.call("PUT", "/api/locks/"+lock.text("id")+"/seats", fields{"seatIds": []string{"A-1-2", "A-1-3"}}), 200, "")
	s.want(s.call("POST", "/api/events/"+event+"/seats/block", fields{"seatIds": []string{"A-2-1"}}), 200, "")
	s.want(s.call("POST", "/api/events/"+event+"/seats/unblock", fields{"seatIds": []string{"A-2-1"}}), 200, "")
	items, _ := s.changes("pageSize=500")
	if got := typesOf(items); !slices.Equal(got, []string{
		"seating_plan.created", "event.created", "lock.created", "lock.changed", "event.seats_blocked", "event.seats_blocked",
	}) {
		t.Fatal(got)
	}
	first, moved := items[2]["data"].(map[string]any), items[3]["data"].(map[string]any)
	for seat, places := range map[string]any{"seatId:A-1-1": first["places"], "seatId:A-1-3": moved["places"]} {
		if !strings.Contains(fmt.Sprint(places), seat) {
			t.Errorf("the seats: %v, want %s", places, seat)
		}
	}
	if plan := items[0]["data"].(map[string]any); plan["id"] == "" || plan["sections"] == nil {
		t.Errorf("the plan: %v", plan)
	}
	if blocked := items[4]["data"].(map[string]any)["blockedSeats"]; blocked != 1.0 {
		t.Errorf("%v seats are blocked", blocked)
	}
}

// A booking may end after its lock. Its seats are told with their places all the same.
func TestChanges_OfABookingThatEndsAfterItsLock(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event := s.user(), s.seatedEvent(nil)
	for _, wish := range []fields{{"seatIds": []string{"A-2-1"}}, {"section": "pit", "seats": 2}} {
		lock := s.want(s.lockSeats(event, user, wish), 201, "").text("id")
		booking := s.want(s.call("POST", "/api/bookings", fields{"eventId": event, "userId": user, "lockId": lock}), 201, "").text("id")
		s.want(s.call("POST", "/api/bookings/"+booking+"/pay", fields{"paymentTtlSeconds": 60}), 200, "")
		due := time.Now().Add(-time.Minute)
		s.w.Set("seatlocks", mustParse(t, lock), bson.D{{Key: "expiresAt", Value: due}})
		s.w.Set("bookings", mustParse(t, booking), bson.D{{Key: "paymentExpiresAt", Value: due}})
		s.w.SweepLocks()
		s.w.SweepBookings()
		read := s.want(s.call("GET", "/api/bookings/"+booking, nil), 200, "")
		items, _ := s.changes("pageSize=500&type=holdfast.booking.expired")
		told := items[len(items)-1]["data"].(map[string]any)
		if read.text("status") != "EXPIRED" || !reflect.DeepEqual(told["places"], read.body["places"]) {
			t.Errorf("the booking is %s, and was told as %v", read.raw, told)
		}
	}
}

// The actor of a change is the key, or the user of the token. Only the scope admin reads changes.
func TestChanges_SayWho(t *testing.T) {
	t.Parallel()
	s := open(t, config.Key{Name: "shop", Scope: config.ScopeBooking, Secret: "1"},
		config.Key{Name: "boss", Scope: config.ScopeAdmin, Secret: "2"})
	boss, shop := []string{"Authorization", "Bearer 2"}, []string{"Authorization", "Bearer 1"}
	show := fields{"name": "Show", "totalSeats": 5, "eventDate": "2030-01-02T03:04:05Z"}
	event := s.want(s.call("POST", "/api/events", show, boss...), 201, "")
	user := s.want(s.call("POST", "/api/users", fields{"name": "Ann", "email": "ann@example.com"}, shop...), 201, "").text("id")
	s.want(s.call("POST", "/api/locks", fields{"eventId": event.text("id"), "userId": user, "seats": 2}, shop...), 201, "")
	s.want(s.call("GET", "/api/changes", nil, shop...), 403, "FORBIDDEN")
	s.number()
	page := s.want(s.call("GET", "/api/changes", nil, boss...), 200, "")
	var actors []string
	for _, item := range page.body["items"].([]any) {
		actors = append(actors, fmt.Sprint(item.(map[string]any)["actor"]))
	}
	if !slices.Equal(actors, []string{"boss", "shop"}) {
		t.Errorf("the actors are %v", actors)
	}
}

// A list of changes refuses what it can't read, and goes on from its last token.
func TestChanges_Tokens(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, query := range []string{
		"pageToken=x", "pageToken=MS4w%20", "type=lock.created", "type=lock.*", "type=", "eventId=" + strings.Repeat("0", 24),
		"pageSize=501",
	} {
		s.want(s.call("GET", "/api/changes?"+query, nil), 422, "VALIDATION_FAILED")
	}
	_, token := s.changes("")
	if items, again := s.changes("pageToken=" + token); len(items) > 0 || again != token || token == "" {
		t.Errorf("%v, %q after %q", items, again, token)
	}
	s.event(10)
	if items, _ := s.changes("pageToken=" + token); !slices.Equal(typesOf(items), []string{"event.created"}) {
		t.Errorf("then %v", items)
	}
	s.want(s.call("GET", "/api/changes?pageToken=OTk5LjA", nil), 410, "CHANGES_GONE") // of a database that was ahead
}

// The history of a booking is found among the changes of its event.
func TestChanges_OfSubjectsAndATime(t *testing.T) {
	t.Parallel()
	s := open(t)
	event, user := s.event(10), s.user()
	lock, booking := s.sell(event, user, fields{"seats": 2}, "p")
	s.sell(event, user, fields{"seats": 2}, "q")
	s.want(s.call("POST", "/api/bookings/"+booking+"/cancel", nil), 200, "")
	created := s.call("GET", "/api/locks/"+lock, nil).text("createdAt")
	query := "eventId=" + event + "&subject=locks/" + lock + "&subject=bookings/" + booking + "&since=" + created
	items, next := s.changes(query)
	if got := typesOf(items); !slices.Equal(got, []string{
		"lock.created", "lock.extended", "booking.created", "lock.consumed", "booking.confirmed", "lock.released", "booking.cancelled",
	}) {
		t.Errorf("the history is %v", got)
	}
	if items, again := s.changes(query + "&pageToken=" + next); len(items) > 0 || again != next {
		t.Errorf("then %v", items)
	}
	later := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	if items, _ := s.changes("since=" + later); len(items) > 0 {
		t.Errorf("in an hour there are %v", typesOf(items))
	}
	if items, _ := s.changes("until=2020-01-01T00:00:00Z"); len(items) > 0 {
		t.Errorf("until 2020 there are %v", typesOf(items))
	}
	for _, query := range []string{
		"subject=", "subject=users/" + user, "subject=" + lock, "since=", "since=yesterday", "until=2026-02-30T00:00:00Z", "since=2026-01-01",
	} {
		s.want(s.call("GET", "/api/changes?"+query, nil), 422, "VALIDATION_FAILED")
	}
}
