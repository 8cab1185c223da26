package webhooks

import (
	"crypto/sha256"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

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
	}{{"nextAttemptAt", r.nextAttemptAt}, {"triedAt", r.triedAt}, {"earlyAt", r.earlyAt}} {
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
