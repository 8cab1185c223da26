package inventory_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// smallEvent is an event of four seats with one lock for each, and what six customers wait for.
type smallEvent struct {
	name   string
	hall   *holdfast.SeatingPlan // nil: unseated
	wishes []holdfast.EntryWish
}

func smallEvents() []smallEvent {
	ofTwo := hallOf("A1 A2")
	ofTwo.Sections[1] = holdfast.Section{Key: "balcony", Name: "Balcony", Category: "floor", Rows: []holdfast.Row{
		{Key: "1", Seats: []*holdfast.Seat{{ID: "B1"}, {ID: "B2"}}},
	}}
	ofOne := hallOf("A1 A2 A3 A4")
	ofOne.Sections, ofOne.Categories = ofOne.Sections[:1], ofOne.Categories[:1]
	standingOnly := hallOf("A1")
	standingOnly.Sections[1].Capacity = 3
	return []smallEvent{
		{"unseated", nil, wishes("2 1 3 1 2 1")},
		{"unseated, the largest first", nil, wishes("3 2 1 3 1 2")},
		{"one row", &ofOne, wishes("2 2! 1 3! 1 3")},
		{"one row, together first", &ofOne, wishes("3! 2! 2 1 1 2!")},
		{"two categories", &ofTwo, wishes("2!stalls 1floor 2floor 1 2! 1stalls")},
		{"seats and places", &standingOnly, wishes("2@pit 1 1@pit 3@pit 1stalls 2@pit")},
	}
}

// wishes are numbers of seats, with ! if they have to be together, and their category, or a section after an @.
func wishes(text string) (all []holdfast.EntryWish) {
	for word := range strings.FieldsSeq(text) {
		w := holdfast.EntryWish{Seats: int64(word[0] - '0')}
		word = word[1:]
		if rest, together := strings.CutPrefix(word, "!"); together {
			w.Adjacent, word = holdfast.AdjacentRequired, rest
		}
		if section, found := strings.CutPrefix(word, "@"); found {
			w.Section = section
		} else if word != "" {
			w.Categories = []string{word}
		}
		all = append(all, w)
	}
	return all
}

// happening is something that happens to a small event: the batches of it. n numbers what it makes.
type happening struct {
	name    string
	batches func(s *store, n int) [][]inventory.Command
}

func happenings() []happening {
	one := func(c func(s *store, n int) inventory.Command) func(*store, int) [][]inventory.Command {
		return func(s *store, n int) [][]inventory.Command { return [][]inventory.Command{{c(s, n)}} }
	}
	passerBy := func(seats int64) func(*store, int) inventory.Command {
		return func(s *store, n int) inventory.Command {
			c := acquire(n, seats)
			if c.UserID = bob; s.seats != nil {
				c.Wish.Best = &holdfast.BestAvailable{}
			}
			return c
		}
	}
	return []happening{
		{"release", one(func(*store, int) inventory.Command { return inventory.Release{LockID: lockID(1)} })},
		{"two releases in one batch", func(*store, int) [][]inventory.Command {
			return [][]inventory.Command{{inventory.Release{LockID: lockID(2)}, inventory.Release{LockID: lockID(3)}}}
		}},
		{"locks get due", func(s *store, _ int) [][]inventory.Command {
			s.now = s.now.Add(minutes(6))
			return nil
		}},
		{"sweep", one(func(*store, int) inventory.Command { return inventory.ExpireLocks{Run: lockRun, UpTo: 5} })},
		{"passer-by", one(passerBy(1))},
		{"passer-by and release in one batch", func(s *store, n int) [][]inventory.Command {
			return [][]inventory.Command{{passerBy(2)(s, n), inventory.Release{LockID: lockID(4)}}}
		}},
		{"decline", one(func(s *store, _ int) inventory.Command { return inventory.Decline{EntryID: s.firstOffered()} })},
		{"leave", one(func(*store, int) inventory.Command { return inventory.Leave{EntryID: entryID(2)} })},
		{"offer sold", func(s *store, n int) [][]inventory.Command {
			id := s.firstOffered()
			e := s.entries[id]
			if e == nil {
				return nil
			}
			book := inventory.Book{BookingID: bookingID(n), BookingRequest: holdfast.BookingRequest{
				EventID: eventID, UserID: e.UserID, LockID: e.LockID, Window: holdfast.Until{For: minutes(5)},
			}}
			return [][]inventory.Command{{book}, {inventory.Confirm{BookingID: bookingID(n)}}}
		}},
		{"join", one(func(_ *store, n int) inventory.Command { return joinAs(n, holdfast.EntryWish{Seats: 1}) })},
	}
}

func joinAs(n int, w holdfast.EntryWish) inventory.Join {
	return inventory.Join{EntryID: entryID(n), JoinRequest: holdfast.JoinRequest{EventID: eventID, UserID: userID(100 + n), EntryWish: w}}
}

func (s *store) firstOffered() ID {
	for _, e := range s.listed(func(e *inventory.Entry) bool { return e.Status == holdfast.EntryOffered }) {
		return e.ID
	}
	return entryID(999)
}

// Whatever happens to small events in whatever order, each offer is the one that the model makes, and no transaction breaks the rule.
func TestWaitlist_EveryOrderOfWhatHappensToSmallEvents(t *testing.T) {
	t.Parallel()
	const depth = 4 // how many happenings follow each other
	for _, small := range smallEvents() {
		for _, fit := range holdfast.WaitlistFits() {
			t.Run(fmt.Sprint(small.name, ", ", fit), func(t *testing.T) {
				t.Parallel()
				run := smallRun{TB: t, all: happenings()}
				run.happen(small.store(t, fit), depth, 1000)
				t.Logf("%d batches, %d offers, of which %d were sold", run.batches, run.offers, run.sold)
				if run.offers == 0 || run.sold == 0 {
					t.Errorf("there were %d offers, and %d were sold", run.offers, run.sold)
				}
			})
		}
	}
}

// store has the event, sold out, and the entries, which have joined.
func (e smallEvent) store(t *testing.T, fit holdfast.WaitlistFit) *store {
	s := newStore(4)
	expiry := func(n int) int { return 5 * n } // in minutes
	if e.hall != nil {
		s = newSeated(t, *e.hall)
	}
	for n := range 4 {
		if e.hall == nil {
			s.withLock(1+n, 1, holdfast.LockActive, in(minutes(expiry(n+1))))
			continue
		}
		places := []string{standing, standing, standing}
		for id := range s.seats.model.ByID {
			places = append(places, id)
		}
		slices.Sort(places)
		places = places[:len(s.seats.model.ByID)+int(s.event.TotalSeats)-len(s.seats.model.ByID)]
		s.withSeats(t, 1+n, holdfast.LockActive, in(minutes(expiry(n+1))), places[n])
	}
	s.event.AvailableSeats = 0
	s.event.Waitlist = holdfast.Waitlist{Status: holdfast.WaitlistOpen, OfferSeconds: 300, Fit: fit, HasBegun: true}
	run := smallRun{TB: t}
	for n, w := range e.wishes {
		run.batch(s, joinAs(1+n, w))
	}
	if s.event.List.Waiting != int64(len(e.wishes)) {
		t.Fatalf("%+v wait", s.event.List)
	}
	return s
}

// smallRun lets everything happen in every order.
type smallRun struct {
	testing.TB

	all                   []happening
	past                  []string
	batches, offers, sold int
}

// happen lets each of what has not happened yet happen next, up to a depth.
func (r *smallRun) happen(s *store, depth, n int) {
	for i, next := range r.all {
		if depth == 0 || slices.Contains(r.past, next.name) {
			continue
		}
		after := s.clone()
		r.past = append(r.past, next.name)
		for _, commands := range next.batches(after, n+i) {
			r.batch(after, commands...)
		}
		r.happen(after, depth-1, n+len(r.all))
		r.past = r.past[:len(r.past)-1]
	}
}

// batch carries out a batch on the store, and compares it with the model.
func (r *smallRun) batch(s *store, commands ...inventory.Command) {
	c := listComparison{pipeline: &pipeline{store: s, rules: theRules}}
	defer func() {
		if r.Failed() {
			r.Fatalf("after %s", strings.Join(r.past, ", "))
		}
	}()
	c.run(r, commands...)
	r.batches++
	for _, l := range c.plan.Acquired {
		if !l.EntryID.IsZero() {
			r.offers++
		}
	}
	for _, w := range c.plan.Entries {
		if w.To == holdfast.EntryAccepted {
			r.sold++
		}
	}
}

// A transaction makes a hundred offers. Until the rest is made, others get none of the seats, of which enough are free.
func TestWaitlist_ATransactionMakesAHundredOffers(t *testing.T) {
	t.Parallel()
	const entries, seats = 150, 160
	for _, fit := range holdfast.WaitlistFits() {
		t.Run(string(fit), func(t *testing.T) {
			t.Parallel()
			s := newStore(1).withLock(1, 1, holdfast.LockActive, in(minutes(10)))
			s.event.Waitlist = holdfast.Waitlist{Status: holdfast.WaitlistOpen, OfferSeconds: 600, Fit: fit, HasBegun: true}
			run := smallRun{TB: t}
			var joins []inventory.Command
			for n := range entries {
				joins = append(joins, joinAs(1+n, holdfast.EntryWish{Seats: 1}))
			}
			run.batch(s, joins...)
			run.batch(s, change(holdfast.EventChange{TotalSeats: pointer(int64(seats))}), acquire(2, 1))
			if made := len(s.offers()); made != 100 || s.locks[lockID(2)] != nil || !s.event.List.Holds || !s.event.List.CheckAt.Equal(s.now) {
				t.Errorf("there are %d offers, %+v, the list is %+v", made, s.locks[lockID(2)], s.event.List)
			}
			if got := s.event.AvailableToOthers(s.now); got != 0 {
				t.Errorf("%d seats are available to others", got)
			}
			run.batch(s, acquire(2, 1))
			if made := len(s.offers()); made != entries || s.locks[lockID(2)] == nil || s.event.List.Holds {
				t.Errorf("there are %d offers, %+v, the list is %+v", made, s.locks[lockID(2)], s.event.List)
			}
		})
	}
}
