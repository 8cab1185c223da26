package seats

import (
	"context"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// Once an event is sold out, everybody still asks. Such a batch is refused by one
// read at one snapshot of the database: the event, whether a lock of it is due,
// and whether a key was used before. All of it is as it was at one moment after
// the requests came, so a refusal is as exact as one by a transaction, and seats
// that were given back before are found. (Without keys, there is a moment around an
// election in which a primary may not know yet what is committed; the fence below
// leaves none.) Whatever is not a plain refusal of the whole batch is decided in a transaction:
// see batchTx.

// maxSoldOut bounds the events that are remembered as sold out. To forget one
// costs one transaction.
const maxSoldOut = 10_000

// looksSoldOut reports whether the event's last batch was refused as a whole.
func (q *queues) looksSoldOut(eventID ID) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.soldOut[eventID]
}

func (q *queues) noteSoldOut(eventID ID, soldOut bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !soldOut {
		delete(q.soldOut, eventID)
		return
	}
	if len(q.soldOut) >= maxSoldOut {
		clear(q.soldOut)
	}
	q.soldOut[eventID] = true
}

// A request may have been sent to another process before, which still tries to
// grant it although its customer has given up waiting. Once it is refused here, it
// must not be granted there. So a refusal of requests with keys writes the event
// first, which waits for the transaction that holds it and, as a majority has to
// have it, puts that transaction into the snapshot that is read; and who grants
// looks once more, when it holds the event, whether its callers are still there.
// Requests without keys are not the same request twice.
func (s *Service) fence(ctx context.Context, eventID ID) error {
	_, err := s.events().UpdateOne(ctx, mongodb.Is("_id", eventID), bson.D{{Key: "$inc", Value: bson.D{{Key: "fence", Value: int64(1)}}}})
	return err
}

func keyed(batch []*request) bool {
	return slices.ContainsFunc(batch, func(r *request) bool { return r.take != nil && r.take.Key != "" })
}

// refuseTime bounds a refusal. A transaction of a process that died may hold the
// event: only who decides by a transaction finds that out, and ends it.
const refuseTime = time.Second

// soldOutDoc is an event with what keeps a request from being refused.
type soldOutDoc struct {
	Event eventDoc   `bson:",inline"`
	Due   []bson.Raw `bson:"due"`  // its first due lock
	Used  []bson.Raw `bson:"used"` // the first lock that was made under one of the keys
}

// refuse refuses a batch for want of seats. ok is false where that is not what
// becomes of each request, or can't be told; nothing has been written.
func (s *Service) refuse(ctx context.Context, eventID ID, batch []*request, users *lookUp) (answers []answer, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, refuseTime)
	defer cancel()
	least := batch[0].take.Seats
	for _, r := range batch {
		least = min(least, r.take.Seats)
	}
	if keyed(batch) {
		if err := s.fence(ctx, eventID); err != nil {
			return nil, false, nil //nolint:nilerr // as below
		}
	}
	doc, found, err := mongodb.First[soldOutDoc](ctx, s.snapshot(), soldOutPipeline(eventID, batch, least))
	if err != nil || !found || len(doc.Due) > 0 || len(doc.Used) > 0 || !doc.Event.sound() {
		return nil, false, nil //nolint:nilerr // the transaction meets it again, and repeats or tells it
	}
	b := &batchTx{s: s, eventID: eventID, requests: batch, event: doc.Event, now: doc.Event.Now.Time, tally: doc.Event.tally()}
	answers = make([]answer, len(batch))
	for i, r := range batch {
		refusal := b.tooFew(r.take.Seats)
		if _, beyond := b.newLock(r); beyond != nil {
			refusal = beyond
		}
		answers[i] = answer{err: refusal}
	}
	return answers, true, users.wait()
}

// snapshot reads the events at one moment that includes all that was
// acknowledged before.
func (s *Service) snapshot() *mongo.Collection {
	return s.db.Collection(eventsName, options.Collection().SetReadConcern(readconcern.Snapshot()))
}

// soldOutPipeline finds the event where it is on sale, limits nobody and has
// fewer seats than the least that is asked for.
func soldOutPipeline(eventID ID, batch []*request, least int64) mongo.Pipeline {
	var users []ID
	var keys []string
	for _, r := range batch {
		if r.take.Key != "" {
			users, keys = append(users, r.take.UserID), append(keys, r.take.Key)
		}
	}
	pipeline := mongo.Pipeline{
		mongodb.Match(mongodb.Is("_id", eventID), onSaleForAll, bson.D{{Key: "availableSeats", Value: bson.D{{Key: "$lt", Value: least}}}}),
		anyLock("due", mongodb.Match(mongodb.Is("eventId", eventID), mongodb.Is("status", string(Active)), due), mongodb.Match(withWholeSeats)),
	}
	if len(keys) > 0 {
		pipeline = append(pipeline, anyLock("used", mongodb.Match(usedKeys(eventID, users, keys)...)))
	}
	return append(pipeline, mongodb.WithNow)
}

// anyLock joins the first lock that the stages find, by its ID.
func anyLock(as string, stages ...bson.D) bson.D {
	return lookUpLocks(as, append(stages, mongodb.Limit(1), mongodb.Only("_id"))...)
}

// lookUpLocks joins what the stages make of the locks.
func lookUpLocks(as string, stages ...bson.D) bson.D {
	return bson.D{{Key: "$lookup", Value: bson.D{
		{Key: "from", Value: locksName}, {Key: "as", Value: as}, {Key: "pipeline", Value: stages},
	}}}
}
