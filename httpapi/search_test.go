package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// search returns the kinds and IDs of what was found.
func (s *site) search(query url.Values) (hits []string, more bool) {
	s.t.Helper()
	var body struct {
		Items []struct{ Kind, ID, MatchedBy, Name, Status string }
		More  bool
	}
	a := s.want(s.call("GET", "/api/admin/search?"+query.Encode(), nil), 200, "")
	if err := json.Unmarshal([]byte(a.raw), &body); err != nil || body.Items == nil {
		s.t.Fatal(err, a.raw)
	}
	for _, h := range body.Items {
		hits = append(hits, strings.TrimSpace(fmt.Sprintf("%s %s by %s: %s %s", h.Kind, h.ID, h.MatchedBy, h.Name, h.Status)))
	}
	return hits, body.More
}

func (s *site) wantHits(query url.Values, want ...string) {
	s.t.Helper()
	if hits, _ := s.search(query); !slices.Equal(hits, want) {
		s.t.Errorf("a search for %v found %q, want %q", query, hits, want)
	}
}

// sell sells seats of an event to a user.
func (s *site) sell(event, user string, wish fields, reference string) (lock, booking string) {
	s.t.Helper()
	lock = s.want(s.lockSeats(event, user, wish), 201, "").text("id")
	request := fields{"eventId": event, "userId": user, "lockId": lock, "paymentTtlSeconds": 600}
	booking = s.want(s.call("POST", "/api/bookings", request), 201, "").text("id")
	s.want(s.call("POST", "/api/bookings/"+booking+"/confirm", fields{"paymentReference": reference}), 200, "")
	return lock, booking
}

func TestSearch_FindsByIDEmailReferenceAndSeat(t *testing.T) {
	t.Parallel()
	s := open(t)
	event := s.seatedEvent(nil)
	plan := s.call("GET", "/api/events/"+event, nil).text("seatingPlanId")
	user := s.want(s.call("POST", "/api/users", fields{"name": "Ada", "email": "Ada@example.com"}), 201, "").text("id")
	lock, booking := s.sell(event, user, fields{"seatIds": []string{"A-1-1"}}, "pay 1/ä&b")
	of := func(text string) url.Values { return url.Values{"q": {text}} }
	s.wantHits(of(event), "event "+event+" by id: Seated ON_SALE")
	s.wantHits(of(" "+strings.ToUpper(user)+" "), "user "+user+" by id: Ada")
	s.wantHits(of(lock), "lock "+lock+" by id:  CONSUMED")
	s.wantHits(of(booking), "booking "+booking+" by id:  CONFIRMED")
	s.wantHits(of(plan), "seating-plan "+plan+" by id: Small hall")
	s.wantHits(of("ADA@EXAMPLE.COM"), "user "+user+" by email: Ada")
	payment := holdfast.Charge{Reference: "pay 1/ä&b"}.PaymentID().String()
	s.wantHits(of("pay 1/ä&b"), "booking "+booking+" by paymentReference:  CONFIRMED", "payment "+payment+" by paymentReference:  ACCEPTED")
	s.wantHits(of(payment), "payment "+payment+" by id:  ACCEPTED")
	s.want(s.confirm(booking, fields{"paymentReference": "second"}), 409, "BOOKING_CONFIRMED")
	s.wantHits(of("second"), "payment "+holdfast.Charge{Reference: "second"}.PaymentID().String()+" by paymentReference:  REFUND_DUE")
	s.want(s.call("PATCH", "/api/locks/"+lock, fields{"reference": "order 17"}), 200, "")
	s.want(s.call("PATCH", "/api/bookings/"+booking, fields{"reference": "order 17"}), 200, "")
	s.wantHits(of(" order 17 "), "booking "+booking+" by reference:  CONFIRMED", "lock "+lock+" by reference:  CONSUMED")
	s.want(s.call("PATCH", "/api/events/"+event, fields{"reference": "season"}), 200, "")
	s.wantHits(of("season"), "event "+event+" by reference: Seated ON_SALE")
	inEvent := url.Values{"q": {"A-1-1"}, "eventId": {event}}
	s.wantHits(inEvent, "seat A-1-1 by seat: A, 1, 1 SOLD")
	a := s.call("GET", "/api/admin/search?"+inEvent.Encode(), nil)
	if !strings.Contains(a.raw, `"lockId":"`+lock+`","bookingId":"`+booking+`"`) {
		t.Errorf("the seat's holder: %s", a.raw)
	}
	for _, text := range []string{
		"pay 1", "A-1-1", "nobody@example.com", "a@b@c", "@", "$ne", strings.Repeat("0", 24), mongodb.NewID().String(),
	} {
		s.wantHits(of(text))
	}
	s.wantHits(url.Values{"q": {"A-9-9"}, "eventId": {event}})
	s.wantHits(url.Values{"q": {"A-1-1"}, "eventId": {s.event(5)}})               // it has no numbered seats
	s.wantHits(url.Values{"q": {"A-1-1"}, "eventId": {mongodb.NewID().String()}}) // there is no such event
}

// A part of a name finds events and users, unless something matches the whole text.
func TestSearch_FindsByName(t *testing.T) {
	t.Parallel()
	s := open(t)
	gala := fields{"name": "Ada's gala", "totalSeats": 5, "eventDate": "2030-06-15T20:00:00Z"}
	event := s.want(s.call("POST", "/api/events", gala), 201, "").text("id")
	user := s.want(s.call("POST", "/api/users", fields{"name": "Ada Lovelace", "email": "ada@example.com"}), 201, "").text("id")
	of := func(text string) url.Values { return url.Values{"q": {text}} }
	s.wantHits(of("aDa"), "event "+event+" by name: Ada's gala ON_SALE", "user "+user+" by name: Ada Lovelace")
	s.wantHits(of("lovelace"), "user "+user+" by name: Ada Lovelace")
	a := s.call("GET", "/api/admin/search?q=ada", nil)
	for _, want := range []string{`"email":"ada@example.com"`, `"eventDate":"2030-06-15T20:00:00.000Z"`} {
		if !strings.Contains(a.raw, want) {
			t.Errorf("%s is not in %s", want, a.raw)
		}
	}
	_, booking := s.sell(event, user, fields{"seats": 1}, "lovelace")
	if hits, _ := s.search(of("lovelace")); len(hits) != 2 || !strings.Contains(hits[0], booking) {
		t.Errorf("a text that is a payment reference found %q", hits)
	}
	for range 51 {
		s.user()
	}
	if hits, more := s.search(of("a")); len(hits) != 51 || !more {
		t.Errorf("%d hits, more: %v", len(hits), more)
	}
}

func TestSearch_RefusesWhatSaysNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, query := range []string{
		"", "q=", "q=%20%20", "q=" + strings.Repeat("x", 255), "q=a&q=b", "q=a&eventId=x", "q=a&eventId=", "q=a&x=1", "q=a%00",
	} {
		s.want(s.call("GET", "/api/admin/search?"+query, nil), 422, "VALIDATION_FAILED")
	}
}

// One charge may pay for many bookings. The answer is bounded, and says so.
func TestSearch_BoundsTheBookingsOfOneReference(t *testing.T) {
	t.Parallel()
	s := open(t)
	confirmed := func(id any, reference string) {
		s.w.Insert("bookings", bson.D{{Key: "_id", Value: id}, {Key: "status", Value: "CONFIRMED"}, {Key: "seatLockId", Value: mongodb.NewID()},
			{Key: "paymentReference", Value: reference}})
	}
	for range 51 {
		confirmed(mongodb.NewID(), "group")
	}
	confirmed("text", "alone")
	if hits, more := s.search(url.Values{"q": {"group"}}); len(hits) != 50 || !more {
		t.Errorf("%d hits, more: %v", len(hits), more)
	}
	if hits, more := s.search(url.Values{"q": {"alone"}}); len(hits) != 0 || more { // its _id names nothing
		t.Errorf("%v, more: %v", hits, more)
	}
}
