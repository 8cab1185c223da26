package httpapi_test

import (
	"net/http"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// TestForeignDocuments_OfRequests asks for documents of other software, with values of every type in
// every field, by their IDs and in lists, and does with them what a shop does. Each request gets an
// answer with a code: nothing panics, and no transaction is repeated until its time is over. For
// other documents set HOLDFAST_TEST_SEED.
func TestForeignDocuments_OfRequests(t *testing.T) {
	t.Parallel()
	s := open(t)
	random := testenv.Random(t)
	user, event := s.user(), s.event(1000)
	pool := make([]holdfast.ID, 10)
	for i := range pool {
		pool[i] = mustParse(t, s.event(100_000))
	}
	foreign := s.w.InsertForeign(random, pool, mustParse(t, user), 150)
	var all errgroup.Group
	all.SetLimit(8)
	ask := func(method, path string, body any) {
		all.Go(func() error {
			s.checkForeign(t, method+" "+path, s.call(method, path, body))
			return nil
		})
	}
	const some = 150
	window := fields{"paymentTtlSeconds": 600}
	for i, id := range foreign.IDs("events")[:some] {
		path := "/api/events/" + id.String()
		ask("GET", path, nil)
		ask("POST", "/api/locks", fields{"eventId": id, "userId": user, "seats": 1, "idempotencyKey": "k"})
		ask("PATCH", path, []fields{{"name": "N"}, {"totalSeats": 20}, {"maxSeatsPerUser": 3}, {"status": "CANCELLED"}}[i%4])
	}
	for i, id := range foreign.IDs("seatlocks")[:some] {
		path := "/api/locks/" + id.String()
		ask("GET", path, nil)
		switch i % 3 {
		case 0:
			ask("DELETE", path, nil)
		case 1:
			ask("POST", path+"/extend", fields{"ttlSeconds": 600})
		case 2:
			ask("POST", "/api/bookings", fields{"userId": user, "eventId": pool[i%len(pool)], "lockId": id, "paymentTtlSeconds": 600})
		}
	}
	for i, id := range foreign.IDs("bookings")[:some] {
		path := "/api/bookings/" + id.String()
		ask("GET", path, nil)
		ask("POST", path+[]string{"/pay", "/confirm", "/cancel"}[i%3], []any{window, fields{"paymentReference": "r"}, nil}[i%3])
	}
	for range 10 {
		ask("POST", "/api/locks", fields{"eventId": event, "userId": user, "seats": 1})
	}
	_ = all.Wait()
	s.walkForeign(t, "/api/events?pageSize=100")
	s.walkForeign(t, "/api/users?email=a@example.com")
	for _, kind := range []string{"locks", "bookings"} {
		for _, filter := range []string{"", "userId=" + user, "eventId=" + pool[0].String(), "status=CONFIRMED", "status=ACTIVE"} {
			if (kind == "locks") == (filter == "status=CONFIRMED") && filter != "" {
				continue
			}
			s.walkForeign(t, "/api/"+kind+"?pageSize=100&"+filter)
		}
	}
	s.checkForeign(t, "overview", s.call("GET", "/api/admin/overview", nil))
	if available, _ := s.w.Available(mustParse(t, event)); available != 990 {
		t.Errorf("%d seats of the ordinary event are available, want 990", available)
	}
	if n := s.w.Transactions(mongodb.Conflict); n > 0 {
		t.Errorf("%d transactions were repeated until their time was over", n)
	}
	if lines := s.w.Log.Lines("panic"); len(lines) > 0 {
		t.Errorf("%v", lines)
	}
}

// checkForeign accepts a success, and any refusal with a code.
func (s *site) checkForeign(t *testing.T, request string, a answer) {
	t.Helper()
	if a.status != http.StatusServiceUnavailable || a.text("code") != string(holdfast.CodeUnavailable) {
		checkAnswer(t, request, a)
	}
}

// walkForeign reads a list to its end.
func (s *site) walkForeign(t *testing.T, path string) {
	t.Helper()
	const most = 200
	seen, token := []string{}, ""
	for range most {
		a := s.call("GET", path+token, nil)
		if s.checkForeign(t, path, a); a.status != http.StatusOK {
			t.Errorf("%s: %d", path, a.status)
			return
		}
		if next := a.text("nextPageToken"); next == "" || slices.Contains(seen, next) {
			break
		}
		seen = append(seen, a.text("nextPageToken"))
		token = "&pageToken=" + a.text("nextPageToken")
	}
	if len(seen) == most {
		t.Errorf("%s has no end", path)
	}
}
