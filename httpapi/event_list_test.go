package httpapi_test

import (
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/client"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// names are those of the events of a list, in its order.
func (s *site) names(query url.Values) string {
	s.t.Helper()
	var names []string
	for _, item := range s.want(s.call("GET", "/api/events?"+query.Encode(), nil), 200, "").body["items"].([]any) {
		names = append(names, fmt.Sprint(item.(map[string]any)["name"]))
	}
	return strings.Join(names, " ")
}

func TestEvents_ListsByStatusAndDate(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, e := range []fields{
		{"name": "c", "eventDate": "2030-03-01T00:00:00Z", "reference": "tour"}, {"name": "a", "eventDate": "2030-01-01T00:00:00Z"},
		{"name": "b", "eventDate": "2030-02-01T00:00:00Z"}, {"name": "b2", "eventDate": "2030-02-01T00:00:00Z", "reference": "tour"},
	} {
		e["totalSeats"] = 5
		id := s.want(s.call("POST", "/api/events", e), 201, "").text("id")
		if e["name"] == "b" {
			s.want(s.patch(id, fields{"status": "CLOSED"}), 200, "")
		}
	}
	for query, want := range map[string]string{
		"": "c a b b2", "status=ON_SALE": "c a b2", "status=CLOSED": "b", "status=CANCELLED": "", "from=2030-01-01T00:00:00Z": "a b b2 c",
		"from=2030-01-01T00:00:00.0001Z": "b b2 c", "to=2030-02-01T00:00:00Z": "a", "to=2030-02-01T00:00:00.0001Z": "a b b2",
		"from=2030-02-01T01:00:00%2B01:00&to=2030-03-01T00:00:00Z": "b b2", "from=2030-02-01T00:00:00Z&status=ON_SALE": "b2 c",
		"from=2030-02-01T00:00:00Z&to=2030-02-01T00:00:00Z": "", "from=2031-01-01T00:00:00Z&to=2030-01-01T00:00:00Z": "",
		"reference=tour": "c b2", "reference=tou": "", "reference=tour&from=2030-01-01T00:00:00Z": "b2 c", "reference=tour&status=CLOSED": "",
		"from=0001-01-01T00:00:00Z": "a b b2 c", "to=9999-12-31T23:59:59Z": "a b b2 c",
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.names(values); got != want {
			t.Errorf("%s lists %q, want %q", query, got, want)
		}
	}
	first := s.want(s.call("GET", "/api/events?pageSize=2&from=2030-01-01T00:00:00Z", nil), 200, "").text("nextPageToken")
	next := url.Values{"from": {"2030-01-01T00:00:00Z"}, "pageToken": {first}}
	if got := s.names(next); got != "b2 c" {
		t.Errorf("the next page lists %q", got)
	}
	s.wantInvalid(s.call("GET", "/api/events?from=2030-01-02T00:00:00Z&pageToken="+first, nil), "query.pageToken")
	for query, where := range map[string]string{
		"status=": "query.status", "status=SOLD": "query.status", "status=on_sale": "query.status", "from=": "query.from", "to=": "query.to",
		"from=today": "query.from", "to=2030-01-01": "query.to", "from=2030-02-30T00:00:00Z": "query.from", "reference=": "query.reference",
		"to=9999-12-31T23:59:59-01:00": "query.to", "from=2030-01-01T00:00:00Z&from=2031-01-01T00:00:00Z": "query.from",
		"reference=%01": "query.reference", "reference=" + strings.Repeat("r", 129): "query.reference",
	} {
		s.wantInvalid(s.call("GET", "/api/events?"+query, nil), where)
	}
}

func TestClient_ListsEventsByStatusAndDate(t *testing.T) {
	t.Parallel()
	s := openShop(t, passThrough)
	day := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for n, date := range []time.Time{day.AddDate(0, 1, 0), day} {
		if _, err := s.CreateEvent(t.Context(), client.NewEvent{Name: fmt.Sprint(n), TotalSeats: 1, EventDate: date}); err != nil {
			t.Fatal(err)
		}
	}
	for want, f := range map[string]client.EventFilter{
		"0 1": {}, "1 0": {From: &day}, "1": {To: new(day.Add(1))}, "": {Status: new("CLOSED")}, "1 0 ": {From: &day, Status: new("ON_SALE")},
	} {
		var names []string
		for e, err := range s.ListEvents(t.Context(), f) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, e.Name)
		}
		if got := strings.Join(names, " "); got != strings.TrimSpace(want) {
			t.Errorf("%+v lists %q, want %q", f, got, want)
		}
	}
}

// A deleted event is not there any more, its streams end, and its deletion is told with the event as it was. Only admins delete.
func TestEvents_AreDeleted(t *testing.T) {
	t.Parallel()
	s := open(t)
	event, user := s.event(10), s.user()
	path := "/api/events/" + event
	seated := "/api/events/" + s.seatedEvent(nil)
	l, map0 := s.listen(event, ""), s.listenTo(seated+"/seats/stream", "")
	l.next()
	lock := s.want(s.lockSeats(event, user, fields{"seats": 1}), 201, "").text("id")
	s.want(s.call("DELETE", path, nil), 409, "EVENT_HAS_LOCKS")
	s.want(s.call("DELETE", "/api/locks/"+lock, nil), 200, "")
	s.want(s.call("DELETE", path, nil), 409, "EVENT_HAS_LOCKS")
	id, err := holdfast.ParseID(lock)
	if err != nil {
		t.Fatal(err)
	}
	purged, err := s.w.Store.Purge(s.w.Ctx(), []holdfast.ID{id}, time.Now().Add(time.Minute), time.Now()) // what was removed does not count
	if err != nil || purged.Locks != 1 {
		t.Fatal(purged, err)
	}
	before := s.want(s.call("GET", path, nil), 200, "")
	_, token := s.changes("pageSize=500")
	if a := s.want(s.call("DELETE", path, nil), 204, ""); a.raw != "" {
		t.Errorf("answered %q", a.raw)
	}
	s.want(s.call("DELETE", path, nil), 404, "EVENT_NOT_FOUND")
	told, _ := s.changes("eventId=" + event + "&pageSize=500&pageToken=" + token)
	if len(told) != 1 || told[0]["type"] != "holdfast.event.deleted" || told[0]["subject"] != "events/"+event ||
		!reflect.DeepEqual(told[0]["data"], any(before.body)) {
		t.Errorf("told %v, want %v", told, before.body)
	}
	for m := l.next(); m.event != ""; {
		m = l.next()
	}
	s.want(s.call("GET", path+"/stream", nil), 404, "EVENT_NOT_FOUND")
	s.want(s.call("DELETE", seated, nil), 204, "")
	for m := map0.next(); m.event != ""; {
		m = map0.next()
	}
	for _, route := range []string{"", "/seats", "/report", "/stream", "/seats/stream", "/seats/A-1-1"} {
		s.want(s.call("GET", seated+route, nil), 404, "EVENT_NOT_FOUND")
	}
	s.want(s.lockSeats(event, user, fields{"seats": 1}), 404, "EVENT_NOT_FOUND")
	s.want(s.call("POST", "/api/admin/events/"+event+"/cancel", nil), 404, "EVENT_NOT_FOUND")
	s.wantInvalid(s.call("DELETE", "/api/events/nonsense", nil), "path.id")
	s.want(s.call("DELETE", "/api/events/"+someID, nil), 404, "EVENT_NOT_FOUND")
	testenv.CheckInvariants(t, s.w.DB.Database)
}
