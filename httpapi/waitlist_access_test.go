package httpapi_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// A customer's token joins, reads, lists, declines and leaves its own only, and learns nothing about others.
func TestWaitlist_CustomersActForThemselvesAlone(t *testing.T) {
	t.Parallel()
	s := openWithAccess(t)
	admin := []string{"Authorization", "Bearer s-ops"}
	key := []string{"Authorization", "Bearer s-shop"}
	own := []string{"Authorization", holderToken(t, jwt.MapClaims{"sub": "a"})}
	other := []string{"Authorization", holderToken(t, jwt.MapClaims{"sub": "b"})}
	show := fields{"name": "E", "totalSeats": 2, "eventDate": "2030-06-15T10:00:00Z", "waitlist": "OPEN"}
	event := s.want(s.call("POST", "/api/events", show, admin...), 201, "").text("id")
	all := fields{"eventId": event, "holder": "owner", "seats": 2}
	lock := s.want(s.call("POST", "/api/locks", all, key...), 201, "").text("id")

	wish := fields{"holder": "a", "seats": 1}
	id := s.want(s.join(event, wish, own...), 201, "").text("id")
	s.want(s.join(event, wish, own...), 200, "")
	s.want(s.join(event, fields{"holder": "b", "seats": 1}, own...), 404, "USER_NOT_FOUND")
	s.want(s.join(event, fields{"userId": mongodb.NewID().String(), "seats": 1}, own...), 404, "USER_NOT_FOUND")
	for name, value := range map[string]any{"reference": "r", "metadata": fields{"a": "1"}} {
		s.want(s.join(event, with(wish, fields{name: value}), own...), 403, "FORBIDDEN")
		s.want(s.join(event, with(wish, fields{name: value, "seats": 0}), own...), 422, "VALIDATION_FAILED") // the shape is first
		s.want(s.join(event, with(wish, fields{name: nil}), own...), 422, "VALIDATION_FAILED")
	}
	bID := s.want(s.join(event, fields{"holder": "b", "seats": 1, "reference": "r", "metadata": fields{"m": "1"}}, key...), 201, "").text("id")
	for name, caller := range map[string][]string{"another": own, "a user": {"Authorization", tokenFor(t, mongodb.NewID().String())}} {
		for _, route := range []string{"GET /api/waitlist/", "DELETE /api/waitlist/", "POST /api/waitlist/"} {
			method, path, _ := strings.Cut(route, " ")
			if path += bID; method == "POST" {
				path += "/decline"
			}
			a := s.want(s.call(method, path, nil, caller...), 404, "WAITLIST_ENTRY_NOT_FOUND")
			none := s.call(method, strings.Replace(path, bID, mongodb.NewID().String(), 1), nil, caller...)
			if a.raw != none.raw {
				t.Errorf("%s %s: another's is %s, none is %s", name, route, a.raw, none.raw)
			}
		}
	}
	for query, want := range map[string][]string{"": {"a WAITING"}, "holder=a": {"a WAITING"}, "status=OFFERED": nil} {
		if got := s.listedEntries(event, query, own...); !slices.Equal(got, want) {
			t.Errorf("?%s: %v, want %v", query, got, want)
		}
	}
	for _, query := range []string{"holder=b", "userId=" + mongodb.NewID().String()} {
		s.want(s.call("GET", "/api/events/"+event+"/waitlist?"+query, nil, own...), 404, "USER_NOT_FOUND")
	}
	if got := s.listedEntries(event, "", key...); !slices.Equal(got, []string{"a WAITING", "b WAITING"}) {
		t.Errorf("the shop sees %v", got)
	}

	s.want(s.call("DELETE", "/api/locks/"+lock, nil, key...), 200, "") // both get an offer
	offer := s.want(s.call("GET", "/api/waitlist/"+bID, nil, other...), 200, "")
	if offer.text("status") != "OFFERED" || strings.Contains(offer.raw, "reference") || strings.Contains(offer.raw, "metadata") {
		t.Errorf("the customer is told %s", offer.raw)
	}
	if whole := s.call("GET", "/api/waitlist/"+bID, nil, key...); !strings.Contains(whole.raw, `"reference":"r","metadata":{"m":"1"}`) {
		t.Errorf("the shop is told %s", whole.raw)
	}
	bLock := s.want(s.call("GET", "/api/locks/"+offer.text("lockId"), nil, other...), 200, "")
	if bLock.text("waitlistEntryId") != bID || strings.Contains(bLock.raw, "reference") {
		t.Errorf("the lock is %s", bLock.raw)
	}
	book := fields{"eventId": event, "holder": "b", "lockId": bLock.text("id"), "paymentTtlSeconds": 600}
	s.want(s.call("POST", "/api/bookings", book, other...), 201, "")
	if a := s.want(s.call("POST", "/api/waitlist/"+bID+"/decline", nil, other...), 200, ""); strings.Contains(a.raw, "reference") ||
		a.text("status") != "DECLINED" {
		t.Errorf("declined %s", a.raw)
	}
	if a := s.want(s.call("DELETE", "/api/waitlist/"+id, nil, own...), 200, ""); a.text("status") != "LEFT" {
		t.Errorf("left %s", a.raw)
	}
	s.checkInvariants()
}

// A user who has the ID of a holder is another customer.
func TestWaitlist_AHolderIsNotTheUserWithItsID(t *testing.T) {
	t.Parallel()
	s := openWithAccess(t)
	admin := []string{"Authorization", "Bearer s-ops"}
	twin := s.userWithIDOf("cart")
	token := []string{"Authorization", tokenFor(t, twin)}
	show := fields{"name": "E", "totalSeats": 1, "eventDate": "2030-06-15T10:00:00Z", "waitlist": "OPEN"}
	event := s.want(s.call("POST", "/api/events", show, admin...), 201, "").text("id")
	s.want(s.call("POST", "/api/locks", fields{"eventId": event, "holder": "owner", "seats": 1}, admin...), 201, "")
	id := s.wantHeldBy(s.want(s.join(event, fields{"holder": "cart", "seats": 1}, admin...), 201, ""), "cart").text("id")
	s.want(s.call("GET", "/api/waitlist/"+id, nil, token...), 404, "WAITLIST_ENTRY_NOT_FOUND")
	s.want(s.call("DELETE", "/api/waitlist/"+id, nil, token...), 404, "WAITLIST_ENTRY_NOT_FOUND")
	if got := s.listedEntries(event, "", token...); len(got) != 0 {
		t.Errorf("the twin sees %v", got)
	}
	if got := s.listedEntries(event, "userId="+twin, admin...); len(got) != 0 {
		t.Errorf("the filter finds %v", got)
	}
	if got := s.listedEntries(event, "holder=cart", admin...); !slices.Equal(got, []string{"cart WAITING"}) {
		t.Errorf("the filter finds %v", got)
	}
}
