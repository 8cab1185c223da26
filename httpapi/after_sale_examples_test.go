package httpapi_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// shown are the examples of an operation, by their names: of its request, or of its answer with a status.
func (d exampleDocument) shown(path, method, status string) map[string]string {
	operation, bodies := d.Paths[path][method], map[string]string{}
	content := operation.RequestBody.Content
	if status != "" {
		content = operation.Responses[status].Content
	}
	for name, e := range content["application/json"].Examples {
		bodies[name] = string(e.Value)
	}
	return bodies
}

// wantForm fails unless an answer has the fields of an example.
func (s *site) wantForm(a answer, example string) {
	s.t.Helper()
	var shown any
	got := form(map[string]any(object(s.t, a.raw)))
	if err := json.Unmarshal([]byte(example), &shown); err != nil || !reflect.DeepEqual(got, form(shown)) {
		s.t.Errorf("the answer %s\nis not of the form of %s", a.raw, example)
	}
}

// The examples of requests after the sale can be sent as they are, with the IDs of an event and a user, and the answers look like
// the examples of answers.
func TestExamples_AfterTheSaleCanBeSent(t *testing.T) {
	t.Parallel()
	s := open(t)
	var d exampleDocument
	if err := json.Unmarshal([]byte(s.call("GET", "/openapi.json", nil).raw), &d); err != nil {
		t.Fatal(err)
	}
	plan := d.Paths["/api/seating-plans"]["post"].RequestBody.Content["application/json"].Example
	planID := s.want(s.call("POST", "/api/seating-plans", string(plan)), 201, "").text("id")
	hall := fields{"name": "E", "seatingPlanId": planID, "eventDate": "2030-06-15T20:00:00Z"}
	seated, unseated, user := s.want(s.call("POST", "/api/events", hall), 201, "").text("id"), s.event(9), s.user()
	eventOf := func(name string) string {
		if name == "seats" {
			return unseated
		}
		return seated
	}
	const sell, change, transfer = "/api/events/{eventId}/sales", "/api/bookings/{id}/seats", "/api/bookings/{id}/transfer"
	forms := []string{"accessible", "bestAvailable", "seatIds", "seats", "section"}
	sales, changes := d.shown(sell, "post", ""), d.shown(change, "put", "")
	for list, more := range map[*map[string]string][]string{&sales: {"charge"}, &changes: {"refund", "payment"}} {
		names := slices.Sorted(maps.Keys(*list))
		if want := slices.Sorted(slices.Values(append(more, forms...))); !slices.Equal(names, want) {
			t.Fatalf("the examples are %q, want %q", names, want)
		}
	}
	for name, body := range sales {
		event := eventOf(name)
		sold := s.want(s.call("POST", "/api/events/"+event+"/sales", strings.Replace(body, "till-1", name, 1)), 201, "")
		if name == "charge" {
			s.wantForm(sold, d.shown(sell, "post", "201")[name])
		}
		s.want(s.call("POST", "/api/bookings/"+sold.text("id")+"/cancel", nil), 200, "")
	}
	for name, body := range changes {
		wish := fields{"holder": "guest-7", "seatIds": []string{"A-2-1", "A-2-2"}, "paymentReference": name, "amount": 8400, "reference": "r"}
		if name == "seats" {
			delete(wish, "seatIds")
			wish["seats"] = 1
		}
		booking := s.sellAtOnce(eventOf(name), wish).text("id")
		if name == "seatIds" { // the booking has these
			s.want(s.changeSeats(booking, fields{"section": "pit", "seats": 1}), 200, "")
		}
		changed := s.want(s.call("PUT", "/api/bookings/"+booking+"/seats", body), 200, "")
		if name == "seatIds" {
			s.wantForm(changed, d.shown(change, "put", "200")["seats"])
		}
		s.want(s.call("POST", "/api/bookings/"+booking+"/cancel", nil), 200, "")
	}
	sold := s.sellAtOnce(seated, fields{
		"holder": "a", "seatIds": []string{"A-2-1"}, "paymentReference": "p", "amount": 8400, "currency": "EUR", "reference": "r",
	})
	for name, body := range d.shown(transfer, "post", "") {
		asShown := strings.Replace(body, "6b0166d19f73b711049e40f2", user, 1)
		moved := s.want(s.call("POST", "/api/bookings/"+sold.text("id")+"/transfer", asShown), 200, "")
		s.wantForm(moved, d.shown(transfer, "post", "200")[name])
	}
	const refund, noted = "/api/payments/{id}/refunds", "/api/payments/{id}/refunds/{refundId}/refunded"
	path := "/api/payments/" + paymentOf("p")
	s.want(s.transfer(sold.text("id"), fields{"holder": "a"}), 200, "")
	due := s.want(s.call("POST", path+"/refunds", d.shown(refund, "post", "")["half"]), 201, "")
	s.wantForm(due, d.shown(refund, "post", "201")["half"])
	part := due.body["refunds"].([]any)[0].(map[string]any)["id"].(string)
	s.wantForm(s.want(s.call("POST", path+"/refunds/"+part+"/refunded", d.shown(noted, "post", "")["refunded"]), 200, ""),
		d.shown(noted, "post", "200")["refunded"])
	s.checkInvariants()
}
