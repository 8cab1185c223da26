package webhooks

import (
	"crypto/sha256"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

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

// record is the delivery as the next flush writes it.
func (d *deliveryDoc) record() *record {
	return &record{
		changeID: string(d.ChangeID), changeType: string(d.Type), subject: string(d.Subject), position: d.position(), changedAt: d.ChangedAt.Time,
		attempts: d.Attempts.Or(0), step: d.Step.Or(0), nextAttemptAt: d.NextAttemptAt.Time, status: int(d.LastStatus.Or(0)),
	}
}

// record is a delivery as a flush writes it.
type record struct {
	changeID, changeType, subject string
	position                      changes.Position
	changedAt                     time.Time
	attempts, step                int64
	nextAttemptAt                 time.Time // by the schedule; zero: it waits behind another one
	triedAt                       time.Time // zero: never
	earlyAt                       time.Time // it is not tried before nextAttemptAt until then
	status                        int
	isDead                        bool
}

func recordOf(e *entry) *record {
	return &record{
		changeID: e.id, changeType: string(e.change.Type), subject: e.subject, position: e.at, changedAt: e.change.At,
	}
}

// appendFields appends the fields that a delivery has in every state. A busy event has thousands of deliveries a second, so they
// are encoded without reflection.
func (r *record) appendFields(b []byte) []byte {
	b = bsoncore.AppendStringElement(b, "changeId", r.changeID)
	b = bsoncore.AppendStringElement(b, "type", r.changeType)
	b = bsoncore.AppendStringElement(b, "subject", r.subject)
	b = bsoncore.AppendInt64Element(b, "seq", r.position.Seq)
	b = bsoncore.AppendInt32Element(b, "item", int32(r.position.Item)) //nolint:gosec // a record has thousands
	b = bsoncore.AppendDateTimeElement(b, "changedAt", r.changedAt.UnixMilli())
	b = bsoncore.AppendInt64Element(b, "attempts", r.attempts)
	return bsoncore.AppendInt32Element(b, "lastStatus", int32(r.status)) //nolint:gosec // three digits
}

// itemsOf is the list of what was delivered.
func itemsOf(delivered []*record) bson.RawValue {
	start, b := bsoncore.AppendArrayStart(make([]byte, 0, len(delivered)*usualItem))
	for i, r := range delivered {
		var item int32
		item, b = mongodb.AppendItem(b, i)
		b, _ = bsoncore.AppendDocumentEnd(r.appendFields(b), item)
	}
	b, _ = bsoncore.AppendArrayEnd(b, start)
	return bson.RawValue{Type: bson.TypeArray, Value: b}
}

// usualItem is a bit more than the bytes of a usual delivery in a list.
const usualItem = 300

// update is the change of the document of a delivery that is not delivered.
func (r *record) update(now time.Time) bson.D {
	state := Pending
	if r.isDead {
		state = Dead
	}
	start, set := bsoncore.AppendDocumentStart(nil)
	set = bsoncore.AppendStringElement(r.appendFields(set), "state", state)
	set = bsoncore.AppendInt64Element(set, "step", r.step)
	set = bsoncore.AppendDateTimeElement(set, "at", now.UnixMilli())
	unset := bson.D{}
	for _, t := range []struct {
		field string
		value time.Time
	}{{"nextAttemptAt", r.nextAttemptAt}, {"triedAt", r.triedAt}, {"earlyAt", r.earlyAt}} {
		if t.value.IsZero() {
			unset = append(unset, bson.E{Key: t.field, Value: ""})
		} else {
			set = bsoncore.AppendDateTimeElement(set, t.field, t.value.UnixMilli())
		}
	}
	set, _ = bsoncore.AppendDocumentEnd(set, start)
	update := bson.D{{Key: "$set", Value: bson.Raw(set)}}
	if len(unset) > 0 {
		update = append(update, bson.E{Key: "$unset", Value: unset})
	}
	return update
}
