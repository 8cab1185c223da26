package httpapi_test

import (
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
)

// The console lists the refunds first that have waited longest.
func TestRefundsDue_AreListedOldestFirst(t *testing.T) {
	t.Parallel()
	s := open(t)
	event, user := s.event(10), s.user()
	for i := range 3 {
		_, booking := s.book(event, user, fields{"seats": 1}, endedAgo(time.Hour))
		reference := fmt.Sprint("r", i)
		s.want(s.confirm(booking, fields{"paymentReference": reference}), 410, "")
		s.w.Set("payments", holdfast.Charge{Reference: reference}.PaymentID(),
			bson.D{{Key: "updatedAt", Value: time.Now().Add(-time.Duration(i) * time.Hour)}})
	}
	_, sold := s.book(event, user, fields{"seats": 1}, nil)
	s.want(s.confirm(sold, fields{"paymentReference": "sold"}), 200, "")
	want := func(due string, references ...string) {
		t.Helper()
		a := s.want(s.call("GET", "/api/admin/refunds-due", nil), 200, "")
		items, _ := a.body["items"].([]any)
		var got []string
		for _, item := range items {
			got = append(got, fmt.Sprint(item.(map[string]any)["reference"]))
		}
		if a.text("due") != due || fmt.Sprint(got) != fmt.Sprint(references) {
			t.Errorf("%s due: %v, want %s: %v", a.text("due"), got, due, references)
		}
	}
	want("3", "r2", "r1", "r0")
	id := holdfast.Charge{Reference: "r1"}.PaymentID().String()
	s.want(s.call("POST", "/api/payments/"+id+"/refunded", fields{"refundReference": "back"}), 200, "")
	want("2", "r2", "r0")
	s.want(s.call("GET", "/api/admin/refunds-due?x=1", nil), 422, "VALIDATION_FAILED")
}
