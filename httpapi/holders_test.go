package httpapi_test

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// cart is a holder with characters that JSON, URLs and MongoDB write in other ways.
const cart = `cart 1/ä&"$ne"é`

func holderToken(t *testing.T, claims jwt.MapClaims) string {
	t.Helper()
	claims["exp"] = time.Now().Add(time.Hour).Unix()
	return sign(t, jwt.SigningMethodHS256, []byte(tokenSecret), claims)
}

// wantHeldBy fails unless an answer names its holder, and no user.
func (s *site) wantHeldBy(a answer, holder string) answer {
	s.t.Helper()
	if _, hasUser := a.body["userId"]; hasUser || a.text("holder") != holder {
		s.t.Errorf("not held by %q: %s", holder, a.raw)
	}
	return a
}

// userWithIDOf makes a user that has the ID of a holder.
func (s *site) userWithIDOf(holder string) string {
	s.t.Helper()
	id := holdfast.HolderID(holder)
	if _, err := s.w.DB.Collection("users").InsertOne(s.w.Ctx(), bson.D{{Key: "_id", Value: id}, {Key: "name", Value: "Twin"}}); err != nil {
		s.t.Fatal(err)
	}
	return id.String()
}

func TestHolders_LockBookAndPay(t *testing.T) {
	t.Parallel()
	s := open(t)
	event := s.event(10)
	for name, base := range map[string]string{"plain": "/api", "in its event": "/api/events/" + event} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			wanted := fields{"eventId": event, "holder": cart, "seats": 2, "idempotencyKey": name}
			lock := s.wantHeldBy(s.want(s.call("POST", base+"/locks", wanted), 201, ""), cart)
			if again := s.want(s.call("POST", base+"/locks", wanted), 201, ""); again.raw != lock.raw ||
				again.header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("%s, and again %s", lock.raw, again.raw)
			}
			book := fields{"eventId": event, "holder": cart, "lockId": lock.text("id"), "paymentTtlSeconds": 60}
			booking := s.wantHeldBy(s.want(s.call("POST", base+"/bookings", book), 201, ""), cart)
			s.want(s.call("POST", base+"/bookings", book), 200, "")
			s.wantHeldBy(s.want(s.confirm(booking.text("id"), fields{"paymentReference": name}), 200, ""), cart)
			s.wantHeldBy(s.want(s.call("GET", "/api/payments/"+holdfast.Charge{Reference: name}.PaymentID().String(), nil), 200, ""), cart)
			s.wantHeldBy(s.want(s.call("GET", "/api/locks/"+lock.text("id"), nil), 200, ""), cart)
		})
	}
	due := fields{"eventId": event, "holder": cart, "seats": 1, "ttlSeconds": 60}
	lock := s.want(s.call("POST", "/api/locks", due), 201, "").text("id")
	booking := s.want(s.call("POST", "/api/bookings", fields{
		"eventId": event, "holder": cart, "lockId": lock, "paymentExpiresAt": "2020-01-01T00:00:00Z"}), 201, "").text("id")
	s.want(s.confirm(booking, fields{"paymentReference": "too late"}), 410, "BOOKING_EXPIRED")
	for collection, want := range map[string]int64{"seatlocks": 3, "bookings": 3, "payments": 3} {
		stored := bson.D{{Key: "userId", Value: holdfast.HolderID(cart)}, {Key: "holder", Value: cart}}
		if n, err := s.w.DB.Collection(collection).CountDocuments(s.w.Ctx(), stored); n != want || err != nil {
			t.Errorf("%d %s of the holder are stored, %v", n, collection, err)
		}
	}
	items, _ := s.changes("pageSize=500")
	told := 0
	for _, c := range items {
		data, isEvent := c["data"].(map[string]any), strings.HasPrefix(fmt.Sprint(c["subject"]), "events/")
		if !isEvent && (data["holder"] != cart || data["userId"] != nil) {
			t.Errorf("the change %v", c)
		}
		if !isEvent {
			told++
		}
	}
	if told == 0 {
		t.Error("no change of the holder's was told")
	}
	testenv.CheckInvariants(t, s.w.DB.Database)
}

// A late payment acquires the seats for the same holder.
func TestHolders_LatePayment(t *testing.T) {
	t.Parallel()
	s := open(t)
	event := s.event(10)
	s.want(s.call("PATCH", "/api/events/"+event, fields{"latePayments": "ACCEPT"}), 200, "")
	lock := s.want(s.call("POST", "/api/locks", fields{"eventId": event, "holder": cart, "seats": 2}), 201, "").text("id")
	justNow := time.Now().Add(-time.Second).Format(time.RFC3339Nano)
	booking := s.want(s.call("POST", "/api/bookings", fields{"eventId": event, "holder": cart, "lockId": lock,
		"paymentExpiresAt": justNow}), 201, "")
	late := s.wantHeldBy(s.want(s.confirm(booking.text("id"), fields{"paymentReference": "late"}), 200, ""), cart)
	if late.text("late") != "true" || late.text("lockId") == lock {
		t.Errorf("the late booking is %s", late.raw)
	}
	s.wantHeldBy(s.want(s.call("GET", "/api/locks/"+late.text("lockId"), nil), 200, ""), cart)
	testenv.CheckInvariants(t, s.w.DB.Database)
}

// Each wrong way to name the customer is refused at its place, before anything else.
func TestHolders_WrongFieldsChangeNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	event, user := s.event(10), s.user()
	lock := s.want(s.call("POST", "/api/locks", fields{"eventId": event, "holder": cart, "seats": 2}), 201, "").text("id")
	long := strings.Repeat("x", 129)
	var rows []shapeOf
	for customer, says := range map[string]string{
		``: `"location":"body"`, `"userId":"` + user + `","holder":"a",`: `"location":"body"`,
		`"userId":"` + user + `","holder":"",`: `"body.holder"`, `"userId":"","holder":"a",`: `"body.userId"`,
		`"userId":null,`: `"body.userId"`, `"holder":null,`: `"body.holder"`,
		`"userId":null,"holder":"a",`: `"body.userId"`, `"userId":"` + user + `","holder":null,`: `"body.holder"`,
		`"holder":"",`: `"body.holder"`, `"holder":"` + long + `",`: `"body.holder"`, `"holder":5,`: `"body.holder"`,
		`"holder":["a"],`: `"body.holder"`, `"holder":{"$ne":""},`: `"body.holder"`, `"holder":true,`: `"body.holder"`,
		`"holder":"a\u0000",`: `"body.holder"`, `"holder":"a\nb",`: `"body.holder"`, `"holder":"\u007f",`: `"body.holder"`,
		`"holder":"\u0085",`: `"body.holder"`, `"holder":"erased-",`: `"body.holder"`,
		`"holder":"erased-6b0166d19f73b711049e40f1",`: `"body.holder"`, `"Holder":"a",`: `"body.Holder"`,
		`"HOLDER":"a","holder":"a",`: `"body.HOLDER"`,
	} {
		rows = append(rows, shapeOf{customer, customer, 422, "VALIDATION_FAILED", says})
	}
	rows = append(rows,
		shapeOf{"repeated", `"holder":"a","holder":"a",`, 400, "MALFORMED_REQUEST", "same key"},
		shapeOf{"half a pair", `"holder":"\ud800",`, 400, "MALFORMED_REQUEST", "surrogate"},
		shapeOf{"not UTF-8", `"holder":"` + "\xff" + `",`, 400, "MALFORMED_REQUEST", "UTF-8"})
	before := s.stored()
	for _, route := range []struct{ path, rest string }{
		{"/api/locks", `"eventId":"` + event + `","seats":1}`}, {"/api/events/" + event + "/locks", `"seats":1}`},
		{"/api/bookings", `"eventId":"` + event + `","lockId":"` + lock + `"}`},
		{"/api/events/" + event + "/bookings", `"lockId":"` + lock + `"}`},
	} {
		t.Run(route.path, func(t *testing.T) {
			bodies := make([]shapeOf, len(rows))
			for i, row := range rows {
				bodies[i] = row
				bodies[i].body = "{" + row.body + route.rest
			}
			s.checkShapes(t, "POST", route.path, bodies)
		})
	}
	if after := s.stored(); after != before {
		t.Errorf("stored are %s, before %s", after, before)
	}
}

// stored counts the documents that requests write.
func (s *site) stored() (counts string) {
	s.t.Helper()
	for _, name := range []string{"seatlocks", "bookings", "payments", "changes", "users", "events"} {
		n, err := s.w.DB.Collection(name).CountDocuments(s.w.Ctx(), bson.D{})
		if err != nil {
			s.t.Fatal(err)
		}
		counts += fmt.Sprint(n, " ", name, " ")
	}
	return counts
}

// The longest holder has 128 characters, of four bytes each.
func TestHolders_AreComparedByteByByte(t *testing.T) {
	t.Parallel()
	s := open(t)
	event := s.event(10)
	texts := []string{"a", "A", " a", "a ", "\u00e9", "e\u0301", strings.Repeat("\U0001f3ad", 128), strings.Repeat("0", 24), "{}", "\u202e"}
	for _, text := range texts {
		s.wantHeldBy(s.want(s.call("POST", "/api/locks", fields{"eventId": event, "holder": text, "seats": 1,
			"idempotencyKey": "k"}), 201, ""), text)
	}
	for _, text := range texts {
		if locks := s.itemsOf("/api/locks?" + url.Values{"holder": {text}}.Encode()); len(locks) != 1 || locks[0]["holder"] != text {
			t.Errorf("%q has the locks %v", text, locks)
		}
	}
}

// itemsOf returns the items of a list.
func (s *site) itemsOf(path string, headers ...string) (items []map[string]any) {
	s.t.Helper()
	list, _ := s.want(s.call("GET", path, nil, headers...), 200, "").body["items"].([]any)
	for _, item := range list {
		items = append(items, item.(map[string]any))
	}
	return items
}

func TestHolders_WrongFiltersAreRefused(t *testing.T) {
	t.Parallel()
	s := openWithAccess(t)
	key := []string{"Authorization", "Bearer s-shop"}
	id := mongodb.NewID().String()
	for _, path := range []string{"/api/locks", "/api/bookings"} {
		for query, where := range map[string]string{
			"holder=": "query.holder", "holder=a&userId=" + id: "query.holder", "holder=&userId=" + id: "query.holder",
			"holder=a&userId=":                   "query.userId",
			"holder=" + strings.Repeat("x", 129): "query.holder", "holder=a%00": "query.holder", "holder=%C2%85": "query.holder",
			"holder=%FF":        "query.holder",
			"holder=a&holder=a": "query.holder", "Holder=a": "query.Holder", "holder[$ne]=a": "query.holder[$ne]",
		} {
			t.Run(path+"?"+query, func(t *testing.T) {
				s := s.in(t)
				if a := s.want(s.call("GET", path+"?"+query, nil, key...), 422, "VALIDATION_FAILED"); !strings.Contains(a.raw, where) {
					t.Errorf("does not name %s: %s", where, a.raw)
				}
			})
		}
		for _, query := range []string{"holder=erased-" + id, "holder=" + strings.Repeat("0", 24), "holder=erased-"} {
			if items := s.itemsOf(path+"?"+query, key...); len(items) != 0 {
				t.Errorf("%s found %v", query, items)
			}
		}
	}
}

// A user that has the ID of a holder is another customer, with a key and with tokens.
func TestHolders_AreNotTheUserWithTheirID(t *testing.T) {
	t.Parallel()
	s := openWithAccess(t)
	key := []string{"Authorization", "Bearer s-ops"}
	twin := s.userWithIDOf(cart)
	event := s.w.Event(10).String()
	type customer struct {
		names fields
		query string
		as    []string
	}
	holder := customer{fields{"holder": cart}, url.Values{"holder": {cart}}.Encode(),
		[]string{"Authorization", holderToken(t, jwt.MapClaims{"sub": cart})}}
	user := customer{fields{"userId": twin}, "userId=" + twin, []string{"Authorization", tokenFor(t, twin)}}
	with := func(c customer, more fields) fields {
		all := fields{"eventId": event}
		for _, part := range []fields{c.names, more} {
			for field, value := range part {
				all[field] = value
			}
		}
		return all
	}
	for name, pair := range map[string][2]customer{"holder": {holder, user}, "user": {user, holder}} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			own, other := pair[0], pair[1]
			wish := fields{"seats": 1, "idempotencyKey": name}
			lock := s.want(s.call("POST", "/api/locks", with(own, wish), own.as...), 201, "").text("id")
			s.want(s.call("POST", "/api/locks", with(other, wish), key...), 422, "IDEMPOTENCY_KEY_REUSED")
			s.want(s.call("POST", "/api/locks", with(own, wish), other.as...), 404, "USER_NOT_FOUND")
			s.want(s.call("POST", "/api/bookings", with(other, fields{"lockId": lock}), key...), 404, "LOCK_NOT_FOUND")
			booking := s.want(s.call("POST", "/api/bookings", with(own, fields{"lockId": lock}), own.as...), 201, "").text("id")
			s.want(s.call("POST", "/api/bookings", with(other, fields{"lockId": lock}), key...), 404, "LOCK_NOT_FOUND")
			for _, route := range []struct {
				method, path, code string
				body               any
			}{
				{"GET", "/api/locks/" + lock, "LOCK_NOT_FOUND", nil}, {"GET", "/api/bookings/" + booking, "BOOKING_NOT_FOUND", nil},
				{"POST", "/api/locks/" + lock + "/extend", "LOCK_NOT_FOUND", fields{"ttlSeconds": 3600}},
				{"PUT", "/api/locks/" + lock + "/seats", "LOCK_NOT_FOUND", fields{"seats": 2}},
				{"POST", "/api/bookings/" + booking + "/pay", "BOOKING_NOT_FOUND", fields{"paymentTtlSeconds": 60}},
				{"POST", "/api/bookings/" + booking + "/cancel", "BOOKING_NOT_FOUND", nil}, {"DELETE", "/api/locks/" + lock, "LOCK_NOT_FOUND", nil},
				{"GET", "/api/locks?" + own.query, "USER_NOT_FOUND", nil}, {"GET", "/api/bookings?" + own.query, "USER_NOT_FOUND", nil},
			} {
				s.want(s.call(route.method, route.path, route.body, other.as...), 404, route.code)
			}
			for _, path := range []string{"/api/locks?", "/api/bookings?", "/api/locks?eventId=" + event + "&", "/api/locks?status=ACTIVE&"} {
				if items := s.itemsOf(path+own.query, key...); len(items) != 1 {
					t.Errorf("%s%s found %v", path, own.query, items)
				}
				if items := s.itemsOf(path, own.as...); len(items) != 1 {
					t.Errorf("%s of the token found %v", path, items)
				}
				if items := s.itemsOf(path+other.query, key...); len(items) != 0 {
					t.Errorf("%s%s found %v", path, other.query, items)
				}
				if items := s.itemsOf(path, other.as...); len(items) != 0 {
					t.Errorf("%s of the other token found %v", path, items)
				}
			}
			s.want(s.call("DELETE", "/api/locks/"+lock, nil, own.as...), 200, "")
			for _, collection := range []string{"seatlocks", "bookings"} {
				if _, err := s.w.DB.Collection(collection).DeleteMany(s.w.Ctx(), bson.D{}); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	s.want(s.call("GET", "/api/users/"+twin, nil, holder.as...), 404, "USER_NOT_FOUND")
	s.want(s.call("GET", "/api/users/"+twin, nil, user.as...), 200, "")
}

func TestHolders_TokenOfEachKind(t *testing.T) {
	t.Parallel()
	s := openWithAccess(t)
	key := []string{"Authorization", "Bearer s-ops"}
	event := s.want(s.call("POST", "/api/events", fields{"name": "E", "eventDate": "2030-06-15T10:00:00Z", "totalSeats": 100},
		key...), 201, "").text("id")
	user := s.want(s.call("POST", "/api/users", fields{"name": "A", "email": "a@example.com"}, key...), 201, "").text("id")
	for name, c := range map[string]struct {
		claims        jwt.MapClaims
		names, others fields
		actor         string
	}{
		"a user":            {jwt.MapClaims{"sub": user}, fields{"userId": user}, fields{"holder": user}, user},
		"a user, capitals":  {jwt.MapClaims{"sub": strings.ToUpper(user)}, fields{"userId": user}, fields{"holder": user}, strings.ToUpper(user)},
		"sub is a holder":   {jwt.MapClaims{"sub": "auth0|17"}, fields{"holder": "auth0|17"}, fields{"holder": "auth0|18"}, "auth0|17"},
		"claim holder":      {jwt.MapClaims{"sub": user, "holder": "cart-2"}, fields{"holder": "cart-2"}, fields{"userId": user}, "cart-2"},
		"holder alone":      {jwt.MapClaims{"holder": "cart-3"}, fields{"holder": "cart-3"}, fields{"userId": user}, "cart-3"},
		"holder like an ID": {jwt.MapClaims{"sub": "x", "holder": user}, fields{"holder": user}, fields{"userId": user}, user},
		"25 hex digits":     {jwt.MapClaims{"sub": user + "0"}, fields{"holder": user + "0"}, fields{"userId": user}, user + "0"},
	} {
		t.Run(name, func(t *testing.T) {
			s, as := s.in(t), []string{"Authorization", holderToken(t, c.claims)}
			c.names["seats"], c.others["seats"] = 1, 1
			s.want(s.call("POST", "/api/events/"+event+"/locks", c.others, as...), 404, "USER_NOT_FOUND")
			lock := s.want(s.call("POST", "/api/events/"+event+"/locks", c.names, as...), 201, "")
			if holder, isHolder := c.names["holder"].(string); isHolder {
				s.wantHeldBy(lock, holder)
			} else if _, hasHolder := lock.body["holder"]; hasHolder || lock.text("userId") != user {
				t.Errorf("the lock of a user is %s", lock.raw)
			}
			s.want(s.call("GET", "/api/locks/"+lock.text("id"), nil, as...), 200, "")
			s.want(s.call("POST", "/api/locks/"+lock.text("id")+"/extend", fields{"expiresAt": "2020-01-01T00:00:00Z"}, as...), 422,
				"VALIDATION_FAILED")
			if got := s.actorOf("locks/" + lock.text("id")); got != c.actor {
				t.Errorf("the actor is %q, want %q", got, c.actor)
			}
		})
	}
	for name, claims := range map[string]jwt.MapClaims{
		"erased sub": {"sub": "erased-" + user}, "erased holder": {"sub": user, "holder": "erased-" + user},
		"empty holder": {"sub": user, "holder": ""},
		"null":         {"sub": user, "holder": nil}, "a number": {"sub": user, "holder": 5}, "a list": {"sub": user, "holder": []string{"a"}},
		"an object": {"sub": user, "holder": fields{"$ne": ""}}, "too long": {"sub": user, "holder": strings.Repeat("x", 129)},
		"long sub": {"sub": strings.Repeat("x", 129)}, "control": {"sub": "a\nb"}, "empty sub": {"sub": ""}, "none": {},
		"zero": {"sub": strings.Repeat("0", 24)}, "sub of a number": {"sub": 5}, "another case": {"Holder": "a"},
	} {
		t.Run(name, func(t *testing.T) {
			s.in(t).want(s.in(t).call("GET", "/api/events", nil, "Authorization", holderToken(t, claims)), 401, "UNAUTHENTICATED")
		})
	}
	expiry := time.Now().Add(time.Hour).Unix()
	for _, holder := range []string{`"x\ud83c"`, "\"x\xff\"", `"x","holder":"y"`, `"x"`} { // Go reads the first two as the same text
		header := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256"}`))
		text := header + "." + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"exp":%d,"holder":%s}`, expiry, holder))
		signature, err := jwt.SigningMethodHS256.Sign(text, []byte(tokenSecret))
		if err != nil {
			t.Fatal(err)
		}
		token := "Bearer " + text + "." + base64.RawURLEncoding.EncodeToString(signature)
		if got, isValid := s.call("GET", "/api/events", nil, "Authorization", token), holder == `"x"`; (got.status == 200) != isValid {
			t.Errorf("the holder %q: %d", holder, got.status)
		}
	}
}

// actorOf returns the actor of the first change of a subject.
func (s *site) actorOf(subject string) string {
	s.t.Helper()
	s.number()
	list, _, err := s.w.Changes.List(s.w.Ctx(), nil, changes.Filter{}, holdfast.MaxPageSize)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, c := range list {
		if c.Subject() == subject {
			return c.Actor
		}
	}
	s.t.Errorf("%s has no change", subject)
	return ""
}

// Caps and rates count each holder by itself, and together with no user.
func TestHolders_HaveCapsAndRates(t *testing.T) {
	t.Parallel()
	s := openWith(t, func(s *httpapi.Services, l *core.Settings) {
		l.MaxActiveLocksPerUser = 2
		s.Keys = []config.Key{{Name: "ops", Scope: config.ScopeAdmin, Secret: "s-ops"}}
		s.Rates = httpapi.NewRateLimiter(nil, mongodb.SystemTime, slog.New(slog.DiscardHandler))
		s.Limits = httpapi.Limits{PerUser: config.Rate{Count: 5, Per: time.Hour}}
		tokens, err := httpapi.NewTokens(config.Access{JWTSecret: tokenSecret}, mongodb.SystemTime)
		if err != nil {
			t.Fatal(err)
		}
		s.Tokens = tokens
	})
	key := []string{"Authorization", "Bearer s-ops"}
	event := s.want(s.call("POST", "/api/events", fields{"name": "E", "eventDate": "2030-06-15T10:00:00Z", "totalSeats": 10,
		"maxSeatsPerUser": 3}, key...), 201, "").text("id")
	acquire := func(holder string, seats int) answer {
		return s.call("POST", "/api/locks", fields{"eventId": event, "holder": holder, "seats": seats}, key...)
	}
	s.want(acquire("a", 2), 201, "")
	s.want(acquire("a", 2), 409, "SEAT_LIMIT_REACHED")
	s.want(acquire("a", 1), 201, "")
	s.want(acquire("a", 1), 409, "SEAT_LIMIT_REACHED")
	s.want(acquire("b", 3), 201, "")
	s.want(acquire("a", 1), 409, "SEAT_LIMIT_REACHED")
	s.want(acquire("a", 1), 429, "TOO_MANY_REQUESTS")
	s.want(s.call("GET", "/api/locks", nil, "Authorization", holderToken(t, jwt.MapClaims{"holder": "a"})), 429, "TOO_MANY_REQUESTS")
	s.want(s.call("GET", "/api/locks", nil, "Authorization", holderToken(t, jwt.MapClaims{"holder": "b"})), 200, "")
	testenv.CheckInvariants(t, s.w.DB.Database)
}

// Other software may write locks and bookings of holders.
func TestHolders_OfOtherSoftware(t *testing.T) {
	t.Parallel()
	s := open(t)
	eventID, userID := s.w.Event(10), holdfast.HolderID(cart)
	lock := func(expires time.Time) holdfast.ID {
		id := mongodb.NewID()
		s.w.Insert("seatlocks", bson.D{{Key: "_id", Value: id}, {Key: "eventId", Value: eventID}, {Key: "userId", Value: userID},
			{Key: "holder", Value: cart},
			{Key: "seats", Value: 2}, {Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: expires}})
		return id
	}
	due, live, sold := lock(time.Now().Add(-time.Hour)), lock(time.Now().Add(time.Hour)), lock(time.Now().Add(time.Hour))
	booking := mongodb.NewID()
	s.w.Insert("bookings", bson.D{{Key: "_id", Value: booking}, {Key: "eventId", Value: eventID},
		{Key: "userId", Value: userID}, {Key: "holder", Value: cart},
		{Key: "seatLockId", Value: sold}, {Key: "seats", Value: 2}, {Key: "status", Value: "PAYMENT_PENDING"},
		{Key: "paymentExpiresAt", Value: time.Now().Add(time.Hour)}})
	s.w.Recover()
	s.want(s.call("POST", "/api/bookings", fields{"eventId": eventID.String(), "holder": cart, "lockId": live.String()}), 201, "")
	s.wantHeldBy(s.want(s.confirm(booking.String(), fields{"paymentReference": "r"}), 200, ""), cart)
	for path, want := range map[string]int{"locks": 3, "bookings": 2, "payments": 1} {
		query := "?" + url.Values{"holder": {cart}}.Encode()
		if path == "payments" {
			query = ""
		}
		for _, item := range s.itemsOf("/api/" + path + query) {
			if want--; item["holder"] != cart || item["userId"] != nil {
				t.Errorf("one of the %s is %v", path, item)
			}
		}
		if want != 0 {
			t.Errorf("%d more %s were wanted", want, path)
		}
	}
	if got := s.w.Lock(due); got.Status != holdfast.LockExpired || got.Holder != cart {
		t.Errorf("the due lock is %+v", got)
	}
	s.wantHits(url.Values{"q": {cart}}, "holder "+userID.String()+" by holder:")
	s.wantHits(url.Values{"q": {"cart"}})
	testenv.CheckInvariants(t, s.w.DB.Database)
}
