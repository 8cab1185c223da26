package httpapi_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// sellAtOnce sells seats at once, and returns the booking.
func (s *site) sellAtOnce(event string, wish fields) answer {
	s.t.Helper()
	return s.want(s.call("POST", "/api/events/"+event+"/sales", wish), 201, "")
}

// paymentOf is the ID of a payment of the default provider.
func paymentOf(reference string) string {
	return holdfast.Charge{Reference: reference}.PaymentID().String()
}

// fences are what a refusal may move, so that a late commit of the same request fails: the revision and the time of the event.
var fences = regexp.MustCompile(`"rev":\d+,|,"updatedAt":"[^"]*"`)

// saleState is what the routes answer about an event, its seats, locks, bookings and payments.
func (s *site) saleState(event string) string {
	s.t.Helper()
	var state strings.Builder
	state.WriteString(fences.ReplaceAllString(s.want(s.call("GET", "/api/events/"+event, nil), 200, "").raw, ""))
	state.WriteString(fences.ReplaceAllString(s.want(s.call("GET", "/api/events/"+event+"/seats?format=ids", nil), 200, "").raw, ""))
	for _, path := range []string{
		"/api/locks?eventId=" + event, "/api/bookings?eventId=" + event, "/api/payments?eventId=" + event,
	} {
		state.WriteString(s.want(s.call("GET", path, nil), 200, "").raw)
	}
	return state.String()
}

// wrong is a body, and the place that its refusal must name.
type wrong struct{ body, at string }

// wantWrong sends each body by each path, and fails unless it is refused with its place, and leaves everything as it was.
func (s *site) wantWrong(event, method string, paths []string, rows []wrong) {
	s.t.Helper()
	before := s.saleState(event)
	for _, row := range rows {
		for _, path := range paths {
			a := s.want(s.call(method, path, row.body), 422, "VALIDATION_FAILED")
			var places []string
			list, _ := a.body["errors"].([]any)
			for _, e := range list {
				places = append(places, fmt.Sprint(e.(map[string]any)["location"]))
			}
			if !slices.Contains(places, row.at) || goWords.MatchString(a.raw) {
				s.t.Errorf("%s %s: %s does not name %s in plain words", path, row.body, a.raw, row.at)
			}
		}
		if after := s.saleState(event); after != before {
			s.t.Fatalf("%s: after it was refused there is\n%s, before\n%s", row.body, after, before)
		}
	}
}

// wrongWishes are wishes for seats of hallPlan that no request can have.
func wrongWishes() []wrong {
	many := `"A-1-1"` + strings.Repeat(`,"A-1-1"`, 50)
	return []wrong{
		{`{}`, "body"}, {`[]`, "body"}, {`null`, "body"}, {`{"seats":null}`, "body"}, {`{"seatIds":null}`, "body"},
		{`{"section":"pit"}`, "body"}, {`{"seats":1,"seatIds":["A-1-1"]}`, "body"}, {`{"seats":1,"bestAvailable":{"seats":1}}`, "body"},
		{`{"seatIds":["A-1-1"],"bestAvailable":{"seats":1}}`, "body"}, {`{"seatIds":["A-1-1"],"section":"A"}`, "body"},
		{`{"accessibleSeats":1}`, "body"},

		{`{"seats":1}`, "body.seats"}, {`{"section":"pit","seats":0}`, "body.seats"}, {`{"section":"pit","seats":-1}`, "body.seats"},
		{`{"section":"pit","seats":1.5}`, "body.seats"}, {`{"section":"pit","seats":"1"}`, "body.seats"},
		{`{"section":"pit","seats":10000001}`, "body.seats"},
		{`{"section":"","seats":1}`, "body.section"}, {`{"section":1,"seats":1}`, "body.section"},
		{`{"section":"none","seats":1}`, "body.section"}, {`{"section":"A","seats":1}`, "body.section"},
		{`{"section":"` + strings.Repeat("s", 33) + `","seats":1}`, "body.section"},

		{`{"seatIds":[]}`, "body.seatIds"}, {`{"seatIds":"A-1-1"}`, "body.seatIds"}, {`{"seatIds":[1]}`, "body.seatIds[0]"},
		{`{"seatIds":[null]}`, "body.seatIds[0]"}, {`{"seatIds":["none"]}`, "body.seatIds"}, {`{"seatIds":["A-1-1","A-1-1"]}`, "body.seatIds"},
		{`{"seatIds":[` + many + `]}`, "body.seatIds"},
		{`{"seatIds":["A-1-6"]}`, "body.accessibleSeats"}, {`{"seatIds":["A-1-5"],"accessibleSeats":1}`, "body.accessibleSeats"},
		{`{"seatIds":["A-1-5"],"accessibleSeats":-1}`, "body.accessibleSeats"},
		{`{"seatIds":["A-1-5"],"accessibleSeats":"1"}`, "body.accessibleSeats"},
		{`{"seatIds":["A-1-5"],"accessibleSeats":51}`, "body.accessibleSeats"},
		{`{"bestAvailable":{"seats":1},"accessibleSeats":1}`, "body.accessibleSeats"},

		{`{"bestAvailable":{}}`, "body.bestAvailable"}, {`{"bestAvailable":1}`, "body.bestAvailable"},
		{`{"bestAvailable":{"seats":0}}`, "body.bestAvailable.seats"}, {`{"bestAvailable":{"seats":51}}`, "body.bestAvailable.seats"},
		{`{"bestAvailable":{"seats":1.5}}`, "body.bestAvailable.seats"},
		{`{"bestAvailable":{"seats":1,"categories":[]}}`, "body.bestAvailable.categories"},
		{`{"bestAvailable":{"seats":1,"categories":["none"]}}`, "body.bestAvailable.categories"},
		{`{"bestAvailable":{"seats":1,"section":""}}`, "body.bestAvailable.section"},
		{`{"bestAvailable":{"seats":1,"section":"none"}}`, "body.bestAvailable.section"},
		{`{"bestAvailable":{"seats":1,"accessibleSeats":2}}`, "body.bestAvailable.accessibleSeats"},
		{`{"bestAvailable":{"seats":1,"adjacent":"MAYBE"}}`, "body.bestAvailable.adjacent"},
		{`{"bestAvailable":{"seats":1,"x":1}}`, "body.bestAvailable.x"},
	}
}

// wrongCharges are fields of a charge, the places of which begin with at.
func wrongCharges(at string) (rows []wrong) {
	for fields, place := range map[string]string{
		`"paymentReference":""`: "paymentReference", `"paymentReference":1`: "paymentReference", `"paymentReference":" a"`: "paymentReference",
		`"paymentReference":"a\u0007"`: "paymentReference", `"paymentReference":"` + strings.Repeat("r", 201) + `"`: "paymentReference",
		`"amount":1`: "paymentReference", `"provider":"acme"`: "paymentReference", `"paymentPart":"a"`: "paymentReference",
		`"currency":"EUR"`:                                                        "paymentReference",
		`"paymentReference":"a","paymentPart":1`:                                  "paymentPart",
		`"paymentReference":"a","paymentPart":" "`:                                "paymentPart",
		`"paymentReference":"a","paymentPart":"` + strings.Repeat("p", 101) + `"`: "paymentPart",
		`"paymentReference":"a","provider":""`:                                    "provider",
		`"paymentReference":"a","provider":"a "`:                                  "provider",
		`"paymentReference":"a","provider":"` + strings.Repeat("p", 65) + `"`:     "provider",
		`"paymentReference":"a","amount":-1`:                                      "amount",
		`"paymentReference":"a","amount":1.5`:                                     "amount",
		`"paymentReference":"a","amount":"1"`:                                     "amount",
		`"paymentReference":"a","amount":9007199254740992`:                        "amount",
		`"paymentReference":"a","currency":"eur"`:                                 "currency",
		`"paymentReference":"a","currency":"EURO"`:                                "currency",
		`"paymentReference":"a","currency":978`:                                   "currency",
	} {
		rows = append(rows, wrong{fields, at + place})
	}
	return rows
}

var wrongKeys = []wrong{
	{`"idempotencyKey":""`, "body.idempotencyKey"}, {`"idempotencyKey":5`, "body.idempotencyKey"},
	{`"idempotencyKey":"a\u0007"`, "body.idempotencyKey"}, {`"idempotencyKey":"` + strings.Repeat("k", 201) + `"`, "body.idempotencyKey"},
}

var wrongCustomers = []wrong{
	{`"userId":null,"holder":"a"`, "body.userId"}, {`"userId":"6b0166d19f73b711049e40f2","holder":"a"`, "body"},
	{`"userId":"x"`, "body.userId"}, {`"userId":1`, "body.userId"},
	{`"holder":null`, "body.holder"}, {`"holder":""`, "body.holder"}, {`"holder":1`, "body.holder"},
	{`"holder":"a\u0007"`, "body.holder"}, {`"holder":"` + strings.Repeat("h", 129) + `"`, "body.holder"},
	{`"holder":"erased-a"`, "body.holder"},
}

// within completes bodies: the fields of each row come after the given ones.
func within(begin string, rows []wrong, end string) (whole []wrong) {
	for _, row := range rows {
		whole = append(whole, wrong{begin + row.body + end, row.at})
	}
	return whole
}

func TestAfterSale_WrongChangesAreRefusedByTheirPath(t *testing.T) {
	t.Parallel()
	s := open(t)
	event := s.seatedEvent(nil)
	sale := fields{"holder": cart, "seatIds": []string{"A-1-1", "A-1-2"}, "paymentReference": "p", "amount": 200}
	booking := s.sellAtOnce(event, sale).text("id")
	s.sellAtOnce(event, fields{"holder": cart, "seatIds": []string{"A-2-1"}, "paymentReference": "other", "amount": 200})
	paths := []string{"/api/bookings/" + booking + "/seats", "/api/events/" + event + "/bookings/" + booking + "/seats"}
	const wish = `{"seatIds":["A-1-1"],`
	refund := func(fields, at string) wrong { return wrong{`"refund":` + fields, "body.refund" + at} }
	s.wantWrong(event, "PUT", paths, slices.Concat(
		wrongWishes(), within(wish, wrongKeys, "}"), within(wish+`"payment":{`, wrongCharges("body.payment."), "}}"),
		within(wish, []wrong{
			{`"x":1`, "body.x"}, {`"userId":"6b0166d19f73b711049e40f2"`, "body.userId"},
			{`"payment":1`, "body.payment"}, {`"payment":{"x":1}`, "body.payment.x"},
			{`"payment":{}`, "body.payment.paymentReference"}, {`"payment":{"paymentReference":null}`, "body.payment.paymentReference"},
			refund(`1`, ""), refund(`{}`, ""), refund(`{"amount":1,"x":1}`, ".x"), refund(`{"amount":0}`, ".amount"),
			refund(`{"amount":-1}`, ".amount"), refund(`{"amount":1.5}`, ".amount"), refund(`{"amount":"1"}`, ".amount"),
			refund(`{"amount":null}`, ".amount"), refund(`{"amount":9007199254740992}`, ".amount"), refund(`{"amount":201}`, ".amount"),
			refund(`{"amount":1,"paymentId":"x"}`, ".paymentId"), refund(`{"amount":1,"paymentId":1}`, ".paymentId"),
			refund(`{"amount":1,"paymentId":"`+strings.Repeat("0", 24)+`"}`, ".paymentId"),
			refund(`{"amount":1,"paymentId":"`+mongodb.NewID().String()+`"}`, ".paymentId"),
			refund(`{"amount":1,"paymentId":"`+paymentOf("other")+`"}`, ".paymentId"),
		}, "}")))
	s.want(s.call("PUT", paths[0], wish+`"idempotencyKey":null,"payment":null,"refund":{"amount":200,"paymentId":null}}`), 200, "")
	s.checkInvariants()
}

func TestAfterSale_WrongTransfersAreRefusedByTheirPath(t *testing.T) {
	t.Parallel()
	s := open(t)
	event := s.seatedEvent(nil)
	booking := s.sellAtOnce(event, fields{"holder": cart, "seatIds": []string{"A-1-1"}}).text("id")
	s.wantWrong(event, "POST", []string{
		"/api/bookings/" + booking + "/transfer", "/api/events/" + event + "/bookings/" + booking + "/transfer",
	}, slices.Concat(within("{", wrongCustomers, "}"), within(`{"holder":"a",`, wrongKeys, "}"), []wrong{
		{`{}`, "body"}, {`[]`, "body"}, {`null`, "body"}, {`{"holder":"a","x":1}`, "body.x"}, {`{"holder":"a","seats":1}`, "body.seats"},
	}))
}

func TestAfterSale_WrongSalesAreRefusedByTheirPath(t *testing.T) {
	t.Parallel()
	s := open(t)
	event := s.seatedEvent(nil)
	var wishes []wrong
	for _, row := range wrongWishes() {
		if rest, isObject := strings.CutPrefix(row.body, "{"); isObject {
			if rest != "}" {
				rest = "," + rest
			}
			row.body = `{"holder":"a"` + rest
		}
		wishes = append(wishes, row)
	}
	const wish, holder = `{"seatIds":["A-1-1"],`, `{"seatIds":["A-1-1"],"holder":"a",`
	s.wantWrong(event, "POST", []string{"/api/events/" + event + "/sales"}, slices.Concat(
		wishes, within(wish, wrongCustomers, "}"), within(holder, wrongKeys, "}"), within(holder, wrongCharges("body."), "}"),
		within(holder, []wrong{
			{`"x":1`, "body.x"}, {`"ttlSeconds":60`, "body.ttlSeconds"}, {`"expiresAt":"2030-01-01T00:00:00Z"`, "body.expiresAt"},
			{`"payment":{"paymentReference":"a"}`, "body.payment"}, {`"eventId":"x"`, "body.eventId"},
			{`"eventId":"` + mongodb.NewID().String() + `"`, "body.eventId"},
			{`"reference":null`, "body.reference"}, {`"reference":""`, "body.reference"}, {`"reference":"a\n"`, "body.reference"},
			{`"reference":1`, "body.reference"}, {`"reference":"` + strings.Repeat("r", 129) + `"`, "body.reference"},
			{`"metadata":null`, "body.metadata"}, {`"metadata":[]`, "body.metadata"}, {`"metadata":{"a":null}`, "body.metadata.a"},
			{`"metadata":{"a":1}`, "body.metadata.a"}, {`"metadata":{"a b":"1"}`, "body.metadata.a b"},
		}, "}"),
		[]wrong{{`{"seatIds":["A-1-1"]}`, "body"}}))
	s.sellAtOnce(event, fields{"holder": "a", "seatIds": []string{"A-1-1"}, "eventId": strings.ToUpper(event), "idempotencyKey": nil,
		"paymentReference": nil, "amount": nil, "currency": nil, "provider": nil, "paymentPart": nil, "section": nil, "metadata": fields{}})
}

func TestAfterSale_WrongPartsAreRefusedByTheirPath(t *testing.T) {
	t.Parallel()
	s := open(t)
	event := s.seatedEvent(nil)
	s.sellAtOnce(event, fields{"holder": cart, "seatIds": []string{"A-1-1"}, "paymentReference": "p", "amount": 200})
	s.sellAtOnce(event, fields{"holder": cart, "seatIds": []string{"A-1-2"}, "paymentReference": "unknown amount"})
	path := "/api/payments/" + paymentOf("p")
	part := s.want(s.call("POST", path+"/refunds", fields{"amount": 50}), 201, "").body["refunds"].([]any)[0].(map[string]any)["id"].(string)
	s.wantWrong(event, "POST", []string{path + "/refunds"}, slices.Concat(within(`{"amount":1,`, wrongKeys, "}"), []wrong{
		{`{}`, "body"}, {`[]`, "body"}, {`null`, "body"}, {`{"amount":null}`, "body.amount"}, {`{"amount":0}`, "body.amount"},
		{`{"amount":-1}`, "body.amount"}, {`{"amount":1.5}`, "body.amount"}, {`{"amount":"1"}`, "body.amount"},
		{`{"amount":9007199254740992}`, "body.amount"}, {`{"amount":151}`, "body.amount"}, {`{"amount":1,"x":1}`, "body.x"},
	}))
	s.wantWrong(event, "POST", []string{"/api/payments/" + paymentOf("unknown amount") + "/refunds"}, []wrong{{`{"amount":1}`, "body.amount"}})
	s.wantWrong(event, "POST", []string{path + "/refunds/" + part + "/refunded"}, []wrong{
		{`{}`, "body"}, {`[]`, "body"}, {`{"refundReference":null}`, "body.refundReference"}, {`{"refundReference":""}`, "body.refundReference"},
		{`{"refundReference":1}`, "body.refundReference"}, {`{"refundReference":"a\u0007"}`, "body.refundReference"},
		{`{"refundReference":" a"}`, "body.refundReference"},
		{`{"refundReference":"` + strings.Repeat("r", 201) + `"}`, "body.refundReference"}, {`{"refundReference":"a","x":1}`, "body.x"},
	})
	before := s.saleState(event)
	s.want(s.call("POST", path+"/refunds/"+part+"/refunded", fields{"refundReference": "a"}, "Idempotency-Key", "k"), 422, "VALIDATION_FAILED")
	s.want(s.call("POST", path+"/refunds/x/refunded", fields{"refundReference": "a"}), 422, "VALIDATION_FAILED")
	s.want(s.call("POST", path+"/refunds/"+mongodb.NewID().String()+"/refunded", fields{"refundReference": "a"}), 404, "REFUND_NOT_FOUND")
	none := "/api/payments/" + mongodb.NewID().String() + "/refunds"
	s.want(s.call("POST", none, fields{"amount": 1}), 404, "PAYMENT_NOT_FOUND")
	s.want(s.call("POST", none+"/"+part+"/refunded", fields{"refundReference": "a"}), 404, "PAYMENT_NOT_FOUND")
	if after := s.saleState(event); after != before {
		t.Errorf("there is\n%s, before\n%s", after, before)
	}
}

// Two different keys in the header and the body are a mistake; one of them is enough.
func TestAfterSale_KeysInHeaderAndBody(t *testing.T) {
	t.Parallel()
	s := open(t)
	event := s.seatedEvent(nil)
	booking := s.sellAtOnce(event, fields{"holder": cart, "section": "pit", "seats": 3, "paymentReference": "p", "amount": 200}).text("id")
	for _, c := range []struct {
		method, path string
		body         fields
		status       int
	}{
		{"PUT", "/api/bookings/" + booking + "/seats", fields{"section": "pit", "seats": 2}, 200},
		{"PUT", "/api/events/" + event + "/bookings/" + booking + "/seats", fields{"section": "pit", "seats": 1}, 200},
		{"POST", "/api/bookings/" + booking + "/transfer", fields{"holder": "b"}, 200},
		{"POST", "/api/events/" + event + "/bookings/" + booking + "/transfer", fields{"holder": "c"}, 200},
		{"POST", "/api/events/" + event + "/sales", fields{"holder": "a", "section": "pit", "seats": 1}, 201},
		{"POST", "/api/payments/" + paymentOf("p") + "/refunds", fields{"amount": 1}, 201},
	} {
		t.Run(c.path, func(t *testing.T) {
			s := s.in(t)
			key := c.method + c.path
			before := s.saleState(event)
			keyed := with(c.body, fields{"idempotencyKey": key})
			if a := s.want(s.call(c.method, c.path, keyed, "Idempotency-Key", "other"), 422, "VALIDATION_FAILED"); !strings.Contains(a.raw,
				`"header.Idempotency-Key"`) {
				t.Errorf("%s", a.raw)
			}
			s.want(s.call(c.method, c.path, c.body, "Idempotency-Key", strings.Repeat("k", 201)), 422, "VALIDATION_FAILED")
			if after := s.saleState(event); after != before {
				t.Fatalf("there is\n%s, before\n%s", after, before)
			}
			first := s.want(s.call(c.method, c.path, keyed, "Idempotency-Key", key), c.status, "")
			if replayed := first.header.Get("Idempotent-Replayed"); replayed != "" {
				t.Errorf("Idempotent-Replayed is %q at first", replayed)
			}
			after := s.saleState(event)
			for _, again := range []answer{
				s.call(c.method, c.path, c.body, "Idempotency-Key", key), s.call(c.method, c.path, keyed),
			} {
				if s.want(again, c.status, ""); again.raw != first.raw || again.header.Get("Idempotent-Replayed") != "true" {
					t.Errorf("%v %s, not %s", again.header, again.raw, first.raw)
				}
			}
			other := with(c.body, fields{"section": "pit", "seats": 5})
			switch {
			case strings.HasSuffix(c.path, "/transfer"):
				other = fields{"holder": "d"}
			case strings.HasSuffix(c.path, "/refunds"):
				other = fields{"amount": 2}
			}
			s.want(s.call(c.method, c.path, other, "Idempotency-Key", key), 422, "IDEMPOTENCY_KEY_REUSED")
			if now := s.saleState(event); now != after {
				t.Errorf("repeats made\n%s of\n%s", now, after)
			}
		})
	}
	s.checkInvariants()
}
