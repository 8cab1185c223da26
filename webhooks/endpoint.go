package webhooks

import (
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// ID names an endpoint or a delivery.
type ID = holdfast.ID

// State says whether an endpoint gets changes.
type State string

// The states of endpoints.
const (
	Enabled  State = "ENABLED"
	Disabled State = "DISABLED"
)

// Why an endpoint is disabled.
const (
	ReasonOperator = "operator"
	ReasonGone     = "gone"     // it answered 410
	ReasonFailures = "failures" // nothing but failures for disableAfter
)

// Reasons returns why an endpoint can be disabled, in a new slice.
func Reasons() []string { return []string{ReasonOperator, ReasonGone, ReasonFailures} }

const (
	// MaxEndpoints bounds what each change may cost. Each endpoint has a slot, whose number is unique.
	MaxEndpoints  = 50
	maxTypes      = 50
	maxTypeLength = 64
)

// Endpoint is a receiver of changes.
type Endpoint struct {
	ID        ID
	URL       string
	Types     []string // types, or their beginning with * at the end
	EventID   ID       // zero: of all events and plans
	State     State
	Reason    string // why it is disabled
	CreatedAt time.Time
	UpdatedAt time.Time

	secrets  *[]secret // a pointer, so that nothing prints them
	slot     int64
	position changes.Position // in front of the first change that is not settled
	epoch    int64            // raised by each runner
	replays  int64            // raised by each replay
	health   health

	gaps         []gap
	disabledFrom int64 // the number of the first change of the present gap; 0: none
	former       []subscription
}

// wants reports whether the endpoint would be told of a change that is committed now.
func (e *Endpoint) wants(c *holdfast.Change) bool {
	return e.isOfEvent(c) && isOfTypes(e.Types, c.Type)
}

// wantsAt reports whether the endpoint is told of the change at a position: by the types that it had then.
func (e *Endpoint) wantsAt(p changes.Position, c *holdfast.Change) bool {
	return e.isOfEvent(c) && isOfTypes(e.typesAt(p), c.Type)
}

func (e *Endpoint) isOfEvent(c *holdfast.Change) bool {
	return e.EventID.IsZero() || e.EventID == c.EventID
}

// isOfTypes reports whether one of the patterns selects a type.
func isOfTypes(patterns []string, t holdfast.ChangeType) bool {
	for _, pattern := range patterns {
		prefix, isPrefix := strings.CutSuffix(pattern, "*")
		if isPrefix && strings.HasPrefix(string(t), prefix) || pattern == string(t) {
			return true
		}
	}
	return false
}

// checkTypes refuses patterns that select nothing. A pattern of the beginning may select types of later versions.
func checkTypes(patterns []string) error {
	const where = "body.types"
	if len(patterns) == 0 || len(patterns) > maxTypes {
		return holdfast.RefuseInput(where, "Give 1 to %d types.", maxTypes)
	}
	for _, pattern := range patterns {
		if _, err := changes.TypesOf(pattern); err != nil || len(pattern) > maxTypeLength || !isKnown(pattern) {
			return holdfast.RefuseInput(where, "No change has one of the types. Give types, or their beginning with * at the end.")
		}
	}
	return nil
}

func isKnown(pattern string) bool {
	if strings.HasSuffix(pattern, "*") {
		return true
	}
	for _, t := range holdfast.ChangeTypes() {
		if string(t) == pattern {
			return true
		}
	}
	return false
}

const name = "webhooks"

// Collections are the endpoints and their deliveries, with their indexes.
func Collections() []mongodb.Collection {
	return []mongodb.Collection{
		{Name: name, Indexes: []mongodb.Index{slotIndex}},
		{Name: deliveriesName, Indexes: []mongodb.Index{
			changeIndex,
			{Keys: mongodb.Keys("webhookId", "state", "_id")},
			{Keys: mongodb.Keys("webhookId", "state", "nextAttemptAt")},
			{Keys: mongodb.Keys("webhookId", "state", "subject", "seq", "item")},
			{Keys: mongodb.Keys("state", "at")},
		}},
	}
}

var slotIndex = mongodb.Index{Keys: mongodb.Keys("slot"), Unique: true, Partial: exists("slot")}

func exists(field string) bson.D {
	return bson.D{{Key: field, Value: bson.D{{Key: "$exists", Value: true}}}}
}

type endpointDoc struct {
	ID        ID            `bson:"_id"`
	Slot      mongodb.Whole `bson:"slot"`
	URL       mongodb.Text  `bson:"url"`
	Types     mongodb.Texts `bson:"types"`
	EventID   ID            `bson:"eventId"`
	State     mongodb.Text  `bson:"state"`
	Reason    mongodb.Text  `bson:"reason"`
	Secrets   []secretDoc   `bson:"secrets"`
	CreatedAt mongodb.Date  `bson:"createdAt"`
	UpdatedAt mongodb.Date  `bson:"updatedAt"`
	Internal  struct {
		Seq          mongodb.Whole `bson:"seq"`
		Item         mongodb.Whole `bson:"item"`
		Epoch        mongodb.Whole `bson:"epoch"`
		Replays      mongodb.Whole `bson:"replays"`
		FailingSince mongodb.Date  `bson:"failingSince"`
		RecoveredAt  mongodb.Date  `bson:"recoveredAt"`
		Gaps         []gapDoc      `bson:"gaps"`
		DisabledFrom mongodb.Whole `bson:"disabledFrom"`
		Former       []formerDoc   `bson:"former"`
	} `bson:"internal"`
}

type secretDoc struct {
	Secret mongodb.Text `bson:"secret"`
	Until  mongodb.Date `bson:"until"`
}

func (d endpointDoc) endpoint() Endpoint {
	e := Endpoint{
		ID: d.ID, URL: string(d.URL), Types: d.Types, EventID: d.EventID, State: State(d.State), Reason: string(d.Reason),
		CreatedAt: d.CreatedAt.Time, UpdatedAt: d.UpdatedAt.Time, slot: d.Slot.Or(0),
		position: changes.Position{Seq: d.Internal.Seq.Or(0), Item: int(d.Internal.Item.Or(0))},
		epoch:    d.Internal.Epoch.Or(0), replays: d.Internal.Replays.Or(0),
		disabledFrom: d.Internal.DisabledFrom.Or(0),
		health:       health{failingSince: d.Internal.FailingSince.Time, recoveredAt: d.Internal.RecoveredAt.Time},
	}
	if e.State != Enabled {
		e.State = Disabled
	}
	for _, g := range d.Internal.Gaps {
		e.gaps = append(e.gaps, gap{from: g.From.Or(0), to: g.To.Or(0)})
	}
	for _, f := range d.Internal.Former {
		e.former = append(e.former, subscription{until: f.Until.Or(0), types: f.Types})
	}
	secrets := make([]secret, len(d.Secrets))
	for i, s := range d.Secrets {
		secrets[i] = secret{Text: string(s.Secret), Until: s.Until.Time}
	}
	e.secrets = &secrets
	return e
}

func secretsDoc(secrets []secret) bson.A {
	list := bson.A{}
	for _, s := range secrets {
		doc := bson.D{{Key: "secret", Value: s.Text}}
		if !s.Until.IsZero() {
			doc = append(doc, bson.E{Key: "until", Value: s.Until})
		}
		list = append(list, doc)
	}
	return list
}
