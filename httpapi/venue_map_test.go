package httpapi_test

import (
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

func TestVenueMap_SaysWhatHasBecomeOfEachSeat(t *testing.T) {
	t.Parallel()
	s := open(t)
	event, user := s.seatedEvent(nil), s.user()
	states := func() string {
		t.Helper()
		var text string
		for _, section := range s.want(s.call("GET", "/api/admin/events/"+event+"/seats", nil), 200, "").body["sections"].([]any) {
			m := section.(map[string]any)
			text += fmt.Sprint(m["key"], " ", m["available"], " ", m["locked"], " ", m["sold"], " ", m["blocked"], " ", m["states"], "; ")
		}
		return text
	}
	if got := states(); got != "A 12 0 0 0 AAAAAAAAAAAA; pit 10 0 0 0 <nil>; " {
		t.Errorf("a new event: %s", got)
	}
	locked := s.want(s.lockSeats(event, user, fields{"seatIds": []string{"A-1-1", "A-1-2"}}), 201, "")
	sold := s.want(s.lockSeats(event, user, fields{"seatIds": []string{"A-2-6"}}), 201, "")
	booking := s.want(s.call("POST", "/api/bookings", fields{
		"userId": user, "eventId": event, "lockId": sold.text("id"), "paymentTtlSeconds": 60,
	}), 201, "")
	s.want(s.call("POST", "/api/bookings/"+booking.text("id")+"/confirm", fields{}), 200, "")
	s.want(s.call("POST", "/api/events/"+event+"/seats/block", fields{"seatIds": []string{"A-1-4"}}), 200, "")
	s.want(s.lockSeats(event, user, fields{"section": "pit", "seats": 3}), 201, "")
	if got := states(); got != "A 8 2 1 1 LLABAAAAAAAS; pit 7 3 0 0 <nil>; " {
		t.Errorf("after some sales: %s", got)
	}
	s.w.Set("seatlocks", mustParse(t, locked.text("id")), bson.D{{Key: "expiresAt", Value: time.Now().Add(-time.Hour)}})
	if got := states(); got != "A 10 0 1 1 AAABAAAAAAAS; pit 7 3 0 0 <nil>; " {
		t.Errorf("after the lock's time: %s", got)
	}
}

func TestVenueMap_IsOfSeatedEvents(t *testing.T) {
	t.Parallel()
	s := open(t)
	plain := s.event(3)
	s.want(s.call("GET", "/api/admin/events/"+plain+"/seats", nil), 422, "VALIDATION_FAILED")
	s.want(s.call("GET", "/api/admin/events/"+mongodb.NewID().String()+"/seats", nil), 404, "EVENT_NOT_FOUND")
}
