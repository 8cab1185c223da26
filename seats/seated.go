package seats

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/seats/inventory"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// MaxBlockedAtOnce bounds the seats of one block.
const MaxBlockedAtOnce = 10_000

// seat completes a request for an event. A seated event gets the seats of its plan, and the default for each rule
// that it does not name. It returns the capacities of general admission.
func (s *Service) seat(ctx context.Context, n *holdfast.NewEvent) ([]holdfast.SectionCapacity, error) {
	rules := &n.Seating
	switch {
	case rules.PlanID.IsZero() && len(n.Sections) > 0:
		return nil, holdfast.RefuseInput("body.sections", "sections needs a seatingPlanId. Give it, or leave sections out.")
	case rules.PlanID.IsZero():
		return nil, checkRules(*rules)
	case n.TotalSeats != 0:
		return nil, holdfast.RefuseInput("body.totalSeats", "Give either totalSeats or seatingPlanId, not both.")
	}
	rules.OrphanRule = cmp.Or(rules.OrphanRule, holdfast.OrphansAllowed)
	rules.AccessiblePolicy = cmp.Or(rules.AccessiblePolicy, holdfast.AccessibleReserved)
	if err := cmp.Or(checkRules(*rules), checkSections(n.Sections)); err != nil {
		return nil, err
	}
	hall, err := s.plans.Hall(ctx, rules.PlanID)
	if err != nil {
		return nil, err
	}
	free := seating.NewOccupancy(hall)
	for i, section := range n.Sections {
		at, found := hall.FindSection(section.Key)
		if !found || !hall.Sections()[at].GeneralAdmission() {
			return nil, holdfast.RefuseInput(holdfast.SectionField(i, "key"), "The plan has no such section of general admission.")
		}
		free.SetCapacity(at, section.Capacity)
	}
	n.TotalSeats = free.Total()
	return free.Capacities(), nil
}

// checkRules refuses invalid rules. Empty rules are the defaults.
func checkRules(rules holdfast.Seating) error {
	return checkChange(holdfast.EventChange{
		OrphanRule:       new(cmp.Or(rules.OrphanRule, holdfast.OrphansAllowed)),
		AccessiblePolicy: new(cmp.Or(rules.AccessiblePolicy, holdfast.AccessibleReserved)),
	})
}

// findPlan compiles the plan that an event is to have, before a transaction holds the event. It refuses with
// EVENT_NOT_FOUND, SEATING_PLAN_NOT_FOUND, or VALIDATION_FAILED for an event without a plan.
func (s *Service) findPlan(ctx context.Context, eventID ID, c holdfast.EventChange) error {
	if c.SeatingPlanID == nil {
		return nil
	}
	e, err := s.store.Event(ctx, eventID)
	if err != nil || e.Seating.PlanID.IsZero() {
		return err // the decision refuses an event without a plan
	}
	_, err = s.plans.Hall(ctx, *c.SeatingPlanID)
	return err
}

// ChangeSeats replaces the seats of a lock by all seats of the wish, or leaves the lock as it is. seats is the
// number of seats, or 0 if the wish names them. It refuses with LOCK_NOT_FOUND, LOCK_EXPIRED,
// LOCK_CONSUMED, LOCK_RELEASED, LOCK_HAS_BOOKING, SEAT_LIMIT_REACHED, EVENT_NOT_ON_SALE,
// SEATS_UNAVAILABLE, SEATS_NOT_ADJACENT, SEAT_ORPHANED or VALIDATION_FAILED. After OUTCOME_UNKNOWN the
// same request may be sent again.
func (s *Service) ChangeSeats(ctx context.Context, id ID, seats int64, wish holdfast.Wish) (holdfast.Lock, error) {
	wish = wish.Clone()
	seats, err := wish.Count(seats)
	if err != nil {
		return holdfast.Lock{}, err
	}
	lock, err := s.store.Lock(ctx, id)
	if err != nil {
		return holdfast.Lock{}, err
	}
	result, err := s.pipeline.Submit(ctx, lock.EventID, inventory.ChangeSeats{LockID: id, Seats: seats, Wish: wish})
	return orZero(result.Lock), err
}

// BlockSeats takes seats out of sale, all of them or none, and returns how many seats of the event are
// blocked. Seats that are blocked already stay so. It refuses with EVENT_NOT_FOUND, SEATS_UNAVAILABLE or
// VALIDATION_FAILED.
func (s *Service) BlockSeats(ctx context.Context, eventID ID, seatIDs []string) (blocked int64, err error) {
	if err := checkBlock(seatIDs); err != nil {
		return 0, err
	}
	result, err := s.pipeline.Submit(ctx, eventID, inventory.Block{SeatIDs: slices.Clone(seatIDs), LockID: mongodb.NewID()})
	return orZero(result.Event).Seating.BlockedSeats, err
}

// UnblockSeats puts blocked seats on sale again, and returns how many seats of the event are still
// blocked. Seats that are not blocked stay as they are. It refuses with EVENT_NOT_FOUND or
// VALIDATION_FAILED.
func (s *Service) UnblockSeats(ctx context.Context, eventID ID, seatIDs []string) (blocked int64, err error) {
	if err := checkBlock(seatIDs); err != nil {
		return 0, err
	}
	result, err := s.pipeline.Submit(ctx, eventID, inventory.Unblock{SeatIDs: slices.Clone(seatIDs)})
	return orZero(result.Event).Seating.BlockedSeats, err
}

func checkBlock(seatIDs []string) error {
	if n := len(seatIDs); n < 1 || n > MaxBlockedAtOnce {
		return holdfast.RefuseInput("body.seatIds", "seatIds must have between 1 and %d items.", MaxBlockedAtOnce)
	}
	return nil
}

// SeatMap is the occupancy of a seated event at one revision.
type SeatMap = store.SeatMap

// SeatMap reads the map of a seated event, in its state at the call or later, because concurrent callers share
// a read. It refuses with EVENT_NOT_FOUND, or VALIDATION_FAILED for an event without a plan.
func (s *Service) SeatMap(ctx context.Context, eventID ID) (SeatMap, error) {
	return s.maps.get(ctx, eventID, func(ctx context.Context) (SeatMap, error) {
		m, _, err := s.SeatsAt(ctx, eventID)
		return m, err
	})
}

// SeatsAt reads the map of a seated event, and the Seq of that state (see store.Change). A map that can't be read is first
// computed from the locks: an event that other software has written has none. It refuses like SeatMap.
func (s *Service) SeatsAt(ctx context.Context, eventID ID) (SeatMap, int64, error) {
	m, seq, err := s.store.SeatsAt(ctx, eventID)
	if !errors.Is(err, store.ErrMap) {
		return m, seq, err
	}
	if cause := s.pipeline.MendSeats(ctx, eventID); cause != nil {
		return m, seq, errors.Join(err, cause)
	}
	return s.store.SeatsAt(ctx, eventID)
}

func errNoPlan() error { return holdfast.RefuseInput("path.id", "The event has no seating plan.") }

// Seat returns a seat and the lock that has it. It refuses with EVENT_NOT_FOUND, SEAT_NOT_FOUND, or VALIDATION_FAILED
// for an event without a plan.
func (s *Service) Seat(ctx context.Context, eventID ID, seatID string) (holdfast.SeatHolder, error) {
	e, err := s.store.Event(ctx, eventID)
	if err != nil {
		return holdfast.SeatHolder{}, err
	}
	if e.Seating.PlanID.IsZero() {
		return holdfast.SeatHolder{}, errNoPlan()
	}
	hall, err := s.plans.Hall(ctx, e.Seating.PlanID)
	if err != nil {
		return holdfast.SeatHolder{}, err
	}
	at, found := hall.Find(seatID)
	if !found {
		return holdfast.SeatHolder{}, holdfast.NotFound(holdfast.CodeSeatNotFound)
	}
	holder, err := s.store.SeatHolder(ctx, eventID, seatID)
	holder.Place = placeOf(hall, at)
	return holder, err
}

// Places returns the places of the seats of a lock or a booking, in plan order; none in an unseated event. A
// seat that the plan does not have is last, with its ID alone.
func (s *Service) Places(ctx context.Context, eventID ID, seatIDs []string, section string) ([]holdfast.Place, error) {
	if len(seatIDs) == 0 && section == "" {
		return nil, nil
	}
	hall, err := s.hallOf(ctx, eventID)
	if err != nil || hall == nil {
		return nil, err
	}
	if !hasAll(hall, seatIDs) { // the plan may have changed
		s.planIDs.forget(eventID)
		if hall, err = s.hallOf(ctx, eventID); err != nil || hall == nil {
			return nil, err
		}
	}
	return placesIn(hall, seatIDs, section), nil
}

// PlacesIn is Places in a certain plan.
func (s *Service) PlacesIn(ctx context.Context, planID ID, seatIDs []string, section string) ([]holdfast.Place, error) {
	if planID.IsZero() || len(seatIDs) == 0 && section == "" {
		return nil, nil
	}
	hall, err := s.plans.Hall(ctx, planID)
	if err != nil {
		return nil, err
	}
	return placesIn(hall, seatIDs, section), nil
}

func placesIn(hall *seating.Hall, seatIDs []string, section string) []holdfast.Place {
	if len(seatIDs) == 0 {
		return generalPlaces(hall, section)
	}
	var found []seating.Place
	var unknown []holdfast.Place
	for _, id := range seatIDs {
		if at, ok := hall.Find(id); ok {
			found = append(found, at)
		} else {
			unknown = append(unknown, holdfast.Place{SeatID: id})
		}
	}
	slices.SortFunc(found, seating.Place.Compare)
	places := make([]holdfast.Place, 0, len(seatIDs))
	for _, at := range found {
		places = append(places, placeOf(hall, at))
	}
	return append(places, unknown...)
}

func hasAll(hall *seating.Hall, seatIDs []string) bool {
	return !slices.ContainsFunc(seatIDs, func(id string) bool {
		_, found := hall.Find(id)
		return !found
	})
}

func generalPlaces(hall *seating.Hall, key string) []holdfast.Place {
	place := holdfast.Place{Section: key}
	if n, ok := hall.FindSection(key); ok {
		place.Category = hall.Categories()[hall.Sections()[n].Category]
	}
	return []holdfast.Place{place}
}

func placeOf(hall *seating.Hall, at seating.Place) holdfast.Place {
	seat, row := hall.Seat(at), hall.Row(at)
	return holdfast.Place{
		SeatID: seat.ID, Section: hall.Sections()[at.Section].Key, Row: row.Label, Label: seat.Label, Category: hall.Categories()[seat.Category],
	}
}

// planTTL is how long the plan of an event is cached for answers. A new plan has every seat that a lock
// has, but perhaps in another row; other processes notice the new plan within this time.
const planTTL = 10 * time.Second

// maxPlans bounds the cached plans. A plan that was evicted costs a read.
const maxPlans = 10_000

// planCache caches the plans of events.
type planCache struct {
	mu     sync.Mutex
	plans  map[ID]ID
	oldest time.Time // when the oldest entry was read
}

// hallOf returns the hall of an event; nil if the event is unseated, or there is none.
func (s *Service) hallOf(ctx context.Context, eventID ID) (*seating.Hall, error) {
	planID, known := s.planIDs.recall(eventID, s.now())
	if !known {
		e, err := s.store.Event(ctx, eventID)
		if err != nil && !holdfast.IsNotFound(err) {
			return nil, err
		}
		planID = e.Seating.PlanID
		s.planIDs.keep(eventID, planID, s.now())
	}
	if planID.IsZero() {
		return nil, nil //nolint:nilnil // an unseated event has none
	}
	hall, err := s.plans.Hall(ctx, planID)
	if holdfast.IsNotFound(err) { // other software removed it
		return nil, nil //nolint:nilnil // nothing is known of the places
	}
	return hall, err
}

func (c *planCache) recall(eventID ID, now time.Time) (planID ID, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.oldest) > planTTL {
		c.plans = nil
	}
	planID, known = c.plans[eventID]
	return planID, known
}

func (c *planCache) forget(eventID ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.plans, eventID)
}

func (c *planCache) keep(eventID, planID ID, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.plans == nil || len(c.plans) >= maxPlans {
		c.plans, c.oldest = map[ID]ID{}, now
	}
	c.plans[eventID] = planID
}
