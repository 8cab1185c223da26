package core

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
)

const (
	// loadInterval is how often a process reads the last result.
	loadInterval = 5 * time.Second
	// scanRest is the minimum time between the beginnings of two scans, as a multiple of a scan's duration.
	scanRest = 20
	// maxLogged bounds the lines in which one result is logged. The next results log the rest.
	maxLogged = 100
)

// foundID names the document of the collection meta with the last result.
const foundID = "corrupt"

// CorruptWatch keeps what a process knows of the corrupt documents of its database: documents that break the schema
// of their collection, because they were restored, or written while validation was off.
// A scan reads whole collections, so only one process scans, after its sweeps and passes, and stores the result. The
// other processes read the result.
type CorruptWatch struct {
	db          *mongodb.DB
	collections []mongodb.Collection
	// onNew is called with each new result.
	onNew func(CorruptReport)
	// repair corrects the counter and the map of an event if one of its locks became corrupt, or is no longer
	// corrupt.
	repair func(ctx context.Context, eventID holdfast.ID) error
	asked  chan struct{}

	turn   sync.Mutex // held while a result is read or made
	logged map[string]bool

	mu    sync.Mutex
	known *CorruptReport // nil before the first result
}

// Known returns the last result. It returns false before the first one.
func (w *CorruptWatch) Known() (CorruptReport, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known == nil {
		return CorruptReport{}, false
	}
	return *w.known, true
}

// Ask makes Run scan soon, unless the last scan was too recent.
func (w *CorruptWatch) Ask() {
	select {
	case w.asked <- struct{}{}:
	default: // it is asked already
	}
}

// Run keeps the last result, and scans when Ask was called, until ctx ends.
func (w *CorruptWatch) Run(ctx context.Context) {
	ticker := time.NewTicker(loadInterval)
	defer ticker.Stop()
	for {
		err := w.Load(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-w.asked:
			err = w.RefreshIfDue(ctx)
		}
		if err != nil && ctx.Err() == nil {
			w.db.Log().DebugContext(ctx, "Could not search for corrupt documents", slog.Any("error", err))
		}
	}
}

func (w *CorruptWatch) meta() *mongo.Collection { return w.db.Collection(mongodb.MetaCollection) }

// Load reads the last result, unless this process is scanning.
func (w *CorruptWatch) Load(ctx context.Context) error {
	if !w.turn.TryLock() {
		return nil
	}
	defer w.turn.Unlock()
	_, err := w.load(ctx)
	return err
}

// load reads the last result unless it is known, and returns it.
func (w *CorruptWatch) load(ctx context.Context) (CorruptReport, error) {
	known, isKnown := w.Known()
	isNew := bson.D{}
	if isKnown {
		isNew = bson.D{{Key: "began", Value: bson.D{{Key: "$ne", Value: known.Began}}}}
	}
	found, exists, err := mongodb.First[CorruptReport](ctx, w.meta(), mongo.Pipeline{mongodb.Match(mongodb.Is("_id", foundID), isNew)})
	switch {
	case err != nil:
		return known, mongodb.Translate(err)
	case !exists && isKnown:
		return known, nil
	}
	w.know(ctx, found)
	return found, nil
}

// RefreshIfDue is Refresh, if the last scan was at least scanRest times its duration ago.
func (w *CorruptWatch) RefreshIfDue(ctx context.Context) error {
	w.turn.Lock()
	last, err := w.load(ctx)
	w.turn.Unlock()
	if err != nil {
		return err
	}
	now, err := w.db.Now(ctx)
	if err != nil || now.Before(last.Began.Add(scanRest*last.Took)) {
		return err
	}
	return w.Refresh(ctx)
}

// Refresh scans, stores the result, and repairs the affected events.
func (w *CorruptWatch) Refresh(ctx context.Context) error {
	w.turn.Lock()
	defer w.turn.Unlock()
	before, err := w.load(ctx)
	if err != nil {
		return err
	}
	found, err := scanCorrupt(ctx, w.db, w.collections)
	if err != nil {
		return err
	}
	_, err = w.meta().ReplaceOne(ctx, mongodb.Is("_id", foundID), found, options.Replace().SetUpsert(true))
	if err != nil && !mongodb.IsDuplicate(err, mongodb.ByID) { // another process has stored its first result
		return mongodb.UnknownOutcome(err)
	}
	w.know(ctx, found)
	for _, id := range w.changedEvents(before, found) {
		if err := w.repair(ctx, id); err != nil {
			w.db.Log().WarnContext(ctx, "Could not repair the event of a lock that is corrupt, or was",
				slog.Any("eventId", id), slog.Any("error", err))
		}
	}
	return nil
}

// Look scans. It neither stores nor logs the result.
func (w *CorruptWatch) Look(ctx context.Context) (CorruptReport, error) {
	w.turn.Lock()
	defer w.turn.Unlock()
	found, err := scanCorrupt(ctx, w.db, w.collections)
	if err == nil {
		w.keep(found)
	}
	return found, err
}

// changedEvents returns the events of the locks that are in only one of two results.
func (w *CorruptWatch) changedEvents(before, after CorruptReport) (events []holdfast.ID) {
	locks := map[string]holdfast.ID{}
	for _, d := range before.Of(store.LocksName) {
		locks[d.key()] = d.EventID
	}
	changed := map[holdfast.ID]bool{}
	for _, d := range after.Of(store.LocksName) {
		if _, stays := locks[d.key()]; !stays {
			changed[d.EventID] = true
		}
		delete(locks, d.key())
	}
	for _, id := range locks {
		changed[id] = true
	}
	delete(changed, holdfast.ID{})
	for id := range changed {
		events = append(events, id)
	}
	return events
}

// know keeps a result, and logs the documents in it that are new.
func (w *CorruptWatch) know(ctx context.Context, found CorruptReport) {
	w.keep(found)
	still, lines := map[string]bool{}, 0
	for _, d := range found.Documents {
		if !w.logged[d.key()] {
			if lines++; lines > maxLogged {
				continue
			}
			document := []slog.Attr{slog.String("document", d.Name())}
			if !d.EventID.IsZero() {
				document = append(document, slog.Any("eventId", d.EventID))
			}
			w.db.Log().LogAttrs(ctx, slog.LevelWarn, fmt.Sprintf("Corrupt document in %s: %s", d.Collection, d.Why), document...)
		}
		still[d.key()] = true
	}
	w.logged = still
}

func (w *CorruptWatch) keep(found CorruptReport) {
	w.mu.Lock()
	w.known = &found
	w.mu.Unlock()
	w.onNew(found)
}
