package holdfast

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// WaitlistStatus is whether an event has a waiting list.
type WaitlistStatus string

// An open list takes entries and makes offers; a paused one takes entries, and what is free is anybody's. When a list closes, its
// entries that wait end, and its offers stay.
const (
	WaitlistClosed WaitlistStatus = "CLOSED"
	WaitlistOpen   WaitlistStatus = "OPEN"
	WaitlistPaused WaitlistStatus = "PAUSED"
)

// WaitlistStatuses returns all of them, in a new slice.
func WaitlistStatuses() []WaitlistStatus {
	return []WaitlistStatus{WaitlistClosed, WaitlistOpen, WaitlistPaused}
}

// WaitlistFit is which entry gets the next offer.
type WaitlistFit string

// With SKIP it is the first entry that the free seats fit; who is passed over keeps the place. With STRICT it is the first entry
// alone, and while it waits all free seats of the event wait for it.
const (
	WaitlistSkips  WaitlistFit = "SKIP"
	WaitlistStrict WaitlistFit = "STRICT"
)

// WaitlistFits returns all of them, in a new slice.
func WaitlistFits() []WaitlistFit { return []WaitlistFit{WaitlistSkips, WaitlistStrict} }

// The limits of a waiting list. The times are in seconds.
const (
	DefaultOfferSeconds = 3600
	MinOfferSeconds     = 60
	MaxOfferSeconds     = 604_800
	MaxWaiting          = 100_000 // entries of an event
	MaxWaitingSeats     = MaxNamedSeats
)

// Waitlist has the settings of an event's waiting list, and its state.
type Waitlist struct {
	Status       WaitlistStatus
	OfferSeconds int64 // how long an offer lasts
	Fit          WaitlistFit
	// HasBegun says that the list was open or paused once. Waiting is the number of its WAITING entries.
	HasBegun bool
	Waiting  int64
	// Holds says that all free seats are kept for entries while the list is open: offers are being made, or the first entry
	// of a STRICT list waits.
	Holds bool
}

// DefaultWaitlist is closed.
func DefaultWaitlist() Waitlist {
	return Waitlist{Status: WaitlistClosed, OfferSeconds: DefaultOfferSeconds, Fit: WaitlistSkips}
}

// OfferTime is how long an offer lasts.
func (w Waitlist) OfferTime() time.Duration { return time.Duration(w.OfferSeconds) * time.Second }

// Sells reports whether, at now, locks are granted: the event is on sale, and in the time of its sale.
func (e Event) Sells(now time.Time) bool {
	return e.Status == OnSale && !e.NeverSells() && !now.Before(e.SaleStartsAt) && !e.HasSold(now)
}

// HasSold reports whether the sale has ended at now. The waiting list ends with it.
func (e Event) HasSold(now time.Time) bool {
	return !e.SaleEndsAt.IsZero() && !now.Before(e.SaleEndsAt)
}

// AvailableToOthers is how many seats a customer who is not on the waiting list may get at now. Seats that an entry fits are offered to
// it by the transaction that frees them, so the two numbers differ only while all free seats are kept for entries.
func (e Event) AvailableToOthers(now time.Time) int64 {
	if e.Waitlist.Holds && e.Waitlist.Status == WaitlistOpen && e.Sells(now) {
		return 0
	}
	return e.AvailableSeats
}

// EntryStatus is the state of an entry of a waiting list.
type EntryStatus string

// An entry begins WAITING. It follows the lock that it is offered: ACCEPTED when that is CONSUMED, EXPIRED, or DECLINED when it is
// released.
const (
	EntryWaiting  EntryStatus = "WAITING"
	EntryOffered  EntryStatus = "OFFERED"
	EntryAccepted EntryStatus = "ACCEPTED"
	EntryDeclined EntryStatus = "DECLINED"
	EntryExpired  EntryStatus = "EXPIRED"
	EntryLeft     EntryStatus = "LEFT"
	EntryClosed   EntryStatus = "CLOSED"
)

// EntryStatuses returns all of them, in a new slice.
func EntryStatuses() []EntryStatus {
	return []EntryStatus{EntryWaiting, EntryOffered, EntryAccepted, EntryDeclined, EntryExpired, EntryLeft, EntryClosed}
}

// nextEntry has all transitions of an entry; every other pair is refused.
var nextEntry = map[EntryStatus][]EntryStatus{
	EntryWaiting: {EntryOffered, EntryLeft, EntryClosed},
	EntryOffered: {EntryAccepted, EntryDeclined, EntryExpired, EntryLeft, EntryClosed},
}

// MayBecome reports whether an entry may change from one status to the other.
func (s EntryStatus) MayBecome(to EntryStatus) bool { return slices.Contains(nextEntry[s], to) }

// IsOpen reports whether the entry waits or has an offer.
func (s EntryStatus) IsOpen() bool { return s == EntryWaiting || s == EntryOffered }

// WaitlistEntry is a customer's place on the waiting list of an event.
type WaitlistEntry struct {
	ID      ID
	EventID ID
	UserID  ID     // of a holder: HolderID
	Holder  string // "" if a user has the entry
	EntryWish
	Status    EntryStatus
	Position  int64 // 1 for the first that is WAITING; 0 if it is not, or not known
	LockID    ID    // of the offer; zero if there was none
	CreatedAt time.Time
	UpdatedAt time.Time
	ShopData
}

// EntryWish is what an entry waits for: a number of seats and, in a seated event, which ones, as in BestAvailable. A section of
// general admission comes with Seats alone.
type EntryWish struct {
	Seats      int64 // 1 to MaxWaitingSeats
	Categories []string
	Section    string
	Accessible int64
	Adjacent   AdjacentRule // "" means PREFERRED
}

// AdjacentRule is whether seats may be apart.
type AdjacentRule string

// The kinds of adjacency.
const (
	AdjacentPreferred AdjacentRule = "PREFERRED"
	AdjacentRequired  AdjacentRule = "REQUIRED"
)

// HasChoice reports whether the wish says more than a number of seats and a section.
func (w EntryWish) HasChoice() bool {
	return len(w.Categories) > 0 || w.Accessible > 0 || w.Adjacent != ""
}

// BestAvailable returns the wish for numbered seats.
func (w EntryWish) BestAvailable() BestAvailable {
	return BestAvailable{
		Categories: w.Categories, Section: w.Section, Accessible: w.Accessible, Required: w.Adjacent == AdjacentRequired,
	}
}

// Text returns the wish as a text: the same seats fit entries with the same text. Texts of fewer seats come first.
func (w EntryWish) Text() string {
	adjacent := w.Adjacent
	if adjacent == "" {
		adjacent = AdjacentPreferred
	}
	return fmt.Sprintf("%02d|%s|%d|%s|%s", w.Seats, w.Section, w.Accessible, adjacent, strings.Join(w.Categories, ","))
}

// Check refuses a wish that no event can fill.
func (w EntryWish) Check() error {
	switch {
	case w.Seats < 1 || w.Seats > MaxWaitingSeats:
		return RefuseInput("body.seats", "seats must be between 1 and %d.", MaxWaitingSeats)
	case w.Accessible < 0 || w.Accessible > w.Seats:
		return RefuseInput("body.accessibleSeats", "accessibleSeats must be between 0 and the number of seats.")
	case w.Adjacent != "" && w.Adjacent != AdjacentPreferred && w.Adjacent != AdjacentRequired:
		return RefuseInput("body.adjacent", "adjacent must be REQUIRED or PREFERRED.")
	case len(w.Categories) > MaxPlanCategories:
		return RefuseInput("body.categories", "categories must have at most %d items.", MaxPlanCategories)
	default:
		return nil
	}
}

// JoinRequest asks for a place on a waiting list.
type JoinRequest struct {
	EventID ID
	UserID  ID     // or Holder
	Holder  string // see CustomerID
	EntryWish
	ShopData
}

// EntryFilter selects entries of an event; a zero field selects all.
type EntryFilter struct {
	UserID *ID    // the zero ID is refused: it may be an ID that was never set
	Holder string // in place of UserID
	Status EntryStatus
}

// Check refuses a filter that no entry can match.
func (f EntryFilter) Check() error {
	return checkFilter(nil, f.UserID, f.Holder, f.Status, EntryStatuses())
}

// CheckWaitlist refuses settings of a waiting list that an event can't have.
func (c EventChange) CheckWaitlist() error {
	switch {
	case c.Waitlist != nil && !slices.Contains(WaitlistStatuses(), *c.Waitlist):
		return RefuseInput("body.waitlist", "waitlist must be CLOSED, OPEN or PAUSED.")
	case c.OfferSeconds != nil && (*c.OfferSeconds < MinOfferSeconds || *c.OfferSeconds > MaxOfferSeconds):
		return RefuseInput("body.waitlistOfferSeconds", "waitlistOfferSeconds must be between %d and %d.", MinOfferSeconds, MaxOfferSeconds)
	case c.WaitlistFit != nil && !slices.Contains(WaitlistFits(), *c.WaitlistFit):
		return RefuseInput("body.waitlistFit", "waitlistFit must be SKIP or STRICT.")
	default:
		return nil
	}
}
