package httpapi_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/client"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

func (s *site) report(event string) answer {
	s.t.Helper()
	return s.want(s.call("GET", "/api/events/"+event+"/report", nil), 200, "")
}

func TestReport_CountsSeatsByState(t *testing.T) {
	t.Parallel()
	s := open(t)
	event, user := s.seatedEvent(nil), s.user()
	s.sell(event, user, fields{"seatIds": []string{"A-1-1", "A-1-2"}}, "p")
	due := s.want(s.lockSeats(event, user, fields{"seatIds": []string{"A-2-1", "A-2-2"}}), 201, "")
	s.w.Set("seatlocks", mustParse(t, due.text("id")), bson.D{{Key: "expiresAt", Value: time.Now().Add(-time.Hour)}})
	s.want(s.lockSeats(event, user, fields{"seatIds": []string{"A-2-6"}}), 201, "")
	s.want(s.lockSeats(event, user, fields{"section": "pit", "seats": 3}), 201, "")
	s.want(s.call("POST", "/api/events/"+event+"/seats/block", fields{"seatIds": []string{"A-1-4"}}), 200, "")
	want := `{"eventId":"` + event + `","totalSeats":22,"available":15,"held":4,"sold":2,"blocked":1,"offered":0,"waiting":0,"sections":[` +
		`{"key":"A","category":"seats","total":12,"available":8,"held":1,"sold":2,"blocked":1},` +
		`{"key":"pit","category":"standing","total":10,"available":7,"held":3,"sold":0,"blocked":0}],"categories":[` +
		`{"key":"seats","total":12,"available":8,"held":1,"sold":2,"blocked":1},` +
		`{"key":"standing","total":10,"available":7,"held":3,"sold":0,"blocked":0}]}` + "\n"
	if got := s.report(event).raw; got != want {
		t.Errorf("the report is %s\nwant          %s", got, want)
	}
	csv := s.want(s.call("GET", "/api/events/"+event+"/report?format=csv", nil), 200, "")
	const rows = "row,key,category,total,available,held,sold,blocked,oversold,offered,waiting\nevent,%s,,22,15,4,2,1,0,0,0\n" +
		"section,A,seats,12,8,1,2,1,0,,\nsection,pit,standing,10,7,3,0,0,0,,\n" +
		"category,seats,seats,12,8,1,2,1,0,,\ncategory,standing,standing,10,7,3,0,0,0,,\n"
	if want := fmt.Sprintf(rows, event); csv.raw != want || csv.header.Get("Content-Type") != "text/csv; charset=utf-8" {
		t.Errorf("as CSV it is %s %s", csv.header.Get("Content-Type"), csv.raw)
	}

	plain := s.event(9)
	s.want(s.lockSeats(plain, user, fields{"seats": 4}), 201, "")
	want = `{"eventId":"` + plain + `","totalSeats":9,"available":5,"held":4,"sold":0,"blocked":0,"offered":0,"waiting":0}` + "\n"
	if got := s.report(plain).raw; got != want {
		t.Errorf("the report of an unseated event is %s", got)
	}
	for path, status := range map[string]int{"x/report": 422, plain + "/report?format=xml": 422, plain + "/report?x=1": 422} {
		s.want(s.call("GET", "/api/events/"+path, nil), status, "VALIDATION_FAILED")
	}
	s.want(s.call("GET", "/api/events/"+mongodb.NewID().String()+"/report", nil), 404, "EVENT_NOT_FOUND")
	s.w.ChangeUnchecked("events", mustParse(t, plain), bson.D{{Key: "$set", Value: bson.D{{Key: "totalSeats", Value: "x"}}}})
	s.want(s.call("GET", "/api/events/"+plain+"/report", nil), 503, "UNAVAILABLE")
}

// What other software wrote beyond the capacity of a section is oversold there and in the event, although other sections have
// seats left.
func TestReport_NamesOversoldSeats(t *testing.T) {
	t.Parallel()
	s := open(t)
	event, plain := s.seatedEvent(nil), s.event(9)
	for id, section := range map[string]string{event: "pit", plain: ""} {
		lock := bson.D{{Key: "section", Value: section}, {Key: "seats", Value: 14}}
		s.w.Insert("seatlocks", append(lock, bson.E{Key: "_id", Value: mongodb.NewID()}, bson.E{Key: "eventId", Value: mustParse(t, id)},
			bson.E{Key: "status", Value: "CONSUMED"}, bson.E{Key: "expiresAt", Value: time.Now()}))
	}
	s.w.Recover()
	for id, want := range map[string]string{event: "4", plain: "5"} {
		if r := s.report(id); r.text("oversold") != want || s.call("GET", "/api/events/"+id, nil).text("oversold") != want {
			t.Errorf("want %s oversold: %s", want, r.raw)
		}
	}
	pit := s.report(event).body["sections"].([]any)[1].(map[string]any)
	if fmt.Sprint(pit["oversold"], pit["available"]) != "4 0" {
		t.Errorf("the section is %v", pit)
	}
}

// randomPlan has seats of other categories than their section's, a category without seats, and general admission.
var randomPlan = client.SeatingPlan{
	Name: "Hall", Categories: []client.Category{{Key: "a", Name: "A"}, {Key: "b", Name: "B"}, {Key: "none", Name: "None"}},
	Sections: []client.Section{
		{Key: "A", Name: "A", Category: "a", Rows: []client.Row{{Key: "1", Count: 40}, {Key: "2", Count: 40, Category: "b"}}},
		{Key: "B", Name: "B", Category: "b", Rows: []client.Row{{Key: "1", Count: 40}}}, {Key: "pit", Name: "Pit", Category: "b", Capacity: 60},
	},
}

// anyTakenSeats has seats of the plan that no other lock has, seats that it lacks, a section, or nothing of these.
func anyTakenSeats(random *rand.Rand, next *int) bson.D {
	switch random.IntN(6) {
	case 0:
		return bson.D{{Key: "seats", Value: 1 + random.IntN(4)}, {Key: "section", Value: []string{"pit", "A", "gone"}[random.IntN(3)]}}
	case 1:
		return bson.D{{Key: "seats", Value: int64(1 + random.IntN(4))}}
	case 2:
		return bson.D{{Key: "seats", Value: 2}, {Key: "section", Value: "pit"}}
	}
	ids := bson.A{}
	for range 1 + random.IntN(3) {
		if *next++; *next <= 120 {
			ids = append(ids, []string{"A-1-", "A-2-", "B-1-"}[*next%3]+fmt.Sprint(1+(*next-1)/3))
		} else {
			ids = append(ids, fmt.Sprint("gone-", *next))
		}
	}
	return bson.D{{Key: "seats", Value: float64(len(ids))}, {Key: "seatIds", Value: ids}, {Key: "section", Value: "pit"}}
}

// The report of random locks is what their documents say.
func TestReport_AgreesWithTheDocuments(t *testing.T) {
	t.Parallel()
	s := open(t)
	plan := s.want(s.call("POST", "/api/seating-plans", randomPlan), 201, "")
	random := testenv.Random(t)
	for range 8 {
		request := fields{"name": "E", "seatingPlanId": plan.text("id"), "eventDate": "2030-06-15T20:00:00Z"}
		event := s.want(s.call("POST", "/api/events", request), 201, "")
		id, next := mustParse(t, event.text("id")), 0
		for range 10 + random.IntN(60) {
			lock := append(anyTakenSeats(random, &next), bson.E{Key: "_id", Value: mongodb.NewID()}, bson.E{Key: "eventId", Value: id},
				bson.E{Key: "status", Value: []string{"ACTIVE", "ACTIVE", "CONSUMED", "BLOCKED", "EXPIRED", "RELEASED"}[random.IntN(6)]},
				bson.E{Key: "expiresAt", Value: time.Now().Add([]time.Duration{-time.Hour, time.Hour}[random.IntN(2)])})
			if random.IntN(10) == 0 {
				lock = append(lock, bson.E{Key: "updatedAt", Value: "corrupt"})
			}
			s.w.Insert("seatlocks", lock)
		}
		var got client.EventReport
		if err := json.Unmarshal([]byte(s.report(id.String()).raw), &got); err != nil {
			t.Fatal(err)
		}
		if want := s.countDocuments(id.String()); !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %+v\nwant %+v", got, want)
		}
	}
}

// countDocuments counts the seats of an event in the hall of randomPlan, one by one.
func (s *site) countDocuments(event string) client.EventReport {
	s.t.Helper()
	r := client.EventReport{
		EventID: event, TotalSeats: 180,
		Sections: []client.SectionCounts{
			{Key: "A", Category: "a", Total: 80}, {Key: "B", Category: "b", Total: 40}, {Key: "pit", Category: "b", Total: 60},
		},
		Categories: []client.CategoryCounts{{Key: "a", Total: 40}, {Key: "b", Total: 140}, {Key: "none"}},
	}
	count := func(status string, n int64, in ...*client.SeatCounts) {
		for _, c := range in {
			switch status {
			case "ACTIVE":
				c.Held += n
			case "CONSUMED":
				c.Sold += n
			case "BLOCKED":
				c.Blocked += n
			}
		}
	}
	places := map[string][]*client.SeatCounts{"pit": {&r.Sections[2].SeatCounts, &r.Categories[1].SeatCounts}}
	for n := range 40 {
		for row, in := range map[string][2]int{"A-1-": {0, 0}, "A-2-": {0, 1}, "B-1-": {1, 1}} {
			places[row+fmt.Sprint(n+1)] = []*client.SeatCounts{&r.Sections[in[0]].SeatCounts, &r.Categories[in[1]].SeatCounts}
		}
	}
	cursor, err := s.w.DB.Collection("seatlocks").Find(s.t.Context(), bson.D{{Key: "eventId", Value: mustParse(s.t.(*testing.T), event)}})
	if err != nil {
		s.t.Fatal(err)
	}
	var locks []struct {
		Status, Section string
		Seats           int64
		SeatIDs         []string  `bson:"seatIds"`
		ExpiresAt       time.Time `bson:"expiresAt"`
		UpdatedAt       any       `bson:"updatedAt"`
	}
	if err := cursor.All(s.t.Context(), &locks); err != nil {
		s.t.Fatal(err)
	}
	for _, l := range locks {
		if l.UpdatedAt != nil || l.Status == "ACTIVE" && l.ExpiresAt.Before(time.Now()) {
			continue
		}
		count(l.Status, l.Seats, &r.SeatCounts)
		for _, id := range l.SeatIDs {
			count(l.Status, 1, places[id]...)
		}
		if len(l.SeatIDs) == 0 {
			count(l.Status, l.Seats, places[l.Section]...)
		}
	}
	finish := func(total int64, c *client.SeatCounts) {
		left := total - c.Held - c.Sold - c.Blocked
		c.Available, c.Oversold = max(0, left), max(0, -left)
	}
	beyond := int64(0)
	for n := range r.Sections {
		finish(r.Sections[n].Total, &r.Sections[n].SeatCounts)
		beyond += r.Sections[n].Oversold
	}
	for n := range r.Categories {
		finish(r.Categories[n].Total, &r.Categories[n].SeatCounts)
	}
	finish(r.TotalSeats, &r.SeatCounts)
	r.Oversold = max(r.Oversold, beyond)
	return r
}
