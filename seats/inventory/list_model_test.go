package inventory_test

import (
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/hallmodel"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// The waiting list of the model: the rule of CONTRACT.md, with a search of all entries for each offer.

// maxModelOffers is how many offers a transaction makes at most.
const maxModelOffers = 100

// modelEntry is an entry, which counts as CLOSED if isOver is set and it still waits.
type modelEntry struct {
	holdfast.WaitlistEntry
	isOver bool
}

// modelList is the waiting list of an event.
type modelList struct {
	entries []*modelEntry // in the order of their transactions
	offers  int           // of this batch
	keeps   bool          // all that is free is kept for entries
	freed   bool          // something may fit since the last offer
	// settlesAlways: offers are also made where nothing in the batch says that an entry may fit. The contract allows both.
	settlesAlways bool
	// offerOf is the lock that an entry got in the store. Nothing else of it is used.
	offerOf func(ID) ID
}

// status is what an entry counts as.
func (e *modelEntry) status() holdfast.EntryStatus {
	if e.isOver && e.Status == "WAITING" {
		return "CLOSED"
	}
	return e.Status
}

func (m *seatModel) entry(id ID) *modelEntry {
	for _, e := range m.list.entries {
		if e.ID == id {
			return e
		}
	}
	return nil
}

// line are the entries that wait, the first one first.
func (m *seatModel) line() (found []*modelEntry) {
	for _, e := range m.list.entries {
		if e.status() == "WAITING" {
			found = append(found, e)
		}
	}
	return found
}

// offersAreMade: the event is ON_SALE and in its window, and its list is OPEN.
func (m *seatModel) offersAreMade() bool {
	return m.event != nil && m.event.Waitlist.Status == "OPEN" && m.notOnSale().code == ""
}

// closeList: all that waits counts as CLOSED from now on, if the list is closed, the event cancelled, or its sale over.
func (m *seatModel) closeList() {
	if m.event == nil {
		return
	}
	ends, list := m.event.SaleEndsAt, m.event.Waitlist.Status
	isOver := !ends.IsZero() && !m.now.Before(ends)
	if !isOver && m.event.Status != "CANCELLED" && list != "CLOSED" && list != "" {
		return
	}
	for _, e := range m.line() {
		e.isOver = true
	}
}

// follow gives each entry with an offer the status that its lock says.
func (m *seatModel) follow() {
	for _, e := range m.list.entries {
		if e.Status != "OFFERED" {
			continue
		}
		switch m.locks[e.LockID].Status {
		case "CONSUMED":
			e.Status = "ACCEPTED"
		case "EXPIRED":
			e.Status = "EXPIRED"
		case "RELEASED":
			e.Status = "DECLINED"
		}
	}
}

// isBeyond reports whether a lock for the entry would break a cap.
func (m *seatModel) isBeyond(user ID, seats int64) bool {
	held, locks := m.holding(user)
	return m.rules.MaxSeatsPerLock > 0 && seats > m.rules.MaxSeatsPerLock ||
		m.event.MaxSeatsPerUser > 0 && held+seats > m.event.MaxSeatsPerUser ||
		m.rules.MaxLocksPerUser > 0 && locks+1 > m.rules.MaxLocksPerUser
}

// pickFor finds seats for a wish among those that free reports as free, with so many of the whole event and of a section of general
// admission.
func (m *seatModel) pickFor(w holdfast.EntryWish, free func(*hallmodel.Seat) bool, ofEvent int64, ofSection func(string) int64,
) (found wished, ok bool) {
	switch {
	case ofEvent < w.Seats:
		return found, false
	case m.hall == nil:
		return found, true
	case m.isGeneral(w):
		return wished{section: w.Section}, ofSection(w.Section) >= w.Seats
	}
	p, ok := hallmodel.Best{
		Hall: m.hall, Seats: int(w.Seats), Accessible: int(w.Accessible), Categories: w.Categories, Section: w.Section,
		Required: w.Adjacent == "REQUIRED", Reserved: m.reserved(), Free: free,
	}.Pick(true)
	return wished{seats: p.IDs()}, ok
}

func (m *seatModel) isGeneral(w holdfast.EntryWish) bool {
	s := m.hall.Section(w.Section)
	return s != nil && s.Capacity > 0
}

// fitsNow finds free seats for a wish.
func (m *seatModel) fitsNow(w holdfast.EntryWish) (wished, bool) {
	all := m.event.TotalSeats - m.taken() - int64(len(m.blocked))
	return m.pickFor(w, m.free(nil), all, func(key string) int64 { return m.hall.Section(key).Capacity - m.takenOf(key) })
}

// next is the entry that gets the next offer, with its seats; nil: none does. isWaited for says that a STRICT list's first entry waits.
func (m *seatModel) next() (e *modelEntry, seats wished, isWaitedFor bool) {
	for _, e := range m.line() {
		if m.isBeyond(e.UserID, e.Seats) {
			continue
		}
		if found, ok := m.fitsNow(e.EntryWish); ok {
			return e, found, true
		}
		if m.event.Waitlist.Fit == "STRICT" {
			return nil, wished{}, true
		}
	}
	return nil, wished{}, false
}

// settle ends what is due, and makes offers until no entry fits.
func (m *seatModel) settle() {
	m.list.keeps = false
	if !m.offersAreMade() || len(m.line()) == 0 {
		return
	}
	for m.reclaim() {
		continue
	}
	m.follow()
	for {
		e, seats, isWaitedFor := m.next()
		if m.list.freed = false; e == nil || m.list.offers == maxModelOffers {
			m.list.keeps = isWaitedFor
			return
		}
		m.offer(e, seats)
	}
}

func (m *seatModel) offer(e *modelEntry, seats wished) {
	lock := holdfast.Lock{
		ID: m.list.offerOf(e.ID), EventID: m.event.ID, UserID: e.UserID, Holder: e.Holder, Seats: e.Seats, SeatIDs: seats.seats,
		Section: seats.section, Status: "ACTIVE", ExpiresAt: m.now.Add(m.event.Waitlist.OfferTime()), CreatedAt: m.now, EntryID: e.ID,
		ShopData: e.ShopData,
	}
	m.locks[lock.ID], m.fresh[lock.ID] = &modelLock{Lock: lock}, true
	e.Status, e.LockID = "OFFERED", lock.ID
	m.list.offers++
}

// find is search for somebody who is not on the list: offers come first, and what is kept for entries is not free.
func (m *seatModel) find(w holdfast.Wish, seats int64, own *modelLock) (wished, outcome) {
	if !m.offersAreMade() || len(m.line()) == 0 {
		return m.search(w, seats, own)
	}
	m.settle()
	if !m.list.keeps {
		return m.search(w, seats, own)
	}
	var old holdfast.Lock
	if own != nil {
		old = own.Lock
	}
	var unavailable []string
	if len(w.SeatIDs) > 0 {
		named, _ := m.hall.Named(w.SeatIDs)
		for _, id := range named.IDs() {
			if !slices.Contains(old.SeatIDs, id) {
				unavailable = append(unavailable, id)
			}
		}
		if unavailable == nil {
			return m.search(w, seats, own)
		}
		return wished{}, tooFew(seats, 0, unavailable)
	}
	if w.Best != nil {
		p, ok := m.bestOf(w.Best, seats, func(s *hallmodel.Seat) bool { return slices.Contains(old.SeatIDs, s.ID) }).Pick(true)
		if ok {
			return wished{seats: p.IDs()}, outcome{}
		}
	}
	isFewer := seats <= old.Seats && (m.hall == nil || w.Section != "" && w.Section == old.Section)
	if isFewer {
		return m.search(w, seats, own)
	}
	return wished{}, tooFew(seats, 0, nil)
}

// wishOf is the wish with its defaults filled in.
func (m *seatModel) wishOf(w holdfast.EntryWish) holdfast.EntryWish {
	if w.Adjacent == "" {
		w.Adjacent = "PREFERRED"
	}
	if m.hall != nil && (len(w.Categories) == 0 || slices.Equal(w.Categories, m.hall.Categories)) {
		w.Categories = nil
	}
	return w
}

// isPossible reports whether an empty hall could fill a wish.
func (m *seatModel) isPossible(w holdfast.EntryWish) bool {
	hasChoice := len(w.Categories) > 0 || w.Accessible > 0 || w.Adjacent != ""
	if m.hall == nil {
		return w.Section == "" && !hasChoice && w.Seats <= m.event.TotalSeats
	}
	section := m.hall.Section(w.Section)
	isUnknown := w.Section != "" && section == nil
	if isUnknown || slices.ContainsFunc(w.Categories, func(c string) bool { return !slices.Contains(m.hall.Categories, c) }) {
		return false
	}
	if m.isGeneral(w) && hasChoice {
		return false
	}
	capacityOf := func(key string) int64 { return m.hall.Section(key).Capacity }
	_, ok := m.pickFor(w, func(*hallmodel.Seat) bool { return true }, m.event.TotalSeats, capacityOf)
	return ok
}

func (m *seatModel) join(c inventory.Join) outcome {
	switch {
	case c.Holder == "" && m.unknown[c.UserID] != nil:
		return refused("USER_NOT_FOUND")
	case m.event == nil:
		return refused("EVENT_NOT_FOUND")
	case c.Abandoned:
		return refused("OUTCOME_UNKNOWN")
	}
	if made := m.entry(c.EntryID); made != nil {
		return outcome{entry: made.WaitlistEntry}
	}
	for _, e := range m.list.entries {
		if e.UserID != c.UserID || e.Holder != c.Holder || e.status() != "WAITING" && e.status() != "OFFERED" {
			continue
		}
		if e.status() == "OFFERED" && m.isDue(m.locks[e.LockID].ExpiresAt) {
			m.expire(m.locks[e.LockID])
			continue
		}
		if a, b := m.wishOf(e.EntryWish), m.wishOf(c.EntryWish); a.Text() == b.Text() {
			return outcome{entry: e.WaitlistEntry, replayed: true}
		}
		return refused("WAITLIST_ENTRY_EXISTS")
	}
	ends, list := m.event.SaleEndsAt, m.event.Waitlist.Status
	switch {
	case !m.isPossible(c.EntryWish):
		return refused("VALIDATION_FAILED")
	case m.event.Status == "CANCELLED", !ends.IsZero() && !m.now.Before(ends):
		return refused("EVENT_NOT_ON_SALE")
	case list == "CLOSED" || list == "":
		return refused("WAITLIST_CLOSED")
	}
	m.settle()
	switch {
	case m.isBeyond(c.UserID, c.Seats):
		return refused("SEAT_LIMIT_REACHED")
	case m.event.MaxSeatsPerUser > 0, m.rules.MaxLocksPerUser > 0:
		m.endDueOf(c.UserID, ID{})
	}
	if m.notOnSale().code == "" {
		for !m.list.keeps {
			if _, ok := m.fitsNow(c.EntryWish); ok {
				return refused("SEATS_STILL_AVAILABLE")
			}
			if !m.reclaim() {
				break
			}
		}
	}
	e := &modelEntry{WaitlistEntry: holdfast.WaitlistEntry{
		ID: c.EntryID, EventID: m.event.ID, UserID: c.UserID, Holder: c.Holder, EntryWish: c.EntryWish, Status: "WAITING", CreatedAt: m.now,
		ShopData: c.ShopData,
	}}
	m.list.entries = append(m.list.entries, e)
	o := outcome{entry: e.WaitlistEntry}
	o.entry.Position = int64(len(m.line()))
	return o
}

// sweep ends all that is due if what it ends may be offered: due locks end before offers.
func (m *seatModel) sweep(c inventory.ExpireLocks) outcome {
	isDue := func(l *modelLock) bool { return m.isOver(l) && l.Seats > 0 && l.EventID == eventID }
	named := slices.ContainsFunc(c.LockIDs, func(id ID) bool { return m.locks[id] != nil && isDue(m.locks[id]) })
	if named || c.UpTo > len(c.LockIDs) {
		if m.event != nil && m.offersAreMade() && len(m.line()) > 0 {
			c.LockIDs, c.UpTo = nil, len(m.locks)
		}
	}
	return m.expireLocks(c)
}

// decline and leave end an entry. The lock of an offer is released with it.
func (m *seatModel) decline(c inventory.Decline) outcome {
	e := m.entry(c.EntryID)
	if e == nil {
		return refused("WAITLIST_ENTRY_NOT_FOUND")
	}
	if e.status() == "WAITING" {
		return refused("WAITLIST_NOT_OFFERED")
	}
	return m.end(e, "DECLINED")
}

func (m *seatModel) leave(c inventory.Leave) outcome {
	e := m.entry(c.EntryID)
	if e == nil {
		return refused("WAITLIST_ENTRY_NOT_FOUND")
	}
	if e.status() == "WAITING" {
		e.Status, m.list.freed = "LEFT", true
		return outcome{entry: e.WaitlistEntry}
	}
	return m.end(e, "LEFT")
}

func (m *seatModel) end(e *modelEntry, as holdfast.EntryStatus) outcome {
	switch status := e.status(); {
	case status == as:
		return outcome{entry: e.WaitlistEntry}
	case status == "CLOSED":
		return refused("WAITLIST_CLOSED")
	case status == "EXPIRED":
		return refused("LOCK_EXPIRED")
	case status == "ACCEPTED":
		return refused("LOCK_CONSUMED")
	case status != "OFFERED":
		return refused("LOCK_RELEASED")
	}
	if o := m.release(inventory.Release{LockID: e.LockID}); o.code != "" {
		return o
	}
	e.Status = as
	return outcome{entry: e.WaitlistEntry}
}

// turn is when a command of a batch has its turn, on an event whose list was open or paused once: what gives seats back comes first,
// so that a party can be offered seats of several customers; who joins comes last. Late payments come before offers, and see claimAgain.
func turn(c inventory.Command) int {
	switch c.(type) {
	case inventory.Release, inventory.Cancel, inventory.CancelSale, inventory.ExpireLocks, inventory.ExpireBookings, inventory.Block,
		inventory.Unblock, inventory.Decline, inventory.Leave:
		return 0
	case inventory.Confirm:
		return 1
	case inventory.Join:
		return 3
	default:
		return 2
	}
}

// batch carries out the commands of a transaction.
func (m *seatModel) batch(commands []inventory.Command) []outcome {
	outcomes := make([]outcome, len(commands))
	decide := func(i int) {
		m.closeList()
		before := m.places()
		outcomes[i] = m.do(commands[i])
		m.follow()
		if sale, ok := commands[i].(inventory.CancelSale); ok {
			m.closeOffers(sale)
		}
		m.closeList()
		_, isSetting := commands[i].(inventory.ChangeEvent)
		m.list.freed = m.list.freed || isSetting && outcomes[i].code == "" || hasLess(m.places(), before)
		if _, makes := commands[i].(inventory.CheckList); makes {
			m.settle()
		}
	}
	last := 3
	if m.event == nil || m.event.Waitlist.Status != "OPEN" && m.event.Waitlist.Status != "PAUSED" {
		last = -1
	}
	for i := range commands {
		if last < 0 {
			decide(i)
		}
	}
	for now := range last + 1 {
		if now == last {
			m.settleWhatIsFree()
		}
		for i, c := range commands {
			if turn(c) == now {
				decide(i)
			}
		}
	}
	m.settleWhatIsFree()
	return outcomes
}

func (m *seatModel) settleWhatIsFree() {
	if m.list.freed || m.list.settlesAlways {
		m.settle()
	}
}

// closeOffers: an offer that ends with a cancelled event was not declined.
func (m *seatModel) closeOffers(c inventory.CancelSale) {
	for _, e := range m.list.entries {
		if e.Status == "DECLINED" && slices.Contains(c.LockIDs, e.LockID) && m.locks[e.LockID].ending == (ending{c.By, c.ID}) {
			e.Status = "CLOSED"
		}
	}
}

// places has what is taken: numbered seats, and numbers of seats in sections and in the whole event.
func (m *seatModel) places() map[string]int64 {
	taken := map[string]int64{"the total": 0}
	if m.event == nil {
		return taken
	}
	for id := range m.blocked {
		taken[id]++
		taken["the total"]++
	}
	for _, l := range m.locks {
		if l.EventID != m.event.ID || l.Status != "ACTIVE" && l.Status != "CONSUMED" {
			continue
		}
		taken["the total"] += l.Seats
		if l.Section != "" {
			taken[l.Section] += l.Seats
		}
		for _, id := range l.SeatIDs {
			taken[id]++
		}
	}
	return taken
}

// hasLess reports whether less of anything is taken than before.
func hasLess(now, before map[string]int64) bool {
	for what, n := range before {
		if now[what] < n {
			return true
		}
	}
	return false
}
