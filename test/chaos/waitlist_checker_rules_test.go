package chaos_test

import (
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
)

// listStory makes the changes of transactions that no correct process would make.
type listStory struct {
	t       *testing.T
	checker *waitlistChecker
}

var storyTime = time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC)

// storyID is the ID of a document of a kind: e for an event, l for a lock, w for an entry, u for a user.
func storyID(kind byte, n byte) (id holdfast.ID) {
	id[0], id[len(id)-1] = kind, n
	return id
}

func (s listStory) write(collection, operation string, id holdfast.ID, fields bson.D) {
	s.t.Helper()
	raw, err := bson.Marshal(fields)
	if err != nil {
		s.t.Fatal(err)
	}
	change := changeEvent{Operation: operation, FullDocument: raw}
	if operation == "update" {
		change.FullDocument, change.Update.Fields = nil, raw
	}
	change.Namespace.Collection = collection
	if err := s.checker.apply(id, change); err != nil {
		s.t.Fatal(err)
	}
}

var theEvent = storyID('e', 1)

// event changes the event.
func (s listStory) event(fields ...bson.E) {
	s.write("events", "update", theEvent, append(bson.D{{Key: "updatedAt", Value: storyTime}}, fields...))
}

// lock makes a lock of a customer. entry is that of an offer, or 0.
func (s listStory) lock(n, user, entry byte, seats int64, more ...bson.E) {
	d := bson.D{{Key: "eventId", Value: theEvent}, {Key: "userId", Value: storyID('u', user)}, {Key: "seats", Value: seats},
		{Key: "status", Value: "ACTIVE"}, {Key: "createdAt", Value: storyTime}, {Key: "expiresAt", Value: storyTime.Add(time.Hour)}}
	if entry > 0 {
		d = append(d, bson.E{Key: "waitlistEntryId", Value: storyID('w', entry)})
	}
	s.write("seatlocks", "insert", storyID('l', n), append(d, more...))
}

func (s listStory) update(collection string, id holdfast.ID, fields ...bson.E) {
	s.write(collection, "update", id, fields)
}

func field(name string, value any) bson.E { return bson.E{Key: name, Value: value} }

func (s listStory) end(lock byte, status, by string) {
	s.update("seatlocks", storyID('l', lock), field("status", status), field("endedBy", by))
}

// join makes an entry, in the order of the list.
func (s listStory) join(n, user byte, seats int64) {
	s.write("waitlist", "insert", storyID('w', n), bson.D{{Key: "eventId", Value: theEvent}, {Key: "userId", Value: storyID('u', user)},
		{Key: "seats", Value: seats}, {Key: "status", Value: "WAITING"}, {Key: "internal", Value: bson.D{{Key: "seq", Value: int64(n)}}}})
	s.tell(n, "joined", "WAITING")
	s.event(field("internal.list.seq", int64(n)))
}

// offer makes an offer to an entry: a lock of the same number.
func (s listStory) offer(n, user byte, seats int64) {
	s.lock(n, user, n, seats)
	s.update("waitlist", storyID('w', n), field("status", "OFFERED"), field("lockId", storyID('l', n)))
	s.tell(n, "offered", "OFFERED")
}

// become gives an entry another status, and tells it.
func (s listStory) become(n byte, status string) {
	s.update("waitlist", storyID('w', n), field("status", status))
	s.tell(n, strings.ToLower(status), status)
}

func (s listStory) tell(n byte, what, status string) {
	s.write("changes", "insert", storyID('c', n), bson.D{{Key: "eventId", Value: theEvent}, {Key: "items", Value: bson.A{bson.D{
		{Key: "type", Value: "waitlist." + what},
		{Key: "entry", Value: bson.D{{Key: "_id", Value: storyID('w', n)}, {Key: "status", Value: status}}},
	}}}})
}

func (s listStory) waiting(n int64) { s.event(field("internal.list.waiting", n)) }

// newListStory begins with an event of 4 seats, all of which the locks 101 (3 seats) and 102 have. Entry 1 wants 3 seats, entry 2
// wants 1, entry 3 wants 2.
func newListStory(t *testing.T, settings ...bson.E) listStory {
	s := listStory{t, newWaitlistChecker()}
	s.write("events", "insert", theEvent, append(bson.D{{Key: "totalSeats", Value: int64(4)}, {Key: "waitlist", Value: "OPEN"},
		{Key: "waitlistOfferSeconds", Value: int64(3600)}, {Key: "updatedAt", Value: storyTime},
		{Key: "internal", Value: bson.D{{Key: "list", Value: bson.D{{Key: "seq", Value: int64(0)}, {Key: "waiting", Value: int64(0)}}}}},
	}, settings...))
	s.lock(101, 11, 0, 3)
	s.lock(102, 12, 0, 1)
	s.join(1, 1, 3)
	s.join(2, 2, 1)
	s.join(3, 3, 2)
	s.waiting(3)
	for _, v := range s.checker.checkTransaction() {
		t.Fatal(v)
	}
	return s
}

var strictList = []bson.E{field("waitlistFit", "STRICT")}

// leaveMore says that there are more offers to be made.
func (s listStory) leaveMore() {
	s.event(field("internal.list.holds", true), field("internal.list.checkAt", storyTime))
}

// listCase is a transaction after newListStory.
type listCase struct {
	settings []bson.E
	do       func(listStory)
	want     string // a part of the violation; "": there is none
}

var listCases = map[string]listCase{
	"offered to the first that fits": {nil, func(s listStory) {
		s.end(101, "RELEASED", "api")
		s.offer(1, 1, 3)
		s.waiting(2)
	}, ""},
	"passed over, since it does not fit": {nil, func(s listStory) {
		s.end(102, "EXPIRED", "lock-expiry")
		s.offer(2, 2, 1)
		s.waiting(2)
	}, ""},
	"free seats that an entry fits": {nil, func(s listStory) { s.end(102, "RELEASED", "api"); s.event() }, "fits what is free"},
	"passed over, though it fits": {nil, func(s listStory) {
		s.end(101, "RELEASED", "api")
		s.offer(3, 3, 2)
		s.offer(2, 2, 1)
		s.waiting(1)
	}, "fits what others got, with the later entries"},
	"a passer-by before the list": {nil, func(s listStory) {
		s.end(101, "RELEASED", "api")
		s.lock(103, 13, 0, 3)
		s.event()
	}, "fits what others got"},
	"a lock that grows before the list": {nil, func(s listStory) {
		s.end(102, "RELEASED", "api")
		s.update("seatlocks", storyID('l', 101), field("seats", int64(4)))
		s.event()
	}, "fits what others got"},
	"a late payment takes its own seats": {nil, func(s listStory) {
		s.update("seatlocks", storyID('l', 102), field("bookingId", storyID('b', 1)))
		s.end(102, "EXPIRED", "late-payment")
		s.lock(103, 12, 0, 1, field("status", "CONSUMED"), field("bookingId", storyID('b', 1)))
		s.event()
	}, ""},
	"a late payment takes other seats": {nil, func(s listStory) {
		s.end(102, "EXPIRED", "lock-expiry")
		s.lock(103, 12, 0, 1, field("status", "CONSUMED"), field("bookingId", storyID('b', 1)))
		s.event()
	}, "fits what others got"},
	"a lock shrinks after others got theirs": {nil, func(s listStory) {
		s.update("seatlocks", storyID('l', 101), field("seats", int64(2)))
		s.lock(103, 13, 0, 1)
		s.event()
	}, ""},
	"a sale is over": {[]bson.E{field("saleEndsAt", storyTime)}, func(s listStory) { s.end(101, "RELEASED", "api"); s.event() }, ""},
	"a limit keeps an entry from its offer": {[]bson.E{field("maxSeatsPerUser", int64(2))}, func(s listStory) {
		s.end(101, "RELEASED", "api")
		s.offer(2, 2, 1)
		s.offer(3, 3, 2)
		s.waiting(1)
	}, ""},
	"more offers to be made": {nil, func(s listStory) { s.end(101, "RELEASED", "api"); s.leaveMore() }, ""},
	"others get seats while more offers are to be made": {nil, func(s listStory) {
		s.end(101, "RELEASED", "api")
		s.leaveMore()
		s.checker.checkTransaction()
		s.lock(103, 13, 0, 1)
		s.leaveMore()
	}, "while offers were to be made"},
	"strict, the first does not fit": {strictList, func(s listStory) {
		s.end(102, "RELEASED", "api")
		s.event(field("internal.list.holds", true))
	}, ""},
	"strict, the first fits": {strictList, func(s listStory) {
		s.end(101, "RELEASED", "api")
		s.event(field("internal.list.holds", true))
	}, "fits what is free"},
	"strict, passed over": {strictList, func(s listStory) {
		s.end(102, "RELEASED", "api")
		s.offer(2, 2, 1)
		s.waiting(2)
	}, "with the later entries"},
	"strict, a passer-by gets what the first does not fit": {strictList, func(s listStory) {
		s.end(102, "RELEASED", "api")
		s.lock(103, 13, 0, 1)
		s.event(field("internal.list.holds", true))
	}, "the first entry"},
	"a second offer": {nil, func(s listStory) {
		s.end(102, "RELEASED", "api")
		s.offer(2, 2, 1)
		s.waiting(2)
		s.checker.checkTransaction()
		s.end(101, "RELEASED", "api")
		s.offer(1, 1, 3)
		s.lock(104, 2, 2, 1)
		s.waiting(1)
	}, "and is not without one"},
	"an offer ends, and its entry does not": {nil, func(s listStory) {
		s.end(102, "RELEASED", "api")
		s.offer(2, 2, 1)
		s.waiting(2)
		s.checker.checkTransaction()
		s.update("seatlocks", storyID('l', 2), field("status", "CONSUMED"))
	}, "did not follow"},
	"an entry ends, and its offer does not": {nil, func(s listStory) {
		s.end(102, "RELEASED", "api")
		s.offer(2, 2, 1)
		s.waiting(2)
		s.checker.checkTransaction()
		s.become(2, "DECLINED")
	}, "became DECLINED, but its lock"},
	"an entry has another end than its lock": {nil, func(s listStory) {
		s.end(102, "RELEASED", "api")
		s.offer(2, 2, 1)
		s.waiting(2)
		s.checker.checkTransaction()
		s.update("seatlocks", storyID('l', 2), field("status", "CONSUMED"))
		s.become(2, "EXPIRED")
	}, "became EXPIRED, but its lock"},
	"an offer that is booked": {nil, func(s listStory) {
		s.end(102, "RELEASED", "api")
		s.offer(2, 2, 1)
		s.waiting(2)
		s.checker.checkTransaction()
		s.update("seatlocks", storyID('l', 2), field("status", "CONSUMED"))
		s.become(2, "ACCEPTED")
	}, ""},
	"a transition that is not allowed": {nil, func(s listStory) { s.become(2, "EXPIRED"); s.waiting(2) }, "went from \"WAITING\" to EXPIRED"},
	"a transition that is not told": {nil, func(s listStory) {
		s.update("waitlist", storyID('w', 2), field("status", "LEFT"))
		s.waiting(2)
	}, "told was []"},
	"a transition that is told twice": {nil, func(s listStory) {
		s.become(2, "LEFT")
		s.tell(2, "left", "LEFT")
		s.waiting(2)
	}, "waitlist.left LEFT\" \"waitlist.left LEFT"},
	"a change that was none":    {nil, func(s listStory) { s.tell(2, "left", "LEFT") }, "did not change, but told was"},
	"a wrong number of entries": {nil, func(s listStory) { s.become(2, "LEFT"); s.event() }, "with 3 entries that wait, but they are 2"},
	"a closed list that waits":  {nil, func(s listStory) { s.event(field("waitlist", "CLOSED")) }, "list is CLOSED with 3"},
	"a closed list": {nil, func(s listStory) {
		s.event(field("waitlist", "CLOSED"), field("internal.list.epoch", int64(1)), field("internal.list.waiting", int64(0)))
	}, ""},
	"a second entry of a customer": {nil, func(s listStory) { s.join(4, 2, 2); s.waiting(4) }, "was made while its customer has"},
	"an entry before an earlier one": {nil, func(s listStory) {
		s.join(4, 4, 2)
		s.event(field("internal.list.seq", int64(3)))
		s.waiting(4)
	}, "is number 4"},
	"an offer that is too short": {nil, func(s listStory) {
		s.end(102, "RELEASED", "api")
		s.offer(2, 2, 1)
		s.update("seatlocks", storyID('l', 2), field("expiresAt", storyTime.Add(time.Minute)))
		s.waiting(2)
	}, "lasts 1m0s"},
	"an offer of another number": {nil, func(s listStory) {
		s.end(101, "RELEASED", "api")
		s.offer(1, 1, 2)
		s.waiting(2)
	}, "but its entry is"},
}

// The checker finds each violation, and takes what is right.
func TestWaitlistChecker_FindsViolations(t *testing.T) {
	t.Parallel()
	for name, c := range listCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newListStory(t, c.settings...)
			c.do(s)
			found := strings.Join(s.checker.checkTransaction(), "\n")
			if c.want == "" && found != "" || !strings.Contains(found, c.want) {
				t.Errorf("found %q, want %q", found, c.want)
			}
		})
	}
}

// In a hall the checker knows which seats fit: four single seats of one row, given back together, are for a party of four.
func TestWaitlistChecker_KnowsTheSeatsOfAHall(t *testing.T) {
	t.Parallel()
	seats := func(ids ...string) bson.E { return field("seatIds", ids) }
	party := func(s listStory, ids ...string) {
		s.lock(1, 1, 1, 4, seats(ids...))
		s.update("waitlist", storyID('w', 1), field("status", "OFFERED"), field("lockId", storyID('l', 1)))
		s.tell(1, "offered", "OFFERED")
		s.waiting(0)
	}
	release := func(s listStory, locks ...byte) {
		for _, n := range locks {
			s.end(n, "RELEASED", "api")
		}
		s.event()
	}
	for name, c := range map[string]struct {
		do   func(listStory)
		want string
	}{
		"seated together":         {func(s listStory) { release(s, 101, 102, 103, 104); party(s, "B1", "B2", "B3", "B4") }, ""},
		"three are too few":       {func(s listStory) { release(s, 101, 102, 103) }, ""},
		"across an aisle":         {func(s listStory) { release(s, 102, 103, 104, 105) }, ""},
		"not offered":             {func(s listStory) { release(s, 101, 102, 103, 104) }, "fits what is free"},
		"not where it was wished": {func(s listStory) { release(s, 101, 102, 103, 104); party(s, "B2", "B3", "B4", "B5") }, "but wished was"},
		"a passer-by takes one of the four": {func(s listStory) {
			release(s, 101, 102, 103, 104)
			s.lock(110, 9, 0, 1, seats("B2"))
		}, "fits what others got"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := listStory{t, newWaitlistChecker()}
			s.checker.hallOf = func(holdfast.ID) *hall { return theHall }
			s.write("events", "insert", theEvent, bson.D{{Key: "totalSeats", Value: int64(42)}, {Key: "waitlist", Value: "OPEN"},
				{Key: "waitlistOfferSeconds", Value: int64(3600)}, {Key: "updatedAt", Value: storyTime}, {Key: "seatingPlanId", Value: storyID('p', 1)},
				{Key: "sections", Value: bson.A{bson.D{{Key: "key", Value: standing}, {Key: "capacity", Value: int64(10)}}}},
				{Key: "internal", Value: bson.D{{Key: "list", Value: bson.D{{Key: "seq", Value: int64(0)}}}}}})
			for i := range 8 {
				s.lock(101+byte(i), 20+byte(i), 0, 1, seats("B"+string(rune('1'+i))))
			}
			others := (theHall.all &^ seatsOf("B1", "B2", "B3", "B4", "B5", "B6", "B7", "B8")).ids()
			s.lock(120, 40, 0, int64(len(others)), seats(others...))
			s.lock(121, 41, 0, 10, field("section", standing))
			s.join(1, 1, 4)
			s.update("waitlist", storyID('w', 1), field("adjacent", "REQUIRED"), field("section", "front"))
			s.waiting(1)
			for _, v := range s.checker.checkTransaction() {
				t.Fatal(v)
			}
			c.do(s)
			found := strings.Join(s.checker.checkTransaction(), "\n")
			if c.want == "" && found != "" || !strings.Contains(found, c.want) {
				t.Errorf("found %q, want %q", found, c.want)
			}
		})
	}
}
