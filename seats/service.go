package seats

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/pipeline"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// ID names an event, a user or a lock.
type ID = holdfast.ID

// Service is the inventory of one database. It is safe for concurrent use.
type Service struct {
	pipeline *pipeline.Pipeline
	store    *store.Store
	plans    *Plans
	planIDs  planCache
	maps     reads[ID, SeatMap]
	maxTTL   time.Duration
	now      func() time.Time
}

// New returns the inventory of a pipeline's database. maxTTL is the maximum time of a lock.
func New(p *pipeline.Pipeline, plans *Plans, maxTTL time.Duration) *Service {
	return &Service{pipeline: p, store: p.Store(), plans: plans, maxTTL: maxTTL, now: p.Store().DB().Clock()}
}

// AcquireLock locks seats. replayed reports that an earlier request with the same idempotency
// key made the lock, which is returned in its present state.
//
// It refuses with EVENT_NOT_FOUND, USER_NOT_FOUND, IDEMPOTENCY_KEY_REUSED,
// EVENT_NOT_ON_SALE, SALE_NOT_OPEN, SEAT_LIMIT_REACHED, SEATS_UNAVAILABLE, SEATS_NOT_ADJACENT, SEAT_ORPHANED
// or VALIDATION_FAILED.
// UNAVAILABLE means that no seats are locked. After OUTCOME_UNKNOWN the same request with the same key
// returns the lock if it was made.
func (s *Service) AcquireLock(ctx context.Context, r holdfast.LockRequest) (lock holdfast.Lock, replayed bool, err error) {
	r.Wish, r.ShopData = r.Wish.Clone(), r.OwnShopData() // the caller may change them after the check
	if r.Seats, err = r.Wish.Count(r.Seats); err != nil {
		return holdfast.Lock{}, false, err
	}
	if r.UserID, err = holdfast.CustomerID(r.UserID, r.Holder); err != nil {
		return holdfast.Lock{}, false, err
	}
	if err := holdfast.CheckText("body.idempotencyKey", r.Key, holdfast.MaxKeyLength); err != nil {
		return holdfast.Lock{}, false, err
	}
	if err := r.Until.Check(holdfast.LockFields, math.MaxInt64); err != nil {
		return holdfast.Lock{}, false, err
	}
	if err := r.CheckShopData("body"); err != nil {
		return holdfast.Lock{}, false, err
	}
	c := inventory.Acquire{LockRequest: r, LockID: mongodb.NewID()}
	if r.Key != "" {
		c.RequestHash = r.Hash()
	}
	result, err := s.pipeline.Submit(ctx, r.EventID, c)
	return orZero(result.Lock), result.Replayed, err
}

// ReleaseLock ends a lock for its customer, and cancels its open booking in the same
// transaction. On a released lock it changes nothing. It refuses with LOCK_NOT_FOUND,
// LOCK_EXPIRED or LOCK_CONSUMED. The latter is also the answer if the lock's booking is
// CONFIRMED and other software left the lock ACTIVE.
func (s *Service) ReleaseLock(ctx context.Context, id ID) (holdfast.Lock, error) {
	lock, err := s.store.Lock(ctx, id)
	if err != nil {
		return holdfast.Lock{}, err
	}
	result, err := s.pipeline.Submit(ctx, lock.EventID, inventory.Release{LockID: id})
	return orZero(result.Lock), err
}

// ExtendLock moves a live lock's expiry, never to an earlier time. The maximum counts from
// the lock's creation. It refuses with LOCK_NOT_FOUND, LOCK_EXPIRED, LOCK_CONSUMED,
// LOCK_RELEASED, EVENT_NOT_ON_SALE if the event is cancelled, or VALIDATION_FAILED for a
// time beyond the maximum.
func (s *Service) ExtendLock(ctx context.Context, id ID, until holdfast.Until) (holdfast.Lock, error) {
	if until.IsZero() {
		return holdfast.Lock{}, holdfast.RefuseInput("body", "Give expiresAt or ttlSeconds.")
	}
	if err := until.Check(holdfast.LockFields, s.maxTTL); err != nil {
		return holdfast.Lock{}, err
	}
	result, err := s.pipeline.Do(ctx, inventory.Extend{LockID: id, Until: until})
	return orZero(result.Lock), err
}

// UpdateLock changes the reference and the metadata of a lock, in any status. It refuses with LOCK_NOT_FOUND, or
// VALIDATION_FAILED for a change that breaks the limits of holdfast.ShopData.
func (s *Service) UpdateLock(ctx context.Context, id ID, c holdfast.ShopDataChange) (holdfast.Lock, error) {
	c = c.Clone() // the caller may change its values after the check
	if err := c.Check("body"); err != nil {
		return holdfast.Lock{}, err
	}
	result, err := s.pipeline.Do(ctx, inventory.UpdateLock{LockID: id, Change: c})
	return orZero(result.Lock), err
}

// GetLock returns a lock in its present state, or LOCK_NOT_FOUND.
func (s *Service) GetLock(ctx context.Context, id ID) (holdfast.Lock, error) {
	return s.store.Lock(ctx, id)
}

// ListLocks lists locks by ID, and the token of the next page. It refuses a filter by the
// zero ID or by an unknown status.
func (s *Service) ListLocks(ctx context.Context, f holdfast.LockFilter, page holdfast.Page) ([]holdfast.Lock, string, error) {
	if err := f.Check(); err != nil {
		return nil, "", err
	}
	return s.store.Locks(ctx, f, page)
}

// ErrEventExists means that an event with the requested ID exists.
var ErrEventExists error = store.ErrEventExists

// CreateEvent is CreateEventOnce without a key.
func (s *Service) CreateEvent(ctx context.Context, n holdfast.NewEvent) (holdfast.Event, error) {
	e, _, err := s.CreateEventOnce(ctx, n, holdfast.CreationKey{})
	return e, err
}

// CreateEventOnce puts an event on sale with all its seats. Without an EventDate the event
// has no date. replayed reports that an earlier
// request with the same key created the event, which is returned in its present state. It refuses with
// IDEMPOTENCY_KEY_REUSED or SEATING_PLAN_NOT_FOUND, or fails with ErrEventExists. After OUTCOME_UNKNOWN the event may
// exist; the same request with the same key returns it.
func (s *Service) CreateEventOnce(
	ctx context.Context, n holdfast.NewEvent, key holdfast.CreationKey,
) (e holdfast.Event, replayed bool, err error) {
	n.ShopData = n.OwnShopData() // the caller may change it after the check
	hash := n.Hash()
	sections, err := s.seat(ctx, &n)
	if err != nil {
		return holdfast.Event{}, false, err
	}
	late := holdfast.DefaultLatePayments()
	if n.LatePayments != nil {
		late = *n.LatePayments
	}
	given := holdfast.EventChange{
		Name: &n.Name, TotalSeats: &n.TotalSeats, MaxSeatsPerUser: &n.MaxSeatsPerUser, LatePayments: &late.Policy, LateSeconds: &late.Seconds,
	}
	list := holdfast.DefaultWaitlist()
	if w := n.Waitlist; w != nil {
		list = holdfast.Waitlist{Status: w.Status, OfferSeconds: w.OfferSeconds, Fit: w.Fit, HasBegun: w.Status != holdfast.WaitlistClosed}
	}
	given.Waitlist, given.OfferSeconds, given.WaitlistFit = &list.Status, &list.OfferSeconds, &list.Fit
	if !n.EventDate.IsZero() {
		given.EventDate = &n.EventDate
	}
	n.SaleStartsAt, n.SaleEndsAt = holdfast.Instant(n.SaleStartsAt), holdfast.Instant(n.SaleEndsAt)
	given.SaleStartsAt, given.SaleEndsAt = &n.SaleStartsAt, &n.SaleEndsAt
	if err := checkChange(given); err != nil {
		return holdfast.Event{}, false, err
	}
	if err := holdfast.CheckText("body.idempotencyKey", key.Key, holdfast.MaxKeyLength); err != nil {
		return holdfast.Event{}, false, err
	}
	if err := n.CheckShopData("body"); err != nil {
		return holdfast.Event{}, false, err
	}
	now := s.now().UTC().Truncate(time.Millisecond)
	e = holdfast.Event{
		ID: n.ID, Name: n.Name, TotalSeats: n.TotalSeats, AvailableSeats: n.TotalSeats, EventDate: holdfast.Instant(n.EventDate),
		Status: holdfast.OnSale, MaxSeatsPerUser: n.MaxSeatsPerUser, CreatedAt: now, UpdatedAt: now,
		Seating: n.Seating, Sections: sections, LatePayments: late, Waitlist: list, SaleStartsAt: n.SaleStartsAt, SaleEndsAt: n.SaleEndsAt,
		ShopData: n.ShopData,
	}
	if e.ID.IsZero() {
		e.ID = mongodb.NewID()
	}
	id, replayed, err := s.store.CreateEvent(ctx, e, key, hash)
	switch {
	case err != nil:
		return holdfast.Event{}, false, err
	case replayed:
		e, err = s.store.Event(ctx, id)
	}
	return e, replayed, err
}

// UpdateEvent changes an event, even during its sale. Taken seats stay taken. It refuses
// with EVENT_NOT_FOUND, SEATING_PLAN_NOT_FOUND, CAPACITY_BELOW_TAKEN, or EVENT_NOT_ON_SALE if a
// cancelled event is to sell again.
//
// A new seating plan must have every seat and every area of general admission that is taken. A capacity that
// the event has set stays if the new plan has the section and the capacity suffices. Sections apply to the new plan.
func (s *Service) UpdateEvent(ctx context.Context, id ID, c holdfast.EventChange) (holdfast.Event, error) {
	c = c.Clone() // the caller may change its values after the check
	for _, t := range []*time.Time{c.SaleStartsAt, c.SaleEndsAt} {
		if t != nil {
			*t = holdfast.Instant(*t)
		}
	}
	if err := checkChange(c); err != nil {
		return holdfast.Event{}, err
	}
	if err := s.findPlan(ctx, id, c); err != nil {
		return holdfast.Event{}, err
	}
	result, err := s.pipeline.Change(ctx, id, inventory.ChangeEvent{EventChange: c})
	if c.SeatingPlanID != nil {
		s.planIDs.forget(id)
	}
	return orZero(result.Event).Answer(), err
}

// DeleteEvent removes an event that has no lock, in any status, no blocked seat and no booking. It refuses with
// EVENT_NOT_FOUND, also if an earlier call without an answer has removed it, or with EVENT_HAS_LOCKS.
func (s *Service) DeleteEvent(ctx context.Context, id ID) error {
	return s.store.DeleteEvent(ctx, id)
}

// checkChange refuses values that an event can't have.
func checkChange(c holdfast.EventChange) error {
	if c.Name != nil {
		if err := holdfast.CheckName("body.name", *c.Name); err != nil {
			return err
		}
	}
	if err := checkTimes(c); err != nil {
		return err
	}
	if n := c.TotalSeats; n != nil && (*n < 1 || *n > holdfast.MaxSeats) {
		return holdfast.RefuseInput("body.totalSeats", "totalSeats must be between 1 and %d.", holdfast.MaxSeats)
	}
	if n := c.MaxSeatsPerUser; n != nil && (*n < 0 || *n > holdfast.MaxSeats) {
		return holdfast.RefuseInput("body.maxSeatsPerUser", "maxSeatsPerUser must be between 1 and %d, or 0 for no limit.", holdfast.MaxSeats)
	}
	if r := c.OrphanRule; r != nil && !slices.Contains(holdfast.OrphanRules(), *r) {
		return holdfast.RefuseInput("body.orphanRule", "orphanRule must be ALLOW or REFUSE.")
	}
	if p := c.AccessiblePolicy; p != nil && !slices.Contains(holdfast.AccessiblePolicies(), *p) {
		return holdfast.RefuseInput("body.accessiblePolicy", "accessiblePolicy must be RESERVED or OPEN.")
	}
	if p := c.LatePayments; p != nil && !slices.Contains(holdfast.LatePaymentPolicies(), *p) {
		return holdfast.RefuseInput("body.latePayments", "latePayments must be REFUSE or ACCEPT.")
	}
	if n := c.LateSeconds; n != nil && (*n < 0 || *n > holdfast.MaxLatePaymentSeconds) {
		return holdfast.RefuseInput("body.latePaymentSeconds", "latePaymentSeconds must be between 0 and %d.", holdfast.MaxLatePaymentSeconds)
	}
	if p := c.SeatingPlanID; p != nil && p.IsZero() {
		return holdfast.RefuseInput("body.seatingPlanId", "The ID must not be all zeros. Give the ID of a seating plan.")
	}
	if err := c.CheckWaitlist(); err != nil {
		return err
	}
	if err := checkSections(c.Sections); err != nil {
		return err
	}
	if err := c.ShopData.Check("body"); err != nil {
		return err
	}
	if s := c.Status; s != nil && !slices.Contains(holdfast.EventStatuses(), *s) {
		return holdfast.RefuseInput("body.status", "status must be ON_SALE, CLOSED or CANCELLED.")
	}
	return nil
}

// checkTimes refuses times that an event can't have.
func checkTimes(c holdfast.EventChange) error {
	for _, f := range []struct {
		where string
		t     *time.Time
	}{{"body.eventDate", c.EventDate}, {"body.saleStartsAt", c.SaleStartsAt}, {"body.saleEndsAt", c.SaleEndsAt}} {
		if f.t == nil {
			continue
		}
		if err := holdfast.CheckTime(f.where, *f.t); err != nil {
			return err
		}
	}
	if err := c.CheckSale(holdfast.Event{}); err != nil { // a single one is compared with the event's other one
		return err
	}
	return nil
}

// checkSections refuses capacities that no section can have, and sections that are named twice.
func checkSections(sections []holdfast.SectionCapacity) error {
	if len(sections) > holdfast.MaxPlanSections {
		return holdfast.RefuseInput("body.sections", "sections must have at most %d items.", holdfast.MaxPlanSections)
	}
	seen := make(map[string]bool, len(sections))
	for i, s := range sections {
		if s.Capacity < 1 || s.Capacity > holdfast.MaxSeats {
			return holdfast.RefuseInput(holdfast.SectionField(i, "capacity"), "capacity must be between 1 and %d.", holdfast.MaxSeats)
		}
		if seen[s.Key] {
			return holdfast.RefuseInput(holdfast.SectionField(i, "key"), "The section is named twice. Name it once.")
		}
		seen[s.Key] = true
	}
	return nil
}

// GetEvent returns an event, or EVENT_NOT_FOUND.
func (s *Service) GetEvent(ctx context.Context, id ID) (holdfast.Event, error) {
	return s.store.Event(ctx, id)
}

// ListEvents lists events, as the filter orders them, and the token of the next page, which is for the same filter. It refuses
// a filter with an unknown status.
func (s *Service) ListEvents(ctx context.Context, f holdfast.EventFilter, page holdfast.Page) ([]holdfast.Event, string, error) {
	if err := f.Check(); err != nil {
		return nil, "", err
	}
	return s.store.Events(ctx, f, page)
}

// orZero is the document of a result, or the zero value after a refusal.
func orZero[T any](of *T) (value T) {
	if of != nil {
		value = *of
	}
	return value
}
