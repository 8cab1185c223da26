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

// SeatedEvents returns the events with a seating plan, of a scope and of some others. lost are those that had one,
// as their map says, or another value in its place: other software has removed the plan, or does not mean ours.
func (s *Store) SeatedEvents(ctx context.Context, scope Scope, others []ID) (seated, lost []ID, err error) {
	exists := bson.D{{Key: "$exists", Value: true}}
	filters := []bson.D{mongodb.Is("$or", bson.A{mongodb.Is(planField, exists), mongodb.Is(mapName, exists)}), namedByUs}
	if scope == Unsealed {
		filters = append(filters, mongodb.Is("$or", bson.A{mongodb.Is(sealFlag, nil), mongodb.In("_id", others)}))
	}
	docs, err := mongodb.All[struct {
		ID   ID      `bson:"_id"`
		Plan planDoc `bson:"seatingPlanId"`
	}](ctx, s.events(), mongo.Pipeline{mongodb.Match(filters...), mongodb.Only(planField)})
	for _, d := range docs {
		if d.Plan.ID.IsZero() {
			lost = append(lost, d.ID)
		} else {
			seated = append(seated, d.ID)
		}
	}
	return seated, lost, mongodb.Translate(err)
}

// WithSeatLocks returns those of some events that have locks which take seats of a plan.
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

// MeasureSeats compares the map of an event with its locks, at one snapshot.
func (s *Store) MeasureSeats(ctx context.Context, id ID) (inventory.State, error) {
	return s.Load(ctx, id, inventory.Needs{Event: true, Seats: true, Union: true})
}

// MeasureSeatsIn reads an event with its map, and what its locks take in the hall of another plan, at one
// snapshot. It refuses with CodeSeatingPlanNotFound.
func (s *Store) MeasureSeatsIn(ctx context.Context, id, planID ID) (inventory.State, error) {
	return s.Load(ctx, id, inventory.Needs{Event: true, Seats: true, Union: true, UnionIn: planID})
}

// loadUnion reads an event with its map, and all of its locks that take seats, in one snapshot. A section
// whose map is damaged is as wrong as it can be, so that every repair writes it. If the union is to be made in
// the hall of another plan, the map may be that of no plan any more: then there is none.
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
	if err := s.loadSales(ctx, eventID, &found); err != nil {
		return inventory.State{}, err
	}
	if err := found.countable(); err != nil {
		return inventory.State{}, err
	}
	state := found.state(n, s.shared())
	if state.Event == nil || state.Event.Seating.PlanID.IsZero() {
		state.Union = &inventory.Union{}
		return state, nil
	}
	if s.shared() {
		return state, errShared()
	}
	if n.UnionIn.IsZero() {
		return state, s.unionOf(ctx, &state, found.Seats)
	}
	return state, s.unionIn(ctx, n.UnionIn, &state, found.Seats)
}

// unionOf is for the present plan.
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

// unionIn is for the hall of a plan, with the plan's capacities. A present map that can't be read is left out,
// unless it is of the same plan.
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
	if errors.As(err, new(RejectedEventError)) && state.Event.Seating.PlanID != planID {
		return nil
	}
	return err
}

// union reads the locks of an event that take seats, and takes these in an occupancy that has none. Memory does
// not grow with the number of locks, unless they contradict.
func (s *Store) union(ctx context.Context, eventID ID, free *seating.Occupancy) (*inventory.Union, error) {
	u := unionMaker{Union: &inventory.Union{Seats: free, Holders: map[string]int{}}}
	taking := mongodb.And(mongodb.Is("eventId", eventID), mongodb.In("status", holdfast.TakingStatuses()))
	var lock unionLock
	err := mongodb.EachRaw(ctx, s.locks(), taking, unionFields, unionPage, func(doc bson.Raw) error {
		lock.read(doc)
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

// add takes the seats of a lock. One that does not say where all its seats are is not placed.
func (u *unionMaker) add(lock *unionLock) {
	hall, isPlaced := u.Seats.Hall(), len(lock.seatIDs) == int(lock.seats) && lock.seats > 0
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
		case u.Holders[string(id)] == 0:
			u.Holders[string(id)] = 2
			u.Doubles = append(u.Doubles, string(id))
		default:
			u.Holders[string(id)]++
		}
	}
	if len(lock.section) > 0 {
		isPlaced = u.addSection(lock)
	}
	u.Seats.Settle()
	if u.Taken += lock.seats; lock.seats == 0 || u.Taken > mongodb.MaxWhole {
		u.Taken, u.Uneven = min(u.Taken, mongodb.MaxWhole), true
	}
	if !isPlaced {
		u.Unplaced = append(u.Unplaced, lock.id)
	}
	if string(lock.status) == string(holdfast.LockBlocked) {
		u.Blocked += lock.seats
	}
}

// addSection takes the seats of a lock that names a section.
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

// proveMap compares the map of a seated event with its locks. It returns "" if they agree.
func (s *Store) proveMap(ctx context.Context, eventID ID) (contradiction string, err error) {
	state, err := s.Load(ctx, eventID, inventory.Needs{Seats: true, Union: true})
	switch {
	case err != nil || state.Seats == nil: // it is not there any more, or has no plan any more
		return "", err
	case len(state.Union.Doubles) > 0:
		return "several of its locks have the same seat", nil
	case state.Seats.Become(state.Union.Seats) != 0 || state.Union.Blocked != state.Event.Seating.BlockedSeats:
		return "its map of seats does not agree with its locks", nil
	default:
		return "", nil
	}
}
