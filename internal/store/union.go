package store

import (
	"context"
	"errors"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// unionPage is the number of locks in one read of a union.
const unionPage = 5000

// SeatedEvents returns the events of a scope that have a seating plan. lost are the events that have lost theirs,
// because they still have a map.
func (s *Store) SeatedEvents(ctx context.Context, scope Scope) (seated, lost []ID, err error) {
	exists := bson.D{{Key: "$exists", Value: true}}
	hasSeats := mongodb.Is("$or", bson.A{mongodb.Is(planField, exists), mongodb.Is(mapName, exists)})
	docs, err := mongodb.All[struct {
		ID   ID `bson:"_id"`
		Plan ID `bson:"seatingPlanId"`
	}](ctx, s.events(), mongo.Pipeline{mongodb.Match(hasSeats, scope.filter(), eventSchema), mongodb.Only(planField)})
	for _, d := range docs {
		if d.Plan.IsZero() {
			lost = append(lost, d.ID)
		} else {
			seated = append(seated, d.ID)
		}
	}
	return seated, lost, mongodb.Translate(err)
}

// WithSeatLocks returns the given events that have locks which take seats of a plan.
func (s *Store) WithSeatLocks(ctx context.Context, eventIDs []ID) (found []ID, err error) {
	ofAPlan := mongodb.Is("$or", bson.A{
		mongodb.Is(seatIDsField, bson.D{{Key: "$type", Value: "string"}}), mongodb.Is("section", bson.D{{Key: "$gt", Value: ""}}),
	})
	const atOnce = 1000
	for some := range slices.Chunk(eventIDs, atOnce) {
		taking := mongodb.And(mongodb.In("eventId", some), mongodb.In("status", holdfast.TakingStatuses()), ofAPlan)
		docs, err := mongodb.All[struct {
			ID ID `bson:"_id"`
		}](ctx, s.locks(), mongo.Pipeline{mongodb.Match(taking), {{Key: "$group", Value: mongodb.Is("_id", "$eventId")}}})
		if err != nil {
			return nil, mongodb.Translate(err)
		}
		for _, d := range docs {
			found = append(found, d.ID)
		}
	}
	return found, nil
}

// MeasureSeats reads an event with its map and the seats that its locks take, at one snapshot, and more.
func (s *Store) MeasureSeats(ctx context.Context, id ID, more inventory.Needs) (inventory.State, error) {
	return s.Load(ctx, id, more.And(inventory.Needs{Event: true, Seats: true, Union: true}))
}

// MeasureSeatsIn reads an event with its map, and the seats that its locks take in the hall of another plan, at one
// snapshot, and more. It refuses with CodeSeatingPlanNotFound.
func (s *Store) MeasureSeatsIn(ctx context.Context, id, planID ID, more inventory.Needs) (inventory.State, error) {
	return s.Load(ctx, id, more.And(inventory.Needs{Event: true, Seats: true, Union: true, UnionIn: planID}))
}

// loadUnion reads an event with its map, and all of its locks that take seats, in one snapshot. It replaces a
// damaged section of the map by one with every seat wrong, so that every repair writes the section. If the union is
// for the hall of another plan, the plan of the map may no longer exist: then the result has no map.
func (s *Store) loadUnion(ctx context.Context, eventID ID, n inventory.Needs) (inventory.State, error) {
	if mongo.SessionFromContext(ctx) == nil {
		return mongodb.AtSnapshot(ctx, s.db, func(ctx context.Context) (inventory.State, error) {
			return s.loadUnion(ctx, eventID, n)
		})
	}
	found := loaded{}
	if err := s.loadEach(ctx, eventID, n, &found); err != nil {
		return inventory.State{}, err
	}
	state := found.state(n)
	if state.Event == nil || state.Event.Seating.PlanID.IsZero() {
		state.Union = &inventory.Union{}
		return state, nil
	}
	if n.UnionIn.IsZero() {
		return state, s.unionOf(ctx, &state, found.Seats)
	}
	return state, s.unionIn(ctx, n.UnionIn, &state, found.Seats)
}

// unionOf makes the union for the present plan.
func (s *Store) unionOf(ctx context.Context, state *inventory.State, read seatsDoc) error {
	hall, err := s.hall(ctx, state.Event.Seating.PlanID)
	if err != nil {
		return err
	}
	if state.Union, err = s.union(ctx, state.Event.ID, read.empty(hall)); err != nil {
		return err
	}
	state.Union.PlanID, state.Union.NoMap = state.Event.Seating.PlanID, read.Map == nil
	state.Seats = read.orWrong(hall, state.Union.Seats)
	return nil
}

// unionIn makes the union for the hall of another plan, with the plan's capacities. It leaves out a present map that
// can't be read, unless the map is of the same plan.
func (s *Store) unionIn(ctx context.Context, planID ID, state *inventory.State, read seatsDoc) error {
	hall, err := s.halls(mongodb.WithoutTx(ctx), planID)
	if err != nil {
		return err
	}
	if state.Union, err = s.union(ctx, state.Event.ID, seating.NewOccupancy(hall)); err != nil {
		return err
	}
	state.Union.PlanID = planID
	state.Seats, err = s.seatsOf(ctx, *state.Event, read, Known{})
	if errors.Is(err, ErrUnusable) && state.Event.Seating.PlanID != planID {
		return nil
	}
	return err
}

// union reads the locks of an event that take seats, and marks their seats in an empty occupancy. Memory does not
// grow with the number of locks, unless they contradict each other. A lock that is corrupt counts no seats: it is read
// as corrupt, or it is known to be.
func (s *Store) union(ctx context.Context, eventID ID, free *seating.Occupancy) (*inventory.Union, error) {
	u, isCorrupt := unionMaker{Union: &inventory.Union{Seats: free}}, s.corruptLocks()
	taking := mongodb.And(mongodb.Is("eventId", eventID), mongodb.In("status", holdfast.TakingStatuses()))
	var lock unionLock
	err := mongodb.EachRaw(ctx, s.locks(), taking, unionFields, unionPage, func(doc bson.Raw) error {
		lock.read(doc)
		if isCorrupt[lock.id] {
			lock.seats = 0
		}
		u.add(&lock)
		return nil
	})
	return u.Union, err
}

// unionMaker makes a union of locks, one after the other.
type unionMaker struct {
	*inventory.Union

	last seating.Place // that was found; the next seat of a lock is often the one behind it
}

// add marks the seats of a lock. If the lock does not say where all of its seats are, it is unplaced.
func (u *unionMaker) add(lock *unionLock) {
	hall, isPlaced := u.Seats.Hall(), len(lock.seatIDs) > 0 && lock.seats > 0
	for n, id := range lock.seatIDs {
		at, found := hall.FindAfter(u.last, id)
		isPlaced = isPlaced && found
		if !found {
			u.Missing = append(u.Missing, string(id))
			continue
		}
		u.last = at
		switch {
		case u.Seats.Take(at):
		case lock.namesEarlier(n):
			isPlaced = false
		case !slices.Contains(u.Doubles, string(id)):
			u.Doubles = append(u.Doubles, string(id))
		}
	}
	if len(lock.section) > 0 {
		isPlaced = u.addSection(lock)
	}
	u.Seats.Settle()
	u.Taken += lock.seats
	if !isPlaced {
		u.Unplaced = append(u.Unplaced, lock.id)
	}
	if string(lock.status) == string(holdfast.LockBlocked) {
		u.Blocked += lock.seats
	}
}

// addSection marks the seats of a lock that names a section.
func (u *unionMaker) addSection(lock *unionLock) (isPlaced bool) {
	hall, key := u.Seats.Hall(), string(lock.section)
	if section, found := hall.FindSection(key); found && hall.Sections()[section].GeneralAdmission() {
		u.Seats.AddGeneral(section, lock.seats)
		return lock.seats > 0
	}
	if !slices.Contains(u.MissingSections, key) {
		u.MissingSections = append(u.MissingSections, key)
	}
	return false
}
