package store

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// unionPage is the number of locks in one read of a union.
const unionPage = 5000

// SeatedEvents returns the events with a seating plan, of a scope.
func (s *Store) SeatedEvents(ctx context.Context, scope Scope) ([]ID, error) {
	filters := []bson.D{{{Key: planField, Value: bson.D{{Key: "$type", Value: "objectId"}}}}, namedByUs}
	if scope == Unsealed {
		filters = append(filters, mongodb.Is(sealFlag, nil))
	}
	docs, err := mongodb.All[struct {
		ID ID `bson:"_id"`
	}](ctx, s.events(), mongo.Pipeline{mongodb.Match(filters...), mongodb.Only("_id")})
	found := make([]ID, 0, len(docs))
	for _, d := range docs {
		found = append(found, d.ID)
	}
	return found, mongodb.Translate(err)
}

// MeasureSeats compares the map of an event with its locks, at one snapshot.
func (s *Store) MeasureSeats(ctx context.Context, id ID) (inventory.State, error) {
	return s.Load(ctx, id, inventory.Needs{Event: true, Seats: true, Union: true})
}

// loadUnion reads an event with its map, and all of its locks that take seats, in one snapshot. A section
// whose map is damaged is as wrong as it can be, so that every repair writes it.
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
	state := found.state(n, s.shared())
	if state.Event == nil || state.Event.Seating.PlanID.IsZero() {
		state.Union = &inventory.Union{}
		return state, nil
	}
	if s.shared() {
		return state, errShared()
	}
	hall, err := s.hall(ctx, state.Event.Seating.PlanID)
	if err != nil {
		return state, err
	}
	if state.Union, err = s.union(ctx, eventID, found.Seats.empty(hall)); err != nil {
		return state, err
	}
	state.Union.NoMap = found.Seats.Map == nil
	state.Seats = found.Seats.orWrong(hall, state.Union.Seats)
	return state, nil
}

// union reads the locks of an event that take seats, and takes these in an occupancy that has none.
func (s *Store) union(ctx context.Context, eventID ID, free *seating.Occupancy) (*inventory.Union, error) {
	u, doubles := &inventory.Union{Seats: free}, map[string]bool{}
	taking := mongodb.And(mongodb.Is("eventId", eventID), mongodb.In("status", holdfast.TakingStatuses()))
	fields := mongodb.Keys("status", "seats", seatIDsField, sectionField)
	err := mongodb.Each(ctx, s.locks(), taking, fields, unionPage, func(doc bson.Raw) (l lockDoc) {
		if mongodb.Unmarshal(doc, &l) != nil {
			l = lockDoc{ID: mongodb.IDOf(doc, "_id")}
		}
		return l
	}, func(page []lockDoc) error {
		for _, d := range page {
			addToUnion(u, doubles, d.lock())
		}
		free.Settle()
		return nil
	})
	return u, err
}

// addToUnion takes the seats of a lock. One that does not say where all its seats are is not placed.
func addToUnion(u *inventory.Union, doubles map[string]bool, lock holdfast.Lock) {
	hall, isPlaced := u.Seats.Hall(), len(lock.SeatIDs) == int(lock.Seats) && lock.Seats > 0
	for _, id := range lock.SeatIDs {
		at, found := hall.Find(id)
		isPlaced = isPlaced && found
		if found && !u.Seats.Take(at) && !doubles[id] {
			doubles[id] = true
			u.Doubles = append(u.Doubles, id)
		}
	}
	if section, found := hall.FindSection(lock.Section); found && hall.Sections()[section].GeneralAdmission() {
		isPlaced = len(lock.SeatIDs) == 0 && lock.Seats > 0
		u.Seats.AddGeneral(section, lock.Seats)
	}
	if !isPlaced {
		u.Unplaced = append(u.Unplaced, lock.ID)
	}
	if lock.Status == holdfast.LockBlocked {
		u.Blocked += lock.Seats
	}
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
