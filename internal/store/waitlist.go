package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

const (
	entriesName = "waitlist"

	listWaiting = listName + ".waiting"
	listCheckAt = listName + ".checkAt" // absent: never

	entryField  = "waitlistEntryId" // of locks that are offers
	lockOfEntry = "lockId"          // of entries that got one

	entrySeq   = internalName + ".seq"
	entryEpoch = internalName + ".epoch"
	entryWish  = internalName + ".wish"
)

// entries returns the collection of the entries of waiting lists, with its indexes and validator.
func entries() mongodb.Collection {
	return mongodb.Collection{
		Name:   entriesName,
		Schema: &entryRules,
		Indexes: []mongodb.Index{
			// This index serves the first entry of each wish, by one seek for each of them.
			{Keys: mongodb.Keys("eventId", "status", entryEpoch, entryWish, entrySeq)},
			// This index serves the entries of a status in order, and positions, which it covers.
			{Keys: mongodb.Keys("eventId", "status", entryEpoch, entrySeq)},
			// This index serves the list of an event.
			{Keys: mongodb.Keys("eventId", entrySeq)},
			// This index serves the entries of a customer.
			{Keys: mongodb.Keys("userId", "eventId", "status")},
			// This index serves the count of all open entries, and the oldest one that waits.
			{Keys: mongodb.Keys("status", "createdAt")},
		},
	}
}

var entryRules = mongodb.Schema{
	Required: []string{"_id", "eventId", "seats", "status"},
	Fields: []mongodb.Field{
		mongodb.ObjectIDField("_id"), mongodb.ObjectIDField("eventId"), mongodb.ObjectIDField("userId"), mongodb.TextField(holderField),
		mongodb.WholeIn(1, holdfast.MaxWaitingSeats).Field("seats"), mongodb.TextsField("categories"), mongodb.TextField(sectionField),
		countOrNone.Field("accessibleSeats"), mongodb.TextField("adjacent"), mongodb.OneOf(holdfast.EntryStatuses()...).Field("status"),
		mongodb.ObjectIDField("lockId"), mongodb.DateField("createdAt"), mongodb.DateField("updatedAt"),
		mongodb.TextField(shopReference), metadataRule,
		mongodb.DocumentOf(mongodb.WholeField("rev"), countOrNone.Field("seq"), countOrNone.Field("epoch"), mongodb.TextField("wish"),
			mongodb.TextField("runId")).Field(internalName),
	},
}

var entrySchema = entryRules.Filter()

// listRule is that of the state of a waiting list, in its event.
var listRule = mongodb.DocumentOf(countOrNone.Field("seq"), countOrNone.Field("epoch"), countOrNone.Field("waiting"),
	mongodb.BoolField("closing"), mongodb.BoolField("holds"), mongodb.DateField("checkAt"))

// listDoc decodes the state of a waiting list.
type listDoc struct {
	Seq     int64     `bson:"seq"`
	Epoch   int64     `bson:"epoch"`
	Closing bool      `bson:"closing"`
	Waiting int64     `bson:"waiting"`
	Holds   bool      `bson:"holds"`
	CheckAt time.Time `bson:"checkAt"`
}

// inventory returns the state for a decision; it is zero if there is none.
func (d *listDoc) inventory() inventory.List {
	if d == nil {
		return inventory.List{}
	}
	return inventory.List{
		Seq: d.Seq, Epoch: d.Epoch, Closing: d.Closing, Waiting: d.Waiting, Holds: d.Holds, CheckAt: d.CheckAt,
	}
}

// newList returns the state of a waiting list as it is stored.
func newList(l inventory.List) bson.D {
	doc := bson.D{
		{Key: "seq", Value: l.Seq}, {Key: "epoch", Value: l.Epoch}, {Key: "closing", Value: l.Closing},
		{Key: "waiting", Value: l.Waiting}, {Key: "holds", Value: l.Holds},
	}
	if !l.CheckAt.IsZero() {
		doc = append(doc, bson.E{Key: "checkAt", Value: l.CheckAt})
	}
	return doc
}

// waitlistSet returns the settings of a new event that are not the default.
func waitlistSet(w holdfast.Waitlist) (set bson.D) {
	normal := holdfast.DefaultWaitlist()
	if w.Status != "" && w.Status != normal.Status {
		set = append(set, bson.E{Key: "waitlist", Value: string(w.Status)})
	}
	if w.OfferSeconds != 0 && w.OfferSeconds != normal.OfferSeconds {
		set = append(set, bson.E{Key: "waitlistOfferSeconds", Value: w.OfferSeconds})
	}
	if w.Fit != "" && w.Fit != normal.Fit {
		set = append(set, bson.E{Key: "waitlistFit", Value: string(w.Fit)})
	}
	return set
}

// listSet returns the updates of the waiting list's settings and state that a write names.
func listSet(w inventory.EventWrite) (set bson.D) {
	if c := w.Fields; c.Waitlist != nil {
		set = append(set, bson.E{Key: "waitlist", Value: string(*c.Waitlist)})
	}
	if c := w.Fields; c.OfferSeconds != nil {
		set = append(set, bson.E{Key: "waitlistOfferSeconds", Value: *c.OfferSeconds})
	}
	if c := w.Fields; c.WaitlistFit != nil {
		set = append(set, bson.E{Key: "waitlistFit", Value: string(*c.WaitlistFit)})
	}
	if w.List != nil {
		set = append(set, bson.E{Key: listName, Value: newList(*w.List)})
	}
	return set
}

// noneWaits matches an event without an entry that waits.
var noneWaits = numberOrAbsent(listWaiting, 0)

// entryDoc decodes an entry.
type entryDoc struct {
	changes.EntryDoc `bson:",inline"`

	Internal struct {
		Rev   int64  `bson:"rev"`
		Seq   int64  `bson:"seq"`
		Epoch int64  `bson:"epoch"`
		Wish  string `bson:"wish"`
	} `bson:"internal"`
	Now mongodb.DatabaseNow `bson:"databaseNow"`
}

func (d entryDoc) entry() holdfast.WaitlistEntry {
	d.CreatedAt = createdAt(d.CreatedAt, d.ID)
	return d.Entry()
}

// inventory returns the entry for a decision.
func (d entryDoc) inventory() inventory.Entry {
	own := d.Internal
	return inventory.Entry{WaitlistEntry: d.entry(), Revision: own.Rev, Seq: own.Seq, Epoch: own.Epoch, Wish: own.Wish}
}

// addEntry adds an entry. Call reserve first.
func (l *newDocuments) addEntry(e *inventory.NewEntry) {
	start, b := mongodb.AppendItem(l.items, l.n)
	b = bsoncore.AppendObjectIDElement(b, "eventId", bson.ObjectID(e.EventID))
	b = changes.AppendEntry(b, &e.WaitlistEntry)
	own, b := bsoncore.AppendDocumentElementStart(b, internalName)
	b = bsoncore.AppendInt64Element(b, "rev", 0)
	b = bsoncore.AppendInt64Element(b, "seq", e.Seq)
	b = bsoncore.AppendInt64Element(b, "epoch", e.Epoch)
	b = bsoncore.AppendStringElement(b, "wish", e.Wish)
	b, _ = bsoncore.AppendDocumentEnd(b, own)
	l.items, _ = bsoncore.AppendDocumentEnd(b, start)
	l.n++
}

func (s *Store) insertEntries(ctx context.Context, plans []EventPlan, applied []Applied) error {
	var docs newDocuments
	for i, p := range plans {
		docs.reserve(len(p.NewEntries))
		for j := range p.NewEntries {
			if len(docs.items) > maxInserted {
				if err := s.insertArray(ctx, entriesName, &docs); err != nil {
					return err
				}
				docs.reserve(len(p.NewEntries) - j)
			}
			e := p.JoinedAt(j, applied[i].Now)
			docs.addEntry(&e)
		}
	}
	return s.insertArray(ctx, entriesName, &docs)
}

// writeEntries changes entries by one command, also those that the plan has just made. Equal changes share a statement.
func (s *Store) writeEntries(ctx context.Context, plans []EventPlan, _ []Applied) error {
	equal := groupsOf(plans, func(p EventPlan) []inventory.EntryWrite { return p.Entries },
		func(w *inventory.EntryWrite) *ID { return &w.ID })
	return s.update(ctx, entriesName, equal.statements(entryGuard, entryUpdate), equal.count)
}

// entryGuard matches the entries that are as the plan requires.
func entryGuard(ids []ID, w inventory.EntryWrite) bson.D {
	return mongodb.And(mongodb.In("_id", ids), ofEvents(known(w.EventID)), mongodb.Is("status", string(w.From)),
		numberOrAbsent(rev, w.Revision))
}

func entryUpdate(w inventory.EntryWrite) bson.D {
	set := bson.D{{Key: "status", Value: string(w.To)}, {Key: "updatedAt", Value: w.UpdatedAt}}
	if !w.LockID.IsZero() {
		set = append(set, bson.E{Key: "lockId", Value: w.LockID})
	}
	if w.RunID != "" {
		set = append(set, bson.E{Key: runID, Value: w.RunID})
	}
	return bson.D{raiseRevision, {Key: "$set", Value: set}}
}

// needsEpoch reports whether entries of the list's present epoch are needed, or those of earlier ones.
func needsEpoch(n inventory.Needs) bool { return n.Heads > 0 || n.Waiting > 0 || n.ToClose > 0 }

// entriesByID returns the read of entries by their IDs.
func entriesByID(eventID ID, n inventory.Needs) []part {
	if len(n.Entries) == 0 {
		return nil
	}
	events := append(slices.Clone(n.Events), known(eventID)...)
	return []part{{"entries", entriesName, []bson.D{mongodb.Match(mongodb.In("_id", n.Entries), ofEvents(events))},
		toEntries(func(l *loaded) *[]entryDoc { return &l.Entries })}}
}

// entryParts returns the reads of entries of a waiting list.
func entryParts(eventID ID, n inventory.Needs, a attempt) []part {
	list := entriesByID(eventID, n)
	add := func(as string, to func(*loaded, bson.Raw) error, stages ...bson.D) {
		list = append(list, part{as, entriesName, stages, to})
	}
	ofEvent := mongodb.Is("eventId", eventID)
	if len(n.OpenOf) > 0 {
		add("openOf", toEntries(func(l *loaded) *[]entryDoc { return &l.OpenOf }),
			mongodb.Match(ofEvent, mongodb.In("userId", n.OpenOf), mongodb.In("status", openEntries)))
	}
	waiting := mongodb.And(ofEvent, mongodb.Is("status", string(holdfast.EntryWaiting)))
	if a.WithoutCorruptEntries {
		waiting = mongodb.And(waiting, entrySchema, mongodb.Is(lockOfEntry, nil))
	}
	present := mongodb.And(waiting, mongodb.Is(entryEpoch, a.Epoch))
	if n.Heads > 0 {
		const first = "first"
		above := fmt.Sprintf("%02d", min(n.Heads, holdfast.MaxWaitingSeats)+1) // see EntryWish.Text
		add("heads", toWaiting(func(l *loaded) *[]entryDoc { return &l.Heads }),
			mongodb.Match(present, mongodb.Is(entryWish, bson.D{{Key: "$lt", Value: above}})), mongodb.Sort(entryWish, entrySeq),
			mongodb.Group("$"+entryWish, bson.E{Key: first, Value: bson.D{{Key: "$first", Value: "$$ROOT"}}}),
			bson.D{{Key: "$replaceRoot", Value: bson.D{{Key: "newRoot", Value: "$" + first}}}})
	}
	if n.Waiting > 0 {
		if len(n.WaitingOf) > 0 {
			present = mongodb.And(present, mongodb.In(entryWish, n.WaitingOf))
		}
		add("waiting", toWaiting(func(l *loaded) *[]entryDoc { return &l.Waiting }),
			mongodb.Match(present), mongodb.Sort(entrySeq), mongodb.Limit(n.Waiting))
	}
	if n.ToClose > 0 {
		add("toClose", toWaiting(func(l *loaded) *[]entryDoc { return &l.ToClose }),
			mongodb.Match(waiting, mongodb.Is(entryEpoch, bson.D{{Key: "$lt", Value: a.Epoch}})),
			mongodb.Sort(entryEpoch, entrySeq), mongodb.Limit(n.ToClose))
	}
	return list
}

var openEntries = []holdfast.EntryStatus{holdfast.EntryWaiting, holdfast.EntryOffered}

// toEntries returns a function that adds an entry to a list, unless it is corrupt. It does not note the ID of one that is: the entry's
// lock has the same.
func toEntries(list func(*loaded) *[]entryDoc) func(*loaded, bson.Raw) error {
	add := to(list, nil)
	return func(l *loaded, doc bson.Raw) error {
		if !entryRules.Holds(doc) {
			return nil
		}
		return add(l, doc)
	}
}

// toWaiting returns a function that adds an entry to a list, unless it is corrupt. Another one may then be the first of its wish, or
// follow the last that was read.
func toWaiting(list func(*loaded) *[]entryDoc) func(*loaded, bson.Raw) error {
	add := to(list, nil)
	return func(l *loaded, doc bson.Raw) error {
		// An entry that had an offer does not wait: other software says so. The lock of a second offer would have the same ID.
		if _, err := doc.LookupErr(lockOfEntry); err == nil || !entryRules.Holds(doc) {
			l.CorruptEntry = true
			return nil
		}
		return add(l, doc)
	}
}

// fillEntries fills in the entries of the waiting list.
func (l loaded) fillEntries(s *inventory.State, n inventory.Needs) {
	if len(n.Entries) > 0 {
		s.Entries = make(map[ID]*inventory.Entry, len(n.Entries))
		for _, id := range n.Entries {
			s.Entries[id] = nil
		}
		for _, d := range l.Entries {
			e := d.inventory()
			s.Entries[d.ID] = &e
		}
	}
	if len(n.OpenOf) > 0 {
		s.OpenOf = make(map[ID][]inventory.Entry, len(n.OpenOf))
		for _, user := range n.OpenOf {
			s.OpenOf[user] = nil
		}
		for _, d := range l.OpenOf {
			s.OpenOf[d.UserID] = append(s.OpenOf[d.UserID], d.inventory())
		}
	}
	if n.Heads > 0 {
		s.Heads, s.HeadsUpTo = all(l.Heads, entryDoc.inventory), n.Heads
	}
	if n.Waiting > 0 {
		s.Waiting, s.WaitingOf, s.WaitingIsAll = all(l.Waiting, entryDoc.inventory), n.WaitingOf, len(l.Waiting) < n.Waiting
	}
	if n.ToClose > 0 {
		list := all(l.ToClose, entryDoc.inventory)
		s.ToClose = &list
	}
}
