package inventory

import (
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// maxOffers bounds the offers of a transaction.
const maxOffers = 100

// maxRounds is how often a decision may read before it leaves the rest of the offers to the next one.
const maxRounds = 14

// retryPassedOver is how long after a decision that passed over an entry because of a customer's limit the job looks again: the
// customer may sell a lock without a transaction of the event.
const retryPassedOver = 3 * time.Second

// firstPage is how many entries are read at first where one of each wish is not enough, and pageGrowth how many times as many are
// read next.
const (
	firstPage  = 100
	pageGrowth = 8
)

// everyPlace is behind all places in the order of entries.
const everyPlace = int64(1<<63 - 1)

// offers is what a decision does for the waiting list.
//
// The rule: while offers are made, nobody else gets seats that an entry fits. So settle comes before each claim of somebody
// else, and after all commands. After it nothing that waits fits what is free, and whoever takes seats then leaves fewer.
//
// What an entry needs is its wish, and usually there are few different wishes. So a decision reads the first entry of each wish, in
// place of all entries that are passed over.
type offers struct {
	made    int
	closed  int  // entries of a list that has closed
	settled bool // nothing was freed since the last settle
	isFreed bool // seats were freed, or a rule was changed: settle at the end
	looked  bool // entries were considered for offers
	noneDue bool // all due locks of the event have ended
	// holds says that all free seats are kept for entries. more says that there are offers to make beyond this decision, and
	// passedOver that a customer's limit keeps an entry from an offer that fits.
	holds, more, passedOver bool
	wishes                  map[string]wished // of entries, by their text; seats is 0 if the hall can't fill it
	unfit                   map[string]bool   // wishes that did not fit since something was freed last
	passed                  map[ID]bool       // entries that a customer's limit kept from an offer since then
	entries                 map[ID]Entry      // working copies of the entries that this batch has changed
	entered                 []seenEntry
	joined                  []int        // the index of the command, parallel to plan.NewEntries
	joinedBy                map[ID][]int // the entries of a customer in plan.NewEntries
}

// seenEntry is an entry after a write, the change, and the command that wrote it.
type seenEntry struct {
	after Entry
	by    int
}

// turns of the commands of an event that has a waiting list. What gives seats back comes first, so that the seats of several
// customers can be offered together; so do the venue's blocks. A late payment comes before offers, because a lock that nothing
// has ended yet keeps its seats, unless an earlier late payment of the batch has to claim. Who joins comes last, when all offers of
// the batch are made.
const (
	givingBack = iota
	confirming
	claiming
	joining
	turns
)

func turnOf(c Command) int {
	switch c.(type) {
	case Release, Cancel, CancelSale, ExpireLocks, ExpireBookings, Block, Unblock, Decline, Leave:
		return givingBack
	case Confirm:
		return confirming
	case Join:
		return joining
	default:
		return claiming
	}
}

// decideAll decides the commands in order of arrival or, if the event has a waiting list, by turns.
func (d *decision) decideAll(commands []Command, results []Result) {
	decide := func(i int) {
		d.command = i
		results[i] = commands[i].decide(d)
	}
	if s := d.event.Waitlist.Status; s != holdfast.WaitlistOpen && s != holdfast.WaitlistPaused {
		for i := range commands {
			decide(i)
		}
		return
	}
	d.askForList(commands)
	for turn := range turns {
		if turn == joining {
			d.settleWhatIsFree()
		}
		for i, c := range commands {
			if turnOf(c) == turn {
				decide(i)
			}
		}
	}
}

// askForList asks at once for what a batch is going to need of an event that is only remembered and has entries that wait.
func (d *decision) askForList(commands []Command) {
	if d.event.List.Waiting == 0 {
		return
	}
	if _, known := d.makesOffers(); !known && slices.ContainsFunc(commands, func(c Command) bool { return turnOf(c) == givingBack }) {
		d.needs.Heads = holdfast.MaxWaitingSeats
	}
}

// settleWhatIsFree is settle after commands that may have made an entry fit.
func (d *decision) settleWhatIsFree() {
	if d.list.isFreed {
		d.settle()
	}
}

// makesOffers reports whether offers come before other requests now. known is false if the time has to be read first.
func (d *decision) makesOffers() (makes, known bool) {
	switch e := &d.event; {
	case e.Waitlist.Status != holdfast.WaitlistOpen || e.Status != holdfast.OnSale:
		return false, true
	case d.state.Now.IsZero(): // the event is from the cache; this is what most decisions need
		d.needs.Event, d.needs.Due, d.needs.Seats = true, MaxReclaim, d.isSeated()
		return false, false
	case d.state.Now.Before(e.SaleStartsAt): // from then on offers come first
		d.plan.endBefore(e.SaleStartsAt)
		return false, true
	default:
		return e.Sells(d.state.Now), true
	}
}

// settle offers what is free to the waiting list, until no entry that waits fits what is left. Due locks end first. It returns
// false if something has to be read first.
//
// Each decision leaves the list settled, unless it notes in List.CheckAt when there is something to do. So the list is read only
// if this decision has freed something, or that time has come: almost, because a customer who was passed over may have sold a lock
// at any time since.
//
// If not all offers can be made in this decision, holds is set: the rest is for further decisions, and others get nothing until
// then.
func (d *decision) settle() (known bool) {
	if d.event.List.Waiting == 0 { // nothing is kept for those who have left
		d.list.holds = false
		return true
	}
	if d.list.settled {
		return true
	}
	makes, known := d.makesOffers()
	if !makes {
		d.list.holds = false
		return known
	}
	if d.state.Due == nil || d.state.DueUpTo < MaxReclaim {
		d.needs.Due = MaxReclaim
		return false
	}
	if !d.ensureSeats() || !d.ensureCounter() {
		return false
	}
	d.ifUnchanged = true
	for d.reclaim() {
		continue
	}
	by := d.command
	defer func() { d.command = by }()
	d.command = ByWaitlist
	if len(*d.state.Due) >= d.state.DueUpTo { // there may be more, which the next decisions end
		d.deferRest, d.list.looked, d.list.holds, d.list.more = true, true, true, true
		return true
	}
	d.list.noneDue = true
	if at := d.event.List.CheckAt; !d.list.isFreed && (at.IsZero() || at.After(d.state.Now.Add(retryPassedOver))) {
		d.list.settled = true
		return true
	}
	before := d.needs
	known = d.makeOffers()
	if !known && (d.state.Rounds >= maxRounds || d.needs.None()) { // the next decisions begin with what this one has ended
		d.needs, known = before, true
		d.list.holds, d.list.more = true, true
	}
	if known {
		d.list.settled, d.list.isFreed = true, false
	}
	return known
}

// makeOffers makes offers until no entry fits, or this decision may make no more. It returns false if something has to be read first.
func (d *decision) makeOffers() (known bool) {
	d.list.looked, d.list.holds, d.list.more = true, false, false
	for {
		next, known := d.nextEntry()
		switch {
		case !known:
			return false
		case next == nil:
			return true
		case d.list.made == maxOffers:
			d.list.holds, d.list.more = true, true
			return true
		}
		if refusal, known := d.beyondLimits(next.UserID, next.Seats, next.Seats, 1, ID{}); !known {
			d.needHoldings()
			return false
		} else if refusal != nil {
			d.passOver(next.ID)
		} else if !d.offer(*next) {
			return false
		}
	}
}

// freed notes that an entry may fit what is free now.
func (d *decision) freed() {
	d.list.settled, d.list.isFreed, d.list.unfit, d.list.passed = false, true, nil, nil
}

// passOver keeps an entry from offers of this decision.
func (d *decision) passOver(id ID) {
	if d.list.passed == nil {
		d.list.passed = map[ID]bool{}
	}
	d.list.passed[id] = true
	d.list.passedOver = d.list.passedOver || d.rules.MaxLocksPerUser > 0 // whatever else relieves a customer writes the event
}

// needHoldings adds the customers of the entries that may come next to the needs, so that they are read together.
func (d *decision) needHoldings() {
	for _, list := range [][]Entry{d.state.Heads, d.state.Waiting} {
		for i := range list {
			isOut := d.list.passed[list[i].ID] || d.list.unfit[list[i].Wish] && d.event.Waitlist.Fit != holdfast.WaitlistStrict
			if _, read := d.holdings[list[i].UserID]; !read && !isOut {
				d.needs.Holdings = append(d.needs.Holdings, list[i].UserID)
			}
		}
	}
}

// isCandidate reports whether an entry may get an offer: it waits, and nothing speaks against it yet.
func (d *decision) isCandidate(e *Entry) bool {
	_, changed := d.list.entries[e.ID] // an entry that has changed waits no longer
	return !changed && !d.list.passed[e.ID] && !d.list.unfit[e.Wish]
}

// nextEntry returns the entry that gets the next offer, unless its customer has too much already; nil if there is none. known is
// false if entries have to be read first.
func (d *decision) nextEntry() (next *Entry, known bool) {
	if d.event.Waitlist.Fit == holdfast.WaitlistStrict {
		return d.firstEntry()
	}
	if d.available() <= 0 {
		return nil, true
	}
	if least := min(d.available(), holdfast.MaxWaitingSeats); d.state.HeadsUpTo < least {
		d.needs.Heads = least
		return nil, false
	}
	var fitting []string      // the wishes that fit
	nextUnknown := everyPlace // the first place in the order that may have an entry with one of them that was not read
	for i := range d.state.Heads {
		wish := d.state.Heads[i].Wish
		if !d.fits(&d.state.Heads[i]) {
			continue
		}
		fitting = append(fitting, wish)
		first, readUpTo := d.firstOf(i)
		switch {
		case first != nil:
			if next == nil || first.Seq < next.Seq {
				next = first
			}
		case readUpTo < everyPlace:
			nextUnknown = min(nextUnknown, readUpTo+1)
		}
	}
	if nextUnknown == everyPlace || next != nil && next.Seq < nextUnknown {
		return next, true
	}
	d.needs.Waiting, d.needs.WaitingOf = d.nextPage(firstPage), fitting // of all of them: there may be several offers
	return nil, false
}

// nextPage returns how many entries to read.
func (d *decision) nextPage(first int) int {
	if len(d.state.Waiting) == 0 {
		return first
	}
	return pageGrowth * len(d.state.Waiting)
}

// firstOf returns the first candidate with the wish of a head. If there is none, readUpTo is the last place in the order up to which
// the entries with the wish are known.
func (d *decision) firstOf(head int) (first *Entry, readUpTo int64) {
	h := &d.state.Heads[head]
	if d.isCandidate(h) {
		return h, 0
	}
	readUpTo = h.Seq
	isRead := len(d.state.Waiting) > 0 || d.state.WaitingIsAll
	if !isRead || len(d.state.WaitingOf) > 0 && !slices.Contains(d.state.WaitingOf, h.Wish) {
		return nil, readUpTo
	}
	for i := range d.state.Waiting {
		if e := &d.state.Waiting[i]; e.Wish == h.Wish && d.isCandidate(e) {
			return e, 0
		}
	}
	if d.state.WaitingIsAll {
		return nil, everyPlace
	}
	return nil, max(readUpTo, d.state.Waiting[len(d.state.Waiting)-1].Seq)
}

// firstEntry returns the first entry that no customer's limit keeps from an offer, if it fits. If it does not, all free seats
// wait for it.
func (d *decision) firstEntry() (next *Entry, known bool) {
	if len(d.state.WaitingOf) > 0 { // read for a SKIP list: the setting has changed since
		d.needs.Waiting = d.nextPage(firstPage)
		return nil, false
	}
	if d.list.passed == nil {
		d.list.passed = map[ID]bool{}
	}
	for i := range d.state.Waiting {
		e := &d.state.Waiting[i]
		if _, changed := d.list.entries[e.ID]; changed || d.list.passed[e.ID] {
			continue
		}
		if d.fits(e) {
			return e, true
		}
		if d.isTooMany(e.Seats) {
			d.list.passed[e.ID] = true
			continue
		}
		if refusal, known := d.beyondLimits(e.UserID, e.Seats, e.Seats, 1, ID{}); !known {
			d.needHoldings()
			return nil, false
		} else if refusal != nil {
			d.passOver(e.ID)
			continue
		}
		d.list.holds = true
		return nil, true
	}
	if d.state.WaitingIsAll {
		d.list.holds = len(d.plan.NewEntries) > 0 // the first of them did not fit when it joined
		return nil, true
	}
	const first = 32
	d.needs.Waiting = d.nextPage(first)
	return nil, false
}

// offer plans the offer to an entry that fits. The lock has the ID of its entry, which gets one offer at most: so a decision that is
// repeated after an unknown outcome can't make another one.
func (d *decision) offer(e Entry) (known bool) {
	claimed, _, ok := d.claimSeats(d.wishOf(&e), previousSeats{}, UserKey{})
	if !ok {
		return false
	}
	lock := holdfast.Lock{
		ID: e.ID, EventID: d.event.ID, UserID: e.UserID, Holder: e.Holder, Seats: claimed.Seats, SeatIDs: claimed.SeatIDs,
		Section: claimed.Section, Status: holdfast.LockActive, EntryID: e.ID, ShopData: e.ShopData,
	}
	if held, read := d.holdings[e.UserID]; read {
		held.Seats, held.Locks = held.Seats+lock.Seats, held.Locks+1
		d.holdings[e.UserID] = held
	}
	d.guardSale()
	d.acquire(lock, d.event.Waitlist.OfferTime())
	d.writeEntry(e, EntryWrite{To: holdfast.EntryOffered, LockID: lock.ID})
	d.list.made++
	return true
}
