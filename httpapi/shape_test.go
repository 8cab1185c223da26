package httpapi_test

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// goWords are in messages of Go's packages, and in no message of the API.
var goWords = regexp.MustCompile(`json:|Go |struct|int64|float64|string into|parsing time|unmarshal|strconv|interface|UTC_`)

// shapeOf is a refused request: a body, its answer, and a part of its errors[].
type shapeOf struct {
	name, body string
	status     int
	code, says string
}

// checkShapes sends each body and checks its refusal.
func (s *site) checkShapes(t *testing.T, method, path string, rows []shapeOf) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			a := s.in(t).want(s.in(t).call(method, path, row.body), row.status, row.code)
			if !strings.Contains(a.raw, row.says) || goWords.MatchString(a.raw) {
				t.Errorf("does not say %q in plain words: %s", row.says, a.raw)
			}
		})
	}
}

// A key in another case was checked as one field and read as another.
func TestShape_KeysOfEventsAreExact(t *testing.T) {
	t.Parallel()
	s := open(t)
	const invalid, malformed, known = "VALIDATION_FAILED", "MALFORMED_REQUEST", `"name":"E","eventDate":"2026-06-15T10:00:00Z",`
	s.checkShapes(t, "POST", "/api/events", []shapeOf{
		{"another case in addition to the key", `{` + known + `"totalSeats":1,"TotalSeats":9000000000000000}`, 422, invalid, "body.TotalSeats"},
		{"another case alone", `{` + known + `"TOTALSEATS":1}`, 422, invalid, "body.TOTALSEATS"},
		{"a letter that folds to the key's", `{` + known + `"totalSeats":1,"total` + "\u017f" + `eats":9}`, 422, invalid, "unexpected"},
		{"unknown", `{` + known + `"totalSeats":1,"x":{}}`, 422, invalid, "body.x"},
		{"repeated", `{` + known + `"totalSeats":1,"totalSeats":2}`, 400, malformed, "same key"},
		{"repeated, with an escape", `{` + known + `"totalSeats":1,"total\u0053eats":2}`, 400, malformed, "same key"},
		{"repeated in an object of a list", `{"name":"E","x":[{"a":1,"b":{"c":"}\"{","c" : 2}}]}`, 400, malformed, "same key"},
	})
	if n, err := s.w.DB.Collection("events").CountDocuments(s.w.Ctx(), bson.D{}); err != nil || n != 0 {
		t.Errorf("%d events, %v", n, err)
	}
}

// Each route that reads a body, as the OpenAPI document lists them, reads its keys exactly.
func TestShape_KeysOfEveryBodyAreExact(t *testing.T) {
	t.Parallel()
	s := open(t)
	document, bodies := s.document(), 0
	resolve := func(v schema) schema {
		if name, isReference := strings.CutPrefix(v.Ref, "#/components/schemas/"); isReference {
			return document.Components.Schemas[name]
		}
		return v
	}
	for path, operations := range document.Paths {
		for method, o := range operations {
			if o.RequestBody.Content == nil {
				continue
			}
			bodies++
			t.Run(o.OperationID, func(t *testing.T) {
				rows := []shapeOf{{"unknown", `{"x":1}`, 422, "VALIDATION_FAILED", `"body.x"`}}
				body := resolve(o.RequestBody.Content["application/json"].Schema)
				for key, value := range body.Properties {
					v := resolve(value)
					object, at := `{%q:1}`, key
					if v.Items != nil && !strings.HasSuffix(o.OperationID, "-seating-plan") { // see planfile.Seats
						v, object, at = resolve(*v.Items), `[{%q:1}]`, key+"[0]"
					}
					for inner := range v.Properties {
						other := strings.ToUpper(inner)
						repeated := strings.Replace(object, "1", "1,%[1]q:1", 1)
						rows = append(rows,
							shapeOf{at + "." + other, fmt.Sprintf(`{%q:`+object+`}`, key, other), 422, "VALIDATION_FAILED",
								fmt.Sprintf(`"body.%s.%s"`, at, other)},
							shapeOf{at + "." + inner + ", repeated", fmt.Sprintf(`{%q:%s}`, key, fmt.Sprintf(repeated, inner)), 400,
								"MALFORMED_REQUEST", "same key"})
					}
					rows = append(rows, shapeOf{key + ", repeated", fmt.Sprintf(`{%q:1,%[1]q:1}`, key), 400, "MALFORMED_REQUEST", "same key"})
					for _, other := range []string{strings.ToUpper(key), strings.ToUpper(key[:1]) + key[1:]} {
						rows = append(rows,
							shapeOf{other, fmt.Sprintf(`{%q:1}`, other), 422, "VALIDATION_FAILED", fmt.Sprintf("%q", "body."+other)},
							shapeOf{other + " in addition to " + key, fmt.Sprintf(`{%q:1,%q:1}`, key, other), 422, "VALIDATION_FAILED",
								fmt.Sprintf("%q", "body."+other)})
					}
				}
				if len(rows) == 1 {
					t.Error("the document describes no key")
				}
				path := strings.NewReplacer("{id}", mongodb.NewID().String(), "{job}", "recovery", "/export", "/export?format=csv").Replace(path)
				s.checkShapes(t, strings.ToUpper(method), path, rows)
			})
		}
	}
	if bodies < 7 {
		t.Errorf("the document has %d routes with a body", bodies)
	}
}

// Two objects may have the same key, and a string may look like a key.
func TestShape_KeysOfTwoObjectsDoNotRepeat(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.checkShapes(t, "POST", "/api/users", []shapeOf{
		{"siblings", `{"name":"A","email":"a@b.c","x":[{"k":1},{"k":1}],"y":{"k":{"k":1}}}`, 422, "VALIDATION_FAILED", "body.x"},
		{"strings", `{"name":"email","email":"email","x":["email","email"]}`, 422, "VALIDATION_FAILED", "body.x"},
	})
	s.want(s.call("POST", "/api/users", "{\n\"name\" :\t\"email\" , \"email\" : \"name@example.com\" }"), 201, "")
}

func TestShape_KeysOfLocksAreExact(t *testing.T) {
	t.Parallel()
	s := open(t)
	named := fmt.Sprintf(`"eventId":%q,"userId":%q`, s.event(10), s.user())
	s.checkShapes(t, "POST", "/api/locks", []shapeOf{
		{"a TTL that overflows", "{" + named + `,"seats":1,"TTLSeconds":9223372036854775807}`, 422, "VALIDATION_FAILED", "body.TTLSeconds"},
		{"another user", "{" + named + `,"seats":1,"userID":"6b0166d19f73b711049e40f3"}`, 422, "VALIDATION_FAILED", "body.userID"},
		{"repeated", "{" + named + `,"seats":1,"seats":1}`, 400, "MALFORMED_REQUEST", "same key"},
	})
	testenv.CheckInvariants(t, s.w.DB.Database)
}

func TestShape_ErrorsArePlainEnglish(t *testing.T) {
	t.Parallel()
	s := open(t)
	named := fmt.Sprintf(`"eventId":%q,"userId":%q`, s.event(10), s.user())
	const invalid, malformed = "VALIDATION_FAILED", "MALFORMED_REQUEST"
	s.checkShapes(t, "POST", "/api/locks", []shapeOf{
		{"a number beyond float64", "{" + named + `,"seats":1e309}`, 422, invalid, "body.seats"},
		{"far below", "{" + named + `,"seats":-1e309}`, 422, invalid, "body.seats"},
		{"text instead of a number", "{" + named + `,"seats":"1"}`, 422, invalid, "expected integer"},
		{"a number instead of text", "{" + named + `,"seats":1,"idempotencyKey":5}`, 422, invalid, "expected string"},
		{"a list", `[]`, 422, invalid, "expected object"},
		{"cut off", "{" + named, 400, malformed, "not JSON"},
		{"a Go number", "{" + named + `,"seats":0x1}`, 400, malformed, "not JSON"},
		{"text that is not UTF-8", "{" + named + ",\"seats\":1,\"idempotencyKey\":\"\xff\"}", 400, malformed, "not UTF-8"},
		{"half of a surrogate pair", "{" + named + `,"seats":1,"idempotencyKey":"\\\ud800\ud83d\ude00"}`, 400, malformed, "surrogate"},
	})
	s.want(s.call("POST", "/api/locks", "{"+named+`,"seats":1,"idempotencyKey":"\ud83d\ude00\\ud800"}`), 201, "")
}

// A filter that was lost on the way must not list what belongs to others.
func TestShape_QueriesThatShowTooMuchAreRefused(t *testing.T) {
	t.Parallel()
	s := openWithAccess(t)
	const key = "Bearer s-ops"
	user := s.call("POST", "/api/users", fields{"name": "A", "email": "a@example.com"}, "Authorization", key).text("id")
	request := fields{"name": "E", "totalSeats": 9, "eventDate": "2026-06-15T10:00:00Z"}
	event := s.call("POST", "/api/events", request, "Authorization", key).text("id")
	request = fields{"eventId": event, "userId": user, "seats": 1}
	lock := s.want(s.call("POST", "/api/locks", request, "Authorization", key), 201, "").text("id")
	request = fields{"eventId": event, "userId": user, "lockId": lock}
	s.want(s.call("POST", "/api/bookings", request, "Authorization", key), 201, "")
	const zero = "000000000000000000000000"
	for _, path := range []string{"/api/locks", "/api/bookings"} {
		for _, query := range []string{
			"userId=" + zero, "eventId=" + zero, "eventId=" + event + "&userId=" + zero, "userId=%zz", "userId=" + user + "%", "userId=a;b",
			"eventId=" + event + ";userId=" + user, "userId=" + user + "&userId=" + user, "UserId=" + user, "%75serid=" + user,
			"userId", "userId=%ff", "user=" + user, "status=ANY", "status=ACTIVE&status=CONFIRMED", "pageSize=%", "userId=" + user + "&", "&&",
		} {
			t.Run(path+"?"+query, func(t *testing.T) {
				status, code := 422, "VALIDATION_FAILED"
				if strings.HasSuffix(query, "&") { // an empty parameter hides nothing
					status, code = 200, ""
				}
				for _, caller := range []string{key, tokenFor(t, user)} {
					a := s.in(t).want(s.in(t).call("GET", path+"?"+query, nil, "Authorization", caller), status, code)
					if status == 422 && (a.body["errors"] == nil || goWords.MatchString(a.raw)) {
						t.Errorf("%s", a.raw)
					}
				}
			})
		}
		own := s.want(s.call("GET", path, nil, "Authorization", tokenFor(t, mongodb.NewID().String())), 200, "")
		if items, _ := own.body["items"].([]any); len(items) != 0 {
			t.Errorf("another customer sees %s", own.raw)
		}
	}
	s.want(s.call("GET", "/api/events?pageToken=%zz", nil, "Authorization", key), 422, "VALIDATION_FAILED")
	s.want(s.call("GET", "/api/events/"+event+"?%zz", nil, "Authorization", key), 422, "VALIDATION_FAILED")
	s.want(s.call("GET", "/api/admin/overview?behind="+zero, nil, "Authorization", key), 422, "VALIDATION_FAILED")
}

// A time is in the years 1 to 9999 in UTC, with an offset as RFC 3339 has them, and what is
// stored is printed.
func TestShape_TimesAreThoseOfRFC3339(t *testing.T) {
	t.Parallel()
	s := open(t)
	for at, want := range map[string]string{
		"0001-01-01T00:00:00Z":           "0001-01-01T00:00:00.000Z", // Go's zero time
		"0001-01-01T01:00:00+01:00":      "0001-01-01T00:00:00.000Z",
		"9999-12-31T23:59:59.999Z":       "9999-12-31T23:59:59.999Z",
		"9999-12-31T00:00:00-23:59":      "9999-12-31T23:59:00.000Z",
		"2026-06-15T10:00:00.123456789Z": "2026-06-15T10:00:00.123Z",
		"0001-01-01T00:00:00+00:01":      "", // the year 0 in UTC
		"9999-12-31T23:59:59-00:01":      "", // the year 10000 in UTC
		"0000-12-31T23:59:59Z":           "",
		"2016-12-31T23:59:60Z":           "", // a leap second
		"2026-06-15T24:00:00Z":           "",
		"2026-06-15T10:00:00+24:00":      "",
		"2026-06-15T10:00:00+01:60":      "",
		"2026-06-15T10:00:00+0100":       "",
		"2026-06-15T10:00:00":            "",
		"2026-06-15T10:00:00,5Z":         "",
		"2026-06-15T1:00:00Z":            "",
		"2026-06-15 10:00:00Z":           "",
		"2026-02-30T10:00:00Z":           "",
		"10000-01-01T00:00:00Z":          "",
	} {
		t.Run(at, func(t *testing.T) {
			s := s.in(t)
			request := fields{"name": "E", "totalSeats": 1, "eventDate": at}
			if want == "" {
				a := s.want(s.call("POST", "/api/events", request), 422, "VALIDATION_FAILED")
				if !strings.Contains(a.raw, "body.eventDate") || goWords.MatchString(a.raw) {
					t.Errorf("%s", a.raw)
				}
				return
			}
			made := s.want(s.call("POST", "/api/events", request), 201, "")
			read := s.want(s.call("GET", "/api/events/"+made.text("id"), nil), 200, "")
			if made.text("eventDate") != want || read.text("eventDate") != want {
				t.Errorf("%s, then %s", made.raw, read.raw)
			}
		})
	}
	event, user := s.event(10), s.user()
	wish := fields{"eventId": event, "userId": user, "seats": 1, "expiresAt": "0001-01-01T00:00:00Z"}
	first := s.want(s.call("POST", "/api/locks", wish), 201, "")
	again := s.call("GET", "/api/locks/"+first.text("id"), nil)
	if first.text("expiresAt") != "0001-01-01T00:00:00.000Z" || again.raw != first.raw {
		t.Errorf("%s, then %s", first.raw, again.raw)
	}
	for _, at := range []string{"9999-12-31T23:59:59-00:01", "0001-01-01T00:00:00+00:01"} {
		a := s.want(s.call("POST", "/api/locks", fields{"eventId": event, "userId": user, "seats": 1, "expiresAt": at}), 422, "VALIDATION_FAILED")
		if !strings.Contains(a.raw, "1 to 9999") {
			t.Errorf("%s", a.raw)
		}
		s.want(s.call("PATCH", "/api/events/"+event, fields{"eventDate": at}), 422, "VALIDATION_FAILED")
	}
}

// A customer may not make what is due at once: it would hide seats until a sweep. A repeat is answered,
// although its time has passed.
func TestShape_CustomersGiveTimesAhead(t *testing.T) {
	t.Parallel()
	s := openWithAccess(t)
	key := []string{"Authorization", "Bearer s-ops"}
	user := s.call("POST", "/api/users", fields{"name": "A", "email": "a@example.com"}, key...).text("id")
	customer := []string{"Authorization", tokenFor(t, user)}
	event := s.call("POST", "/api/events", fields{"name": "E", "totalSeats": 9, "eventDate": "2026-06-15T10:00:00Z"}, key...).text("id")
	past, ahead := time.Now().Add(-time.Minute).UTC(), time.Now().Add(time.Hour).UTC()
	lockUntil := func(at time.Time) fields {
		return fields{"eventId": event, "userId": user, "seats": 1, "expiresAt": at}
	}
	refused := func(path string, body fields) {
		t.Helper()
		if a := s.want(s.call("POST", path, body, customer...), 422, "VALIDATION_FAILED"); !strings.Contains(a.raw, "ExpiresAt") &&
			!strings.Contains(a.raw, "body.expiresAt") {
			t.Errorf("%s", a.raw)
		}
	}
	made := lockUntil(past)
	made["idempotencyKey"] = "k"
	due := s.want(s.call("POST", "/api/locks", made, key...), 201, "").text("id")
	refused("/api/locks", lockUntil(past))
	if again := s.want(s.call("POST", "/api/locks", made, customer...), 201, ""); again.text("id") != due {
		t.Errorf("a repeat: %s, want the lock %s", again.raw, due)
	}
	made["idempotencyKey"] = "k2"
	refused("/api/locks", made)
	lock := s.want(s.call("POST", "/api/locks", lockUntil(ahead), customer...), 201, "").text("id")
	refused("/api/locks", lockUntil(past)) // the event is remembered since
	refused("/api/locks/"+lock+"/extend", fields{"expiresAt": past})
	book := fields{"eventId": event, "userId": user, "lockId": lock}
	booking := s.want(s.call("POST", "/api/bookings", book, customer...), 201, "").text("id")
	refused("/api/bookings/"+booking+"/pay", fields{"paymentExpiresAt": past})
	second := s.want(s.call("POST", "/api/locks", lockUntil(ahead), customer...), 201, "").text("id")
	book = fields{"eventId": event, "userId": user, "lockId": second, "paymentExpiresAt": past}
	refused("/api/bookings", book)
	open := fields{"eventId": event, "userId": user, "lockId": lock, "paymentExpiresAt": past}
	if again := s.want(s.call("POST", "/api/bookings", open, customer...), 200, ""); again.text("id") != booking {
		t.Errorf("a repeat: %s, want the booking %s", again.raw, booking)
	}
	s.want(s.call("POST", "/api/bookings", book, key...), 201, "")
	testenv.CheckInvariants(t, s.w.DB.Database)
}

func TestAccess_CustomersCancelOnlyOpenBookings(t *testing.T) {
	t.Parallel()
	s := openWithAccess(t)
	key := []string{"Authorization", "Bearer s-ops"}
	user := s.call("POST", "/api/users", fields{"name": "A", "email": "a@example.com"}, key...).text("id")
	customer := []string{"Authorization", tokenFor(t, user)}
	event := s.call("POST", "/api/events", fields{"name": "E", "totalSeats": 9, "eventDate": "2026-06-15T10:00:00Z"}, key...).text("id")
	lock := s.call("POST", "/api/locks", fields{"eventId": event, "userId": user, "seats": 2}, customer...).text("id")
	book := fields{"eventId": event, "userId": user, "lockId": lock, "paymentTtlSeconds": 60}
	path := "/api/bookings/" + s.want(s.call("POST", "/api/bookings", book, customer...), 201, "").text("id")
	s.want(s.call("POST", path+"/confirm", fields{"paymentReference": ""}, key...), 422, "VALIDATION_FAILED")
	s.want(s.call("POST", path+"/confirm", fields{"paymentReference": "r"}, key...), 200, "")
	s.want(s.call("POST", path+"/cancel", nil, customer...), 403, "FORBIDDEN")
	if b := s.call("GET", path, nil, customer...); b.text("status") != "CONFIRMED" {
		t.Errorf("%s", b.raw)
	}
	s.want(s.call("POST", path+"/cancel", nil, key...), 200, "")
	s.want(s.call("POST", path+"/cancel", nil, customer...), 200, "") // it is cancelled already
}

func TestShape_IdempotencyKeysAreOneText(t *testing.T) {
	t.Parallel()
	s := open(t)
	body := fmt.Sprintf(`{"eventId":%q,"userId":%q,"seats":1}`, s.event(10), s.user())
	for _, row := range []struct {
		name   string
		keys   []string
		status int
	}{
		{"one", []string{"a"}, 201},
		{"the same twice", []string{"a", "a"}, 201},
		{"beyond ASCII", []string{"é"}, 201},
		{"two", []string{"a", "b"}, 422},
		{"empty", []string{""}, 422},
		{"empty after one", []string{"a", ""}, 422},
		{"no UTF-8", []string{"\xff"}, 422},
		{"a control character beyond ASCII", []string{"\u009b"}, 422},
		{"too long", []string{strings.Repeat("k", 201)}, 422},
	} {
		t.Run(row.name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), "POST", s.server.URL+"/api/locks", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			request.Header["Content-Type"], request.Header["Idempotency-Key"] = []string{"application/json"}, row.keys
			response, err := s.client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(response.Body)
			_ = response.Body.Close() // it is read
			if err != nil || response.StatusCode != row.status || row.status == 422 && !strings.Contains(string(text), "header.Idempotency-Key") {
				t.Errorf("%d %s %v, want %d", response.StatusCode, text, err, row.status)
			}
		})
	}
}

// null in a PATCH was answered as if it had changed something.
func TestShape_NullChangesNoField(t *testing.T) {
	t.Parallel()
	s := open(t)
	event := s.event(10)
	for _, field := range []string{"name", "totalSeats", "eventDate", "status", "maxSeatsPerUser"} {
		t.Run(field, func(t *testing.T) {
			s := s.in(t)
			a := s.want(s.call("PATCH", "/api/events/"+event, fields{field: nil}), 422, "VALIDATION_FAILED")
			if !strings.Contains(a.raw, `"body.`+field+`"`) {
				t.Errorf("%s", a.raw)
			}
		})
	}
	change := fields{"name": "F", "totalSeats": 20, "eventDate": "2027-01-01T00:00:00Z", "maxSeatsPerUser": 2, "status": "CLOSED"}
	a := s.want(s.call("PATCH", "/api/events/"+event, change), 200, "")
	if a.text("name") != "F" || a.text("totalSeats") != "20" ||
		a.text("eventDate") != "2027-01-01T00:00:00.000Z" || a.text("status") != "CLOSED" {
		t.Errorf("%s", a.raw)
	}
	for _, invalid := range []fields{
		{"totalSeats": 0}, {"maxSeatsPerUser": -1}, {"status": "SOLD"}, {"name": " "}, {"eventDate": 5}, {"name": "a\u0085"},
	} {
		s.want(s.call("PATCH", "/api/events/"+event, invalid), 422, "VALIDATION_FAILED")
	}
}

func TestShape_TextHasNoControlCharacters(t *testing.T) {
	t.Parallel()
	s := open(t)
	event, user := s.event(10), s.user()
	lock := s.call("POST", "/api/locks", fields{"eventId": event, "userId": user, "seats": 1}).text("id")
	booking := s.call("POST", "/api/bookings", fields{"eventId": event, "userId": user, "lockId": lock, "paymentTtlSeconds": 60}).text("id")
	for _, text := range []string{"a\x00", "a\x1b[2J", "a\x7f", "a\u009b2J", "a\n", "a\u202eb", "a\u2066b"} {
		for path, body := range map[string]fields{
			"/api/users":                            {"name": text, "email": "x@example.com"},
			"/api/events":                           {"name": text, "totalSeats": 1, "eventDate": "2026-06-15T10:00:00Z"},
			"/api/locks":                            {"eventId": event, "userId": user, "seats": 1, "idempotencyKey": text},
			"/api/bookings/" + booking + "/confirm": {"paymentReference": text},
		} {
			s.want(s.call("POST", path, body), 422, "VALIDATION_FAILED")
		}
		s.want(s.call("POST", "/api/users", fields{"name": "A", "email": "a@b" + text}), 422, "VALIDATION_FAILED")
	}
}

// A body that a route does not read may have been meant for another one, such as a confirmation.
func TestShape_RoutesWithoutABodyRefuseOne(t *testing.T) {
	t.Parallel()
	s := open(t)
	event, user := s.event(10), s.user()
	lock := s.call("POST", "/api/locks", fields{"eventId": event, "userId": user, "seats": 1}).text("id")
	booking := s.call("POST", "/api/bookings", fields{"eventId": event, "userId": user, "lockId": lock}).text("id")
	for _, request := range []struct{ method, path string }{
		{"GET", "/api/events/" + event},
		{"GET", "/api/locks"},
		{"DELETE", "/api/locks/" + lock},
		{"POST", "/api/bookings/" + booking + "/cancel"},
		{"POST", "/api/admin/jobs/recovery/run"},
		{"DELETE", "/api/admin/jobs/recovery/lease"},
	} {
		t.Run(request.method+" "+request.path, func(t *testing.T) {
			s := s.in(t)
			a := s.want(s.call(request.method, request.path, fields{"paymentReference": "r"}), 422, "VALIDATION_FAILED")
			if !strings.Contains(a.raw, `"location":"body"`) {
				t.Errorf("%s", a.raw)
			}
			status := map[bool]int{true: 200, false: 422}[request.method == "POST"]
			for _, body := range []string{"{}", " { } "} {
				s.want(s.call(request.method, request.path, body), status, "")
			}
			s.want(s.call(request.method, request.path, "{} {}"), 422, "VALIDATION_FAILED")
			a = s.want(s.call(request.method, request.path, nil, "Idempotency-Key", "k"), 422, "VALIDATION_FAILED")
			if !strings.Contains(a.raw, `"location":"header.Idempotency-Key"`) {
				t.Errorf("%s", a.raw)
			}
			s.want(s.call(request.method, request.path, ""), 200, "")
		})
	}
	a := s.want(s.call("PATCH", "/api/events/"+event, fields{"name": "N"}, "Idempotency-Key", "k"), 422, "VALIDATION_FAILED")
	if !strings.Contains(a.raw, "takes no idempotency key") {
		t.Errorf("%s", a.raw)
	}
}

// A key names one request of its caller, of whatever kind.
func TestShape_AKeyIsOfOneCreation(t *testing.T) {
	t.Parallel()
	s := openWithAccess(t)
	event := fields{"name": "E", "totalSeats": 1, "eventDate": "2026-06-15T10:00:00Z"}
	by := func(key string) []string { return []string{"Authorization", "Bearer " + key, "Idempotency-Key", "k"} }
	made := s.want(s.call("POST", "/api/users", fields{"name": "A", "email": "a@example.com"}, by("s-ops")...), 201, "")
	s.want(s.call("POST", "/api/events", event, by("s-ops")...), 422, "IDEMPOTENCY_KEY_REUSED")
	s.want(s.call("POST", "/api/seating-plans", smallPlan("P"), by("s-ops")...), 422, "IDEMPOTENCY_KEY_REUSED")
	again := s.want(s.call("POST", "/api/users", fields{"name": "A", "email": "a@example.com"}, by("s-ops")...), 201, "")
	if again.text("id") != made.text("id") {
		t.Errorf("%s, then %s", made.raw, again.raw)
	}
	s.want(s.call("POST", "/api/users", fields{"name": "B", "email": "b@example.com"}, by("s-shop")...), 201, "")
}

// A refusal says in words what is wrong, not by a pattern, and names the field that is wrong.
func TestShape_PatternsAreSaidInWords(t *testing.T) {
	t.Parallel()
	s := open(t)
	event, user := s.event(10), s.user()
	for _, c := range []struct {
		path string
		body fields
		says string
	}{
		{"/api/users", fields{"name": "A", "email": " pat@example.com"}, "an email address alone, without blanks"},
		{"/api/users", fields{"name": "  ", "email": "pat@example.com"}, "text that is not blank"},
		{"/api/locks", fields{"eventId": "x", "userId": user, "seats": 1}, "an ID of 24 hex digits"},
		{"/api/locks", fields{"eventId": event, "userId": user, "seats": 1, "expiresAt": "now"}, "a time of RFC 3339"},
		{"/api/bookings/" + zeroID + "/confirm", fields{"paymentReference": "r", "currency": "eur"}, "a currency of ISO 4217"},
		{"/api/bookings/" + zeroID + "/confirm", fields{"paymentReference": "r "}, "blanks"},
		{"/api/bookings/" + zeroID + "/confirm", fields{"paymentReference": "r", "paymentPart": "\u00a0p"}, "blanks"},
		{"/api/bookings/" + zeroID + "/confirm", fields{"paymentReference": "r", "provider": "p\u3000"}, "blanks"},
		{"/api/payments/" + zeroID + "/refunded", fields{"refundReference": " r"}, "blanks"},
		{"/api/events", fields{"name": "E", "seatingPlanId": zeroID, "eventDate": "2026-06-15T10:00:00Z"}, "body.seatingPlanId"},
	} {
		a := s.want(s.call("POST", c.path, c.body), 422, "VALIDATION_FAILED")
		if !strings.Contains(a.raw, c.says) || strings.Contains(a.raw, "pattern") || strings.Contains(a.raw, "^") {
			t.Errorf("%v: %s", c.body, a.raw)
		}
	}
}

var zeroID = strings.Repeat("0", 24)
