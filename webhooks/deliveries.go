package webhooks

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

const deliveriesName = "webhookdeliveries"

// The states of deliveries.
const (
	Pending   = "PENDING"
	Delivered = "DELIVERED"
	Dead      = "DEAD" // given up; it can be replayed
)

// changeIndex makes a document of each change and endpoint unique. Documents of what was delivered have no changeId.
var changeIndex = mongodb.Index{Keys: mongodb.Keys("webhookId", "changeId"), Unique: true, Partial: exists("changeId")}

// Delivery is a change on its way to an endpoint, or at its end.
type Delivery struct {
	ID            ID
	ChangeID      string
	Type          string
	Subject       string
	State         string
	Attempts      int64
	NextAttemptAt time.Time // zero: it waits for an earlier change of its subject, or none is planned
	LastStatus    int64     // 0: there was no answer yet
}

// deliveryID is the same for all deliveries of a change to an endpoint.
func deliveryID(endpoint ID, changeID string) (id ID) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s", endpoint, changeID))
	copy(id[:], sum[:])
	return id
}

// deliveryDoc is a PENDING or DEAD delivery, or several that were delivered, in items.
type deliveryDoc struct {
	Key           ID            `bson:"_id"`
	WebhookID     ID            `bson:"webhookId"`
	ChangeID      mongodb.Text  `bson:"changeId"`
	Type          mongodb.Text  `bson:"type"`
	Subject       mongodb.Text  `bson:"subject"`
	State         mongodb.Text  `bson:"state"`
	Attempts      mongodb.Whole `bson:"attempts"`
	Step          mongodb.Whole `bson:"step"` // of the schedule
	NextAttemptAt mongodb.Date  `bson:"nextAttemptAt"`
	LastStatus    mongodb.Whole `bson:"lastStatus"`
	Seq           mongodb.Whole `bson:"seq"` // the change's position
	Item          mongodb.Whole `bson:"item"`
	ChangedAt     mongodb.Date  `bson:"changedAt"`
	Items         []deliveryDoc `bson:"items"`
}

func (d *deliveryDoc) position() changes.Position {
	return changes.Position{Seq: d.Seq.Or(0), Item: int(d.Item.Or(0))}
}

func (d *deliveryDoc) delivery() Delivery {
	return Delivery{
		ID: deliveryID(d.WebhookID, string(d.ChangeID)), ChangeID: string(d.ChangeID), Type: string(d.Type), Subject: string(d.Subject),
		State: string(d.State), Attempts: d.Attempts.Or(0), NextAttemptAt: d.NextAttemptAt.Time, LastStatus: d.LastStatus.Or(0),
	}
}

// record is a delivery as a flush writes it.
type record struct {
	changeID, changeType, subject string
	position                      changes.Position
	changedAt                     time.Time
	attempts, step                int64
	nextAttemptAt, triedAt        time.Time // zero: it waits behind another one
	status                        int
	isDead                        bool
}

func recordOf(e *entry) *record {
	return &record{
		changeID: e.id, changeType: string(e.change.Type), subject: e.subject, position: e.at, changedAt: e.change.At,
	}
}

func (r *record) fields() bson.D {
	return bson.D{
		{Key: "changeId", Value: r.changeID}, {Key: "type", Value: r.changeType}, {Key: "subject", Value: r.subject},
		{Key: "seq", Value: r.position.Seq}, {Key: "item", Value: r.position.Item}, {Key: "changedAt", Value: r.changedAt},
		{Key: "attempts", Value: r.attempts}, {Key: "lastStatus", Value: r.status},
	}
}

// update is the change of the document of a delivery that is not delivered.
func (r *record) update(now time.Time) bson.D {
	state := Pending
	if r.isDead {
		state = Dead
	}
	set := append(r.fields(), bson.E{Key: "state", Value: state}, bson.E{Key: "step", Value: r.step}, bson.E{Key: "at", Value: now})
	unset := bson.D{}
	for _, t := range []struct {
		field string
		value time.Time
	}{{"nextAttemptAt", r.nextAttemptAt}, {"triedAt", r.triedAt}} {
		if t.value.IsZero() {
			unset = append(unset, bson.E{Key: t.field, Value: ""})
		} else {
			set = append(set, bson.E{Key: t.field, Value: t.value})
		}
	}
	update := bson.D{{Key: "$set", Value: set}}
	if len(unset) > 0 {
		update = append(update, bson.E{Key: "$unset", Value: unset})
	}
	return update
}

// subjects are those of the endpoint's documents that are PENDING: later changes of them become documents too.
func (s *Service) subjects(ctx context.Context, id ID) (map[string]bool, error) {
	found, err := mongodb.All[struct {
		Subject mongodb.Text `bson:"_id"`
	}](ctx, s.deliveries(), mongo.Pipeline{mongodb.Match(pendingOf(id)), mongodb.Group("$subject"), mongodb.Limit(maxSubjects)})
	all := map[string]bool{}
	for _, f := range found {
		all[string(f.Subject)] = true
	}
	return all, mongodb.Translate(err)
}

func pendingOf(id ID) bson.D {
	return mongodb.And(mongodb.Is("webhookId", id), mongodb.Is("state", Pending))
}

// maxDue bounds the documents that a runner has in memory.
const maxDue = 200

// due reads documents that are to be tried: those whose time has come, and those that were tried before the endpoint
// recovered. Of a subject it is the earliest change; a later one loses its time, and gets one when it is the
// earliest. found: how many were due, of all.
func (s *Service) due(ctx context.Context, id ID, now, recoveredAt time.Time) (heads []deliveryDoc, found int, err error) {
	when := bson.A{mongodb.Is("nextAttemptAt", bson.D{{Key: "$lte", Value: now}, {Key: "$type", Value: "date"}})}
	if !recoveredAt.IsZero() {
		when = append(when, bson.D{
			{Key: "nextAttemptAt", Value: bson.D{{Key: "$type", Value: "date"}}}, {Key: "triedAt", Value: bson.D{{Key: "$lt", Value: recoveredAt}}},
		})
	}
	all, err := mongodb.All[deliveryDoc](ctx, s.deliveries(), mongo.Pipeline{
		mongodb.Match(pendingOf(id), bson.D{{Key: "$or", Value: when}}), mongodb.Sort("nextAttemptAt"), mongodb.Limit(maxDue),
	})
	if err != nil || len(all) == 0 {
		return nil, 0, mongodb.Translate(err)
	}
	subjects := make([]string, len(all))
	for i := range all {
		subjects[i] = string(all[i].Subject)
	}
	first, err := s.firstOf(ctx, id, subjects)
	if err != nil {
		return nil, 0, mongodb.Translate(err)
	}
	var later []ID
	for _, d := range all {
		if first[string(d.Subject)].Key == d.Key {
			heads = append(heads, d)
		} else {
			later = append(later, d.Key)
		}
	}
	if len(later) > 0 {
		_, err = s.deliveries().UpdateMany(ctx, mongodb.And(mongodb.In("_id", later), mongodb.Is("state", Pending)),
			bson.D{{Key: "$unset", Value: bson.D{{Key: "nextAttemptAt", Value: ""}}}})
	}
	return heads, len(all), mongodb.UnknownOutcome(err)
}

// firstOf are the earliest PENDING changes of subjects.
func (s *Service) firstOf(ctx context.Context, id ID, subjects []string) (map[string]deliveryDoc, error) {
	found, err := mongodb.All[struct {
		Subject mongodb.Text `bson:"_id"`
		First   deliveryDoc  `bson:"first"`
	}](ctx, s.deliveries(), mongo.Pipeline{
		mongodb.Match(pendingOf(id), mongodb.In("subject", subjects)), mongodb.Sort("subject", "seq", "item"),
		mongodb.Group("$subject", bson.E{Key: "first", Value: bson.D{{Key: "$first", Value: "$$ROOT"}}}),
	})
	first := map[string]deliveryDoc{}
	for _, f := range found {
		first[string(f.Subject)] = f.First
	}
	return first, err
}

// flush is what a runner writes in one transaction.
type flush struct {
	endpoint  ID
	epoch     int64
	position  changes.Position
	health    health
	disabled  string    // why the endpoint is disabled; "": it is not
	stored    []*record // new documents
	delivered []*record
	retried   []retried
}

// retried is how the try of a document ended: delivered (then record is in delivered too), dead, or pending.
type retried struct {
	key         ID
	record      *record
	isDelivered bool
}

// errReplaced says that another runner has the endpoint, or that it was deleted.
const errReplaced = mongodb.AbortError("another runner has the endpoint")

const (
	maxStatements = 500 // of a command
	maxInBatch    = 500 // deliveries of a document
)

// write writes a flush. unblocked are the subjects that have no document any more.
func (s *Service) write(ctx context.Context, f *flush) (unblocked []string, err error) {
	now := s.now()
	return mongodb.InTx(ctx, s.db, func(ctx context.Context) (unblocked []string, err error) {
		if err := s.writePosition(ctx, f, now); err != nil {
			return nil, err
		}
		var updates, deletes []bson.D
		for _, r := range f.stored {
			updates = append(updates, bson.D{
				{Key: "q", Value: mongodb.And(mongodb.Is("webhookId", f.endpoint), mongodb.Is("changeId", r.changeID))},
				{Key: "u", Value: r.update(now)}, {Key: "upsert", Value: true},
			})
		}
		var settled []string
		for _, r := range f.retried {
			if r.isDelivered || r.record.isDead {
				settled = append(settled, r.record.subject)
			}
			if r.isDelivered {
				deletes = append(deletes, bson.D{{Key: "q", Value: mongodb.Is("_id", r.key)}, {Key: "limit", Value: 1}})
				continue
			}
			updates = append(updates, bson.D{{Key: "q", Value: mongodb.Is("_id", r.key)}, {Key: "u", Value: r.record.update(now)}})
		}
		if err := s.command(ctx, "update", "updates", updates); err != nil {
			return nil, err
		}
		if err := s.command(ctx, "delete", "deletes", deletes); err != nil {
			return nil, err
		}
		if err := s.writeDelivered(ctx, f, now); err != nil {
			return nil, err
		}
		return s.promote(ctx, f.endpoint, settled, now)
	})
}

func (s *Service) writePosition(ctx context.Context, f *flush, now time.Time) error {
	set := bson.D{{Key: "internal.seq", Value: f.position.Seq}, {Key: "internal.item", Value: f.position.Item}}
	unset := bson.D{}
	if f.health.isFailing() {
		set = append(set, bson.E{Key: "internal.failingSince", Value: f.health.failingSince})
	} else {
		unset = append(unset, bson.E{Key: "internal.failingSince", Value: ""})
	}
	if !f.health.recoveredAt.IsZero() {
		set = append(set, bson.E{Key: "internal.recoveredAt", Value: f.health.recoveredAt})
	}
	if f.disabled != "" {
		set = append(set, bson.E{Key: "state", Value: Disabled}, bson.E{Key: "reason", Value: f.disabled}, bson.E{Key: "updatedAt", Value: now})
	}
	update := bson.D{{Key: "$set", Value: set}}
	if len(unset) > 0 {
		update = append(update, bson.E{Key: "$unset", Value: unset})
	}
	result, err := s.endpoints().UpdateOne(ctx, mongodb.And(mongodb.Is("_id", f.endpoint), mongodb.Is("internal.epoch", f.epoch)), update)
	if err == nil && result.MatchedCount == 0 {
		err = errReplaced
	}
	return err
}

// command sends the statements of an update or a delete, in several commands if there are many.
func (s *Service) command(ctx context.Context, verb, list string, statements []bson.D) error {
	for len(statements) > 0 {
		n := min(len(statements), maxStatements)
		err := s.db.RunCommand(ctx, bson.D{{Key: verb, Value: deliveriesName}, {Key: list, Value: statements[:n]}}).Err()
		if err != nil {
			return err
		}
		statements = statements[n:]
	}
	return nil
}

func (s *Service) writeDelivered(ctx context.Context, f *flush, now time.Time) error {
	for all := f.delivered; len(all) > 0; {
		n := min(len(all), maxInBatch)
		items := make(bson.A, n)
		for i, r := range all[:n] {
			items[i] = r.fields()
		}
		_, err := s.deliveries().InsertOne(ctx, bson.D{
			{Key: "_id", Value: bson.NewObjectID()}, {Key: "webhookId", Value: f.endpoint}, {Key: "state", Value: Delivered},
			{Key: "at", Value: now}, {Key: "items", Value: items},
		})
		if err != nil {
			return err
		}
		all = all[n:]
	}
	return nil
}

// promote makes the next documents of subjects due whose first one is settled. unblocked have none.
func (s *Service) promote(ctx context.Context, id ID, settled []string, now time.Time) (unblocked []string, err error) {
	if len(settled) == 0 {
		return nil, nil
	}
	first, err := s.firstOf(ctx, id, settled)
	if err != nil {
		return nil, err
	}
	var waiting []bson.D
	for _, subject := range settled {
		d, exists := first[subject]
		switch {
		case !exists:
			unblocked = append(unblocked, subject)
		case d.NextAttemptAt.IsZero():
			waiting = append(waiting, bson.D{{Key: "q", Value: mongodb.Is("_id", d.Key)},
				{Key: "u", Value: bson.D{{Key: "$set", Value: bson.D{{Key: "nextAttemptAt", Value: now}}}}}})
		}
	}
	return unblocked, s.command(ctx, "update", "updates", waiting)
}

// Deliveries reads a page of an endpoint's deliveries, newest documents first; state "" is all of them.
func (s *Service) Deliveries(ctx context.Context, id ID, state string, page holdfast.Page) (list []Delivery, next string, err error) {
	if _, err := s.Get(ctx, id); err != nil {
		return nil, "", err
	}
	which := []bson.D{mongodb.Is("webhookId", id)}
	if state != "" {
		which = append(which, mongodb.Is("state", state))
	} else {
		which = append(which, mongodb.In("state", []string{Pending, Delivered, Dead}))
	}
	skip := 0
	var last ID
	if page.Token != "" {
		if last, skip, err = parseDeliveryToken(page.Token); err != nil {
			return nil, "", err
		}
		which = append(which, mongodb.Is("_id", bson.D{{Key: "$lte", Value: last}}))
	}
	cursor, err := s.deliveries().Find(ctx, mongodb.And(which...),
		options.Find().SetSort(bson.D{{Key: "_id", Value: -1}}).SetBatchSize(batchSize))
	if err != nil {
		return nil, "", mongodb.Translate(err)
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	for cursor.Next(ctx) {
		var d deliveryDoc
		if err := mongodb.Unmarshal(cursor.Current, &d); err != nil {
			return nil, "", err
		}
		first := 0
		if d.Key == last {
			first = skip
		}
		all := d.all()
		for i := first; i < len(all); i++ {
			if len(list) == page.Size {
				return list, fmt.Sprintf("%s.%d", d.Key, i), nil
			}
			list = append(list, all[i])
		}
	}
	return list, "", mongodb.Translate(cursor.Err())
}

// batchSize is how many documents are read at once: one may have maxInBatch deliveries.
const batchSize = 16

// all are the deliveries of a document.
func (d *deliveryDoc) all() []Delivery {
	if d.State != Delivered {
		return []Delivery{d.delivery()}
	}
	list := make([]Delivery, len(d.Items))
	for i := range d.Items {
		d.Items[i].WebhookID, d.Items[i].State = d.WebhookID, d.State
		list[i] = d.Items[i].delivery()
	}
	return list
}

func parseDeliveryToken(token string) (last ID, skip int, err error) {
	id, count, _ := strings.Cut(token, ".")
	last, err = holdfast.ParseID(id)
	if err == nil {
		_, err = fmt.Sscanf(count, "%d", &skip)
	}
	if err != nil || skip < 0 || fmt.Sprintf("%s.%d", last, skip) != token {
		return ID{}, 0, holdfast.RefuseInput("query.pageToken", "Invalid page token.")
	}
	return last, skip, nil
}

// purgedAtOnce bounds the documents that one command removes.
const purgedAtOnce = 1000

// Purge removes deliveries that ended before a time, and those of endpoints that are gone; it returns how many documents it
// has removed; 0: none is left. A pending one whose change is past retention becomes DEAD when it is tried.
func (s *Service) Purge(ctx context.Context, before time.Time) (removed int64, err error) {
	endpoints, err := mongodb.All[endpointDoc](ctx, s.endpoints(), mongo.Pipeline{mongodb.Only("_id")})
	if err != nil {
		return 0, mongodb.Translate(err)
	}
	there := make([]ID, len(endpoints))
	for i, e := range endpoints {
		there[i] = e.ID
	}
	orphans := bson.D{{Key: "webhookId", Value: bson.D{{Key: "$nin", Value: there}}}}
	orphaned := mongodb.And(mongodb.Is("state", Pending), orphans)
	for _, which := range []bson.D{mongodb.Is("state", Delivered), mongodb.Is("state", Dead), orphaned} {
		old, err := mongodb.All[deliveryDoc](ctx, s.deliveries(), mongo.Pipeline{
			mongodb.Match(which, mongodb.Is("at", bson.D{{Key: "$lt", Value: before}})),
			mongodb.Sort("at"), mongodb.Limit(purgedAtOnce), mongodb.Only("_id"),
		})
		if err != nil {
			return removed, mongodb.Translate(err)
		}
		if len(old) == 0 {
			continue
		}
		keys := make([]ID, len(old))
		for i, d := range old {
			keys[i] = d.Key
		}
		result, err := s.deliveries().DeleteMany(ctx, mongodb.And(mongodb.In("_id", keys), which))
		if err != nil {
			return removed, mongodb.UnknownOutcome(err)
		}
		removed += result.DeletedCount
	}
	return removed, nil
}

// countDeliveries are of the metrics: documents that are pending and dead.
func (s *Service) countDeliveries(ctx context.Context) (pending, dead int64, err error) {
	found, err := mongodb.All[struct {
		State mongodb.Text  `bson:"_id"`
		N     mongodb.Whole `bson:"n"`
	}](ctx, s.deliveries(), mongo.Pipeline{
		mongodb.Match(mongodb.In("state", []string{Pending, Dead})), mongodb.Only("state"),
		mongodb.Group("$state", bson.E{Key: "n", Value: mongodb.Sum(1)}),
	})
	for _, f := range found {
		if f.State == Pending {
			pending = f.N.Or(0)
		} else {
			dead = f.N.Or(0)
		}
	}
	return pending, dead, mongodb.Translate(err)
}
