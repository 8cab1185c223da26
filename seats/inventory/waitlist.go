package inventory

import (
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// Join puts a customer on the waiting list. Result.Replayed says that the customer has an open entry with the same wish, which is
// the result.
type Join struct {
	holdfast.JoinRequest
	EntryID ID // of the entry to be made
	// Abandoned says that the caller has given up: see Acquire.
	Abandoned bool
}

// decide checks in this order: existence, a repeat, the form of the wish, the sale, the list, the customer's limits, the seats that
// are free, the length of the list.
func (c Join) decide(d *decision) Result {
	if made := d.state.Entries[c.EntryID]; made != nil { // by an earlier commit, which was not answered
		return Result{Entry: &made.WaitlistEntry}
	}
	if refusal := d.state.Unknown[c.UserID]; refusal != nil && c.Holder == "" {
		return Result{Err: refusal}
	}
	if !d.ensureEvent() {
		return d.refuse(holdfast.NotFound(holdfast.CodeEventNotFound), UserKey{})
	}
	if c.Abandoned {
		return Result{Err: errGaveUp()}
	}
	_, openRead := d.state.OpenOf[c.UserID]
	if !openRead {
		d.needs.OpenOf = append(d.needs.OpenOf, c.UserID)
	}
	if !d.ensureSeats() || !openRead {
		return Result{}
	}
	if result, repeated := c.repeat(d); repeated {
		return result
	}
	wish, invalid := d.entryInHall(c.EntryWish)
	if invalid == nil {
		invalid = d.neverFits(wish)
	}
	if invalid != nil {
		return d.refuseFirmly(invalid)
	}
	switch e := &d.event; {
	case e.Status == holdfast.Cancelled, e.HasSold(d.state.Now):
		return d.refuseFirmly(errNotOnSale())
	case e.Waitlist.Status != holdfast.WaitlistOpen && e.Waitlist.Status != holdfast.WaitlistPaused:
		return d.refuseFirmly(errListClosed())
	}
	if !d.settle() {
		return Result{}
	}
	if refusal, known := d.beyondLimits(c.UserID, c.Seats, c.Seats, 1, ID{}); !known {
		return Result{}
	} else if refusal != nil {
		return d.refuseFirmly(refusal)
	}
	if d.event.Sells(d.state.Now) && !d.list.holds {
		switch fits, known := d.wouldGrant(wish); {
		case !known:
			return Result{}
		case fits:
			return d.refuseFirmly(holdfast.Refuse(holdfast.CodeSeatsStillAvailable, "Such seats are available now. Lock them."))
		}
	}
	if d.deferRest {
		return Result{Undecided: true}
	}
	if d.event.List.Waiting >= holdfast.MaxWaiting {
		return d.refuseFirmly(holdfast.Refuse(holdfast.CodeWaitlistFull, "The waiting list is full.").
			With(holdfast.LimitReached{Limit: holdfast.MaxWaiting}))
	}
	return c.join(d)
}

// repeat answers a customer who has an open entry.
func (c Join) repeat(d *decision) (Result, bool) {
	for _, i := range d.list.joinedBy[c.UserID] { // by this batch
		if e := &d.plan.NewEntries[i]; e.Holder == c.Holder {
			if !d.sameWish(e.EntryWish, c.EntryWish) {
				return d.refuseFirmly(errEntryExists()), true
			}
			return Result{joined: i + 1, Replayed: true}, true
		}
	}
	for _, e := range d.state.OpenOf[c.UserID] {
		if changed, ok := d.list.entries[e.ID]; ok {
			e = changed
		}
		if e.Holder != c.Holder || !d.statusOf(e).IsOpen() {
			continue
		}
		if isDue, known := d.endsDueOffer(e); !known {
			return Result{}, true
		} else if isDue {
			continue
		}
		if !d.sameWish(e.EntryWish, c.EntryWish) {
			return d.refuseFirmly(errEntryExists()), true
		}
		return Result{Entry: &e.WaitlistEntry, Replayed: true}, true
	}
	return Result{}, false
}

// endsDueOffer reports whether the lock of an offer is due, which then ends, and so does its entry, or has ended without its entry.
// known is false if the lock has to be read first.
func (d *decision) endsDueOffer(e Entry) (isDue, known bool) {
	if e.Status != holdfast.EntryOffered || d.makes(e.LockID) {
		return false, true
	}
	lock, exists, read := d.lock(e.LockID)
	if !read || !exists || lock.Status != holdfast.LockActive || !lock.Due(d.state.Now) {
		return read && (!exists || lock.Status != holdfast.LockActive), read
	}
	d.expire(lock, holdfast.EndedByReclaim, "")
	return true, true
}

func errEntryExists() error {
	return holdfast.Refuse(holdfast.CodeEntryExists, "The customer is on the waiting list with another wish. Leave it first.")
}

func errListClosed() error {
	return holdfast.Refuse(holdfast.CodeWaitlistClosed, "The waiting list is closed.")
}

// join plans the entry.
func (c Join) join(d *decision) Result {
	if end := d.event.SaleEndsAt; !end.IsZero() {
		d.plan.endBefore(end)
	}
	l := &d.event.List
	l.Seq, l.Waiting, d.ifUnchanged = l.Seq+1, l.Waiting+1, true
	d.plan.NewEntries = append(d.plan.NewEntries, NewEntry{
		WaitlistEntry: holdfast.WaitlistEntry{
			ID: c.EntryID, EventID: d.event.ID, UserID: c.UserID, Holder: c.Holder, EntryWish: c.EntryWish,
			Status: holdfast.EntryWaiting, Position: l.Waiting, ShopData: c.ShopData,
		},
		Seq: l.Seq, Epoch: l.Epoch, Wish: c.Text(),
	})
	if makes, _ := d.makesOffers(); makes && d.event.Waitlist.Fit == holdfast.WaitlistStrict { // what is free waits for the first one
		d.list.holds = true
	}
	d.list.joined = append(d.list.joined, d.command)
	if d.list.joinedBy == nil {
		d.list.joinedBy = map[ID][]int{}
	}
	n := len(d.plan.NewEntries)
	d.list.joinedBy[c.UserID] = append(d.list.joinedBy[c.UserID], n-1)
	return Result{joined: n, isGranted: true}
}

// wouldGrant reports whether a request for a wish would be granted now. Before it says no, all due locks of the event end. known is
// false if they have to be read first.
func (d *decision) wouldGrant(w wished) (fits, known bool) {
	if !d.ensureCounter() {
		return false, false
	}
	if d.fitsWish(w) {
		return true, true
	}
	if d.state.Due == nil || d.state.DueUpTo < MaxReclaim {
		d.needs.Due = MaxReclaim
		return false, false
	}
	for d.reclaim() {
		if d.fitsWish(w) {
			return true, true
		}
	}
	d.deferRest = d.deferRest || d.mayHaveMoreDue()
	return false, true
}

// sameWish reports whether two wishes are the same once defaults are filled in.
func (d *decision) sameWish(a, b holdfast.EntryWish) bool {
	a.Categories, b.Categories = d.ownCategories(a.Categories), d.ownCategories(b.Categories)
	return a.Text() == b.Text()
}

// ownCategories returns the categories of a wish without repetitions; nil if they are all of the hall in its order.
func (d *decision) ownCategories(keys []string) (own []string) {
	for _, key := range keys {
		if !slices.Contains(own, key) {
			own = append(own, key)
		}
	}
	if d.isSeated() && slices.Equal(own, d.state.Seats.Hall().Categories()) {
		return nil
	}
	return own
}

// entryInHall finds what an entry waits for in the event's hall, and refuses what does not match the hall. The map must be known.
func (d *decision) entryInHall(w holdfast.EntryWish) (wished, *holdfast.Error) {
	section := -1
	if d.isSeated() && w.Section != "" {
		section = generalSection(d.state.Seats.Hall(), w.Section)
	}
	switch isSimple := !d.isSeated() || section >= 0; {
	case !d.isSeated() && w.Section != "":
		return wished{}, holdfast.RefuseInput("body.section", "The event has no seating plan. Give the number of seats alone.")
	case isSimple && w.HasChoice():
		return wished{}, holdfast.RefuseInput("body", "Such seats are not numbered. Give their number alone.")
	case isSimple:
		return wished{seats: w.Seats, general: section >= 0, section: max(0, section)}, nil
	}
	hall := d.state.Seats.Hall()
	if _, found := hall.FindSection(w.Section); w.Section != "" && !found {
		return wished{}, holdfast.RefuseInput("body.section", "The plan has no such section.")
	}
	for i, key := range w.Categories {
		if _, found := hall.FindCategory(key); !found {
			return wished{}, holdfast.RefuseInput("body.categories", "The plan does not have category number %d of the list.", i+1)
		}
	}
	return d.bestInHall(w.Seats, w.BestAvailable())
}

// neverFits refuses a wish that the event could not fill if all its seats were free.
func (d *decision) neverFits(w wished) *holdfast.Error {
	fits := w.seats <= d.event.TotalSeats
	switch {
	case !fits:
	case w.general:
		fits = w.seats <= d.state.Seats.Capacity(w.section)
	case w.best != nil:
		best := *w.best
		best.Settled = true
		fits = d.state.Seats.Best(best, nil).Granted() || seating.NewOccupancy(d.state.Seats.Hall()).Best(best, nil).Granted()
	}
	if fits {
		return nil
	}
	return holdfast.RefuseInput("body.seats", "The event could not give such seats if all of them were free.")
}

// entry returns an entry as this decision has left it. exists is false if it does not exist, and read is false if it has to be read
// first.
func (d *decision) entry(id ID) (e Entry, exists, read bool) {
	if changed, ok := d.list.entries[id]; ok {
		return changed, true, true
	}
	found, read := d.state.Entries[id]
	if !read {
		if !slices.Contains(d.needs.Entries, id) {
			d.needs.Entries = append(d.needs.Entries, id)
		}
		return Entry{}, false, false
	}
	if found == nil {
		return Entry{}, false, true
	}
	return *found, true, true
}

// statusOf returns the status of an entry as clients see it.
func (d *decision) statusOf(e Entry) holdfast.EntryStatus {
	isOver := e.Epoch < d.event.List.Epoch || d.event.Status == holdfast.Cancelled || d.event.HasSold(d.state.Now)
	if e.Status == holdfast.EntryWaiting && isOver {
		return holdfast.EntryClosed
	}
	return e.Status
}

var entryChanges = map[holdfast.EntryStatus]holdfast.ChangeType{
	holdfast.EntryOffered: holdfast.ChangeEntryOffered, holdfast.EntryAccepted: holdfast.ChangeEntryAccepted,
	holdfast.EntryDeclined: holdfast.ChangeEntryDeclined, holdfast.EntryExpired: holdfast.ChangeEntryExpired,
	holdfast.EntryLeft: holdfast.ChangeEntryLeft, holdfast.EntryClosed: holdfast.ChangeEntryClosed,
}

// writeEntry plans a change of an entry.
func (d *decision) writeEntry(e Entry, w EntryWrite) {
	if e.Status == holdfast.EntryWaiting && e.Epoch == d.event.List.Epoch {
		d.event.List.Waiting = max(0, d.event.List.Waiting-1) // it may have been too low; reconcile counts again
	}
	w.ID, w.EventID, w.From, w.Revision, w.UpdatedAt = e.ID, e.EventID, e.Status, e.Revision, later(e.UpdatedAt, d.state.Now)
	d.plan.Entries = append(d.plan.Entries, w)
	e.Status, e.Revision, e.UpdatedAt = w.To, e.Revision+1, w.UpdatedAt
	if !w.LockID.IsZero() {
		e.LockID = w.LockID
	}
	if d.list.entries == nil {
		d.list.entries = map[ID]Entry{}
	}
	d.list.entries[e.ID] = e
	d.list.entered = append(d.list.entered, seenEntry{e, d.command})
}

// endOffer plans the end of the entry that has got a lock as an offer. The lock is ACTIVE, and w ends it.
func (d *decision) endOffer(lock Lock, w LockWrite) {
	e, exists, _ := d.entry(lock.EntryID)
	to := map[holdfast.LockStatus]holdfast.EntryStatus{
		holdfast.LockConsumed: holdfast.EntryAccepted, holdfast.LockExpired: holdfast.EntryExpired,
		holdfast.LockReleased: holdfast.EntryDeclined,
	}[w.To]
	if w.EndedBy == holdfast.EndedByEventCancel {
		to = holdfast.EntryClosed
	}
	if exists && e.LockID == lock.ID && e.Status.MayBecome(to) { // else it has to be read first, or has ended
		d.writeEntry(e, EntryWrite{To: to, RunID: w.RunID})
	}
}

// Decline gives an offer back, and cancels its open booking. An offer that was declined before stays as it is.
type Decline struct{ EntryID ID }

func (c Decline) decide(d *decision) Result {
	e, result, isOpen := d.openEntry(c.EntryID, holdfast.EntryDeclined)
	switch {
	case !isOpen:
		return result
	case e.Status == holdfast.EntryWaiting:
		return d.refuseFirmly(holdfast.Refuse(holdfast.CodeNotOffered, "The entry has no offer yet. Leave the list instead."))
	default:
		return d.giveUp(e, holdfast.EntryDeclined)
	}
}

// Leave takes an entry off the list. If it has an offer, that goes back, and its open booking is cancelled. An entry that has left
// before stays as it is.
type Leave struct{ EntryID ID }

func (c Leave) decide(d *decision) Result {
	e, result, isOpen := d.openEntry(c.EntryID, holdfast.EntryLeft)
	switch {
	case !isOpen:
		return result
	case e.Status == holdfast.EntryWaiting:
		d.writeEntry(e, EntryWrite{To: holdfast.EntryLeft})
		d.freed()
		return d.entryResult(e.ID)
	default:
		return d.giveUp(e, holdfast.EntryLeft)
	}
}

// openEntry returns an entry of the event that waits or has an offer. isOpen is false if the command has its result without it:
// something has to be read first, or the entry has ended, which is the result if it is what the command wants.
func (d *decision) openEntry(id ID, wanted holdfast.EntryStatus) (e Entry, result Result, isOpen bool) {
	e, exists, read := d.entry(id)
	switch {
	case !read || !d.knowsEvent():
		return e, Result{}, false
	case !exists || d.state.Event == nil || e.EventID != d.event.ID:
		return e, d.refuseFirmly(holdfast.NotFound(holdfast.CodeEntryNotFound)), false
	}
	switch status := d.statusOf(e); status {
	case holdfast.EntryWaiting, holdfast.EntryOffered:
		return e, Result{}, true
	case wanted:
		return e, Result{Entry: &e.WaitlistEntry}, false
	case holdfast.EntryAccepted:
		return e, d.refuseFirmly(holdfast.Refuse(holdfast.CodeLockConsumed, "The offer was accepted, and its booking is confirmed.")), false
	case holdfast.EntryExpired:
		return e, d.refuseFirmly(holdfast.Refuse(holdfast.CodeLockExpired, "The offer has expired.")), false
	case holdfast.EntryClosed:
		return e, d.refuseFirmly(errListClosed()), false
	default:
		return e, d.refuseFirmly(holdfast.Refuse(holdfast.CodeLockReleased, "The entry has left the list, or its offer was declined.")), false
	}
}

// giveUp ends an offer for its customer, with its lock and its open booking.
func (d *decision) giveUp(e Entry, to holdfast.EntryStatus) Result {
	lock, exists, read := d.lock(e.LockID)
	bookings := d.liveBookings(e.LockID)
	switch {
	case !read || !d.isListed(e.LockID):
		return Result{}
	case d.isCorrupt(e.LockID):
		return Result{Err: errCorrupt()}
	case !exists:
		return d.refuseFirmly(holdfast.NotFound(holdfast.CodeLockNotFound))
	}
	if err := ended(lock, bookings, d.state.Now); err != nil {
		d.bump(lock)
		return d.refuseFirmly(err)
	}
	d.writeEntry(e, EntryWrite{To: to})
	d.release(lock, AtRevision, Run{By: holdfast.EndedByAPI})
	for _, b := range bookings {
		d.moveBooking(b, holdfast.CancelBooking, BookingWrite{})
	}
	return d.entryResult(e.ID)
}

// entryResult returns an entry as this decision has left it.
func (d *decision) entryResult(id ID) Result {
	e := d.list.entries[id].WaitlistEntry
	return Result{Entry: &e}
}
