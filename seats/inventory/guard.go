package inventory

import "github.com/holdfast-dev/holdfast"

// IsCheckedAfterwards reports whether HeldBefore can check the guard: the write moves the counter by a known number,
// and changes nothing else that a guard compares.
func (w EventWrite) IsCheckedAfterwards() bool {
	c := w.Fields
	return w.Drift == nil && w.Counter == nil && c.TotalSeats == nil && c.Status == nil && c.SeatingPlanID == nil &&
		c.MaxSeatsPerUser == nil && c.OrphanRule == nil && c.AccessiblePolicy == nil && c.SaleStartsAt == nil && c.SaleEndsAt == nil
}

// HeldBefore reports, from the event after the write, whether the guard matched before it. It agrees with the guard
// as a condition of the write (eventGuard in internal/store).
func (w EventWrite) HeldBefore(after Event) bool {
	available, oversold := after.AvailableSeats-w.Available, after.Oversold-w.Oversold
	before := w.IfUnchanged
	if before == nil {
		return after.Status == holdfast.OnSale && after.SaleStartsAt.Equal(w.SaleStartsAt) && after.SaleEndsAt.Equal(w.SaleEndsAt) &&
			after.MaxSeatsPerUser == 0 && after.Seating.PlanID.IsZero() && after.List.Waiting == 0 && available >= w.AtLeast
	}
	return after.Revision == before.Revision+w.raise() &&
		after.TotalSeats == before.TotalSeats && available == before.AvailableSeats && oversold == before.Oversold &&
		after.Status == before.Status && after.SaleStartsAt.Equal(before.SaleStartsAt) && after.SaleEndsAt.Equal(before.SaleEndsAt) &&
		after.MaxSeatsPerUser == before.MaxSeatsPerUser &&
		haveSameRules(after.Seating, before.Seating)
}

// raise returns by how much the write raises the revision.
func (w EventWrite) raise() int64 {
	if w.Touch {
		return 0
	}
	return max(1, w.Raise)
}

// haveSameRules reports whether two events have the same plan and the same rules for its seats.
func haveSameRules(a, b holdfast.Seating) bool {
	return a.PlanID == b.PlanID && (a.PlanID.IsZero() || a.OrphanRule == b.OrphanRule && a.AccessiblePolicy == b.AccessiblePolicy)
}
