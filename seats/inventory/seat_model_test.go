package inventory_test

import (
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/hallmodel"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// seatModel is the model of an event with a hall. What is taken, it finds in the locks each time.
type seatModel struct {
	*model

	hall    *hallmodel.Hall // nil: the event is unseated
	plans   map[ID]holdfast.SeatingPlan
	blocked map[string]bool
	list    modelList
}

func seatModelOf(s *store, rules inventory.Rules, unknown map[ID]*holdfast.Error) *seatModel {
	m := &seatModel{model: modelOf(s, rules, unknown), blocked: map[string]bool{}}
	if s.seats != nil {
		m.hall, m.plans = s.seats.model, s.seats.plans
	}
	for id, l := range m.locks {
		if l.Status == "BLOCKED" {
			for _, seat := range l.SeatIDs {
				m.blocked[seat] = true
			}
			delete(m.locks, id)
		}
	}
	m.claimAgain, m.wishes, m.offersFirst = m.takeAgain, m, m.settle
	return m
}

// hasAlready reports whether a lock has what is wished for: the seats that are named, as many of a section, or those of such a pick.
func (m *seatModel) hasAlready(l holdfast.Lock, w holdfast.Wish, seats int64) bool {
	switch {
	case l.Seats != seats:
		return false
	case len(w.SeatIDs) > 0:
		named, _ := m.hall.Named(w.SeatIDs)
		return slices.Equal(named.IDs(), l.SeatIDs)
	case w.Best != nil:
		kept, _ := m.hall.Named(l.SeatIDs)
		return m.best(w.Best, seats, l.SeatIDs).Keeps(kept)
	default:
		return l.Section == w.Section
	}
}

// takeAgain takes the seats of a lock that has lost them, if the hall still has them. They were chosen before, so the
// orphan rule does not apply.
func (m *seatModel) takeAgain(l holdfast.Lock) bool {
	rule := m.event.Seating.OrphanRule
	defer func() { m.event.Seating.OrphanRule = rule }()
	m.event.Seating.OrphanRule = "ALLOW"
	wish := holdfast.Wish{SeatIDs: l.SeatIDs, Section: l.Section}
	switch {
	case m.hall == nil:
		wish = holdfast.Wish{}
	case len(l.SeatIDs) > 0:
		if _, ok := m.hall.Named(l.SeatIDs); !ok {
			return false
		}
	default:
		if s := m.hall.Section(l.Section); s == nil || s.Capacity == 0 {
			return false
		}
	}
	_, refusal := m.find(wish, l.Seats, nil)
	return refusal.code == ""
}

func (m *seatModel) do(command inventory.Command) outcome {
	switch c := command.(type) {
	case inventory.Acquire:
		return m.acquire(c)
	case inventory.ChangeSeats:
		return m.changeSeats(c)
	case inventory.Block:
		return m.block(c.SeatIDs)
	case inventory.Unblock:
		return m.unblock(c.SeatIDs)
	case inventory.ChangeEvent:
		return m.change(c)
	case inventory.ExpireLocks:
		return m.sweep(c)
	case inventory.Join:
		return m.join(c)
	case inventory.Decline:
		return m.decline(c)
	case inventory.Leave:
		return m.leave(c)
	case inventory.CheckList:
		return outcome{}
	default:
		return m.model.do(command)
	}
}

// available are the seats of the whole event that no lock takes.
func (m *seatModel) available() int64 {
	return max(0, m.event.TotalSeats-m.taken()-int64(len(m.blocked)))
}

// holder is the live lock with a seat; nil: there is none.
func (m *seatModel) holder(seat string) *modelLock {
	for _, l := range m.locks {
		if (l.Status == "ACTIVE" || l.Status == "CONSUMED") && slices.Contains(l.SeatIDs, seat) {
			return l
		}
	}
	return nil
}

// isOver reports whether the lock's time has passed.
func (m *seatModel) isOver(l *modelLock) bool {
	return l.Status == "ACTIVE" && m.isDue(l.ExpiresAt)
}

func (m *seatModel) expire(l *modelLock) { l.Status, l.by = "EXPIRED", "reclaim" }

// free reports whether no lock has the seat, but for the one whose seats are to be replaced.
func (m *seatModel) free(own []string) func(*hallmodel.Seat) bool {
	return func(s *hallmodel.Seat) bool {
		return slices.Contains(own, s.ID) || !m.blocked[s.ID] && m.holder(s.ID) == nil
	}
}

// takenOf is how much of a section's general admission locks take.
func (m *seatModel) takenOf(section string) (n int64) {
	for _, l := range m.locks {
		if (l.Status == "ACTIVE" || l.Status == "CONSUMED") && l.Section == section {
			n += l.Seats
		}
	}
	return n
}

func (m *seatModel) reserved() bool { return m.event.Seating.AccessiblePolicy != "OPEN" }

// fits reports whether the hall has what is wished for: the 422 of the contract.
func (m *seatModel) fits(w holdfast.Wish) bool {
	switch {
	case m.hall == nil:
		return w.IsZero()
	case len(w.SeatIDs) > 0:
		seats, ok := m.hall.Named(w.SeatIDs)
		return ok && (!m.reserved() || int64(seats.CountAccessible()) == w.Accessible)
	case w.Best != nil:
		for _, c := range w.Best.Categories {
			if !slices.Contains(m.hall.Categories, c) {
				return false
			}
		}
		return w.Best.Section == "" || m.hall.Section(w.Best.Section) != nil && m.hall.Section(w.Best.Section).Capacity == 0
	case w.Section != "":
		s := m.hall.Section(w.Section)
		return s != nil && s.Capacity > 0
	default:
		return false
	}
}

// wished is what a wish takes.
type wished struct {
	seats   []string
	section string
}

// search finds the seats of a wish that fits, of which a lock has own already; it ends due locks as it
// has to. A refusal has a code.
func (m *seatModel) search(w holdfast.Wish, seats int64, own *modelLock) (found wished, refusal outcome) {
	var old holdfast.Lock
	if own != nil {
		old = own.Lock
	}
	switch {
	case m.hall == nil:
		return m.model.find(w, seats, own)
	case len(w.SeatIDs) > 0:
		return m.findNamed(w.SeatIDs, old.SeatIDs)
	case w.Best != nil:
		return m.findBest(w.Best, seats, old.SeatIDs)
	default:
		capacity := m.hall.Section(w.Section).Capacity
		if old.Section == w.Section {
			capacity += old.Seats
		}
		for capacity-m.takenOf(w.Section) < seats {
			if !m.reclaim() {
				return found, tooFew(seats, max(0, capacity-m.takenOf(w.Section)), nil)
			}
		}
		return wished{section: w.Section}, outcome{}
	}
}

func tooFew(requested, available int64, unavailable []string) outcome {
	return outcome{code: "SEATS_UNAVAILABLE", details: holdfast.SeatsUnavailable{
		Requested: requested, Available: available, Unavailable: unavailable,
	}}
}

// findNamed ends the due locks that have one of the seats.
func (m *seatModel) findNamed(ids, own []string) (found wished, refusal outcome) {
	seats, _ := m.hall.Named(ids)
	free := m.free(own)
	var unavailable []string
	for _, s := range seats {
		holder := m.holder(s.ID)
		if !free(s) && (holder == nil || !m.isOver(holder)) {
			unavailable = append(unavailable, s.ID)
		}
	}
	if unavailable != nil {
		return found, tooFew(int64(len(ids)), int64(len(ids)-len(unavailable)), unavailable)
	}
	same := slices.Equal(seats.IDs(), own) // nothing is taken
	if m.event.Seating.OrphanRule == "REFUSE" && !same {
		if orphans := m.hall.Orphans(seats, free, m.reserved()); orphans != nil {
			return found, outcome{code: "SEAT_ORPHANED", details: holdfast.SeatOrphaned{Orphans: orphans}}
		}
	}
	for _, s := range seats {
		if holder := m.holder(s.ID); !free(s) {
			m.expire(holder)
		}
	}
	return wished{seats: seats.IDs()}, outcome{}
}

func (m *seatModel) findBest(b *holdfast.BestAvailable, seats int64, own []string) (found wished, refusal outcome) {
	w := m.best(b, seats, own)
	if kept, _ := m.hall.Named(own); w.Keeps(kept) {
		return wished{seats: kept.IDs()}, outcome{}
	}
	p, ok := w.Pick(false)
	if !ok {
		for m.reclaim() {
			continue
		}
		p, ok = w.Pick(true)
	}
	if ok {
		return wished{seats: p.IDs()}, outcome{}
	}
	available, enough := w.Available()
	if w.Required && enough {
		return found, outcome{code: "SEATS_NOT_ADJACENT", details: holdfast.SeatsNotAdjacent{Longest: int64(w.Longest())}}
	}
	return found, tooFew(seats, int64(available), nil)
}

func (m *seatModel) best(b *holdfast.BestAvailable, seats int64, own []string) hallmodel.Best {
	return m.bestOf(b, seats, m.free(own))
}

func (m *seatModel) bestOf(b *holdfast.BestAvailable, seats int64, free func(*hallmodel.Seat) bool) hallmodel.Best {
	return hallmodel.Best{
		Hall: m.hall, Seats: int(seats), Accessible: int(b.Accessible), Categories: b.Categories, Section: b.Section,
		Required: b.Required, Reserved: m.reserved(), Free: free,
	}
}

func (m *seatModel) acquire(c inventory.Acquire) outcome {
	if o, decided := m.before(c); decided {
		return o
	}
	expires := c.Until.At
	if expires.IsZero() {
		expires = m.now.Add(m.rules.DefaultLockTTL)
		if c.Until.For > 0 {
			expires = m.now.Add(c.Until.For)
		}
	}
	if expires.After(m.now.Add(m.rules.MaxLockTTL)) {
		return refused("VALIDATION_FAILED")
	}
	m.offersFirst()
	if o := m.limits(c); o.code != "" { // with what the customer has got as an offer
		return o
	}
	found, refusal := m.find(c.Wish, c.Seats, nil)
	if refusal.code != "" {
		return refusal
	}
	lock := holdfast.Lock{
		ID: c.LockID, EventID: m.event.ID, UserID: c.UserID, Holder: c.Holder, Seats: c.Seats, Status: "ACTIVE", ExpiresAt: expires,
		Key: c.Key, RequestHash: hashIfKeyed(c), CreatedAt: m.now, SeatIDs: found.seats, Section: found.section,
		ShopData: c.ShopData,
	}
	m.locks[lock.ID], m.fresh[lock.ID] = &modelLock{Lock: lock}, true
	return outcome{lock: lock}
}

// before has the checks of a request before its own: existence, a repeat, the wish's form, the sale.
func (m *seatModel) before(c inventory.Acquire) (o outcome, decided bool) {
	switch {
	case c.Holder == "" && m.unknown[c.UserID] != nil:
		return refused("USER_NOT_FOUND"), true
	case m.event == nil:
		return refused("EVENT_NOT_FOUND"), true
	case c.Abandoned:
		return refused("OUTCOME_UNKNOWN"), true
	}
	for _, l := range m.locks {
		if c.Key == "" || l.EventID != m.event.ID || l.UserID != c.UserID || l.Key != c.Key {
			continue
		}
		if l.Holder != c.Holder || l.RequestHash != c.Hash() && (l.RequestHash != "" || l.Seats != c.Seats) {
			return refused("IDEMPOTENCY_KEY_REUSED"), true
		}
		return outcome{lock: l.Lock, replayed: true}, true
	}
	if !m.fits(c.Wish) {
		return refused("VALIDATION_FAILED"), true
	}
	refusal := m.notOnSale()
	return refusal, refusal.code != ""
}
