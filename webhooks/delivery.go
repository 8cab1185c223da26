package webhooks

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

const deliveriesName = "webhookdeliveries"

// These are the states of deliveries.
const (
	Pending   = "PENDING"
	Delivered = "DELIVERED"
	Dead      = "DEAD" // given up; it can be replayed
)

// Delivery is the delivery of a change to an endpoint, as its document stores it from its fan-out to its purge.
type Delivery struct {
	ID       ID `bson:"_id"`
	Target   `bson:",inline"`
	Progress `bson:",inline"`
}

// Target is what a delivery sends, and to which endpoint. It never changes.
type Target struct {
	WebhookID ID        `bson:"webhookId"`
	ChangeID  string    `bson:"changeId"`
	Type      string    `bson:"type"`
	Subject   string    `bson:"subject"`
	Seq       int64     `bson:"seq"` // the change's position
	Item      int       `bson:"item"`
	ChangedAt time.Time `bson:"changedAt"`
}

// deliveryIndexes contain only deliveries that are PENDING, except for the first index.
var deliveryIndexes = []mongodb.Index{
	// It serves lists, and replays of a state.
	{Keys: mongodb.Keys("webhookId", "state", "seq", "item")},
	// It serves the deliveries that are due while the endpoint accepts deliveries, and those that were never tried.
	{Keys: mongodb.Keys("webhookId", "state", "dueAt", "attempts", "subject"), Partial: mongodb.Is("state", Pending)},
	// It serves the deliveries that have failed, by the schedule.
	{Keys: mongodb.Keys("webhookId", "state", "nextAttemptAt", "subject"), Partial: append(mongodb.Is("state", Pending), wasTried...)},
	// It serves the order within a subject.
	{Keys: mongodb.Keys("webhookId", "state", "subject", "seq", "item"), Partial: mongodb.Is("state", Pending)},
}

var (
	wasTried   = mongodb.Is("attempts", bson.D{{Key: "$gt", Value: 0}})
	neverTried = mongodb.Is("attempts", 0)
)

func pendingOf(id ID) bson.D {
	return mongodb.And(mongodb.Is("webhookId", id), mongodb.Is("state", Pending))
}

// newDelivery returns the delivery of a change to an endpoint, due at once.
func newDelivery(endpoint ID, p *changes.Placed, now time.Time) Delivery {
	return Delivery{ID: deliveryID(endpoint, p), Progress: Progress{State: Pending, NextAttemptAt: now, DueAt: now}, Target: Target{
		WebhookID: endpoint, ChangeID: p.ID(), Type: string(p.Type), Subject: p.Subject(),
		Seq: p.Position.Seq, Item: p.Position.Item, ChangedAt: p.At,
	}}
}

// deliveryID returns the same ID for all deliveries of a change to an endpoint, so a delivery can't be inserted
// twice. The ID begins with the time of the change: new documents are next to each other, and the purge finds old
// ones by a range.
func deliveryID(endpoint ID, p *changes.Placed) ID {
	id := firstID(p.At)
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s", endpoint, p.ID()))
	copy(id[4:], sum[:])
	return id
}

// firstID returns an ID that sorts before the IDs of deliveries of changes of that second.
func firstID(at time.Time) (id ID) {
	binary.BigEndian.PutUint32(id[:4], uint32(max(0, at.Unix()))) //nolint:gosec // until 2106
	return id
}

func (t *Target) position() changes.Position { return changes.Position{Seq: t.Seq, Item: t.Item} }

// heads returns the first PENDING delivery of each of the subjects of an endpoint. Only these may be tried.
func (s *Service) heads(ctx context.Context, id ID, subjects []string) (heads []bson.Raw, err error) {
	found, err := mongodb.All[struct {
		Head bson.Raw `bson:"head"`
	}](ctx, s.deliveries(), mongo.Pipeline{
		mongodb.Match(pendingOf(id), mongodb.In("subject", subjects)), mongodb.Sort("subject", "seq", "item"),
		mongodb.Group("$subject", bson.E{Key: "head", Value: bson.D{{Key: "$first", Value: "$$ROOT"}}}),
	})
	for _, f := range found {
		heads = append(heads, f.Head)
	}
	return heads, err
}

// Deliveries reads a page of an endpoint's deliveries, newest changes first. The state "" selects all states. Of the
// PENDING deliveries of a subject, only the first one has a time of its next try.
func (s *Service) Deliveries(ctx context.Context, id ID, state string, page holdfast.Page) (list []Delivery, next string, err error) {
	if _, err := s.Get(ctx, id); err != nil {
		return nil, "", err
	}
	states := []string{Pending, Delivered, Dead}
	if state != "" {
		states = []string{state}
	}
	size := cmp.Or(page.Size, holdfast.DefaultPageSize)
	which := []bson.D{mongodb.Is("webhookId", id), mongodb.In("state", states)}
	if page.Token != "" {
		before, err := changes.ParseToken(page.Token)
		if err != nil {
			return nil, "", holdfast.RefuseInput("query.pageToken", "Invalid page token.")
		}
		which = append(which, beyond("$lt", before))
	}
	docs, err := mongodb.All[bson.Raw](ctx, s.deliveries(), mongo.Pipeline{
		mongodb.Match(which...), {{Key: "$sort", Value: bson.D{{Key: "seq", Value: -1}, {Key: "item", Value: -1}}}}, mongodb.Limit(size),
	})
	if err != nil {
		return nil, "", mongodb.Translate(err)
	}
	list = decode[Delivery](ctx, s, deliveriesName, docs)
	subjects := make([]string, len(list))
	for i := range list {
		subjects[i] = list[i].Subject
	}
	heads, err := s.heads(ctx, id, subjects)
	for i := range list {
		d := &list[i]
		if !slices.ContainsFunc(heads, func(head bson.Raw) bool { return mongodb.IDOf(head, "_id") == d.ID }) {
			d.NextAttemptAt = time.Time{}
		}
		next = d.position().Token()
	}
	if len(docs) < size {
		next = ""
	}
	return list, next, mongodb.Translate(err)
}

// beyond matches deliveries of changes before a position ($lt) or after it ($gt).
func beyond(compare string, p changes.Position) bson.D {
	return bson.D{{Key: "$or", Value: bson.A{
		mongodb.Is("seq", bson.D{{Key: compare, Value: p.Seq}}),
		mongodb.And(mongodb.Is("seq", p.Seq), mongodb.Is("item", bson.D{{Key: compare, Value: p.Item}})),
	}}}
}

// purgedAtOnce bounds the documents that one command removes.
const purgedAtOnce = 1000

// Purge removes deliveries that ended and whose changes are older than a time, and the deliveries of deleted
// endpoints. It returns how many documents it has removed, or 0 if none is left. A PENDING delivery whose change is
// past retention becomes DEAD when it is tried.
func (s *Service) Purge(ctx context.Context, before time.Time) (removed int64, err error) {
	endpoints, err := mongodb.FirstIDs(ctx, s.endpoints(), bson.D{}, 2*MaxEndpoints)
	if err != nil {
		return 0, mongodb.Translate(err)
	}
	which := mongodb.And(mongodb.Is("_id", bson.D{{Key: "$lt", Value: firstID(before)}}), bson.D{{Key: "$or", Value: bson.A{
		mongodb.In("state", []string{Delivered, Dead}), mongodb.Is("webhookId", bson.D{{Key: "$nin", Value: endpoints}}),
	}}})
	keys, err := mongodb.FirstIDs(ctx, s.deliveries(), which, purgedAtOnce)
	if err != nil || len(keys) == 0 {
		return 0, mongodb.Translate(err)
	}
	// a delivery that was planned again meanwhile stays
	result, err := s.deliveries().DeleteMany(ctx, mongodb.And(mongodb.In("_id", keys), which))
	if err != nil {
		return 0, mongodb.UnknownOutcome(err)
	}
	return result.DeletedCount, nil
}

// count counts the deliveries of an endpoint that match.
func (s *Service) count(ctx context.Context, id ID, state string, which ...bson.D) (int64, error) {
	which = append(which, mongodb.Is("webhookId", id), mongodb.Is("state", state))
	return s.deliveries().CountDocuments(ctx, mongodb.And(which...))
}
