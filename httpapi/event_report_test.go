package httpapi_test

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

type sales struct {
	By          string
	From, Until time.Time
	IsCut       bool
	Buckets     []struct {
		Start        time.Time
		Locks, Seats int64
	}
}

func (s *site) sales(event, by string) (of sales) {
	s.t.Helper()
	a := s.want(s.call("GET", "/api/admin/events/"+event+"/sales?by="+by, nil), 200, "")
	if err := json.Unmarshal([]byte(a.raw), &of); err != nil || of.Buckets == nil {
		s.t.Fatal(err, a.raw)
	}
	return of
}

// soldAt inserts a sold lock whose ID is of a time.
func (s *site) soldAt(event string, at time.Time, seats any) {
	s.t.Helper()
	eventID, err := holdfast.ParseID(event)
	if err != nil {
		s.t.Fatal(err)
	}
	s.w.Insert("seatlocks", bson.D{{Key: "_id", Value: bson.NewObjectIDFromTimestamp(at)}, {Key: "eventId", Value: eventID},
		{Key: "seats", Value: seats}, {Key: "status", Value: "CONSUMED"}})
}

func TestSales_AreCountedByHourAndDay(t *testing.T) {
	t.Parallel()
	s := open(t)
	event, other, user := s.event(1000), s.event(10), s.user()
	if of := s.sales(event, "day"); len(of.Buckets) != 0 || of.By != "day" || of.IsCut {
		t.Errorf("without a sale: %+v", of)
	}
	s.sell(event, user, fields{"seats": 3}, "p1")
	s.sell(event, user, fields{"seats": 4}, "p2")
	s.sell(other, user, fields{"seats": 5}, "p3")
	s.want(s.lockSeats(event, user, fields{"seats": 7}), 201, "") // not sold
	now := time.Now().UTC()
	s.soldAt(event, now.Add(-50*time.Hour), 11)
	s.soldAt(event, now.Add(-50*time.Hour), "x")
	s.soldAt(event, now.Add(-8*24*time.Hour), int64(13))
	s.soldAt(event, now.Add(-400*24*time.Hour), 17)
	s.w.Insert("seatlocks", bson.D{{Key: "_id", Value: "text"}, {Key: "eventId", Value: mustParse(t, event)}, {Key: "seats", Value: 19},
		{Key: "status", Value: "CONSUMED"}})

	byHour, byDay := s.sales(event, "hour"), s.sales(event, "day")
	sum := func(of sales) (locks, seats int64) {
		for i, b := range of.Buckets {
			if i > 0 && !b.Start.After(of.Buckets[i-1].Start) {
				t.Errorf("the buckets are not in order: %+v", of.Buckets)
			}
			locks, seats = locks+b.Locks, seats+b.Seats
		}
		return locks, seats
	}
	if locks, seats := sum(byHour); locks != 4 || seats != 18 {
		t.Errorf("by hour: %d locks, %d seats: %+v", locks, seats, byHour)
	}
	if locks, seats := sum(byDay); locks != 5 || seats != 31 {
		t.Errorf("by day: %d locks, %d seats: %+v", locks, seats, byDay)
	}
	if first := byHour.Buckets[0]; !first.Start.Equal(now.Add(-50*time.Hour).Truncate(time.Hour)) || first.Seats != 11 || first.Locks != 2 {
		t.Errorf("the first hour: %+v", first)
	}
	if first := byDay.Buckets[0]; !first.Start.Equal(now.Add(-8*24*time.Hour).Truncate(24*time.Hour)) || first.Seats != 13 {
		t.Errorf("the first day: %+v", first)
	}
	for _, path := range []string{event + "/sales?by=minute", "x/sales", event + "/sales?x=1"} {
		s.want(s.call("GET", "/api/admin/events/"+path, nil), 422, "VALIDATION_FAILED")
	}
	s.want(s.call("GET", "/api/admin/events/"+mongodb.NewID().String()+"/sales", nil), 404, "EVENT_NOT_FOUND")
}

// A report of a large sale reads the newest sales only, and says so.
func TestSales_AreBounded(t *testing.T) {
	t.Parallel()
	s := open(t)
	event, user := s.event(10), s.user()
	for i := range 3 {
		s.sell(event, user, fields{"seats": 1}, "p"+strconv.Itoa(i))
	}
	for limit, isCut := range map[int]bool{2: true, 3: true, 4: false} {
		of, err := s.w.Store.SalesOf(t.Context(), mustParse(t, event), "day", 48*time.Hour, limit)
		var seats int64
		for _, b := range of.Buckets {
			seats += b.Seats
		}
		if err != nil || of.IsCut != isCut || seats != int64(min(limit, 3)) {
			t.Errorf("limit %d: %+v, %v", limit, of, err)
		}
	}
}

// One event is summed up as the overview does it.
func TestEventSummary_AgreesWithTheOverview(t *testing.T) {
	t.Parallel()
	s := open(t)
	event := s.seatedEvent(nil)
	s.event(10)
	s.sell(event, s.user(), fields{"seatIds": []string{"A-1-1", "A-1-2"}}, "p")
	s.want(s.lockSeats(event, s.user(), fields{"section": "pit", "seats": 3}), 201, "")
	s.want(s.call("POST", "/api/events/"+event+"/seats/block", fields{"seatIds": []string{"A-2-1"}}), 200, "")
	one := s.want(s.call("GET", "/api/admin/events/"+event, nil), 200, "")
	all := s.call("GET", "/api/admin/overview", nil).body["events"].([]any)
	if text, err := json.Marshal(all[1]); err != nil || string(text) != mustMarshal(t, one.body) {
		t.Errorf("%s, the overview has %s", one.raw, text)
	}
	for field, want := range map[string]string{"soldSeats": "2", "lockedSeats": "3", "blockedSeats": "1", "availableSeats": "16"} {
		if one.text(field) != want {
			t.Errorf("%s is not %s: %s", field, want, one.raw)
		}
	}
	s.want(s.call("GET", "/api/admin/events/"+holdfast.ID{1}.String(), nil), 404, "EVENT_NOT_FOUND")
	s.want(s.call("GET", "/api/admin/events/x", nil), 422, "VALIDATION_FAILED")
}

func mustMarshal(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func mustParse(t *testing.T, id string) holdfast.ID {
	t.Helper()
	parsed, err := holdfast.ParseID(id)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}
