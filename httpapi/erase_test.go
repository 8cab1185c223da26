package httpapi_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// wantErased fails unless an erasure has changed so many documents.
func (s *site) wantErased(a answer, locks, bookings int) {
	s.t.Helper()
	if want := fmt.Sprintf(`{"locks":%d,"bookings":%d,"entries":0}`, locks, bookings); strings.TrimSpace(s.want(a, 200, "").raw) != want {
		s.t.Errorf("erased %s, want %s", a.raw, want)
	}
}

// saying counts the documents of each collection that have a text in some field. Records of changes keep what they said.
func (s *site) saying(text string) map[string]int {
	s.t.Helper()
	found := map[string]int{}
	names, err := s.w.DB.ListCollectionNames(s.w.Ctx(), bson.D{})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, name := range names {
		var docs []bson.Raw
		cursor, err := s.w.DB.Collection(name).Find(s.w.Ctx(), bson.D{})
		if err == nil {
			err = cursor.All(s.w.Ctx(), &docs)
		}
		if err != nil {
			s.t.Fatal(err)
		}
		for _, doc := range docs {
			if strings.Contains(doc.String(), text) && name != "changes" {
				found[name]++
			}
		}
	}
	return found
}

func TestErase_AUser(t *testing.T) {
	t.Parallel()
	s := open(t)
	creation := fields{"name": "Ada Lovelace", "email": "Ada@BÜCHER.example", "idempotencyKey": "signup-ada"}
	user := s.want(s.call("POST", "/api/users", creation), 201, "").text("id")
	event, other := s.event(20), s.user()
	wish := fields{"seats": 2, "idempotencyKey": "cart-of-ada", "reference": "order-7", "metadata": fields{"phone": "+44 1815"}}
	lock := s.want(s.lockSeats(event, user, wish), 201, "").text("id")
	s.want(s.call("DELETE", "/api/locks/"+lock, nil), 200, "")
	sold, booking := s.sell(event, user, fields{"seats": 1, "idempotencyKey": "other cart-of-ada"}, "r1")
	noted, notedBooking := s.sell(event, user, fields{"seats": 1, "reference": "order-8", "metadata": fields{"note": "in a wheelchair"}}, "r3")
	keyless, _ := s.sell(event, user, fields{"seats": 1}, "r2")
	of := s.want(s.lockSeats(event, other, wish), 201, "").text("id")
	before := s.want(s.call("GET", "/api/bookings/"+booking, nil), 200, "").raw

	s.wantErased(s.call("POST", "/api/users/"+user+"/erase", nil), 3, 1)
	for _, text := range []string{"Ada", "signup-ada", "CHER", "xn--", "wheelchair"} {
		if left := s.saying(text); len(left) > 0 {
			t.Errorf("%q is left in %v", text, left)
		}
	}
	if left := s.saying("cart-of-ada"); left["seatlocks"] != 1 || len(left) != 1 { // of the other user
		t.Errorf("the keys are in %v", left)
	}
	if left := s.saying("+44 1815"); left["seatlocks"] != 1 || len(left) != 1 {
		t.Errorf("the metadata are in %v", left)
	}
	for path, reference := range map[string]string{"/api/locks/" + lock: "order-7", "/api/locks/" + noted: "order-8",
		"/api/bookings/" + notedBooking: "order-8"} {
		if got := s.call("GET", path, nil); got.text("reference") != reference || got.body["metadata"] != nil {
			t.Errorf("%s has %s", path, got.raw)
		}
	}
	s.want(s.call("GET", "/api/locks/"+of, nil), 200, "")
	if got := s.w.Lock(s.id(keyless)); got.UserID.String() != user || got.Status != holdfast.LockConsumed {
		t.Errorf("a lock without a key is %+v", got)
	}
	var stored struct{ Name, Email string }
	if err := s.w.DB.Collection("users").FindOne(s.w.Ctx(), bson.D{{Key: "_id", Value: s.id(user)}}).Decode(&stored); err != nil ||
		stored.Name != "erased" || stored.Email != user+"@erased.invalid" {
		t.Errorf("the user is stored as %+v, %v", stored, err)
	}

	s.want(s.call("GET", "/api/users/"+user, nil), 404, "USER_NOT_FOUND")
	s.want(s.call("PATCH", "/api/users/"+user, fields{"name": "B"}), 404, "USER_NOT_FOUND")
	s.want(s.lockSeats(event, user, wish), 404, "USER_NOT_FOUND")
	s.want(s.call("POST", "/api/bookings", fields{"eventId": event, "userId": user, "lockId": sold}), 404, "USER_NOT_FOUND")
	for _, email := range []string{"ada@bücher.example", user + "@erased.invalid"} {
		if found := s.itemsOf("/api/users?" + url.Values{"email": {email}}.Encode()); len(found) != 0 {
			t.Errorf("%s finds %v", email, found)
		}
	}
	s.wantHits(url.Values{"q": {"erased"}})
	if after := s.want(s.call("GET", "/api/bookings/"+booking, nil), 200, "").raw; after != before {
		t.Errorf("the booking was %s, and is %s", before, after)
	}
	s.wantErased(s.call("POST", "/api/users/"+user+"/erase", fields{}), 0, 0)
	items, _ := s.changes("pageSize=500&type=holdfast.lock.changed")
	changed := map[string]int{}
	for _, c := range items {
		changed[fmt.Sprint(c["subject"])]++
	}
	if len(changed) != 3 || changed["locks/"+lock] != 1 || changed["locks/"+sold] != 1 || changed["locks/"+noted] != 1 {
		t.Errorf("told %v", changed)
	}
	again := s.want(s.call("POST", "/api/users", creation), 201, "")
	if again.text("id") == user || again.header.Get("Idempotent-Replayed") != "" {
		t.Errorf("the same creation gets %s", again.raw)
	}
	testenv.CheckInvariants(t, s.w.DB.Database)
}

func (s *site) id(text string) holdfast.ID {
	s.t.Helper()
	id, err := holdfast.ParseID(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

func (s *site) eraseHolder(holder string) answer {
	s.t.Helper()
	return s.call("POST", "/api/holders/erase", fields{"holder": holder})
}

func TestErase_AHolder(t *testing.T) {
	t.Parallel()
	s := open(t)
	const ada = "ada lovelace, 1815"
	event := s.event(30)
	lock := func(seats int) string {
		return s.want(s.call("POST", "/api/locks", fields{"eventId": event, "holder": ada, "seats": seats,
			"idempotencyKey": fmt.Sprint("k", seats)}), 201, "").text("id")
	}
	released := lock(1)
	s.want(s.call("DELETE", "/api/locks/"+released, nil), 200, "")
	due := s.want(s.call("POST", "/api/locks", fields{"eventId": event, "holder": ada, "seats": 4,
		"expiresAt": "2020-01-01T00:00:00Z"}), 201, "").text("id")
	book := func(lock string) string {
		return s.want(s.call("POST", "/api/bookings", fields{"eventId": event, "holder": ada, "lockId": lock,
			"paymentTtlSeconds": 60}), 201, "").text("id")
	}
	sold, purged := book(lock(2)), book(lock(3))
	s.want(s.confirm(sold, fields{"paymentReference": "r-sold"}), 200, "")
	s.want(s.call("POST", "/api/bookings/"+purged+"/cancel", nil), 200, "")
	s.want(s.confirm(purged, fields{"paymentReference": "r-purged"}), 409, "BOOKING_CANCELLED")
	// As retention does, which leaves the payment.
	if _, err := s.w.DB.Collection("bookings").DeleteOne(s.w.Ctx(), bson.D{{Key: "_id", Value: s.id(purged)}}); err != nil {
		t.Fatal(err)
	}
	twin := s.userWithIDOf(ada)
	ofTwin := s.want(s.lockSeats(event, twin, fields{"seats": 1, "idempotencyKey": "twin"}), 201, "").text("id")

	s.wantErased(s.eraseHolder(ada), 4, 1)
	if left := s.saying("lovelace"); len(left) != 0 {
		t.Errorf("the holder is left in %v", left)
	}
	erased := holdfast.ErasedHolder(holdfast.HolderID(ada))
	if left := s.saying(erased); left["seatlocks"] != 4 || left["bookings"] != 1 || left["payments"] != 2 {
		t.Errorf("the erased holder is in %v", left)
	}
	for _, path := range []string{"/api/locks/" + released, "/api/locks/" + due, "/api/bookings/" + sold} {
		s.wantHeldBy(s.want(s.call("GET", path, nil), 200, ""), erased)
	}
	if got := s.w.Lock(s.id(due)); got.Status != holdfast.LockExpired {
		t.Errorf("the due lock is %+v", got)
	}
	if items := s.itemsOf("/api/locks?holder=" + erased); len(items) != 4 {
		t.Errorf("a filter by %s finds %v", erased, items)
	}
	if items := s.itemsOf("/api/locks?" + url.Values{"holder": {ada}}.Encode()); len(items) != 0 {
		t.Errorf("a filter by the holder finds %v", items)
	}
	s.wantErased(s.eraseHolder(ada), 0, 0)
	s.want(s.eraseHolder(erased), 422, "VALIDATION_FAILED")

	if own := s.w.Lock(s.id(ofTwin)); own.Key != "twin" || own.Status != holdfast.LockActive {
		t.Errorf("the lock of the user with the same ID is %+v", own)
	}
	s.want(s.call("POST", "/api/users/"+twin+"/erase", nil), 409, "HOLDS_SEATS")
	s.want(s.call("DELETE", "/api/locks/"+ofTwin, nil), 200, "")
	s.wantErased(s.call("POST", "/api/users/"+twin+"/erase", nil), 1, 0)
	s.want(s.confirm(sold, fields{"paymentReference": "r-sold"}), 200, "")

	// The same text is a new customer.
	s.want(s.call("POST", "/api/locks", fields{"eventId": event, "holder": ada, "seats": 1, "idempotencyKey": "k1"}), 201, "")
	if items := s.itemsOf("/api/locks?" + url.Values{"holder": {ada}}.Encode()); len(items) != 1 {
		t.Errorf("the holder has %v", items)
	}
	if told := s.toldOf(erased); told["holdfast.lock.changed"] != 4 || told["holdfast.booking.changed"] != 1 || len(told) != 2 {
		t.Errorf("told %v", told)
	}
	testenv.CheckInvariants(t, s.w.DB.Database)
}

// toldOf counts the changes of what a holder has, by their types.
func (s *site) toldOf(holder string) map[string]int {
	s.t.Helper()
	items, _ := s.changes("pageSize=500")
	told := map[string]int{}
	for _, c := range items {
		if data := c["data"].(map[string]any); data["holder"] == holder {
			told[fmt.Sprint(c["type"])]++
		}
	}
	return told
}

// What is live refuses, and stays as it is; what is due ends first.
func TestErase_WaitsForLiveLocksAndBookings(t *testing.T) {
	t.Parallel()
	s := open(t)
	event := s.event(100)
	passed := func(field string) bson.D { return bson.D{{Key: field, Value: time.Now().Add(-time.Hour)}} }
	lockIsDue := func(lock, _ string) { s.w.Set("seatlocks", s.id(lock), passed("expiresAt")) }
	windowPassed := func(_, booking string) { s.w.Set("bookings", s.id(booking), passed("paymentExpiresAt")) }
	bothAre := func(lock, booking string) { lockIsDue(lock, booking); windowPassed(lock, booking) }
	for name, c := range map[string]struct {
		window  fields // nil: no booking
		change  func(lock, booking string)
		refuses bool
	}{
		"a lock":                     {refuses: true},
		"a due lock":                 {change: lockIsDue},
		"INITIATED":                  {window: fields{}, refuses: true},
		"INITIATED, its lock is due": {window: fields{}, change: lockIsDue},
		"PAYMENT_PENDING":            {window: fields{"paymentTtlSeconds": 60}, refuses: true},
		"its window has passed":      {window: fields{"paymentTtlSeconds": 60}, change: windowPassed},
		"both have passed":           {window: fields{"paymentTtlSeconds": 60}, change: bothAre},
		"its lock is due":            {window: fields{"paymentTtlSeconds": 60}, change: lockIsDue},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			holder, booking := "holder of "+name, ""
			lock := s.want(s.call("POST", "/api/locks", fields{"eventId": event, "holder": holder, "seats": 1,
				"idempotencyKey": "k"}), 201, "").text("id")
			if c.window != nil {
				c.window["eventId"], c.window["holder"], c.window["lockId"] = event, holder, lock
				booking = s.want(s.call("POST", "/api/bookings", c.window), 201, "").text("id")
			}
			if c.change != nil {
				c.change(lock, booking)
			}
			a := s.eraseHolder(holder)
			got := s.w.Lock(s.id(lock))
			if c.refuses {
				s.want(a, 409, "HOLDS_SEATS")
				if got.Status != holdfast.LockActive || got.Holder != holder || got.Key != "k" {
					t.Errorf("the lock is %+v", got)
				}
				return
			}
			s.want(a, 200, "")
			if got.Status != holdfast.LockExpired || got.Holder == holder || got.Key != "" {
				t.Errorf("the lock is %+v", got)
			}
			if c.window != nil && s.w.Booking(s.id(booking)).Status != holdfast.BookingExpired {
				t.Errorf("the booking is %+v", s.w.Booking(s.id(booking)))
			}
			if left := s.saying(holder); len(left) > 0 {
				t.Errorf("the holder is left in %v", left)
			}
		})
	}
	testenv.CheckInvariants(t, s.w.DB.Database)
}

func TestErase_RefusesWhatNamesNobody(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.call("POST", "/api/users/"+mongodb.NewID().String()+"/erase", nil), 404, "USER_NOT_FOUND")
	s.want(s.call("POST", "/api/users/"+strings.Repeat("0", 24)+"/erase", nil), 404, "USER_NOT_FOUND")
	s.want(s.call("POST", "/api/users/x/erase", nil), 422, "VALIDATION_FAILED")
	s.want(s.call("POST", "/api/users/"+s.user()+"/erase", fields{"holder": "a"}), 422, "VALIDATION_FAILED")
	const invalid = "VALIDATION_FAILED"
	s.checkShapes(t, "POST", "/api/holders/erase", []shapeOf{
		{"empty", `{}`, 422, invalid, "body"}, {"null", `{"holder":null}`, 422, invalid, "body.holder"},
		{"blank", `{"holder":""}`, 422, invalid, "body.holder"},
		{"long", `{"holder":"` + strings.Repeat("x", 129) + `"}`, 422, invalid, "body.holder"},
		{"control", `{"holder":"a\u0000"}`, 422, invalid, "body.holder"},
		{"erased", `{"holder":"erased-6b0166d19f73b711049e40f1"}`, 422, invalid, "body.holder"},
		{"a user", `{"userId":"6b0166d19f73b711049e40f1"}`, 422, invalid, "body.userId"},
	})
	s.wantErased(s.eraseHolder("who has nothing"), 0, 0)
}

// A token that is still valid sees nothing of an erased holder, and is that of a new customer.
func TestErase_ATokenOfAnErasedHolder(t *testing.T) {
	t.Parallel()
	s := openWithAccess(t)
	key := []string{"Authorization", "Bearer s-ops"}
	event := s.want(s.call("POST", "/api/events", fields{"name": "E", "eventDate": "2030-06-15T10:00:00Z", "totalSeats": 10},
		key...), 201, "").text("id")
	as := []string{"Authorization", holderToken(t, jwt.MapClaims{"holder": cart})}
	lock := s.want(s.call("POST", "/api/locks", fields{"eventId": event, "holder": cart, "seats": 1}, as...), 201, "").text("id")
	s.want(s.call("DELETE", "/api/locks/"+lock, nil, as...), 200, "")
	s.want(s.call("POST", "/api/holders/erase", fields{"holder": cart}, as...), 403, "FORBIDDEN")
	s.want(s.call("POST", "/api/holders/erase", fields{"holder": cart}, "Authorization", "Bearer s-shop"), 403, "FORBIDDEN")
	s.wantErased(s.call("POST", "/api/holders/erase", fields{"holder": cart}, key...), 1, 0)
	s.want(s.call("GET", "/api/locks/"+lock, nil, as...), 404, "LOCK_NOT_FOUND")
	if items := s.itemsOf("/api/locks", as...); len(items) != 0 {
		t.Errorf("the token lists %v", items)
	}
	if got := s.actorOf("locks/" + lock); got != cart { // as it was told then
		t.Errorf("the lock was made by %q", got)
	}
}
