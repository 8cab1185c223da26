package inventory

import "github.com/holdfast-dev/holdfast"

// IsCheckedAfterwards reports whether HeldBefore can tell: of writes that move the counter by a known number, and change
// nothing else that a guard compares.
func (w EventWrite) IsCheckedAfterwards() bool {
	c := w.Fields
	if w.Drift != nil || w.Counter != nil || c.TotalSeats != nil || c.Status != nil || c.SeatingPlanID != nil ||
		c.MaxSeatsPerUser != nil || c.OrphanRule != nil || c.AccessiblePolicy != nil {
		return false
	}
	before := w.IfUnchanged
	return before == nil || before.Countable && !before.Incomparable && before.Former == Former{}
}

// HeldBefore reports, by the event after the write, whether the guard held before it. It may refuse an event that the guard
// as a condition of the write (eventGuard in internal/store) matches, but not the other way round.
func (w EventWrite) HeldBefore(after Event) bool {
	if !after.Countable || after.Incomparable {
		return false
	}
	available, oversold := after.AvailableSeats-w.Available, after.Oversold-w.Oversold
	before := w.IfUnchanged
	if before == nil {
		return after.Status == holdfast.OnSale && after.MaxSeatsPerUser == 0 && after.Seating.PlanID.IsZero() && available >= w.AtLeast
	}
	return after.Revision == before.Revision+max(1, w.Raise) && after.Former == Former{} &&
		after.TotalSeats == before.TotalSeats && available == before.AvailableSeats && oversold == before.Oversold &&
		after.Status == before.Status && after.MaxSeatsPerUser == before.MaxSeatsPerUser &&
		haveSameRules(after.Seating, before.Seating)
}

// haveSameRules reports whether two events have the same plan and the same rules for its seats.
func haveSameRules(a, b holdfast.Seating) bool {
	return a.PlanID == b.PlanID && (a.PlanID.IsZero() || a.OrphanRule == b.OrphanRule && a.AccessiblePolicy == b.AccessiblePolicy)
}

// isAs reports whether a plan that was made for the event as it was before can rely on the event as it was read.
func (e Event) isAs(before *Event) bool {
	if before == nil {
		return false
	}
	guard := EventWrite{IfUnchanged: before}
	e.Revision++ // as a write that changes nothing else would leave it
	return guard.IsCheckedAfterwards() && guard.HeldBefore(e)
}
