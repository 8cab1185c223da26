package webhooks

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

const (
	// maxInserted bounds the deliveries that one transaction inserts.
	maxInserted = 2000
	// maxPages bounds the pages that a caller numbers and fans out before it changes an endpoint. The pages that are
	// done stay done, so the caller can retry.
	maxPages = 200
)

// cursor is the position up to which the changes are fanned out. All changes before it have their deliveries, and no
// change after it has.
type cursor struct {
	Seq  int64 `bson:"seq"`
	Item int   `bson:"item"`
	// Lines counts the lines that were drawn. It rises whenever an endpoint starts or stops to receive some changes.
	Lines int64 `bson:"lines"`
}

var cursorDoc = mongodb.Is("_id", "webhooks")

func (c cursor) position() changes.Position { return changes.Position{Seq: c.Seq, Item: c.Item} }

func (s *Service) meta() *mongo.Collection { return s.db.Collection(mongodb.MetaCollection) }

// readCursor reads the cursor. If there is none, it creates one at the present end of the changes.
func (s *Service) readCursor(ctx context.Context, end changes.Position) (cursor, error) {
	c, found, err := mongodb.First[cursor](ctx, s.meta(), mongo.Pipeline{mongodb.Match(cursorDoc)})
	if err != nil || found {
		return c, mongodb.Translate(err)
	}
	c = cursor{Seq: end.Seq, Item: end.Item}
	_, err = s.meta().UpdateOne(ctx, cursorDoc, bson.D{{Key: "$setOnInsert", Value: c}}, options.UpdateOne().SetUpsert(true))
	if mongo.IsDuplicateKeyError(err) {
		return c, errCursorMoved
	}
	return c, mongodb.UnknownOutcome(err)
}

// errCursorMoved says that another process has moved the cursor, or has drawn a line.
const errCursorMoved = mongodb.AbortError("the cursor was moved")

// fanOut inserts the deliveries of the next page of changes, and moves the cursor behind them, in one transaction.
// It returns the position of the cursor, and the endpoints that got deliveries. These are nil if there was no
// change, or if another process has fanned out the page.
func (s *Service) fanOut(ctx context.Context, now time.Time) (at changes.Position, got map[ID]bool, err error) {
	begin, end, err := s.changes.Ends(ctx)
	if err != nil {
		return at, nil, err
	}
	from, err := s.readCursor(ctx, end)
	at = from.position()
	if err != nil || at == end {
		return at, nil, unlessMoved(err)
	}
	// The endpoints are read after the cursor: if one changes now, a line is drawn, and the transaction finds other Lines.
	endpoints, err := s.find(ctx, isEnabled)
	if err != nil {
		return at, nil, mongodb.Translate(err)
	}
	to := end
	var page []changes.Placed
	if len(endpoints) > 0 {
		page, to, err = s.changes.Read(ctx, &at, changes.Filter{}, max(1, maxInserted/len(endpoints)))
	}
	if holdfast.HasCode(err, holdfast.CodeChangesGone) {
		if to = begin; at.Compare(end) > 0 { // the database was restored from a backup
			to = end
		}
		s.db.Log().ErrorContext(ctx, "[WEBHOOKS JOB] Changes were removed before they were fanned out",
			slog.Int64("from", at.Seq), slog.Int64("to", to.Seq))
		err = nil
	}
	if err != nil {
		return at, nil, err
	}
	var deliveries []Delivery
	got = map[ID]bool{}
	for i := range page {
		for _, e := range endpoints {
			if e.wants(&page[i].Change) {
				got[e.ID] = true
				deliveries = append(deliveries, newDelivery(e.ID, &page[i], now))
			}
		}
	}
	if err = s.insertPage(ctx, from, to, deliveries); err != nil {
		return at, nil, unlessMoved(err)
	}
	return to, got, nil
}

func unlessMoved(err error) error {
	if errors.Is(err, errCursorMoved) {
		return nil
	}
	return err
}

// insertPage moves the cursor, and inserts the deliveries that do not exist yet. Some may exist: after a partial
// restore of the database, deliveries may be newer than the cursor.
func (s *Service) insertPage(ctx context.Context, from cursor, to changes.Position, deliveries []Delivery) error {
	keys := make([]ID, len(deliveries))
	for i, d := range deliveries {
		keys[i] = d.ID
	}
	existing, err := mongodb.FirstIDs(ctx, s.deliveries(), mongodb.In("_id", keys), len(keys)+1)
	if err != nil {
		return mongodb.Translate(err)
	}
	deliveries = slices.DeleteFunc(deliveries, func(d Delivery) bool { return slices.Contains(existing, d.ID) })
	err = mongodb.Do(ctx, s.db, func(ctx context.Context) error {
		moved, err := s.meta().UpdateOne(ctx, mongodb.And(cursorDoc, mongodb.Is("seq", from.Seq), mongodb.Is("item", from.Item),
			mongodb.Is("lines", from.Lines)), bson.D{{Key: "$set", Value: bson.D{{Key: "seq", Value: to.Seq}, {Key: "item", Value: to.Item}}}})
		if err == nil && moved.MatchedCount == 0 {
			err = errCursorMoved
		}
		if err != nil || len(deliveries) == 0 {
			return err
		}
		return s.db.RunCommand(ctx, bson.D{{Key: "insert", Value: deliveriesName}, {Key: "documents", Value: deliveries}}).Err()
	})
	if err == nil && s.hooks.AfterFanOut != nil {
		err = s.hooks.AfterFanOut()
	}
	return err
}

// catchUp numbers and fans out all changes that are committed now, and returns the position after them, and the
// database's time. It does not depend on another process. If there are too many changes it fails with UNAVAILABLE;
// the caller can then retry, and catchUp continues.
func (s *Service) catchUp(ctx context.Context) (end changes.Position, now time.Time, err error) {
	if now, err = s.now(ctx); err != nil {
		return end, now, err
	}
	tooMany := holdfast.Refuse(holdfast.CodeUnavailable, "Too many changes wait for their deliveries, and nothing was changed; try again.")
	for n, pages := changes.MaxNumbered, 0; n == changes.MaxNumbered; pages++ {
		if pages == maxPages {
			return end, now, tooMany
		}
		if n, err = s.changes.Number(ctx); err != nil {
			return end, now, holdfast.Refuse(holdfast.CodeUnavailable, "Changes can't be numbered, and nothing was changed; try again.").By(err)
		}
	}
	if _, end, err = s.changes.Ends(ctx); err != nil {
		return end, now, err
	}
	for range maxPages {
		at, _, err := s.fanOut(ctx, now)
		if err != nil || at.Compare(end) >= 0 {
			return end, now, err
		}
	}
	return end, now, tooMany
}

// drawLine is for a transaction that changes which changes an endpoint receives. The transaction commits only if all
// changes before a position are fanned out, by the endpoints as they were. Later changes are fanned out by the
// endpoints as the transaction leaves them. Two transactions that draw a line conflict, so they commit one after the
// other.
func (s *Service) drawLine(ctx context.Context, end changes.Position) error {
	drawn, err := s.meta().UpdateOne(ctx, mongodb.And(cursorDoc, mongodb.Is("seq", bson.D{{Key: "$gte", Value: end.Seq}})),
		bson.D{{Key: "$inc", Value: bson.D{{Key: "lines", Value: int64(1)}}}})
	if err == nil && drawn.MatchedCount == 0 {
		err = holdfast.Refuse(holdfast.CodeUnavailable, "The database was restored meanwhile, and nothing was changed; try again.")
	}
	return err
}
