package inventory_test

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// The model of a waiting list carries out the same batches. Answers, documents and offers are equal. Independently of it, no
// transaction gives seats to others that an entry fits, or leaves an entry without an offer that it has freed seats for.
func TestDecide_AgreesWithTheModelOfAWaitingList(t *testing.T) {
	for _, row := range []struct {
		name     string
		draw     func(*rapid.T) *listGenerator
		remember bool
	}{
		{"the state is always read", newListGenerator, false},
		{"event and map are remembered, at times wrongly", newListGenerator, true},
		{"the event is unseated", newUnseatedListGenerator, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			for range listHistories {
				rapid.Check(t, func(t *rapid.T) {
					g := row.draw(t)
					r := &listComparison{pipeline: &pipeline{store: g.store, rules: g.rules, remember: row.remember}}
					for range g.number("batches", 1, 12) {
						r.step(g)
					}
				})
			}
		})
	}
}

// listHistories are hundreds of histories for each row.
const listHistories = 6

// listComparison carries out the same commands in the pipeline and in the model, which begins each batch with the store's documents.
type listComparison struct {
	*pipeline
	seen    []memory
	skipped int // batches that left a command undecided, which are not compared
}

func (r *listComparison) step(g *listGenerator) {
	r.store.now = r.store.now.Add(minutes(draw(g.generator, "minutes pass", 0, 0, 1, 5, 12)))
	g.known = g.last
	g.refresh()
	if r.remember {
		r.recall(g)
	}
	r.hold, r.settling = false, false
	switch draw(g.generator, "kind", "queue", "queue", "queue", "queue", "queue", "claim", "sweep", "setting", "job", "cancel sale") {
	case "claim":
		r.run(g.T, g.claim())
	case "sweep":
		r.hold = true
		r.run(g.T, g.swept())
	case "setting":
		r.hold = g.oneOf("hold", 2)
		r.run(g.T, g.listSetting())
	case "job":
		r.hold = g.oneOf("hold", 2)
		r.run(g.T, g.job())
	case "cancel sale":
		r.hold = g.oneOf("hold", 2)
		r.run(g.T, g.cancelledSale())
	default:
		r.hold = g.oneOf("hold", 3)
		r.settling = r.hold && g.oneOf("settling", 2)
		var batch []inventory.Command
		for range g.number("commands", 1, 5) {
			batch = append(batch, g.listed())
		}
		r.run(g.T, batch...)
		if g.oneOf("no answer", 6) { // the outcome of the commit was unknown
			r.hold, r.settling = true, true
			r.repeat(g.T, batch...)
		}
	}
}

// recall draws what the process remembers: what its last commit left, an earlier state, or nothing.
func (r *listComparison) recall(g *listGenerator) {
	r.seen = append(r.seen, memory{r.store.seen(), r.store.seats.occupancy()})
	switch draw(g.generator, "remembered", "last", "last", "last", "earlier", "event", "nothing") {
	case "last":
	case "earlier":
		earlier := draw(g.generator, "earlier", r.seen...)
		r.remembered, r.seats = copyOf(earlier.event), cloneOf(earlier.seats)
	case "event":
		r.seats = nil
	default:
		r.remembered, r.seats = nil, nil
	}
}

// run carries out a batch, and then the commands that it left undecided.
func (r *listComparison) run(t rapid.TB, commands ...inventory.Command) {
	t.Helper()
	for round := 0; len(commands) > 0; round++ {
		if round > maxLoads {
			t.Fatalf("%+v are never decided", commands)
		}
		before := r.store.clone()
		results := r.batch(t, commands...)
		r.checkRule(t, before, commands...)
		var undecided []inventory.Command
		for i, c := range commands {
			if results[i].Undecided {
				undecided = append(undecided, c)
			}
		}
		if undecided == nil {
			r.compare(t, before, commands, results)
		} else {
			r.skipped++
		}
		commands = undecided
	}
}

// repeat carries out commands again that were carried out: each of them finds what it has made.
func (r *listComparison) repeat(t rapid.TB, commands ...inventory.Command) {
	t.Helper()
	before := r.store.clone()
	results := r.batch(t, commands...)
	r.checkRule(t, before, commands...)
	for i, c := range commands {
		if join, ok := c.(inventory.Join); ok && before.entries[join.EntryID] != nil && results[i].Entry.ID != join.EntryID {
			t.Errorf("a repeated join answers %+v, %v", results[i].Entry, results[i].Err)
		}
	}
}

// compare compares a batch with the model of it. It is up to the decision whether it makes offers where nothing in the batch
// says that an entry may fit.
func (r *listComparison) compare(t rapid.TB, before *store, commands []inventory.Command, results []reply) {
	t.Helper()
	var differences []string
	for _, settlesAlways := range []bool{false, true} {
		m := listModelOf(before, r.store, r.rules)
		m.list.settlesAlways = settlesAlways
		difference := ""
		for i, want := range m.batch(commands) {
			if got := hallOutcomeOf(commands[i], results[i]); !equal(got, want) {
				difference = fmt.Sprintf("%s\ngot  %v (%v)\nwant %v", described(commands[i]), got, results[i].Err, want)
				break
			}
		}
		if difference = cmp.Or(difference, m.listDifference(before, r.store)); difference == "" {
			return
		}
		differences = append(differences, difference)
	}
	difference := strings.Join(slices.Compact(differences), "\nor, if offers are always made,\n")
	t.Fatalf("%s\nin the batch\n%s\n%s", difference, described(commands...), before.describeList())
}

// listModelOf is the model of a store before a batch. Of the store after it, only the IDs of offers are used.
func listModelOf(s, after *store, rules inventory.Rules) *seatModel {
	m := seatModelOf(s, rules, nil)
	maps.DeleteFunc(m.locks, func(_ ID, l *modelLock) bool { return l.UserID.IsZero() }) // blocks that were lifted
	for _, e := range s.listed(func(*inventory.Entry) bool { return true }) {
		e := &modelEntry{e.WaitlistEntry, e.Epoch != s.event.List.Epoch}
		e.UpdatedAt = time.Time{}
		m.list.entries = append(m.list.entries, e)
	}
	m.list.offerOf = func(entry ID) ID {
		for _, l := range after.offers() {
			if l.EntryID == entry {
				return l.ID
			}
		}
		return entry
	}
	return m
}

// listDifference is "" if a store has the documents of the model.
func (m *seatModel) listDifference(before, s *store) string {
	want, stored := &m.event.Waitlist, s.event.Waitlist
	want.HasBegun, want.Holds, want.Waiting = stored.HasBegun, stored.Holds, stored.Waiting
	if d := m.difference(s); d != "" {
		return d
	}
	for _, want := range m.list.entries {
		got := copyOf(s.entries[want.ID])
		if got == nil {
			return fmt.Sprintf("entry %s is missing", want.ID)
		}
		got.UpdatedAt = time.Time{}
		isOver := got.Epoch != s.event.List.Epoch || s.event.HasSold(s.now) && s.event.List.Epoch == before.event.List.Epoch
		if got.Status == "CLOSED" && want.isOver || got.Status == "WAITING" && want.isOver && isOver {
			want.Status = got.Status
		}
		if !reflect.DeepEqual(got.WaitlistEntry, want.WaitlistEntry) || want.Status == "WAITING" && want.isOver != isOver {
			return fmt.Sprintf("the entry is\n%+v of epoch %d, want\n%+v; the list is %+v", got.WaitlistEntry, got.Epoch, want, s.event.List)
		}
	}
	if len(m.list.entries) != len(s.entries) {
		return fmt.Sprintf("there are %d entries, want %d", len(s.entries), len(m.list.entries))
	}
	return ""
}

func (s *store) describeList() string {
	lines := []string{s.describe(), fmt.Sprintf("%+v", s.event.Event), fmt.Sprintf("%+v", s.event.List)}
	for _, e := range s.listed(func(*inventory.Entry) bool { return true }) {
		lines = append(lines,
			fmt.Sprintf("%d: %s %s, user %s, epoch %d, wish %s, lock %s", e.Seq, e.ID, e.Status, e.UserID, e.Epoch, e.Wish, e.LockID))
	}
	for _, l := range s.ofEvent(takes) {
		lines = append(lines, fmt.Sprintf("%s %s, %d seats %v%s, user %s, until %s, entry %s",
			l.ID, l.Status, l.Seats, l.SeatIDs, l.Section, l.UserID, l.ExpiresAt, l.EntryID))
	}
	return strings.Join(lines, "\n")
}

// checkRule checks the rule of the list without the model of it, by what a transaction has changed.
func (r *listComparison) checkRule(t rapid.TB, before *store, commands ...inventory.Command) {
	t.Helper()
	s := r.store
	r.checkCaps(t, before)
	r.checkJob(t)
	if r.plan.Event == nil || r.plan.Event.Touch || s.event.Waitlist.Status != "OPEN" || !s.sells() {
		return
	}
	others := r.takenByOthers(before, commands)
	for _, e := range s.waiting() {
		if !s.mayGet(e.UserID, e.Seats, r.rules) {
			continue
		}
		report := func(format string, args ...any) {
			t.Helper()
			t.Fatalf("entry %s %s\nafter %s\n%s\nnow\n%s", e.ID, fmt.Sprintf(format, args...), described(commands...), before.describeList(),
				s.describeList())
		}
		waited := before.hadWaited(e)
		hasOrder := !slices.ContainsFunc(commands, isExchange) // what these give back comes too late for earlier commands of the batch
		isStrict := s.event.Waitlist.Fit == "STRICT"
		if waited && hasOrder && before.hasSameLocks(s, e.UserID) && len(others) > 0 {
			if isStrict || s.fits(e.EntryWish, s.free(func(l *inventory.Lock) bool { return others[l.ID] })) {
				report("waits, and others got %v", others)
			}
		}
		list, fitsNow := s.event.List, s.fits(e.EntryWish, s.free(noLock))
		// A limit may have been lifted by the clock alone.
		wasDue := !before.event.List.CheckAt.IsZero() && !before.event.List.CheckAt.After(s.now)
		fitted := waited && before.mayGet(e.UserID, e.Seats, r.rules) && before.fits(e.EntryWish, before.free(noLock))
		switch isSoon := !list.CheckAt.IsZero() && !list.CheckAt.After(s.now.Add(5*time.Second)); {
		case fitsNow && !list.Holds && !fitted:
			report("fits what is free")
		case fitsNow && list.Holds && !isSoon:
			report("fits what is kept, and the job looks at %s", list.CheckAt)
		case isStrict && !list.Holds && !fitted && !wasDue:
			report("is the first, and nothing is kept for it")
		}
		if isStrict {
			return
		}
	}
}

// checkJob: the job looks in time at a list that has something to close, or whose sale begins or ends.
func (r *listComparison) checkJob(t rapid.TB) {
	t.Helper()
	s, e := r.store, r.store.event
	if r.plan.Event == nil || r.plan.Event.Touch {
		return
	}
	const late = 5 * time.Second
	looksBy := func(at time.Time) bool { return !e.List.CheckAt.IsZero() && !e.List.CheckAt.After(at.Add(late)) }
	toClose := s.listed(func(l *inventory.Entry) bool { return l.Status == "WAITING" && l.Epoch != e.List.Epoch })
	switch {
	case len(toClose) > 0 && !looksBy(s.now):
		t.Fatalf("entries %s count as CLOSED, and the job looks at %s", toClose[0].ID, e.List.CheckAt)
	case e.List.Waiting == 0:
	case !e.SaleEndsAt.IsZero() && !looksBy(e.SaleEndsAt):
		t.Fatalf("the sale ends at %s, and the job looks at %s", e.SaleEndsAt, e.List.CheckAt)
	case e.Waitlist.Status == "OPEN" && e.Status == "ON_SALE" && s.now.Before(e.SaleStartsAt) && !looksBy(e.SaleStartsAt):
		t.Fatalf("the sale starts at %s, and the job looks at %s", e.SaleStartsAt, e.List.CheckAt)
	}
}

func isExchange(c inventory.Command) bool {
	switch c.(type) {
	case inventory.ChangeSeats, inventory.ChangeBooking:
		return true
	default:
		return false
	}
}

func noLock(*inventory.Lock) bool { return false }

// takenByOthers are the new locks with seats that an entry could have had: no offers, blocks, transfers, and late payments that keep
// their own seats.
func (r *listComparison) takenByOthers(before *store, commands []inventory.Command) map[ID]bool {
	others := map[ID]bool{}
	for id, l := range r.store.locks {
		isTransferred := slices.ContainsFunc(commands, func(c inventory.Command) bool {
			t, ok := c.(inventory.Transfer)
			return ok && t.NewLockID == id
		})
		isTaken := takes(l) && l.Status != "BLOCKED" && l.EntryID.IsZero() && before.locks[id] == nil
		if isTaken && !isTransferred && !r.store.isLateOfOwn(before, l) {
			others[id] = true
		}
	}
	return others
}

// hadWaited reports whether an entry waited, and offers were made.
func (s *store) hadWaited(now *inventory.Entry) bool {
	e := s.entries[now.ID]
	return s.event.Waitlist.Status == "OPEN" && s.sells() && e != nil && e.Status == "WAITING" && e.Epoch == now.Epoch
}

// hasSameLocks reports whether a customer has the same live locks in both stores.
func (s *store) hasSameLocks(o *store, user ID) bool {
	of := func(s *store) []*inventory.Lock {
		return s.ofEvent(func(l *inventory.Lock) bool { return l.UserID == user && takes(l) })
	}
	return slices.EqualFunc(of(s), of(o), func(a, b *inventory.Lock) bool {
		return a.ID == b.ID && a.Seats == b.Seats && a.Status == b.Status
	})
}

// isLateOfOwn reports whether a new lock is that of a late payment whose previous lock nothing had ended.
func (s *store) isLateOfOwn(before *store, l *inventory.Lock) bool {
	b, was := s.bookings[l.BookingID], before.bookings[l.BookingID]
	if b == nil || was == nil || !b.Late || was.Late {
		return false
	}
	previous := before.locks[was.LockID]
	return previous != nil && previous.Status == "ACTIVE" && s.ends[previous.ID].by == "late-payment"
}

// checkCaps: a transaction gives no customer more than the caps allow.
func (r *listComparison) checkCaps(t rapid.TB, before *store) {
	t.Helper()
	for _, l := range r.store.ofEvent(func(l *inventory.Lock) bool { return takes(l) && l.Status != "BLOCKED" }) {
		seats, locks := r.store.holding(l.UserID)
		hadSeats, hadLocks := before.holding(l.UserID)
		if most := r.store.event.MaxSeatsPerUser; most > 0 && seats > most && seats > hadSeats {
			t.Errorf("user %s holds %d seats, at most %d", l.UserID, seats, most)
		}
		if most := r.rules.MaxLocksPerUser; most > 0 && locks > most && locks > hadLocks {
			t.Errorf("user %s holds %d locks, at most %d", l.UserID, locks, most)
		}
	}
}
