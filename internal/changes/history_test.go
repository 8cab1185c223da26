package changes_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// minutely makes changes of an event, one in each minute from start on, and numbers them.
func minutely(w *testenv.Env, event holdfast.ID, start time.Time, n int) {
	w.T.Helper()
	for i := range n {
		record(w, made(event, holdfast.ChangeEventChanged, int64(i+1)))
	}
	number(w)
	for i := range n {
		at := bson.Timestamp{T: uint32(start.Add(time.Duration(i) * time.Minute).Unix())}
		set := bson.D{{Key: "$set", Value: bson.D{{Key: "t", Value: at}}}}
		if _, err := w.DB.Collection(changes.Collection).UpdateOne(w.Ctx(), bson.D{{Key: "seq", Value: i + 1}}, set); err != nil {
			w.T.Fatal(err)
		}
	}
}

// A list from a time to a time leaves nothing of it out, and reads little else.
func TestList_SinceAndUntil(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event, start := mongodb.NewID(), time.Date(2030, 1, 2, 3, 0, 0, 0, time.UTC)
	minutely(w, event, start, 30)
	minute := func(n int) time.Time { return start.Add(time.Duration(n) * time.Minute) }
	for _, c := range []struct {
		name         string
		since, until time.Time
		first, last  int64 // revisions; 0 means none
	}{
		{"all", time.Time{}, time.Time{}, 1, 30},
		{"since", minute(10), time.Time{}, 9, 30},
		{"until", time.Time{}, minute(10), 1, 12},
		{"both", minute(10), minute(12), 9, 14},
		{"the same moment", minute(10), minute(10), 9, 12},
		{"before the first", minute(-90), minute(-60), 0, 0},
		{"after the last", minute(90), time.Time{}, 0, 0},
		{"the wrong way round", minute(20), minute(10), 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := changes.Filter{EventID: event, Since: c.since, Until: c.until}
			var all []int64
			var at *changes.Position
			for {
				found, next := list(w, at, f, 7)
				all = append(all, revisions(found)...)
				if at != nil && next == *at {
					break
				}
				at = &next
			}
			var want []int64
			for n := c.first; n > 0 && n <= c.last; n++ {
				want = append(want, n)
			}
			if !slices.Equal(all, want) {
				t.Errorf("listed %v, want %v", all, want)
			}
		})
	}
}

// What was removed is not looked for: a history that begins before it begins where the records do.
func TestList_SinceBeforeTheOldestRecord(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event, start := mongodb.NewID(), time.Date(2030, 1, 2, 3, 0, 0, 0, time.UTC)
	minutely(w, event, start, 10)
	if n, err := w.Changes.Purge(w.Ctx(), start.Add(5*time.Minute)); err != nil || n != 5 {
		t.Fatal(n, err)
	}
	found, _ := list(w, nil, changes.Filter{EventID: event, Since: start}, 100)
	if got := revisions(found); !slices.Equal(got, []int64{6, 7, 8, 9, 10}) {
		t.Errorf("listed %v", got)
	}
}

// The history of a lock and a booking has their changes alone, though a record has those of many.
func TestList_OfSubjects(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event, other := mongodb.NewID(), mongodb.NewID()
	lock, booking := holdfast.Lock{ID: mongodb.NewID(), EventID: event}, holdfast.Booking{ID: mongodb.NewID(), EventID: event}
	for n := range int64(3) {
		r := changes.Record{EventID: event, At: time.Now()}
		for range 5 {
			r.Add(&holdfast.Change{Type: holdfast.ChangeLockCreated, Revision: 100, Lock: &holdfast.Lock{ID: mongodb.NewID(), EventID: event}})
		}
		r.Add(&holdfast.Change{Type: holdfast.ChangeLockExtended, Revision: n + 1, Lock: &lock})
		r.Add(&holdfast.Change{Type: holdfast.ChangeBookingCreated, Revision: n + 11, Booking: &booking})
		insert(w, &r)
		for i, of := range []holdfast.ID{event, other} {
			revision := n + 21 + int64(10*i)
			record(w, holdfast.Change{Type: holdfast.ChangeEventChanged, Revision: revision, EventID: of, Event: &holdfast.Event{ID: of}})
		}
	}
	number(w)
	for _, c := range []struct {
		subjects []string
		want     []int64
	}{
		{[]string{"locks/" + lock.ID.String()}, []int64{1, 2, 3}},
		{[]string{"bookings/" + booking.ID.String()}, []int64{11, 12, 13}},
		{[]string{"locks/" + lock.ID.String(), "bookings/" + booking.ID.String()}, []int64{1, 11, 2, 12, 3, 13}},
		{[]string{"events/" + event.String()}, []int64{21, 22, 23}},
		{[]string{"locks/" + mongodb.NewID().String()}, nil},
		{[]string{"events/" + lock.ID.String()}, nil},
	} {
		t.Run(strings.Join(c.subjects, " "), func(t *testing.T) {
			for _, of := range []holdfast.ID{event, {}} {
				f := changes.Filter{EventID: of}
				for _, text := range c.subjects {
					s, err := changes.ParseSubject(text)
					if err != nil {
						t.Fatal(err)
					}
					f.Subjects = append(f.Subjects, s)
				}
				if found, _ := list(w, nil, f, 100); !slices.Equal(revisions(found), c.want) {
					t.Errorf("listed %v, want %v", revisions(found), c.want)
				}
			}
		})
	}
}

func TestParseSubject_RefusesWhatNamesNothing(t *testing.T) {
	id := mongodb.NewID().String()
	for _, text := range []string{
		"", id, "/" + id, "users/" + id, "seating-plans/" + id, "locks/", "locks/x", "locks/" + strings.Repeat("0", 24), "Locks/" + id,
	} {
		if s, err := changes.ParseSubject(text); !holdfast.HasCode(err, holdfast.CodeInvalid) {
			t.Errorf("%q is %v, %v", text, s, err)
		}
	}
}
