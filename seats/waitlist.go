package seats

import (
	"context"
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Join puts a customer on the waiting list of an event. If the customer has an open entry with the same wish, that is returned, and
// made is false: an open entry is its own idempotency key.
//
// It refuses with EVENT_NOT_FOUND, USER_NOT_FOUND, WAITLIST_ENTRY_EXISTS, VALIDATION_FAILED (also for a wish that the event could
// not fill if all seats were free), EVENT_NOT_ON_SALE, WAITLIST_CLOSED, SEAT_LIMIT_REACHED, SEATS_STILL_AVAILABLE or WAITLIST_FULL.
func (s *Service) Join(ctx context.Context, r holdfast.JoinRequest) (e holdfast.WaitlistEntry, made bool, err error) {
	r.Categories, r.ShopData = slices.Clone(r.Categories), r.OwnShopData() // the caller may change them after the check
	if err := r.Check(); err != nil {
		return holdfast.WaitlistEntry{}, false, err
	}
	if r.UserID, err = holdfast.CustomerID(r.UserID, r.Holder); err != nil {
		return holdfast.WaitlistEntry{}, false, err
	}
	if err := r.CheckShopData("body"); err != nil {
		return holdfast.WaitlistEntry{}, false, err
	}
	result, err := s.pipeline.Submit(ctx, r.EventID, inventory.Join{JoinRequest: r, EntryID: mongodb.NewID()})
	if err != nil {
		return holdfast.WaitlistEntry{}, false, err
	}
	e = *result.Entry
	if result.Replayed || e.Position == 0 { // as it is now, with its position
		e, err = s.store.Entry(ctx, e.ID)
	}
	return e, !result.Replayed, err
}

// Entry returns an entry of a waiting list in its present state, or WAITLIST_ENTRY_NOT_FOUND.
func (s *Service) Entry(ctx context.Context, id ID) (holdfast.WaitlistEntry, error) {
	return s.store.Entry(ctx, id)
}

// Entries lists the entries of an event in their order, and the token of the next page. It refuses with EVENT_NOT_FOUND, and a
// filter by the zero ID or by an unknown status.
func (s *Service) Entries(
	ctx context.Context, eventID ID, f holdfast.EntryFilter, page holdfast.Page,
) ([]holdfast.WaitlistEntry, string, error) {
	if err := f.Check(); err != nil {
		return nil, "", err
	}
	return s.store.Entries(ctx, eventID, f, page)
}

// Decline gives the offer of an entry back, and cancels its open booking in the same transaction. An entry that was declined stays
// as it is. It refuses with WAITLIST_ENTRY_NOT_FOUND, WAITLIST_NOT_OFFERED, or the code of an entry that has ended: LOCK_EXPIRED,
// LOCK_CONSUMED, LOCK_RELEASED or WAITLIST_CLOSED.
func (s *Service) Decline(ctx context.Context, id ID) (holdfast.WaitlistEntry, error) {
	return s.changeEntry(ctx, id, inventory.Decline{EntryID: id})
}

// Leave takes an entry off the list, and gives its offer back as Decline does. An entry that has left stays as it is. The refusals
// are those of Decline, but that an entry without an offer can leave.
func (s *Service) Leave(ctx context.Context, id ID) (holdfast.WaitlistEntry, error) {
	return s.changeEntry(ctx, id, inventory.Leave{EntryID: id})
}

func (s *Service) changeEntry(ctx context.Context, id ID, c inventory.Command) (holdfast.WaitlistEntry, error) {
	e, err := s.store.Entry(ctx, id)
	if err != nil {
		return holdfast.WaitlistEntry{}, err
	}
	result, err := s.pipeline.Submit(ctx, e.EventID, c)
	return orZero(result.Entry), err
}
