package recovery

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Kind says whether the program or an operator acts on a finding. The values are part of
// the HTTP API.
type Kind string

// These are the kinds of findings.
const (
	Ordinary   Kind = "ordinary" // usual work of the jobs
	Repairable Kind = "mendable" // a pass repairs it
	Manual     Kind = "people"   // a pass only reports it; an operator repairs it
)

// Finding is one line of the list that Findings returns.
type Finding struct {
	Kind   Kind
	What   string
	Count  int64
	Detail string // the first few, if they have names
	Action string // of a pass or an operator
}

// Findings lists the findings of a plan line by line. A line may have the count 0.
func (p Plan) Findings() []Finding {
	const manual = "look at them: a pass reports them and changes nothing"
	return []Finding{
		{Kind: Repairable, What: "ACTIVE locks of CONFIRMED bookings", Count: int64(len(p.SoldLocks)), Action: "mark them sold"},
		{Kind: Ordinary, What: "locks that are due", Count: p.StaleLocks, Action: "expire them"},
		{Kind: Ordinary, What: "PAYMENT_PENDING bookings that are due", Count: p.StaleBookings, Action: "expire them"},
		{
			Kind: Repairable, What: "counters that don't agree with their locks",
			Count:  int64(len(p.Drifts)),
			Action: "correct them",
			Detail: p.driftDetail(),
		},
		{Kind: Repairable, What: "maps of seats that don't agree with their locks", Count: int64(len(p.WrongMaps)), Action: "correct them"},
		{
			Kind: Repairable, What: "waiting lists with a wrong number of entries",
			Count:  int64(len(p.WrongLists)),
			Action: "correct them, and make the offers that are due",
			Detail: detail(p.WrongLists, wrongList),
		},
		{Kind: Ordinary, What: "INITIATED bookings", Count: p.Initiated, Action: "log their number"},
		{Kind: Manual, What: "CONFIRMED bookings whose lock has ended", Count: int64(len(p.EndedSales)), Action: manual},
		{Kind: Manual, What: "CONSUMED locks without a CONFIRMED booking", Count: int64(len(p.OrphanConsumed)), Action: manual},
		{Kind: Manual, What: "locks with several CONFIRMED bookings", Count: int64(len(p.DoubleSales)), Action: manual},
		{
			Kind: Manual, What: "seats that several locks have",
			Count: p.DoubleSeats,
			Action: "end all locks of each but one; in mongosh, db.seatlocks.find({eventId: ObjectId(\"EVENT\"), seatIds: \"SEAT\", " +
				"status: {$in: [\"ACTIVE\", \"CONSUMED\", \"BLOCKED\"]}}) lists those of a seat",
			Detail: p.doubleDetail(),
		},
		{Kind: Manual, What: "locks whose seats are in no place of the seating plan", Count: p.UnplacedLocks, Action: manual},
		{
			Kind: Manual, What: "events whose seating plan is missing or can't be read",
			Count: int64(len(p.UnreadSeats)),
			Action: "restore the plan in seatingplans and seatingsections, or set seatingPlanId to the plan that they were sold with; " +
				"until then they sell nothing, and their counters are not checked",
			Detail: eventDetail(p.UnreadSeats),
		},
		{
			Kind: Manual, What: "events without a seating plan that have locks of its seats",
			Count:  int64(len(p.LostPlans)),
			Action: "set seatingPlanId to the plan that they were sold with; until then they sell as unseated events",
			Detail: eventDetail(p.LostPlans),
		},
		{
			Kind: Manual, What: "events whose totalSeats is not what their seating plan and capacities have",
			Count: int64(len(p.WrongTotals)),
			Action: "PATCH their sections with the capacities that they should have; where the plan has no general admission, " +
				"set totalSeats in MongoDB",
			Detail: eventDetail(p.WrongTotals),
		},
		{
			Kind: Manual, What: "sections of general admission of which more is taken than they have",
			Count:  int64(len(p.OversoldSections)),
			Action: "raise the capacity of the section, or end locks",
			Detail: detail(p.OversoldSections, oversoldSection),
		},
		{
			Kind: Manual, What: "waiting-list entries that don't agree with their lock",
			Count: int64(len(p.WrongOffers)),
			Action: "give the entry the status that its lock says, in MongoDB: EXPIRED, DECLINED (a RELEASED lock) or ACCEPTED (a CONSUMED one); " +
				"release an ACTIVE lock whose entry has no offer, or let it expire",
			Detail: detail(p.WrongOffers, wrongOffer),
		},
		{
			Kind: Manual, What: "oversold events",
			Count:  p.Oversold,
			Action: "find other seats for these customers; the event or the section sells nothing until that is paid down",
		},
	}
}

// maxNamed bounds the number of items that a detail names.
const maxNamed = 3

// driftDetail names the first wrong counters.
func (p Plan) driftDetail() string {
	return detail(p.Drifts, func(d inventory.Correction) string {
		return fmt.Sprintf("event %s: %d should be %d", d.EventID, d.Before, d.After)
	})
}

// doubleDetail names the first seats that several locks have.
func (p Plan) doubleDetail() string {
	return detail(p.FirstDoubles, func(d DoubleSeat) string { return fmt.Sprintf("seat %q of event %s", d.SeatID, d.EventID) })
}

// wrongList says what a waiting list counts, and what it should count.
func wrongList(l store.CountedList) string {
	return fmt.Sprintf("event %s: %d should be %d", l.EventID, l.Says, l.Waiting)
}

func oversoldSection(s OversoldSection) string {
	return fmt.Sprintf("section %q of event %s: %d", s.Section, s.EventID, s.Seats)
}

// wrongOffer says in what an entry and its lock differ.
func wrongOffer(w store.WrongOffer) string {
	entry, lock := cmp.Or(string(w.Entry), "missing"), cmp.Or(string(w.Lock), "missing")
	return fmt.Sprintf("entry %s is %s, lock %s %s", w.EntryID, entry, w.LockID, lock)
}

func eventDetail(events []holdfast.ID) string {
	return detail(events, func(id holdfast.ID) string { return "event " + id.String() })
}

// detail names the first items of a list.
func detail[T any](all []T, name func(T) string) string {
	var names []string
	for _, v := range all[:min(len(all), maxNamed)] {
		names = append(names, name(v))
	}
	if len(all) > maxNamed {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}
