package httpapi_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// seatView is what a client of hallPlan knows from its stream.
type seatView struct {
	*listener

	lastID    int64
	resets    int
	available map[string]int64 // by section
	taken     map[string]bool  // the seats of A
	sections  int              // messages
}

// view opens a stream of an event's seats; query begins with a question mark.
func (s *site) view(event, query, lastID string) *seatView {
	s.t.Helper()
	return &seatView{listener: s.listenTo("/api/events/"+event+"/seats/stream"+query, lastID)}
}

// next applies the next message.
func (v *seatView) next() sse {
	v.t.Helper()
	m := v.listener.next()
	if m.event != "reset" && m.id <= v.lastID {
		v.t.Fatalf("%+v follows the ID %d", m, v.lastID)
	}
	switch m.event {
	case "reset":
		v.available, v.taken, v.lastID = nil, nil, 0
		v.resets++
	case "sections":
		v.applySections(m)
	case "seats":
		v.applySeats(m)
	default:
		v.t.Fatalf("received %+v", m)
	}
	v.lastID = max(v.lastID, m.id)
	return m
}

func (v *seatView) applySections(m sse) {
	v.t.Helper()
	var list []struct {
		Key       string
		Available int64
	}
	v.decode(m, &list)
	if v.available == nil {
		v.available = map[string]int64{}
	}
	for _, s := range list {
		v.available[s.Key] = s.Available
	}
	v.sections++
}

func (v *seatView) applySeats(m sse) {
	v.t.Helper()
	var body struct {
		Section      string
		Rev          int64
		Bitmap       *string
		Taken, Freed []string
	}
	v.decode(m, &body)
	if body.Section != "A" || body.Rev < 0 {
		v.t.Errorf("received %s", m.data)
	}
	if body.Bitmap != nil {
		bits, err := base64.StdEncoding.DecodeString(*body.Bitmap)
		if err != nil || len(bits) != 2 {
			v.t.Fatalf("%v in %s", err, m.data)
		}
		v.taken = map[string]bool{}
		for n := range 12 {
			v.taken[fmt.Sprintf("A-%d-%d", n/6+1, n%6+1)] = bits[n/8]&(128>>(n%8)) != 0
		}
		return
	}
	if v.taken == nil || body.Taken == nil || body.Freed == nil {
		v.t.Fatalf("changes without a map, or without a list: %s", m.data)
	}
	for _, id := range body.Taken {
		v.taken[id] = true
	}
	for _, id := range body.Freed {
		v.taken[id] = false
	}
}

func (v *seatView) decode(m sse, into any) {
	v.t.Helper()
	if err := json.Unmarshal([]byte(m.data), into); err != nil {
		v.t.Fatalf("%v in %s", err, m.data)
	}
}

// seats are the seats of A that are taken.
func (v *seatView) seats() string {
	var list []string
	for id, isTaken := range v.taken {
		if isTaken {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// waitFor reads on until these seats of A are taken, and so many places of the pit are free.
func (v *seatView) waitFor(seats string, pit int64) {
	v.t.Helper()
	free := 12 - int64(len(strings.Fields(seats)))
	for v.available == nil || v.taken == nil || v.seats() != seats || v.available["pit"] != pit || v.available["A"] != free {
		v.next()
	}
}

// waitForAvailable reads on until so many seats of A are free.
func (v *seatView) waitForAvailable(n int64) {
	v.t.Helper()
	for v.available == nil || v.available["A"] != n {
		v.next()
	}
}

func TestSeatStream_FollowsTheMap(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event := s.user(), s.seatedEvent(nil)
	overview, view := s.view(event, "", ""), s.view(event, "?section=A&section=pit", "")
	overview.waitForAvailable(12)
	view.waitFor("", 10)
	step := func(seats string, pit int64) {
		t.Helper()
		view.waitFor(seats, pit)
		overview.waitForAvailable(12 - int64(len(strings.Fields(seats))))
		s.wantTaken(event, seats)
	}
	lock := s.want(s.lockSeats(event, user, fields{"seatIds": []string{"A-2-2", "A-1-3"}}), 201, "").text("id")
	step("A-1-3 A-2-2", 10)
	// As many seats as before, so that only the map changes.
	s.want(s.call("PUT", "/api/locks/"+lock+"/seats", fields{"seatIds": []string{"A-1-3", "A-1-4"}}), 200, "")
	step("A-1-3 A-1-4", 10)
	block := fields{"seatIds": []string{"A-1-1", "A-2-6"}}
	s.want(s.call("POST", "/api/events/"+event+"/seats/block", block), 200, "")
	step("A-1-1 A-1-3 A-1-4 A-2-6", 10)
	s.want(s.lockSeats(event, user, fields{"section": "pit", "seats": 4}), 201, "")
	step("A-1-1 A-1-3 A-1-4 A-2-6", 6)
	s.want(s.call("DELETE", "/api/locks/"+lock, nil), 200, "")
	step("A-1-1 A-2-6", 6)
	s.want(s.call("POST", "/api/events/"+event+"/seats/unblock", block), 200, "")
	step("", 6)
	s.want(s.lockSeats(event, user, fields{
		"seatIds": []string{"A-1-1", "A-1-2"}, "expiresAt": time.Now().Add(-time.Minute).UTC().Format(time.RFC3339),
	}), 201, "")
	step("A-1-1 A-1-2", 6)
	s.w.SweepLocks()
	step("", 6)
	if overview.taken != nil || overview.resets+view.resets > 0 {
		t.Errorf("the overview has seats %v, %d resets", overview.taken, overview.resets+view.resets)
	}
}

// Another process, which shares nothing but the database, changes the seats.
func TestSeatStream_ShowsTheChangesOfOtherProcesses(t *testing.T) {
	t.Parallel()
	s := open(t)
	other := openOn(t, testenv.Open(t, s.w.URI, s.w.DB.Name()), func(*httpapi.Services, *core.Settings) {})
	user, event := s.user(), s.seatedEvent(nil)
	here, there := s.view(event, "?section=A", ""), other.view(event, "?section=A", "")
	s.want(s.lockSeats(event, user, fields{"seatIds": []string{"A-1-1"}}), 201, "")
	other.want(other.lockSeats(event, user, fields{"seatIds": []string{"A-1-2"}}), 201, "")
	s.want(s.lockSeats(event, user, fields{"seatIds": []string{"A-1-3"}}), 201, "")
	here.waitFor("A-1-1 A-1-2 A-1-3", 10)
	there.waitFor("A-1-1 A-1-2 A-1-3", 10)
	here.disconnect()
	here.listener = other.listenTo("/api/events/"+event+"/seats/stream?section=A", strconv.FormatInt(here.lastID, 10))
	other.want(other.lockSeats(event, user, fields{"seatIds": []string{"A-1-4"}}), 201, "")
	here.waitFor("A-1-1 A-1-2 A-1-3 A-1-4", 10)
}

func TestSeatStream_Resumes(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event := s.user(), s.seatedEvent(nil)
	stays, leaves := s.view(event, "?section=A", ""), s.view(event, "?section=A", "")
	s.want(s.lockSeats(event, user, fields{"seatIds": []string{"A-1-1"}}), 201, "")
	stays.waitFor("A-1-1", 10)
	leaves.waitFor("A-1-1", 10)
	leaves.disconnect()
	lock := s.want(s.lockSeats(event, user, fields{"seatIds": []string{"A-1-2"}}), 201, "").text("id")
	stays.waitFor("A-1-1 A-1-2", 10)
	s.want(s.call("PUT", "/api/locks/"+lock+"/seats", fields{"seatIds": []string{"A-1-3"}}), 200, "")
	stays.waitFor("A-1-1 A-1-3", 10)
	leaves.listener = s.listenTo("/api/events/"+event+"/seats/stream?section=A", strconv.FormatInt(leaves.lastID, 10))
	leaves.waitFor("A-1-1 A-1-3", 10)
	if leaves.resets > 0 || leaves.sections != 3 { // whole, A-1-1, A-1-2; the third change is of seats alone
		t.Errorf("%d resets, %d messages of sections", leaves.resets, leaves.sections)
	}
	for _, id := range []string{"1", "0", "-5", "x", strconv.FormatInt(1<<62, 10), "99999999999999999999"} {
		t.Run("Last-Event-ID "+id, func(t *testing.T) {
			v := s.in(t).view(event, "?section=A", id)
			if m := v.next(); m.event != "reset" {
				t.Errorf("first came %+v", m)
			}
			v.waitFor("A-1-1 A-1-3", 10)
		})
	}
}

func TestSeatStream_Refusals(t *testing.T) {
	t.Parallel()
	s := open(t)
	event, unseated := s.seatedEvent(nil), s.event(10)
	stream := func(event, query string) answer {
		return s.call("GET", "/api/events/"+event+"/seats/stream"+query, nil)
	}
	s.want(stream(unseated, ""), 422, "VALIDATION_FAILED")
	s.want(stream(mongodb.NewID().String(), ""), 404, "EVENT_NOT_FOUND")
	s.want(stream("nonsense", ""), 422, "VALIDATION_FAILED")
	if a := s.want(stream(event, "?section=A&section=Z"), 422, "VALIDATION_FAILED"); !strings.Contains(a.raw, `"query.section"`) {
		t.Errorf("the refusal is %s", a.raw)
	}
	s.want(stream(event, "?section=A"+strings.Repeat("&section=A", 20)), 422, "VALIDATION_FAILED")
	if a := s.call("HEAD", "/api/events/"+event+"/seats/stream", nil); a.status != 200 || a.header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("HEAD answers %d %v", a.status, a.header)
	}
	v := s.view(event, "?section=A"+strings.Repeat("&section=pit", 19), "")
	v.waitFor("", 10)
}

// Each change is sent although no other one follows it, also if the change stream has just begun. Package live tests
// with a fake clock that it does not wait.
func TestSeatStream_ALoneChangeIsSent(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event := s.user(), s.seatedEvent(nil)
	v := s.view(event, "?section=A", "")
	v.waitFor("", 10)
	for n := range 6 {
		seat := fmt.Sprintf("A-2-%d", n+1)
		s.want(s.lockSeats(event, user, fields{"seatIds": []string{seat}}), 201, "")
		for !v.taken[seat] {
			v.next()
		}
	}
}

// If MongoDB's change stream ends, the listeners miss nothing and need no reset.
func TestSeatStream_ContinuesAfterTheChangeStreamEnds(t *testing.T) {
	t.Parallel()
	w := testenv.Open(t, testenv.OwnServer(t), "holdfast")
	s := openOn(t, w, func(*httpapi.Services, *core.Settings) {})
	user, event := s.user(), s.seatedEvent(nil)
	v := s.view(event, "?section=A", "")
	v.waitFor("", 10)
	const changeStreamFatalError = 280
	restore := w.FailCommands("getMore", bson.D{{Key: "times", Value: 1}}, bson.D{{Key: "errorCode", Value: changeStreamFatalError}})
	s.want(s.lockSeats(event, user, fields{"seatIds": []string{"A-1-1"}}), 201, "")
	v.waitFor("A-1-1", 10)
	restore()
	s.want(s.lockSeats(event, user, fields{"seatIds": []string{"A-1-2"}}), 201, "")
	v.waitFor("A-1-1 A-1-2", 10)
	if v.resets > 0 {
		t.Errorf("%d resets", v.resets)
	}
}

// A damaged map is not sent. When it is repaired, the stream goes on.
func TestSeatStream_WaitsForADamagedMap(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event := s.user(), s.seatedEvent(nil)
	id, err := holdfast.ParseID(event)
	if err != nil {
		t.Fatal(err)
	}
	v := s.view(event, "?section=A", "")
	s.want(s.lockSeats(event, user, fields{"seatIds": []string{"A-1-1", "A-2-3"}}), 201, "")
	v.waitFor("A-1-1 A-2-3", 10)
	s.w.Set("events", id, bson.D{{Key: "internal.map.0", Value: "x"}, {Key: "updatedAt", Value: time.Now()}})
	testenv.WaitFor(t, func() bool { return len(s.w.Log.Lines("The seats of an event can't be read")) > 0 })
	late := s.view(event, "?section=A", "") // it gets the last map that could be read
	late.waitFor("A-1-1 A-2-3", 10)
	if _, err := s.w.Recovery.Reconcile(s.w.Ctx(), "run", slog.New(s.w.Log)); err != nil {
		t.Error(err)
	}
	s.want(s.lockSeats(event, user, fields{"seatIds": []string{"A-1-2"}}), 201, "")
	v.waitFor("A-1-1 A-1-2 A-2-3", 10)
	if v.resets > 0 {
		t.Errorf("%d resets", v.resets)
	}
}

// The stream of an event that is removed ends.
func TestSeatStream_EndsWithItsEvent(t *testing.T) {
	t.Parallel()
	s := open(t)
	event := s.seatedEvent(nil)
	v := s.view(event, "?section=A", "")
	v.waitFor("", 10)
	id, err := holdfast.ParseID(event)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.w.DB.Collection("events").DeleteOne(s.w.Ctx(), bson.D{{Key: "_id", Value: id}}); err != nil {
		t.Fatal(err)
	}
	if m := v.listener.next(); m.event != "" {
		t.Errorf("received %+v", m)
	}
	s.want(s.call("GET", "/api/events/"+event+"/seats/stream", nil), 404, "EVENT_NOT_FOUND")
}
