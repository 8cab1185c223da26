package recovery

import "fmt"

// Kind is who has to do with a finding.
type Kind string

// The kinds.
const (
	Ordinary Kind = "ordinary" // what the jobs do anyway
	Mendable Kind = "mendable" // a pass mends it
	ForHands Kind = "people"   // a pass reports it and changes nothing
)

// Finding is one line of a survey.
type Finding struct {
	Kind  Kind
	What  string
	Count int64
	Says  string // the first ones of it, where they have a name
	Would string // what a pass does with it, or people have to
}

// Findings tells a survey line by line, what was not found too.
func (s Survey) Findings() []Finding {
	const people = "look at them: a pass reports such and changes nothing"
	list := []Finding{
		{Kind: Mendable, What: "ACTIVE locks of CONFIRMED bookings", Count: int64(len(s.Unmarked)), Would: "mark them sold"},
		{Kind: Ordinary, What: "locks that are due", Count: s.StaleLocks, Would: "expire them"},
		{Kind: Ordinary, What: "PAYMENT_PENDING bookings that are due", Count: s.StaleBookings, Would: "expire them"},
		{Kind: Mendable, What: "counters that don't agree with their locks", Count: int64(len(s.Drifts)), Would: "correct them", Says: s.drifts()},
		{Kind: Ordinary, What: "INITIATED bookings", Count: s.Initiated, Would: "tell their number"},
		{Kind: ForHands, What: "CONFIRMED bookings whose lock has ended", Count: int64(len(s.Ended)), Would: people},
		{Kind: ForHands, What: "CONSUMED locks without a CONFIRMED booking", Count: int64(len(s.Unsold)), Would: people},
		{Kind: ForHands, What: "locks whose seats are no whole number ≥ 1", Count: s.PoisonLocks, Would: people},
		{Kind: ForHands, What: "events whose totalSeats is no whole number ≥ 0", Count: int64(len(s.PoisonEvents)), Would: people},
		{Kind: ForHands, What: "oversold events", Count: s.Oversold, Would: "people have to find other seats; nothing of theirs is sold until that is paid down"},
	}
	return list
}

// drifts names the first few counters.
func (s Survey) drifts() (text string) {
	const few = 3
	for i, d := range s.Drifts {
		if i == few {
			return text + ", …"
		}
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("event %s: %d should be %d", d.EventID, d.Before, d.After)
	}
	return text
}
