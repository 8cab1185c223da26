package httpapi_test

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// order is what a shop keeps with something.
func order(number string, metadata fields) fields {
	return fields{"reference": number, "metadata": metadata}
}

// with is a request with further fields.
func with(request, more fields) fields {
	all := fields{}
	for _, f := range []fields{request, more} {
		for key, value := range f {
			all[key] = value
		}
	}
	return all
}

// wantOrder compares the two fields of an answer.
func (s *site) wantOrder(a answer, want fields) {
	s.t.Helper()
	got := fields{}
	for _, field := range []string{"reference", "metadata"} {
		if value, has := a.body[field]; has {
			got[field] = value
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		s.t.Errorf("%d: has %v, want %v", a.status, got, want)
	}
}

func many(n int) fields {
	all := fields{}
	for i := range n {
		all[fmt.Sprint("key-", i)] = ""
	}
	return all
}

// shopDataRoutes are the routes that take the two fields: a request without them for each.
func shopDataRoutes(event, user, lock, free, booking string) (creations, changes map[string]fields) {
	inEvent := "/api/events/" + event
	wish := fields{"userId": user, "seats": 1}
	book := fields{"userId": user, "lockId": free}
	return map[string]fields{
			"POST /api/events":              {"name": "E", "totalSeats": 5, "eventDate": "2026-06-15T10:00:00Z"},
			"POST /api/locks":               with(wish, fields{"eventId": event}),
			"POST " + inEvent + "/locks":    wish,
			"POST /api/bookings":            with(book, fields{"eventId": event}),
			"POST " + inEvent + "/bookings": book,
		}, map[string]fields{
			"PATCH " + inEvent:                          {},
			"PATCH /api/locks/" + lock:                  {},
			"PATCH " + inEvent + "/locks/" + lock:       {},
			"PATCH /api/bookings/" + booking:            {},
			"PATCH " + inEvent + "/bookings/" + booking: {},
		}
}

// wrongShopData are values that no route takes, and where they are refused.
func wrongShopData() map[string]fields {
	long := strings.Repeat("k", 41)
	return map[string]fields{
		"body.reference": {"reference": []any{
			"", "a\x00", "a\n", "a\u0085", strings.Repeat("é", 129), 5, true, []any{"a"}, fields{},
		}},
		"body.metadata":             {"metadata": []any{"a", 5, []any{}, many(21)}},
		"body.metadata.":            {"metadata": []any{fields{"": "x"}}},
		"body.metadata.a b":         {"metadata": []any{fields{"a b": "x"}}},
		"body.metadata.$where":      {"metadata": []any{fields{"$where": "x"}}},
		"body.metadata.é":           {"metadata": []any{fields{"é": "x"}}},
		"body.metadata." + long[1:]: {"metadata": []any{fields{long: "x"}}},
		"body.metadata.k": {"metadata": []any{
			fields{"k": 5}, fields{"k": false}, fields{"k": []any{"x"}}, fields{"k": fields{}}, fields{"k": strings.Repeat("é", 501)},
		}},
	}
}

func TestShopData_WrongFieldsAreRefusedAndChangeNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event := s.user(), s.event(100)
	request := fields{"eventId": event, "userId": user, "seats": 1}
	lock := s.want(s.call("POST", "/api/locks", with(request, order("A", fields{"a": "1"}))), 201, "").text("id")
	free := s.want(s.call("POST", "/api/locks", request), 201, "").text("id")
	booking := s.want(s.call("POST", "/api/bookings", fields{"eventId": event, "userId": user, "lockId": lock}), 201, "").text("id")
	creations, changes := shopDataRoutes(event, user, lock, free, booking)
	before := s.everything()
	refuse := func(route string, body fields, where string) {
		t.Run(fmt.Sprintf("%s %v", route, body), func(t *testing.T) {
			s := s.in(t)
			method, path, _ := strings.Cut(route, " ")
			s.wantInvalid(s.call(method, path, body), where)
		})
	}
	for where, values := range wrongShopData() {
		for field, list := range values {
			for _, value := range list.([]any) {
				for _, routes := range []map[string]fields{creations, changes} {
					for route, request := range routes {
						refuse(route, with(request, fields{field: value}), where)
					}
				}
			}
		}
	}
	for route, request := range creations {
		refuse(route, with(request, fields{"reference": nil}), "body.reference")
		refuse(route, with(request, fields{"metadata": nil}), "body.metadata")
		refuse(route, with(request, fields{"metadata": fields{"k": nil}}), "body.metadata.k")
	}
	s.in(t).want(s.call("PATCH", "/api/locks/"+lock, `{"metadata":{"a":"1","a":"2"}}`), 400, "MALFORMED_REQUEST")
	for _, path := range []string{"locks", "bookings", "events"} {
		for _, reference := range []string{"", "a\n", strings.Repeat("a", 129)} {
			s.wantInvalid(s.call("GET", "/api/"+path+"?"+url.Values{"reference": {reference}}.Encode(), nil), "query.reference")
		}
	}
	if after := s.everything(); !reflect.DeepEqual(after, before) {
		t.Errorf("the refusals left\n%v\nof\n%v", after, before)
	}
}

// everything is what a database has of the collections that requests change.
func (s *site) everything() (all []bson.M) {
	s.t.Helper()
	for _, name := range []string{"events", "seatlocks", "bookings", "changes"} {
		cursor, err := s.w.DB.Collection(name).Find(s.w.Ctx(), bson.D{})
		if err != nil {
			s.t.Fatal(err)
		}
		var docs []bson.M
		if err := cursor.All(s.w.Ctx(), &docs); err != nil {
			s.t.Fatal(err)
		}
		for _, doc := range docs {
			if internal, ok := doc["internal"].(bson.D); ok { // a refusal may hold the event
				doc["internal"] = slices.DeleteFunc(internal, func(e bson.E) bool { return e.Key == "fence" })
			}
			delete(doc, "seq")
			all = append(all, doc)
		}
	}
	return all
}

// keptAsGiven are texts that no check and no storage changes.
func keptAsGiven() fields {
	return fields{"aZ_09.-": "  two\n\tlines \u0000 ", "empty": "", "long": strings.Repeat("\U0001f3ab", 500)}
}

func TestShopData_OfAnEvent(t *testing.T) {
	t.Parallel()
	s := open(t)
	kept := keptAsGiven()
	plain := fields{"name": "E", "totalSeats": 50, "eventDate": "2026-06-15T10:00:00Z", "idempotencyKey": "k"}
	request := with(plain, order("Season 27/1", kept))
	event := s.want(s.call("POST", "/api/events", request), 201, "")
	s.wantOrder(event, order("Season 27/1", kept))
	path := "/api/events/" + event.text("id")
	s.wantOrder(s.call("GET", path, nil), order("Season 27/1", kept))
	s.want(s.call("POST", "/api/events", with(request, fields{"reference": "Season 27/2"})), 422, "IDEMPOTENCY_KEY_REUSED")
	s.want(s.call("POST", "/api/events", with(request, fields{"metadata": fields{}})), 422, "IDEMPOTENCY_KEY_REUSED")
	_, since := s.changes("pageSize=500")
	change := fields{"reference": nil, "metadata": fields{"empty": nil}}
	want := fields{"metadata": fields{"aZ_09.-": kept["aZ_09.-"], "long": kept["long"]}}
	changed := s.want(s.call("PATCH", path, change), 200, "")
	s.wantOrder(changed, want)
	since = s.wantChanges("PATCH of an event", since, changed, []string{"event.changed"})
	for _, same := range []fields{change, {}, {"metadata": fields{}}} {
		a := s.want(s.call("PATCH", path, same), 200, "")
		s.wantOrder(a, want)
		since = s.wantChanges("PATCH of an event that changes nothing", since, a, nil)
	}
	replay := s.want(s.call("POST", "/api/events", request), 201, "")
	if s.wantOrder(replay, want); replay.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("not replayed: %s", replay.raw)
	}
}

// The reference and metadata of a lock and its booking are kept as given and found by the reference, and changes have them.
func TestShopData_OfALockAndItsBooking(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, id, kept := s.user(), s.event(50), keptAsGiven()
	request := with(fields{"eventId": id, "userId": user, "seats": 1, "idempotencyKey": "k"}, order("cart-1", kept))
	lock := s.want(s.call("POST", "/api/locks", request), 201, "")
	s.wantOrder(lock, order("cart-1", kept))
	s.want(s.call("POST", "/api/locks", with(request, fields{"reference": "cart-2"})), 422, "IDEMPOTENCY_KEY_REUSED")
	s.want(s.call("POST", "/api/locks", with(request, fields{"metadata": fields{}})), 422, "IDEMPOTENCY_KEY_REUSED")
	path := "/api/locks/" + lock.text("id")
	_, since := s.changes("pageSize=500")

	change := order("cart-3", fields{"empty": nil, "long": "short", "new": "1"})
	changed := s.want(s.call("PATCH", path, change), 200, "")
	want := order("cart-3", fields{"aZ_09.-": kept["aZ_09.-"], "long": "short", "new": "1"})
	s.wantOrder(changed, want)
	since = s.wantChanges("PATCH of a lock", since, changed, []string{"lock.changed"})
	for _, same := range []fields{{}, {"reference": "cart-3"}, {"metadata": fields{}}, {"metadata": fields{"long": "short", "none": nil}}} {
		a := s.want(s.call("PATCH", path, same), 200, "")
		s.wantOrder(a, want)
		since = s.wantChanges(fmt.Sprint("PATCH of ", same), since, a, nil)
	}
	replay := s.want(s.call("POST", "/api/locks", request), 201, "")
	if s.wantOrder(replay, want); replay.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("not replayed: %s", replay.raw)
	}

	book := fields{"eventId": id, "userId": user, "lockId": lock.text("id"), "reference": "order-1"}
	booking := s.want(s.call("POST", "/api/bookings", book), 201, "")
	s.wantOrder(booking, order("order-1", want["metadata"].(fields)))
	since = s.wantChanges("a booking", since, booking, []string{"lock.changed", "booking.created"})
	again := s.want(s.call("POST", "/api/bookings", with(book, order("x", fields{"x": "y"}))), 200, "")
	s.wantOrder(again, order("order-1", want["metadata"].(fields)))
	bookingPath := "/api/events/" + id + "/bookings/" + booking.text("id")
	changed = s.want(s.call("PATCH", bookingPath, fields{"reference": nil, "metadata": nil}), 200, "")
	s.wantOrder(changed, fields{})
	since = s.wantChanges("PATCH of a booking", since, changed, []string{"booking.changed"})
	s.wantOrder(s.call("GET", bookingPath, nil), fields{})
	changed = s.want(s.call("PATCH", bookingPath, fields{"reference": " order-2\u202e", "metadata": nil}), 200, "")
	s.wantOrder(changed, fields{"reference": " order-2\u202e"})
	s.wantChanges("a reference", since, changed, []string{"booking.changed"})

	for query, want := range map[string]int{
		"locks?reference=cart-3": 1, "locks?reference=cart-1": 0, "bookings?reference=%20order-2%E2%80%AE": 1,
		"locks?reference=cart-3&status=EXPIRED":                                  0,
		"locks?reference=cart-3&userId=" + user + "&status=ACTIVE&eventId=" + id: 1,
		"bookings?reference=order-2":                                             0, "bookings?reference=order-1": 0,
		"bookings?reference=%24ne": 0,
	} {
		if items := s.want(s.call("GET", "/api/"+query, nil), 200, "").body["items"].([]any); len(items) != want {
			t.Errorf("%s: %d items, want %d", query, len(items), want)
		}
	}
	for _, text := range []string{"%20order-2%E2%80%AE", "%20cart-3%20"} { // as it is given, or else without blanks at its ends
		found := s.want(s.call("GET", "/api/admin/search?q="+text, nil), 200, "").body["items"].([]any)
		if len(found) != 1 || found[0].(map[string]any)["matchedBy"] != "reference" {
			t.Errorf("%s finds %v", text, found)
		}
	}
	for _, b := range s.everything() {
		if fmt.Sprint(b["_id"]) == fmt.Sprintf("ObjectID(%q)", booking.text("id")) && b["metadata"] != nil {
			t.Errorf("stored: %v", b)
		}
	}
	testenv.CheckInvariants(t, s.w.DB.Database)
}

// A list by reference has pages, as any other.
func TestShopData_ListsByReferenceHavePages(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event := s.user(), s.event(100)
	for i := range 7 {
		reference := []string{"order", "other"}[i%7/5]
		s.want(s.call("POST", "/api/locks", fields{"eventId": event, "userId": user, "seats": 1, "reference": reference}), 201, "")
	}
	var ids []string
	for token := ""; ; {
		page := s.want(s.call("GET", "/api/locks?reference=order&pageSize=2&pageToken="+token, nil), 200, "")
		for _, item := range page.body["items"].([]any) {
			ids = append(ids, fmt.Sprint(item.(map[string]any)["id"]))
		}
		if token = page.text("nextPageToken"); token == "" {
			break
		}
	}
	if len(ids) != 5 || !slices.IsSorted(ids) {
		t.Errorf("found %q", ids)
	}
}

// Customers neither set nor see nor filter by them, and a wrong shape is refused first.
func TestShopData_IsNotForCustomers(t *testing.T) {
	t.Parallel()
	s := openWithAccess(t)
	ops, shop := s.as("Bearer s-ops"), s.as("Bearer s-shop")
	user, secret := ops.user(), order("secret-order", fields{"secret": "secret-value"})
	customer := s.as(tokenFor(t, user))
	request := fields{"name": "E", "totalSeats": 50, "eventDate": "2026-06-15T10:00:00Z"}
	event := ops.want(ops.call("POST", "/api/events", with(request, secret)), 201, "").text("id")
	wish := fields{"eventId": event, "userId": user, "seats": 1}
	lock := shop.want(shop.call("POST", "/api/locks", with(wish, secret)), 201, "").text("id")
	free := customer.want(customer.call("POST", "/api/locks", wish), 201, "").text("id")
	booking := customer.want(customer.call("POST", "/api/bookings", fields{"eventId": event, "userId": user, "lockId": lock}), 201, "")
	shop.wantOrder(shop.call("GET", "/api/bookings/"+booking.text("id"), nil), secret)
	creations, changes := shopDataRoutes(event, user, lock, free, booking.text("id"))
	delete(creations, "POST /api/events")
	for route, request := range creations {
		method, path, _ := strings.Cut(route, " ")
		for _, given := range []fields{{"reference": "A"}, {"metadata": fields{"a": "1"}}} {
			customer.want(customer.call(method, path, with(request, given)), 403, "FORBIDDEN")
		}
		customer.wantInvalid(customer.call(method, path, with(request, fields{"reference": "A\n"})), "body.reference")
		customer.wantInvalid(customer.call(method, path, with(request, fields{"metadata": fields{"a b": "1"}})), "body.metadata.a b")
	}
	for route := range changes {
		method, path, _ := strings.Cut(route, " ")
		for _, of := range []string{path, strings.NewReplacer(lock, event, booking.text("id"), event).Replace(path)} { // there is none
			for _, given := range []fields{{"reference": "A"}, {"metadata": nil}, {}} {
				customer.want(customer.call(method, of, given), 403, "FORBIDDEN")
			}
		}
		if path != "/api/events/"+event { // of events the scope comes first
			customer.wantInvalid(customer.call(method, path, fields{"metadata": fields{"a b": "1"}}), "body.metadata.a b")
			customer.want(customer.call(method, path, fields{"colour": "red"}), 422, "VALIDATION_FAILED")
			customer.want(customer.call(method, path, "{"), 400, "MALFORMED_REQUEST")
		}
	}
	shop.want(shop.call("PATCH", "/api/events/"+event, fields{"reference": "A"}), 403, "FORBIDDEN")
	for _, path := range []string{"locks", "bookings", "events"} {
		customer.want(customer.call("GET", "/api/"+path+"?reference=secret-order", nil), 403, "FORBIDDEN")
		customer.wantInvalid(customer.call("GET", "/api/"+path+"?reference="+strings.Repeat("a", 129), nil), "query.reference")
	}
	for _, seen := range []answer{
		booking, customer.call("GET", "/api/events", nil), customer.call("GET", "/api/events/"+event, nil),
		customer.call("GET", "/api/locks", nil), customer.call("GET", "/api/locks/"+lock, nil),
		customer.call("GET", "/api/bookings", nil), customer.call("GET", "/api/bookings/"+booking.text("id"), nil),
		customer.call("POST", "/api/bookings", fields{"eventId": event, "userId": user, "lockId": lock}),
		customer.call("POST", "/api/locks/"+lock+"/extend", fields{"ttlSeconds": 5}),
		customer.call("POST", "/api/bookings/"+booking.text("id")+"/pay", fields{"paymentTtlSeconds": 5}),
		customer.call("POST", "/api/bookings/"+booking.text("id")+"/cancel", nil),
		customer.call("DELETE", "/api/locks/"+lock, nil),
	} {
		if seen.status/100 != 2 || strings.Contains(seen.raw, "secret") || strings.Contains(seen.raw, "metadata") {
			t.Errorf("a customer gets %d %s", seen.status, seen.raw)
		}
	}
	shop.wantOrder(shop.call("PATCH", "/api/locks/"+lock, fields{"metadata": fields{"a": "1"}}),
		order("secret-order", fields{"a": "1", "secret": "secret-value"})) // it is RELEASED
	shop.wantOrder(shop.call("PATCH", "/api/events/"+event+"/bookings/"+booking.text("id"), fields{"reference": nil}),
		fields{"metadata": secret["metadata"]}) // it is CANCELLED
}

// Callers that change different keys at the same time don't lose one another's.
func TestShopData_ChangesAtTheSameTimeAreMerged(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event := s.user(), s.event(10)
	lock := s.want(s.call("POST", "/api/locks", fields{"eventId": event, "userId": user, "seats": 1}), 201, "").text("id")
	booking := s.want(s.call("POST", "/api/bookings", fields{"eventId": event, "userId": user, "lockId": lock}), 201, "").text("id")
	for _, path := range []string{"/api/events/" + event, "/api/locks/" + lock, "/api/bookings/" + booking} {
		t.Run(path, func(t *testing.T) {
			s := s.in(t)
			const n = 16
			var all sync.WaitGroup
			want := fields{}
			for i := range n {
				key := fmt.Sprintf("key-%02d", i)
				want[key] = "x"
				all.Go(func() { s.want(s.call("PATCH", path, fields{"metadata": fields{key: "x"}}), 200, "") })
			}
			all.Wait()
			s.wantOrder(s.call("GET", path, nil), fields{"metadata": want})
			name := path[strings.LastIndex(path[:len(path)-25], "/")+1 : len(path)-25]
			items, _ := s.changes("pageSize=500&type=holdfast." + strings.TrimSuffix(name, "s") + ".changed")
			told := 0
			for _, c := range items {
				if strings.HasPrefix(fmt.Sprint(c["subject"]), name) && c["data"].(map[string]any)["metadata"] != nil {
					if told++; len(c["data"].(map[string]any)["metadata"].(map[string]any)) != told {
						t.Errorf("change %d has %v", told, c["data"])
					}
				}
			}
			if told != n {
				t.Errorf("%d changes were told, want %d", told, n)
			}
		})
	}
	testenv.CheckInvariants(t, s.w.DB.Database)
}
