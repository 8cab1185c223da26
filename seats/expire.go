package seats

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// DueLock is a lock whose time has passed, as the sweep finds it.
type DueLock struct {
	ID, EventID ID
	ExpiresAt   time.Time
	// Poison: its seats are no whole number ≥ 1; it is never ended by a sweep.
	Poison bool
}

// After is a place in the order (expiry, ID) of a sweep's pages.
type After struct {
	At time.Time
	ID ID
}

// Filter continues an ascending order by field and _id behind the place.
func (a After) Filter(field string) bson.D {
	if a == (After{}) {
		return nil
	}
	return bson.D{
		{Key: field, Value: bson.D{{Key: "$gte", Value: a.At}}},
		{Key: "$or", Value: bson.A{
			bson.D{{Key: field, Value: bson.D{{Key: "$gt", Value: a.At}}}},
			bson.D{{Key: field, Value: a.At}, {Key: "_id", Value: bson.D{{Key: "$gt", Value: a.ID}}}},
		}},
	}
}

// DueLocks returns up to limit ACTIVE locks that are due, in the order of their
// expiry, behind a place.
func (s *Service) DueLocks(ctx context.Context, after After, limit int) ([]DueLock, error) {
	docs, err := mongodb.All[lockDoc](ctx, s.locks(), mongo.Pipeline{
		mongodb.Match(mongodb.Is("status", string(Active)), due, after.Filter("expiresAt")),
		mongodb.Sort("expiresAt", "_id"),
		mongodb.Limit(limit),
	})
	if err != nil {
		return nil, mongodb.Translate(err)
	}
	found := make([]DueLock, 0, len(docs))
	for _, d := range docs {
		found = append(found, DueLock{d.ID, d.EventID, d.ExpiresAt.Time, !d.Seats.Valid || d.Seats.N < 1})
	}
	return found, nil
}

// Ended is a lock that a sweep expired.
type Ended struct {
	ID    ID
	Seats int64
}

// Swept is what one transaction of a sweep did.
type Swept struct {
	Ended []Ended
	// Busy: others wrote the event since the sweep's transaction before. A sweep
	// that has more to do on it leaves them some room.
	Busy bool
}

// Expire ends locks of one event and gives their seats back, in one transaction
// that writes the event first. choose, called after that, names the locks to end;
// of these, the ones that are ACTIVE and have whole seats are ended. It composes
// into a caller's transaction, and fails with CodeEventNotFound if there is no
// such event.
func (s *Service) Expire(ctx context.Context, eventID ID, by EndedBy, runID string, choose func(context.Context) ([]ID, error)) (Swept, error) {
	return s.expire(ctx, eventID, ending{By: by, RunID: runID}, func(ctx context.Context) ([]lockDoc, error) {
		lockIDs, err := choose(ctx)
		if err != nil || len(lockIDs) == 0 {
			return nil, err
		}
		return s.toEnd(ctx, 0, mongodb.In("_id", lockIDs), mongodb.Is("eventId", eventID))
	})
}

// ExpireDue is Expire for locks found by DueLocks: of these, it ends the ones
// that are still due by the database's clock. upTo above their number means that
// the event has more: its due locks are then ended, oldest first, up to so many.
func (s *Service) ExpireDue(ctx context.Context, eventID ID, lockIDs []ID, upTo int, by EndedBy, runID string) (Swept, error) {
	return s.expire(ctx, eventID, ending{By: by, RunID: runID}, func(ctx context.Context) ([]lockDoc, error) {
		if upTo > len(lockIDs) {
			return s.toEnd(ctx, upTo, mongodb.Is("eventId", eventID), due)
		}
		return s.toEnd(ctx, 0, mongodb.In("_id", lockIDs), mongodb.Is("eventId", eventID), due)
	})
}

// toEnd reads what a sweep needs of ACTIVE locks with whole seats; with a limit,
// the oldest by expiry.
func (s *Service) toEnd(ctx context.Context, limit int, filters ...bson.D) ([]lockDoc, error) {
	pipeline := mongo.Pipeline{mongodb.Match(append(filters, mongodb.Is("status", string(Active)))...), mongodb.Match(withWholeSeats)}
	if limit > 0 {
		pipeline = append(pipeline, mongodb.Sort("expiresAt", "_id"), mongodb.Limit(limit))
	}
	return mongodb.All[lockDoc](ctx, s.locks(), append(pipeline, mongodb.Only("seats")))
}

// expire ends the locks that choose reads, in a transaction that writes the
// event before that.
func (s *Service) expire(ctx context.Context, eventID ID, by ending, choose func(context.Context) ([]lockDoc, error)) (Swept, error) {
	return mongodb.InTx(ctx, s.db, func(ctx context.Context) (Swept, error) {
		event, found, err := s.touch(ctx, eventID)
		if err != nil {
			return Swept{}, err
		}
		if !found {
			return Swept{}, eventNotFound()
		}
		docs, err := choose(ctx)
		if err != nil || len(docs) == 0 {
			return Swept{}, err
		}
		ended, err := s.expireAll(ctx, event, docs, by)
		if err != nil {
			return Swept{}, err
		}
		busy := event.SweptRev.Valid && event.Rev.N > event.SweptRev.N+1
		return Swept{ended, busy}, s.noteSweep(ctx, event.ID, by.RunID)
	})
}

// noteSweep keeps the run's ID, and the event's rev after a sweep's transaction,
// by which the next one sees whether others write it too.
func (s *Service) noteSweep(ctx context.Context, id ID, runID string) error {
	_, err := s.events().UpdateOne(ctx, mongodb.Is("_id", id),
		mongo.Pipeline{{{Key: "$set", Value: bson.D{{Key: "sweptRev", Value: "$rev"}, {Key: "runId", Value: runID}}}}})
	return err
}

func (s *Service) expireAll(ctx context.Context, event eventDoc, docs []lockDoc, by ending) ([]Ended, error) {
	counter := event.tally()
	ended, lockIDs := make([]Ended, 0, len(docs)), make([]ID, 0, len(docs))
	for _, d := range docs {
		counter.give(d.Seats.N)
		ended, lockIDs = append(ended, Ended{d.ID, d.Seats.N}), append(lockIDs, d.ID)
	}
	sound := event.sound() && counter.sound()
	if sound {
		if err := s.moveCounter(ctx, event, counter); err != nil {
			return nil, err
		}
	}
	if err := s.endLocks(ctx, lockIDs, Active, Expire, by); err != nil {
		return nil, err
	}
	if !sound { // the counter was wrong already: what the locks say holds
		if err := s.recount(ctx, event.ID, by.RunID); err != nil {
			return nil, err
		}
	}
	return ended, nil
}

// oldestDue reads an event's due locks that have whole seats, oldest first.
func (s *Service) oldestDue(ctx context.Context, eventID ID, limit int) ([]lockDoc, error) {
	return s.toEnd(ctx, limit, mongodb.Is("eventId", eventID), due)
}

// Claims returns those of the locks that exist, each with the database's time.
func (s *Service) Claims(ctx context.Context, lockIDs []ID) (map[ID]Claim, error) {
	docs, err := s.readLocks(ctx, mongodb.In("_id", lockIDs))
	claims := make(map[ID]Claim, len(docs))
	for id, d := range docs {
		claims[id] = Claim{d.lock(), d.Now.Time}
	}
	return claims, err
}

// ConsumeSold marks a lock sold whose booking is confirmed, due or not, in the
// caller's transaction. A lock that has ended meanwhile makes it start again.
func (s *Service) ConsumeSold(ctx context.Context, id ID, runID string) error {
	return s.endLocks(ctx, []ID{id}, Active, Consume, ending{RunID: runID})
}
