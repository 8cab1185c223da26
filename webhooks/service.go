package webhooks

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2/event"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// Service keeps the endpoints of a database.
type Service struct {
	db           *mongodb.DB
	changes      *changes.Log
	allowPrivate bool
	hooks        hooks
}

// New returns the endpoints of a database. allowPrivate lifts the rules for schemes, ports and addresses.
func New(db *mongodb.DB, of *changes.Log, allowPrivate bool) *Service {
	return &Service{db: db, changes: of, allowPrivate: allowPrivate}
}

func (s *Service) endpoints() *mongo.Collection  { return s.db.Collection(name) }
func (s *Service) deliveries() *mongo.Collection { return s.db.Collection(deliveriesName) }

// now is the database's time: another process may use it, whose clock is another one.
func (s *Service) now(ctx context.Context) (time.Time, error) {
	now, err := s.db.Now(ctx)
	return now, mongodb.Translate(err)
}

// clock is the database's clock as it is now. Then it follows the process's monotonic one, so that no step of a clock delays
// anything.
func (s *Service) clock(ctx context.Context) (clock.Clock, error) {
	now, err := s.now(ctx)
	local := s.db.Clock()
	offset := now.Sub(local())
	return func() time.Time { return local().Add(offset) }, err
}

// NewEndpoint is a request to create an endpoint.
type NewEndpoint struct {
	URL     string
	Types   []string
	EventID ID // zero: of all events and plans
}

func (n NewEndpoint) hash() string {
	return fmt.Sprintf("%q|%q|%s", n.URL, n.Types, n.EventID)
}

// errSlotTaken says that another request has created an endpoint at the same time.
const errSlotTaken = mongodb.AbortError("the slot of the endpoint is taken")

// Create creates an endpoint, which gets the changes that are committed from now on. Its secret is returned this once:
// not by a repeat with the same key, after which it can be rotated.
func (s *Service) Create(
	ctx context.Context, n NewEndpoint, key holdfast.CreationKey,
) (e Endpoint, secretText string, replayed bool, err error) {
	err = cmp.Or(checkURL(n.URL, s.allowPrivate), checkTypes(n.Types),
		holdfast.CheckText("body.idempotencyKey", key.Key, holdfast.MaxKeyLength))
	if err != nil {
		return e, "", false, err
	}
	end, err := s.end(ctx, false) // what has no number yet is told too
	if err != nil {
		return e, "", false, err
	}
	now, err := s.now(ctx)
	if err != nil {
		return e, "", false, err
	}
	e = Endpoint{ID: ids.New(), URL: n.URL, Types: n.Types, EventID: n.EventID, State: Enabled, CreatedAt: now, UpdatedAt: now, position: end}
	secretText = newSecret()
	e.secrets = &[]secret{{Text: secretText}}
	var id ID
	for range MaxEndpoints { // each time another one was created
		id, replayed, err = s.db.Create(ctx, mongodb.Creation{Collection: name, ID: e.ID, Key: key, Hash: n.hash(),
			Insert: func(ctx context.Context) error { return s.insert(ctx, e) }})
		if !errors.Is(err, errSlotTaken) {
			break
		}
	}
	if errors.Is(err, errSlotTaken) {
		err = mongodb.ConflictError(err)
	}
	if err != nil || !replayed {
		return e, secretText, false, err
	}
	e, err = s.Get(ctx, id)
	return e, "", true, err
}

// insert takes the first free slot. Of two endpoints with the same slot MongoDB refuses one.
func (s *Service) insert(ctx context.Context, e Endpoint) error {
	taken, err := mongodb.All[endpointDoc](ctx, s.endpoints(), mongo.Pipeline{
		mongodb.Match(exists("slot")), mongodb.Limit(MaxEndpoints), mongodb.Only("slot"),
	})
	if err != nil {
		return err
	}
	slot := 0
	for slices.ContainsFunc(taken, func(d endpointDoc) bool { return d.Slot.Or(-1) == int64(slot) }) {
		slot++
	}
	if slot >= MaxEndpoints {
		return holdfast.Refuse(holdfast.CodeWebhookLimitReached, "There are %d endpoints already. Delete one first.", MaxEndpoints).
			With(holdfast.LimitReached{Limit: MaxEndpoints})
	}
	doc := bson.D{
		{Key: "_id", Value: e.ID}, {Key: "slot", Value: slot}, {Key: "url", Value: e.URL}, {Key: "types", Value: e.Types},
		{Key: "state", Value: e.State}, {Key: "secrets", Value: secretsDoc(*e.secrets)},
		{Key: "createdAt", Value: e.CreatedAt}, {Key: "updatedAt", Value: e.UpdatedAt},
		{Key: "internal", Value: bson.D{
			{Key: "seq", Value: e.position.Seq}, {Key: "item", Value: e.position.Item}, {Key: "epoch", Value: int64(0)},
		}},
	}
	if !e.EventID.IsZero() {
		doc = append(doc, bson.E{Key: "eventId", Value: e.EventID})
	}
	_, err = s.endpoints().InsertOne(ctx, doc)
	if mongodb.IsDuplicate(err, slotIndex.Keys) {
		return errSlotTaken
	}
	return err
}

// end is behind all changes that are committed now. If some of them can't be numbered, it is in front of these; isExact: it fails
// with UNAVAILABLE.
func (s *Service) end(ctx context.Context, isExact bool) (changes.Position, error) {
	if err := s.numberAll(ctx); err != nil && isExact {
		return changes.Position{}, err
	}
	_, end, err := s.changes.Ends(ctx)
	return end, err
}

// numberAll numbers all changes that are committed now. It fails with UNAVAILABLE.
func (s *Service) numberAll(ctx context.Context) error {
	const most = 100 // of the job changes, whose work this is
	for range most {
		n, err := s.changes.Number(ctx)
		switch {
		case err != nil:
			return holdfast.Refuse(holdfast.CodeUnavailable, "Changes can't be numbered, and the endpoint was not changed; try again.").By(err)
		case n < changes.MaxNumbered: // these were all
			return nil
		}
	}
	return holdfast.Refuse(holdfast.CodeUnavailable, "Too many changes wait for their numbers, and the endpoint was not changed; try again.")
}

var place = mongodb.Place{Collection: name, Filter: mongodb.Is("_id", ID{})}

// Get reads an endpoint, or fails with CodeWebhookNotFound.
func (s *Service) Get(ctx context.Context, id ID) (Endpoint, error) {
	return mongodb.ConfirmRefusal(ctx, s.db, holdfast.IsNotFound, mongodb.At(place), func(ctx context.Context) (Endpoint, error) {
		e, err := s.get(ctx, id)
		return e, mongodb.Translate(err)
	})
}

func (s *Service) get(ctx context.Context, id ID) (Endpoint, error) {
	d, found, err := mongodb.First[endpointDoc](ctx, s.endpoints(), mongo.Pipeline{mongodb.Match(mongodb.Is("_id", id))})
	switch {
	case err != nil:
		return Endpoint{}, err
	case !found || d.ID.IsZero():
		return Endpoint{}, holdfast.NotFound(holdfast.CodeWebhookNotFound)
	}
	return d.endpoint(), nil
}

// List reads a page of endpoints.
func (s *Service) List(ctx context.Context, page holdfast.Page) (list []Endpoint, next string, err error) {
	docs, next, err := mongodb.List(ctx, s.endpoints(), mongodb.Filter{Indexed: true}, page, func(d endpointDoc) ID { return d.ID })
	for _, d := range docs {
		list = append(list, d.endpoint())
	}
	return list, next, err
}

// updateOne changes an endpoint that was read in the same transaction.
func (s *Service) updateOne(ctx context.Context, id ID, update bson.D) error {
	result, err := s.endpoints().UpdateOne(ctx, mongodb.Is("_id", id), update)
	if err == nil && result.MatchedCount == 0 {
		err = holdfast.NotFound(holdfast.CodeWebhookNotFound)
	}
	return err
}

// Delete removes an endpoint with its deliveries.
func (s *Service) Delete(ctx context.Context, id ID) error {
	result, err := s.endpoints().DeleteOne(ctx, mongodb.Is("_id", id))
	if err != nil {
		return mongodb.UnknownOutcome(err)
	}
	if result.DeletedCount == 0 {
		_, err := s.Get(ctx, id)
		return err
	}
	_, err = s.deliveries().DeleteMany(ctx, mongodb.Is("webhookId", id))
	return mongodb.UnknownOutcome(err)
}

// RotateSecret makes a new secret, which is returned this once. The former ones sign too until the overlap ends. It refuses with
// WEBHOOK_LIMIT_REACHED while maxSecrets are in force, unless the overlap is 0.
func (s *Service) RotateSecret(ctx context.Context, id ID, overlap time.Duration) (string, error) {
	if _, err := s.Get(ctx, id); err != nil {
		return "", err
	}
	now, err := s.now(ctx)
	if err != nil {
		return "", err
	}
	text := newSecret()
	return text, mongodb.Do(ctx, s.db, func(ctx context.Context) error {
		e, err := s.get(ctx, id)
		if err != nil {
			return err
		}
		secrets, err := rotated(*e.secrets, text, now, overlap)
		if err != nil {
			return err
		}
		return s.updateOne(ctx, id, bson.D{{Key: "$set", Value: bson.D{
			{Key: "secrets", Value: secretsDoc(secrets)}, {Key: "updatedAt", Value: now},
		}}})
	})
}

// Tested is how a test ended.
type Tested struct {
	Status   int // 0: there was no answer
	Duration time.Duration
	Error    string // "": the endpoint accepted it
}

// TypeTest is the type of the event that Test sends. It is no change.
const TypeTest = "holdfast.webhook.test"

// Test makes one try with an event that says nothing, also if the endpoint is disabled.
func (s *Service) Test(ctx context.Context, id ID) (Tested, error) {
	e, err := s.Get(ctx, id)
	if err != nil {
		return Tested{}, err
	}
	now, err := s.clock(ctx)
	if err != nil {
		return Tested{}, err
	}
	event := cloudevents.New(cloudevents.CloudEventsVersionV1)
	event.SetID("webhooks-" + id.String() + "-test-" + strings.ToLower(rand.Text()))
	event.SetSource("/holdfast/" + s.db.Name())
	event.SetType(TypeTest)
	event.SetSubject("webhooks/" + id.String())
	event.SetTime(now().UTC())
	err = event.SetData(cloudevents.ApplicationJSON, map[string]string{"id": id.String()})
	if err == nil {
		err = event.Validate()
	}
	if err != nil {
		return Tested{}, err
	}
	body, err := event.MarshalJSON()
	if err != nil {
		return Tested{}, err
	}
	sender := newSender(s.allowPrivate, now, s.hooks)
	defer sender.close()
	r := sender.send(ctx, e.URL, *e.secrets, event.ID(), body)
	if r.aborted {
		return Tested{}, holdfast.Refuse(holdfast.CodeUnavailable, "The test was ended before the endpoint answered.").By(ctx.Err())
	}
	return Tested{Status: r.status, Duration: r.took, Error: failures[r.outcome]}, nil
}

// enabled reads the endpoints that are enabled, and counts the others by the reason.
func (s *Service) enabled(ctx context.Context) (all []Endpoint, disabled map[string]int, err error) {
	disabled = map[string]int{}
	docs, err := mongodb.All[endpointDoc](ctx, s.endpoints(), mongo.Pipeline{mongodb.Sort("_id"), mongodb.Limit(2 * MaxEndpoints)})
	for _, d := range docs {
		if e := d.endpoint(); e.State == Enabled && !e.ID.IsZero() {
			all = append(all, e)
		} else if slices.Contains(Reasons(), e.Reason) {
			disabled[e.Reason]++
		} else { // other software has disabled it
			disabled[ReasonOperator]++
		}
	}
	return all, disabled, mongodb.Translate(err)
}

// claim makes this runner the one whose flushes are written. found: the endpoint is enabled.
func (s *Service) claim(ctx context.Context, id ID) (e Endpoint, found bool, err error) {
	var d endpointDoc
	err = s.endpoints().FindOneAndUpdate(ctx, mongodb.And(mongodb.Is("_id", id), mongodb.Is("state", Enabled)),
		bson.D{{Key: "$inc", Value: bson.D{{Key: "internal.epoch", Value: int64(1)}}}},
		options.FindOneAndUpdate().SetReturnDocument(options.After)).Decode(&d)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return e, false, nil
	}
	return d.endpoint(), err == nil, mongodb.UnknownOutcome(err)
}
