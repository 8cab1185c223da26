package store

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

func (s *Store) entries() *mongo.Collection { return s.db.Collection(entriesName) }

// listNow says which entries of an event wait at a moment: those of the epoch, unless its list is over.
type listNow struct {
	epoch  int64
	isOver bool
}

// hasEnded reports whether the waiting list of an event has ended at now. Its entries follow.
func hasEnded(e holdfast.Event, now time.Time) bool {
	return e.Status == holdfast.Cancelled || e.HasSold(now)
}

// withWaiting returns an event whose number of waiting entries is that of now.
func withWaiting(e holdfast.Event, now time.Time) holdfast.Event {
	if hasEnded(e, now) {
		e.Waitlist.Waiting = 0
	}
	return e
}

// answerAt returns an event for a client at now.
func answerAt(e holdfast.Event, now time.Time) holdfast.Event { return withWaiting(e, now).Answer() }

// list returns the waiting list of an event that was read with the database's clock.
func (d eventDoc) list() listNow {
	return listNow{epoch: d.Internal.List.inventory().Epoch, isOver: hasEnded(d.event(), d.Now.Time)}
}

// waits reports whether the entry waits.
func (d entryDoc) waits(l listNow) bool {
	return d.Status == holdfast.EntryWaiting && !l.isOver && d.Internal.Epoch >= l.epoch
}

// entryIn returns the entry as the list has it, without its position: one that waits no longer is CLOSED, also before its document is.
func (d entryDoc) entryIn(l listNow) holdfast.WaitlistEntry {
	e := d.entry()
	if e.Status == holdfast.EntryWaiting && !d.waits(l) {
		e.Status = holdfast.EntryClosed
	}
	return e
}

// joinList joins what an entry has to know of its event.
var joinList = mongodb.JoinBy("events", eventsName, "eventId", "_id", mongodb.Only("status", saleEnd, listName))

// listedEntry is an entry with its event.
type listedEntry struct {
	Doc      entryDoc   `bson:",inline"`
	Events   []bson.Raw `bson:"events"`
	Position int64      `bson:"-"`
}

// list returns the waiting list of the entry's event. Without the event it is over; if the event can't be read, the entry says whether it
// waits.
func (d listedEntry) list() listNow {
	if len(d.Events) == 0 {
		return listNow{isOver: true}
	}
	var event eventDoc
	if mongodb.Unmarshal(d.Events[0], &event) != nil {
		return listNow{}
	}
	event.Now = d.Doc.Now
	return event.list()
}

// isOpen reports whether the entry waits, or has an offer.
func (d listedEntry) isOpen() bool { return d.Doc.entryIn(d.list()).Status.IsOpen() }

// listedEntries reads the entries that match, with their events, and leaves out corrupt ones.
func (s *Store) listedEntries(ctx context.Context, fields bson.D, filters ...bson.D) ([]listedEntry, error) {
	stages := []bson.D{mongodb.Match(filters...)}
	if fields != nil {
		stages = append(stages, project(fields))
	}
	return allValid[listedEntry](ctx, s.entries(), &entryRules, append(stages, joinList, mongodb.WithNow)...)
}

// Entry returns an entry in its present state, or CodeEntryNotFound.
func (s *Store) Entry(ctx context.Context, id ID) (holdfast.WaitlistEntry, error) {
	return current(ctx, s, holdfast.CodeEntryNotFound, func(ctx context.Context) (doc listedEntry, found bool, err error) {
		docs, err := s.listedEntries(ctx, nil, mongodb.Is("_id", id))
		if err != nil || len(docs) == 0 {
			return doc, false, err
		}
		doc = docs[0]
		if doc.Doc.waits(doc.list()) {
			doc.Position, err = s.position(ctx, doc.Doc)
		}
		return doc, true, err
	}, func(d listedEntry) holdfast.WaitlistEntry {
		e := d.Doc.entryIn(d.list())
		e.Position = d.Position
		return e
	})
}

// position counts the entries that wait before an entry, by a covered index, and returns its own place.
func (s *Store) position(ctx context.Context, d entryDoc) (int64, error) {
	before := mongodb.And(mongodb.Is("eventId", d.EventID), mongodb.Is("status", string(holdfast.EntryWaiting)),
		mongodb.Is(entryEpoch, d.Internal.Epoch), mongodb.Is(entrySeq, bson.D{{Key: "$lt", Value: d.Internal.Seq}}))
	counted, _, err := mongodb.First[struct {
		N int64 `bson:"n"`
	}](ctx, s.entries(), mongo.Pipeline{mongodb.Match(before), {{Key: "$count", Value: "n"}}})
	return counted.N + 1, err
}

// Entries lists the entries of an event in order, and returns the token of the next page. It refuses with CodeEventNotFound.
func (s *Store) Entries(
	ctx context.Context, eventID ID, f holdfast.EntryFilter, page holdfast.Page,
) ([]holdfast.WaitlistEntry, string, error) {
	after, err := readSeqToken(page.Token)
	if err != nil {
		return nil, "", err
	}
	event, err := current(ctx, s, holdfast.CodeEventNotFound, func(ctx context.Context) (eventDoc, bool, error) {
		return s.readEvent(ctx, eventID)
	}, func(d eventDoc) eventDoc { return d })
	if err != nil {
		return nil, "", err
	}
	list, of := event.list(), customerOf(f.UserID, f.Holder)
	var either bson.A
	for _, status := range list.with(f.Status) {
		which := mongodb.And(mongodb.Is("eventId", eventID), mongodb.Is(entrySeq, bson.D{{Key: "$gt", Value: after}}), status, of.own())
		if !of.ID.IsZero() {
			which = mongodb.And(which, mongodb.Is("userId", of.ID))
		}
		either = append(either, which)
	}
	if len(either) == 0 {
		return []holdfast.WaitlistEntry{}, "", nil
	}
	docs, isMore, err := mongodb.PageOf(ctx, s.entries(), mongo.Pipeline{
		mongodb.Match(mongodb.Is("$or", either)), mongodb.Sort(entrySeq)}, page)
	if err != nil || len(docs) == 0 {
		return []holdfast.WaitlistEntry{}, "", mongodb.Translate(err)
	}
	next := ""
	if isMore {
		seq, _ := mongodb.WholeOf(docs[len(docs)-1].Lookup(internalName, "seq"))
		next = seqToken(seq)
	}
	found, err := s.positioned(ctx, docs, list, of == Customer{})
	return found, next, mongodb.Translate(err)
}

// positioned decodes the entries of a page, with their positions, and leaves out corrupt ones. If the page has all that wait, one count is
// enough.
func (s *Store) positioned(ctx context.Context, docs []bson.Raw, list listNow, hasAll bool) ([]holdfast.WaitlistEntry, error) {
	last, found := int64(0), make([]holdfast.WaitlistEntry, 0, len(docs))
	for _, raw := range docs {
		var d entryDoc
		if !entryRules.Holds(raw) {
			continue
		}
		if err := mongodb.Unmarshal(raw, &d); err != nil {
			return nil, err
		}
		e := d.entryIn(list)
		switch {
		case !d.waits(list):
		case hasAll && last > 0:
			last++
			e.Position = last
		default:
			var err error
			if last, err = s.position(ctx, d); err != nil {
				return nil, err
			}
			e.Position = last
		}
		found = append(found, e)
	}
	return found, nil
}

// maxListedEpochs bounds the scans of an index by which the entries of all epochs are merged in order.
const maxListedEpochs = 50

// with returns filters for the entries that have a status in the list; "" means any. No entry matches several of them. A status and each
// epoch are named, so that an index also provides the order.
func (l listNow) with(status holdfast.EntryStatus) []bson.D {
	of := func(status holdfast.EntryStatus, before int64) bson.D {
		match := mongodb.Is("status", string(status))
		if before > maxListedEpochs {
			return mongodb.And(match, mongodb.Is(entryEpoch, bson.D{{Key: "$lt", Value: before}}))
		}
		epochs := make([]int64, 0, before)
		for epoch := range before {
			epochs = append(epochs, epoch)
		}
		return mongodb.And(match, mongodb.In(entryEpoch, epochs))
	}
	switch {
	case status == "":
		return []bson.D{nil}
	case status == holdfast.EntryClosed && l.isOver:
		return []bson.D{of(status, l.epoch+1), of(holdfast.EntryWaiting, l.epoch+1)}
	case status == holdfast.EntryClosed:
		return []bson.D{of(status, l.epoch+1), of(holdfast.EntryWaiting, l.epoch)}
	case status != holdfast.EntryWaiting:
		return []bson.D{of(status, l.epoch+1)}
	case l.isOver:
		return nil
	default:
		return []bson.D{mongodb.And(mongodb.Is("status", string(status)), mongodb.Is(entryEpoch, l.epoch))}
	}
}

// A token of a page is the place of its last entry.

func seqToken(seq int64) string {
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, uint64(seq))) //nolint:gosec // G115: its bits
}

func readSeqToken(token string) (seq int64, err error) {
	if token == "" {
		return 0, nil
	}
	const size = 8
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if len(raw) == size {
		seq = int64(binary.BigEndian.Uint64(raw)) //nolint:gosec // G115: its bits
	}
	if err != nil || seq < 0 || seqToken(seq) != token {
		return 0, holdfast.RefuseInput("query.pageToken", "Invalid page token.")
	}
	return seq, nil
}

// ListsToCheck returns up to limit events whose waiting list has to be looked at, by the database's clock, longest waiting first.
func (s *Store) ListsToCheck(ctx context.Context, limit int) ([]ID, error) {
	docs, err := mongodb.All[eventDoc](ctx, s.events(), mongo.Pipeline{
		mongodb.Match(mongodb.Passed(listCheckAt)), mongodb.Match(eventSchema), mongodb.Sort(listCheckAt), mongodb.Limit(limit),
		mongodb.Only("_id"),
	})
	return all(docs, func(d eventDoc) ID { return d.ID }), mongodb.Translate(err)
}
