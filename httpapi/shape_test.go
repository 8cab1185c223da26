package httpapi_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/ids"
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
		{"another case beside the key", `{` + known + `"totalSeats":1,"TotalSeats":9000000000000000}`, 422, invalid, "body.TotalSeats"},
		{"another case alone", `{` + known + `"TOTALSEATS":1}`, 422, invalid, "totalSeats"},
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
		own := s.want(s.call("GET", path, nil, "Authorization", tokenFor(t, ids.New().String())), 200, "")
		if items, _ := own.body["items"].([]any); len(items) != 0 {
			t.Errorf("another customer sees %s", own.raw)
		}
	}
	s.want(s.call("GET", "/api/events?pageToken=%zz", nil, "Authorization", key), 422, "VALIDATION_FAILED")
	s.want(s.call("GET", "/api/events/"+event+"?%zz", nil, "Authorization", key), 422, "VALIDATION_FAILED")
	s.want(s.call("GET", "/api/admin/overview?behind="+zero, nil, "Authorization", key), 422, "VALIDATION_FAILED")
}
