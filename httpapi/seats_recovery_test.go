package httpapi_test

import (
	"cmp"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// The map is derived: what other software has left in it is repaired, and what contradicts is reported.
func TestSeats_RecoveryRepairsTheMap(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event := s.user(), s.seatedEvent(nil)
	s.want(s.lockSeats(event, user, fields{"seatIds": []string{"A-1-1", "A-2-3"}}), 201, "")
	s.want(s.lockSeats(event, user, fields{"section": "pit", "seats": 4}), 201, "")
	s.want(s.call("POST", "/api/events/"+event+"/seats/block", fields{"seatIds": []string{"A-1-5"}}), 200, "")
	id := mustParse(t, event)
	for name, damage := range map[string]bson.D{
		"a seat too many, one too few": {{Key: "internal.map.0", Value: bson.Binary{Data: []byte{0b0100_1000, 0b1000_0000}}}},
		"a section that is a text":     {{Key: "internal.map.0", Value: "x"}},
		"no map":                       {{Key: "internal.map", Value: nil}},
		"a short map":                  {{Key: "internal.map.0", Value: bson.Binary{Data: []byte{0xff}}}},
		"another number of places":     {{Key: "internal.map.1", Value: 9}},
		"another number of blocks":     {{Key: "blockedSeats", Value: 7}},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			s.w.Set("events", id, damage)
			plan, err := s.w.Recovery.Plan(s.w.Ctx())
			if err != nil || len(plan.WrongMaps) != 1 {
				t.Errorf("the plan has the maps %v, %v", plan.WrongMaps, err)
			}
			if _, err := s.w.Recovery.Reconcile(s.w.Ctx(), "run", slog.New(s.w.Log)); err != nil {
				t.Error(err)
			}
			s.wantTaken(event, "A-1-1 A-1-5 A-2-3")
			if e := s.want(s.call("GET", "/api/events/"+event, nil), 200, ""); e.text("blockedSeats") != "1" {
				t.Errorf("the event is %s", e.raw)
			}
			testenv.CheckInvariants(t, s.w.DB.Database)
			if plan, err = s.w.Recovery.Plan(s.w.Ctx()); err != nil || len(plan.WrongMaps) != 0 {
				t.Errorf("after the repair the plan has the maps %v, %v", plan.WrongMaps, err)
			}
		})
	}
}

// The counter of a seated event is compared with the locks that its map is compared with.
func TestSeats_RecoveryRepairsTheCounter(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event := s.user(), s.seatedEvent(nil)
	named := s.want(s.lockSeats(event, user, fields{"seatIds": []string{"A-1-1", "A-2-3"}}), 201, "")
	s.want(s.lockSeats(event, user, fields{"section": "pit", "seats": 4}), 201, "")
	s.want(s.call("PATCH", "/api/events/"+event, fields{"sections": []fields{{"key": "pit", "capacity": 5}}}), 200, "")
	const available, withoutALock = "11", "13"
	eventID, lockID := mustParse(t, event), mustParse(t, named.text("id"))
	for name, row := range map[string]struct {
		collection     string
		id             holdfast.ID
		damage, mended bson.D // mended: what an operator does about it
		drifts         int
		available      string
	}{
		"nothing":               {},
		"a counter that drifts": {collection: "events", id: eventID, damage: bson.D{{Key: "availableSeats", Value: 1}}, drifts: 1},
		"a lock without a number of seats": {collection: "seatlocks", id: lockID, damage: bson.D{{Key: "seats", Value: "2"}},
			mended: bson.D{{Key: "seats", Value: 2}}, drifts: 1, available: withoutALock},
		"a lock that counts more seats than it names": {collection: "seatlocks", id: lockID, damage: bson.D{{Key: "seats", Value: 40}},
			mended: bson.D{{Key: "seats", Value: 2}}, drifts: 1, available: withoutALock},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			if row.damage != nil {
				s.w.Set(row.collection, row.id, row.damage)
			}
			plan, err := s.w.Recovery.Plan(s.w.Ctx())
			if err != nil || len(plan.Drifts) != row.drifts {
				t.Errorf("the plan has %+v, %v", plan.Drifts, err)
			}
			report, err := s.w.Recovery.Reconcile(s.w.Ctx(), "run", slog.New(s.w.Log))
			if err != nil || report.Corrections != row.drifts || report.Oversold != 0 {
				t.Errorf("%+v, %v", report, err)
			}
			if e := s.call("GET", "/api/events/"+event, nil); e.text("availableSeats") != cmp.Or(row.available, available) {
				t.Errorf("the event is %s", e.raw)
			}
			if row.mended != nil {
				s.w.Set(row.collection, row.id, row.mended)
				if _, err := s.w.Recovery.Reconcile(s.w.Ctx(), "run", slog.New(s.w.Log)); err != nil {
					t.Error(err)
				}
			}
			testenv.CheckInvariants(t, s.w.DB.Database)
		})
	}
}

// An event that other software has written has no map, and its page asks for the map first: it is made from the locks.
func TestSeats_TheMapOfAnImportedEventIsMade(t *testing.T) {
	t.Parallel()
	s := open(t)
	event := s.want(s.call("GET", "/api/events/"+s.seatedEvent(nil), nil), 200, "")
	planID := mustParse(t, event.text("seatingPlanId"))
	for _, format := range []string{"", "?format=ids"} {
		id := mongodb.NewID()
		s.w.Insert("events", bson.D{
			{Key: "_id", Value: id}, {Key: "totalSeats", Value: 22}, {Key: "availableSeats", Value: 21}, {Key: "seatingPlanId", Value: planID},
		})
		s.w.Insert("seatlocks", bson.D{
			{Key: "eventId", Value: id}, {Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: time.Now().Add(time.Hour)},
			{Key: "seats", Value: 1}, {Key: "seatIds", Value: bson.A{"A-1-1"}},
		})
		s.want(s.call("GET", "/api/events/"+id.String()+"/seats"+format, nil), 200, "")
		s.wantTaken(id.String(), "A-1-1")
	}
	if lines := s.w.Log.Lines("Repaired the map of an event's seats"); len(lines) != 2 {
		t.Errorf("the log has %v", lines)
	}
	testenv.CheckInvariants(t, s.w.DB.Database)
}

// The map of a corrupt event is not mended: the answer says what to do.
func TestSeats_TheMapOfACorruptEventIsRefused(t *testing.T) {
	t.Parallel()
	s := open(t)
	event := s.seatedEvent(nil)
	s.w.Set("events", mustParse(t, event), bson.D{{Key: "internal", Value: "3-abc"}})
	a := s.want(s.call("GET", "/api/events/"+event+"/seats", nil), 503, "UNAVAILABLE")
	if !strings.Contains(a.text("detail"), "an operator has to correct it") {
		t.Errorf("answered %s", a.raw)
	}
	if lines := s.w.Log.Lines("Repaired the map of an event's seats"); len(lines) > 0 {
		t.Errorf("the log has %v", lines)
	}
}

// A section of general admission of which other software has locked more than it has pays that down before it sells. No other
// section loses a seat by it.
func TestSeats_ASectionIsOversold(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event := s.user(), s.seatedEvent(nil) // 12 numbered seats, and 10 places in the pit
	held := s.want(s.lockSeats(event, user, fields{"section": "pit", "seats": 10}), 201, "")
	s.w.Insert("seatlocks", bson.D{
		{Key: "eventId", Value: mustParse(t, event)}, {Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: time.Now().Add(time.Hour)},
		{Key: "seats", Value: 5}, {Key: "section", Value: "pit"},
	})
	s.want(s.lockSeats(event, user, fields{"seatIds": []string{"A-1-1"}}), 201, "") // before anybody knows
	report, err := s.w.Recovery.Reconcile(s.w.Ctx(), "run", slog.New(s.w.Log))
	if err != nil || report.Oversold != 1 || report.Reported != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	wantCounts := func(eventHas, eventOver, pitHas, pitOver int64) {
		t.Helper()
		e := s.want(s.call("GET", "/api/events/"+event, nil), 200, "")
		oversold, _ := e.body["oversold"].(float64)
		if e.text("availableSeats") != fmt.Sprint(eventHas) || int64(oversold) != eventOver {
			t.Errorf("the event is %s, want %d available and %d oversold", e.raw, eventHas, eventOver)
		}
		m := s.want(s.call("GET", "/api/events/"+event+"/seats", nil), 200, "")
		var pit struct{ Available, Oversold int64 }
		for _, section := range m.body["sections"].([]any) {
			if section := section.(map[string]any); section["key"] == "pit" {
				over, _ := section["oversold"].(float64)
				pit.Available, pit.Oversold = int64(section["available"].(float64)), int64(over)
			}
		}
		if pit.Available != pitHas || pit.Oversold != pitOver {
			t.Errorf("the map is %s, want %d places available and %d oversold", m.raw, pitHas, pitOver)
		}
		testenv.CheckInvariants(t, s.w.DB.Database)
	}
	wantCounts(11, 5, 0, 5)
	s.want(s.lockSeats(event, user, fields{"section": "pit", "seats": 1}), 409, "SEATS_UNAVAILABLE")
	s.want(s.lockSeats(event, user, fields{"seatIds": []string{"A-1-2", "A-1-3"}}), 201, "")
	wantCounts(9, 5, 0, 5)
	s.want(s.call("PUT", "/api/locks/"+held.text("id")+"/seats", fields{"section": "pit", "seats": 7}), 200, "")
	wantCounts(9, 2, 0, 2)
	s.want(s.call("DELETE", "/api/locks/"+held.text("id"), nil), 200, "")
	wantCounts(14, 0, 5, 0)
}
