package webhooks

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2/event"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// Service manages the endpoints of a database.
type Service struct {
	db           *mongodb.DB
	changes      *changes.Log
	allowPrivate bool
	corrupt      *sync.Map // the documents that were logged as corrupt
	hooks        hooks
}

// New returns the service for a database. allowPrivate lifts the rules for schemes, ports and addresses.
func New(db *mongodb.DB, of *changes.Log, allowPrivate bool) *Service {
	return &Service{db: db, changes: of, allowPrivate: allowPrivate, corrupt: &sync.Map{}}
}

func (s *Service) endpoints() *mongo.Collection  { return s.db.Collection(name) }
func (s *Service) deliveries() *mongo.Collection { return s.db.Collection(deliveriesName) }

// now returns the database's time, because another process, with another clock, may use the value.
func (s *Service) now(ctx context.Context) (time.Time, error) {
	now, err := s.db.Now(ctx)
	return now, mongodb.Translate(err)
}

// clock returns a clock that starts at the database's time and follows the process's monotonic clock, so that no
// step of a clock delays anything.
func (s *Service) clock(ctx context.Context) (mongodb.Clock, error) {
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

// Create creates an endpoint. It receives the changes that are committed from now on. Only this call returns the
// secret; a repeat with the same key does not. The secret can be rotated then.
func (s *Service) Create(
	ctx context.Context, n NewEndpoint, key holdfast.CreationKey,
) (e Endpoint, secretText string, replayed bool, err error) {
	err = cmp.Or(checkURL(n.URL, s.allowPrivate), checkTypes(n.Types),
		holdfast.CheckText("body.idempotencyKey", key.Key, holdfast.MaxKeyLength))
	if err != nil {
		return e, "", false, err
	}
	end, now, err := s.catchUp(ctx)
	if err != nil {
		return e, "", false, err
	}
	secretText = newSecret()
	e = Endpoint{
		ID: mongodb.NewID(), URL: n.URL, Types: n.Types, EventID: n.EventID, State: Enabled, CreatedAt: now, UpdatedAt: now,
		Secrets: []secret{{Text: secretText}},
	}
	id, replayed, err := s.db.Create(ctx, mongodb.Creation{Collection: name, ID: e.ID, Key: key, Hash: n.hash(),
		Insert: func(ctx context.Context) error {
			if err := s.drawLine(ctx, end); err != nil { // so that no other endpoint is created at the same time
				return err
			}
			n, err := s.endpoints().CountDocuments(ctx, bson.D{})
			if err == nil && n >= MaxEndpoints {
				err = holdfast.Refuse(holdfast.CodeWebhookLimitReached, "There are %d endpoints already. Delete one first.", MaxEndpoints).
					With(holdfast.LimitReached{Limit: MaxEndpoints})
			}
			if err == nil {
				_, err = s.endpoints().InsertOne(ctx, e)
			}
			return err
		}})
	if err != nil || !replayed {
		return e, secretText, false, err
	}
	e, err = s.Get(ctx, id)
	return e, "", true, err
}

// Get reads an endpoint, or fails with CodeWebhookNotFound.
func (s *Service) Get(ctx context.Context, id ID) (Endpoint, error) {
	return mongodb.ConfirmRefusal(ctx, s.db, holdfast.IsNotFound, func(ctx context.Context) (Endpoint, error) {
		e, err := s.get(ctx, id)
		return e, mongodb.Translate(err)
	})
}

func (s *Service) get(ctx context.Context, id ID) (Endpoint, error) {
	found, err := s.find(ctx, mongodb.Is("_id", id))
	if err == nil && len(found) == 0 {
		err = holdfast.NotFound(holdfast.CodeWebhookNotFound)
	}
	if err != nil {
		return Endpoint{}, err
	}
	return found[0], nil
}

// List reads a page of endpoints.
func (s *Service) List(ctx context.Context, page holdfast.Page) (list []Endpoint, next string, err error) {
	docs, next, err := mongodb.List[bson.Raw](ctx, s.endpoints(), mongodb.Filter{Indexed: true}, page)
	return decode[Endpoint](ctx, s, name, docs), next, err
}

// Update is a change of an endpoint. A nil value leaves a field unchanged.
type Update struct {
	URL   *string
	Types []string
	State *State
}

// Update changes an endpoint. Changes that were committed before use the types and the state that it had then. An
// endpoint that is enabled again receives the deliveries that it had not accepted, and the changes that are
// committed from now on.
func (s *Service) Update(ctx context.Context, id ID, u Update) (e Endpoint, err error) {
	if u.URL != nil {
		err = checkURL(*u.URL, s.allowPrivate)
	}
	if err == nil && u.Types != nil {
		err = checkTypes(u.Types)
	}
	if err != nil {
		return e, err
	}
	selects := u.Types != nil || u.State != nil
	return s.change(ctx, id, selects, func(e *Endpoint, _ time.Time) error {
		if u.URL != nil {
			e.URL = *u.URL
		}
		if u.Types != nil {
			e.Types = u.Types
		}
		if u.State != nil && *u.State != e.State {
			e.State, e.Reason, e.Internal.FailingSince = *u.State, "", time.Time{}
			if e.State == Disabled {
				e.Reason = ReasonOperator
			}
		}
		return nil
	})
}

// change changes an endpoint behind a line. If the change selects other changes for the endpoint, those that were
// committed before are fanned out by the endpoint as it was. If they can't be fanned out, it fails with UNAVAILABLE, and
// the caller may retry.
func (s *Service) change(ctx context.Context, id ID, selects bool, apply func(e *Endpoint, now time.Time) error) (e Endpoint, err error) {
	if _, err := s.Get(ctx, id); err != nil {
		return e, err
	}
	var end changes.Position
	var now time.Time
	if selects {
		end, now, err = s.catchUp(ctx)
	} else {
		now, err = s.now(ctx)
	}
	if err != nil {
		return e, err
	}
	err = mongodb.Do(ctx, s.db, func(ctx context.Context) error {
		if err := s.drawLine(ctx, end); err != nil {
			return err
		}
		before, err := s.get(ctx, id)
		if e = before; err == nil {
			err = apply(&e, now)
		}
		if err != nil || reflect.DeepEqual(e, before) {
			return err
		}
		e.UpdatedAt = now
		if e.State == Disabled && before.State == Enabled {
			e.Internal.DisabledAt, e.Internal.DisabledSeq = now, end.Seq
		}
		_, err = s.endpoints().ReplaceOne(ctx, mongodb.Is("_id", id), e)
		return err
	})
	return e, err
}

// errChanged says that the endpoint was changed after the decision to disable it.
const errChanged = mongodb.AbortError("the endpoint was changed")

// disable disables an endpoint because of its responses, unless it was changed since it was read.
func (s *Service) disable(ctx context.Context, read *Endpoint, reason string) error {
	_, err := s.change(ctx, read.ID, true, func(e *Endpoint, _ time.Time) error {
		if e.State != Enabled || !e.UpdatedAt.Equal(read.UpdatedAt) {
			return errChanged
		}
		e.State, e.Reason = Disabled, reason
		return nil
	})
	return err
}

// RotateSecret makes a new secret. Only this call returns it. The previous secrets sign too until the overlap ends.
// It refuses with WEBHOOK_LIMIT_REACHED while maxSecrets are in force, unless the overlap is 0.
func (s *Service) RotateSecret(ctx context.Context, id ID, overlap time.Duration) (string, error) {
	text := newSecret()
	_, err := s.change(ctx, id, false, func(e *Endpoint, now time.Time) (err error) {
		e.Secrets, err = rotated(e.Secrets, text, now, overlap)
		return err
	})
	return text, err
}

// Delete removes an endpoint with its deliveries. It draws a line, so that a page which is fanned out at the same
// time leaves no deliveries.
func (s *Service) Delete(ctx context.Context, id ID) error {
	if _, err := s.Get(ctx, id); err != nil {
		return err
	}
	err := mongodb.Do(ctx, s.db, func(ctx context.Context) error {
		if err := s.drawLine(ctx, changes.Position{}); err != nil {
			return err
		}
		_, err := s.endpoints().DeleteOne(ctx, mongodb.Is("_id", id))
		return err
	})
	if err != nil {
		return err
	}
	_, err = s.deliveries().DeleteMany(ctx, mongodb.Is("webhookId", id))
	return mongodb.UnknownOutcome(err)
}

// Tested is the result of a test.
type Tested struct {
	Status   int // 0: there was no answer
	Duration time.Duration
	Error    string // "": the endpoint accepted it
}

// TypeTest is the type of the event that Test sends. It is not a change.
const TypeTest = "holdfast.webhook.test"

// Test makes one try with an event without content, also if the endpoint is disabled.
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
	body, failure := event.MarshalJSON()
	if err = cmp.Or(err, failure); err != nil {
		return Tested{}, err
	}
	p := s.newPoster(now)
	defer p.close()
	r := p.post(ctx, e.URL, e.Secrets, event.ID(), body)
	if r.aborted {
		return Tested{}, holdfast.Refuse(holdfast.CodeUnavailable, "The test was ended before the endpoint answered.").By(ctx.Err())
	}
	return Tested{Status: r.status, Duration: r.took, Error: failures[r.outcome]}, nil
}
