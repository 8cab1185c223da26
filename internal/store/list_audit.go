package store

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// ListTotals counts the open entries of all waiting lists.
type ListTotals struct {
	Waiting, Offered int64
	OldestWaiting    time.Duration // 0 if none waits
}

// entriesCounted bounds the entries of a status that are counted.
const entriesCounted = 1_000_000

// ListTotals counts the open entries, at most entriesCounted of each status.
func (s *Store) ListTotals(ctx context.Context) (t ListTotals, err error) {
	waiting := mongodb.Is("status", string(holdfast.EntryWaiting))
	if t.Waiting, err = s.entries().CountDocuments(ctx, waiting, upTo(entriesCounted)); err != nil {
		return t, mongodb.Translate(err)
	}
	offered := mongodb.Is("status", string(holdfast.EntryOffered))
	if t.Offered, err = s.entries().CountDocuments(ctx, offered, upTo(entriesCounted)); err != nil {
		return t, mongodb.Translate(err)
	}
	oldest, found, err := mongodb.First[entryDoc](ctx, s.entries(), mongo.Pipeline{
		mongodb.Match(waiting, isDate("createdAt")), mongodb.Sort("status", "createdAt"), mongodb.Limit(1), mongodb.WithNow,
	})
	if found {
		t.OldestWaiting = max(0, oldest.Now.Sub(oldest.CreatedAt))
	}
	return t, mongodb.Translate(err)
}

// EachList calls handle with the events of a scope whose waiting list is open or paused, in pages of up to size.
func (s *Store) EachList(ctx context.Context, scope Scope, size int, handle func([]ID) error) error {
	begun := mongodb.In("waitlist", []holdfast.WaitlistStatus{holdfast.WaitlistOpen, holdfast.WaitlistPaused})
	err := mongodb.Each(ctx, s.events(), mongodb.And(begun, scope.filter(), behind(ID{})), mongodb.Keys("_id"), nil, size, ownID, handle)
	return mongodb.Translate(err)
}

// CountedList is the state of an event's waiting list, and what its entries say.
type CountedList struct {
	EventID  ID
	Revision int64 // of the event
	Says     int64 // how many entries wait, by the list
	Waiting  int64 // how many entries of the list's epoch wait
	LastSeq  int64 // the highest place of these
	saysSeq  int64
}

// IsWrong reports whether the list does not agree with its entries.
func (l CountedList) IsWrong() bool { return l.Says != l.Waiting || l.saysSeq < l.LastSeq }

// CountLists compares the lists of some events with their entries, at one snapshot. Corrupt entries don't count.
func (s *Store) CountLists(ctx context.Context, eventIDs []ID) ([]CountedList, error) {
	lists, err := s.countLists(ctx, eventIDs, nil)
	if err != nil {
		return nil, err
	}
	var wrong []ID
	for _, l := range lists {
		if l.IsWrong() {
			wrong = append(wrong, l.EventID)
		}
	}
	if len(wrong) == 0 {
		return lists, nil
	}
	exact, err := s.countLists(ctx, wrong, entrySchema) // an index does not say which entries are corrupt
	counted := map[ID]CountedList{}
	for _, l := range exact {
		counted[l.EventID] = l
	}
	for i, l := range lists {
		if again, found := counted[l.EventID]; found {
			lists[i] = again
		}
	}
	return lists, err
}

func (s *Store) countLists(ctx context.Context, eventIDs []ID, schema bson.D) ([]CountedList, error) {
	return mongodb.AtSnapshot(ctx, s.db, func(ctx context.Context) ([]CountedList, error) {
		events, err := mongodb.All[eventDoc](ctx, s.events(), mongo.Pipeline{
			mongodb.Match(mongodb.In("_id", eventIDs), eventSchema), mongodb.Only(rev, listName),
		})
		if err != nil {
			return nil, err
		}
		type ofEpoch struct {
			Of struct {
				EventID ID    `bson:"event"`
				Epoch   int64 `bson:"epoch"`
			} `bson:"_id"`
			Waiting int64 `bson:"waiting"`
			LastSeq int64 `bson:"seq"`
		}
		by := bson.D{{Key: "event", Value: "$eventId"}, {Key: "epoch", Value: "$" + entryEpoch}}
		found, err := mongodb.All[ofEpoch](ctx, s.entries(), mongo.Pipeline{
			mongodb.Match(mongodb.In("eventId", eventIDs), mongodb.Is("status", string(holdfast.EntryWaiting)), schema),
			mongodb.Group(by, bson.E{Key: "waiting", Value: mongodb.Sum(1)},
				bson.E{Key: "seq", Value: bson.D{{Key: "$max", Value: "$" + entrySeq}}}),
		})
		lists := make([]CountedList, 0, len(events))
		for _, d := range events {
			list := d.Internal.List.inventory()
			l := CountedList{EventID: d.ID, Revision: d.Internal.Rev, Says: list.Waiting, saysSeq: list.Seq}
			for _, f := range found {
				if f.Of.EventID == d.ID && f.Of.Epoch == list.Epoch {
					l.Waiting, l.LastSeq = f.Waiting, f.LastSeq
				}
			}
			lists = append(lists, l)
		}
		return lists, err
	})
}

// WrongOffer is an entry and its lock that contradict each other: the entry is OFFERED if and only if the lock, which names it, is
// ACTIVE.
type WrongOffer struct {
	EventID ID
	EntryID ID
	LockID  ID
	Entry   holdfast.EntryStatus // "" if the lock names an entry that does not exist
	Lock    holdfast.LockStatus  // "" if the entry names a lock that does not exist
}

// WrongOffers finds up to limit contradictions of each kind. It reads all entries that are OFFERED, and all ACTIVE locks.
func (s *Store) WrongOffers(ctx context.Context, limit int) ([]WrongOffer, error) {
	const joined = "joined"
	type doc struct {
		ID      ID     `bson:"_id"`
		EventID ID     `bson:"eventId"`
		Status  string `bson:"status"`
		LockID  ID     `bson:"lockId"`
		EntryID ID     `bson:"waitlistEntryId"`
		Joined  []struct {
			Status string `bson:"status"`
		} `bson:"joined"`
	}
	missing := func(field string, is any) bson.D {
		return mongodb.Is(joined, bson.D{{Key: "$not", Value: bson.D{{Key: "$elemMatch", Value: mongodb.Is(field, is)}}}})
	}
	return mongodb.AtSnapshot(ctx, s.db, func(ctx context.Context) (wrong []WrongOffer, err error) {
		entries, err := mongodb.All[doc](ctx, s.entries(), mongo.Pipeline{
			mongodb.Match(mongodb.Is("status", string(holdfast.EntryOffered)), entrySchema),
			mongodb.JoinBy(joined, locksName, "lockId", "_id", mongodb.Match(lockSchema)),
			mongodb.Match(missing("status", string(holdfast.LockActive))), mongodb.Limit(limit),
		})
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			w := WrongOffer{EventID: e.EventID, EntryID: e.ID, LockID: e.LockID, Entry: holdfast.EntryOffered}
			for _, l := range e.Joined {
				w.Lock = holdfast.LockStatus(l.Status)
			}
			wrong = append(wrong, w)
		}
		locks, err := mongodb.All[doc](ctx, s.locks(), mongo.Pipeline{
			mongodb.Match(mongodb.Is("status", string(holdfast.LockActive)),
				mongodb.Is(entryField, bson.D{{Key: "$exists", Value: true}}), lockSchema),
			mongodb.JoinBy(joined, entriesName, entryField, "_id", mongodb.Match(entrySchema)),
			mongodb.Match(missing("status", string(holdfast.EntryOffered))), mongodb.Limit(limit),
		})
		for _, l := range locks {
			w := WrongOffer{EventID: l.EventID, EntryID: l.EntryID, LockID: l.ID, Lock: holdfast.LockActive}
			for _, e := range l.Joined {
				w.Entry = holdfast.EntryStatus(e.Status)
			}
			wrong = append(wrong, w)
		}
		return wrong, err
	})
}
