package chaos_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/webhooks"
)

// webhookReceiver is an endpoint that records what it is told. While isFaulty it answers some tries with an error, a
// redirect or not at all, refuses some changes whenever they are told, and for some time it refuses all.
type webhookReceiver struct {
	t      *testing.T
	server *httptest.Server

	mu        sync.Mutex
	rng       *rand.Rand
	isFaulty  bool
	isDown    bool
	verifiers []*standardwebhooks.Webhook // for the secrets that it has been given
	tries     []webhookTry
	accepted  int
	problems  []string
	refused   map[string]bool // changes that it refuses while it isFaulty

	replay           func(context.Context, webhooks.Replay) (planned int, err error)
	replayed, buried int // deliveries that were planned again; buried: that were DEAD

	from changes.Position  // behind the changes that were checked
	told map[string]string // the body of each change, by its ID
}

// webhookTry is a request that the receiver got.
type webhookTry struct {
	ID, Type, Subject, Sequence string
	body                        string
	at, accepted                time.Time // accepted is zero if it was refused
}

// newWebhookReceiver starts a receiver.
func newWebhookReceiver(t *testing.T, seed uint64) *webhookReceiver {
	r := &webhookReceiver{t: t, rng: rand.New(rand.NewPCG(seed, 1<<36)), from: changes.Position{Seq: 1}, told: map[string]string{},
		refused: map[string]bool{}}
	r.server = httptest.NewServer(r)
	t.Cleanup(func() {
		r.server.CloseClientConnections()
		r.server.Close()
	})
	return r
}

// createWebhook creates an endpoint for all changes from now on, and returns its ID.
func (c *cluster) createWebhook(r *webhookReceiver) (id string) {
	c.t.Helper()
	status, fields, err := c.caller(apiNames[0]).call(c.t.Context(), http.MethodPost, "/api/webhooks",
		map[string]any{"url": r.server.URL, "types": []string{"*"}})
	if err != nil || status != http.StatusCreated {
		c.t.Fatal(status, fields, err)
	}
	r.addSecret(fields["secret"].(string))
	id = fields["id"].(string)
	r.replay = func(ctx context.Context, what webhooks.Replay) (int, error) {
		body := map[string]any{}
		if what.State != "" {
			body["state"] = what.State
		}
		if !what.Since.IsZero() {
			body["since"] = what.Since.UTC().Truncate(time.Millisecond)
		}
		status, fields, err := c.caller(apiNames[1]).call(ctx, http.MethodPost, "/api/webhooks/"+id+"/replay", body)
		if err != nil {
			return 0, err
		}
		planned, isPlanned := fields["deliveries"].(float64)
		if status/100 == 4 {
			r.note("a replay was answered %d %v", status, fields)
		}
		if status != http.StatusAccepted || !isPlanned {
			return 0, fmt.Errorf("a replay was answered %d %v", status, fields)
		}
		return int(planned), nil
	}
	return id
}

func (r *webhookReceiver) addSecret(secret string) {
	r.t.Helper()
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		r.t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.verifiers = append(r.verifiers, verifier)
}

func (r *webhookReceiver) set(isFaulty, isDown bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.isFaulty, r.isDown = isFaulty, isDown
}

// misbehave fails now and then until ctx ends, and is down once meanwhile. The operator gives the endpoint a new secret.
func (r *webhookReceiver) misbehave(ctx context.Context, c *cluster, rng *rand.Rand) {
	r.set(true, false)
	defer r.set(false, false)
	var operating sync.WaitGroup
	defer operating.Wait()
	operator := rand.New(rand.NewPCG(rng.Uint64(), 0))
	operating.Go(func() { r.operate(ctx, c.env, operator) })
	delay(ctx, randomMillis(rng, 500, 2000))
	r.set(true, true)
	c.rotateSecret(ctx, r)
	delay(ctx, randomMillis(rng, 500, 1500))
	r.set(true, false)
	<-ctx.Done()
}

// rotateSecret asks for a new secret. The previous secret stays valid, so that a lost answer does not matter.
func (c *cluster) rotateSecret(ctx context.Context, r *webhookReceiver) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	status, fields, err := c.caller(apiNames[1]).call(ctx, http.MethodPost, "/api/webhooks/"+c.webhook+"/rotate-secret", nil)
	if err == nil && status == http.StatusOK {
		r.addSecret(fields["secret"].(string))
	}
}

// operate does until ctx ends what an operator does within days: the schedule of what the receiver refuses comes to its end,
// and past changes are replayed, those of the last seconds or those that are DEAD.
func (r *webhookReceiver) operate(ctx context.Context, env *testenv.Env, rng *rand.Rand) {
	for ctx.Err() == nil {
		delay(ctx, randomMillis(rng, 100, 300))
		r.age(ctx, env)
		switch rng.IntN(3) {
		case 0:
			r.replayAgain(ctx, webhooks.Replay{Since: time.Now().Add(-randomMillis(rng, 1000, 6000))})
		case 1:
			r.replayAgain(ctx, webhooks.Replay{State: webhooks.Dead})
		}
	}
}

// age makes the next try of each change that the receiver refuses its last one, and due.
func (r *webhookReceiver) age(ctx context.Context, env *testenv.Env) {
	const lastStep = 9
	r.mu.Lock()
	refused := slices.AppendSeq([]string{}, maps.Keys(r.refused))
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, _ = env.DB.Collection("webhookdeliveries").UpdateMany(ctx, bson.D{ // a fault may hinder it
		{Key: "state", Value: webhooks.Pending}, {Key: "changeId", Value: bson.D{{Key: "$in", Value: refused}}},
		{Key: "step", Value: bson.D{{Key: "$lt", Value: lastStep}}}, {Key: "nextAttemptAt", Value: bson.D{{Key: "$type", Value: "date"}}},
	}, bson.D{{Key: "$set", Value: bson.D{{Key: "step", Value: lastStep}, {Key: "nextAttemptAt", Value: time.Unix(0, 0)}}}})
}

// replayAgain asks for a replay. A fault may hinder it.
func (r *webhookReceiver) replayAgain(ctx context.Context, what webhooks.Replay) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	planned, err := r.replay(ctx, what)
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.replayed += planned; what.State == webhooks.Dead {
		r.buried += planned
	}
}

// takeReplays returns how many deliveries were planned again since the last call, and how many of them were DEAD.
func (r *webhookReceiver) takeReplays() (replayed, buried int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	replayed, buried = r.replayed, r.buried
	r.replayed, r.buried = 0, 0
	return replayed, buried
}

// isDisliked: a receiver that is faulty refuses this change whenever it is told.
func isDisliked(changeID string) bool {
	const oneOf = 40
	h := fnv.New32a()
	_, _ = h.Write([]byte(changeID))
	return h.Sum32()%oneOf == 0
}

func (r *webhookReceiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil { // its sender was killed
		return
	}
	try := webhookTry{at: time.Now(), body: string(body)}
	if err = json.Unmarshal(body, &try); err != nil {
		r.note("%v: %s", err, body)
	}
	if id := request.Header.Get("webhook-id"); id != try.ID {
		r.note("the webhook-id %q is not that of the change %s", id, try.ID)
	}
	if err := r.verify(request.Header, body); err != nil {
		r.note("change %s: %v", try.ID, err)
	}
	status, pause := r.answer(try.ID)
	delay(request.Context(), pause)
	if status/100 == 2 {
		try.accepted = time.Now()
	}
	r.mu.Lock()
	if r.tries = append(r.tries, try); !try.accepted.IsZero() {
		r.accepted++
	}
	r.mu.Unlock()
	if status == 0 {
		panic(http.ErrAbortHandler) // the connection ends without an answer
	}
	w.Header().Set("Location", "/elsewhere")
	w.WriteHeader(status)
}

// verify accepts a signature by any of the secrets that were in force.
func (r *webhookReceiver) verify(header http.Header, body []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var failures error
	for _, v := range r.verifiers {
		err := v.VerifyIgnoringTimestamp(body, header) // the clocks of the processes are wrong
		if err == nil {
			return nil
		}
		failures = errors.Join(failures, err)
	}
	return failures
}

// answer draws the status of an answer, 0 for none, and what passes before it.
func (r *webhookReceiver) answer(changeID string) (status int, pause time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch n := r.rng.IntN(60); {
	case r.isFaulty && isDisliked(changeID):
		r.refused[changeID] = true
		return http.StatusUnprocessableEntity, 0
	case r.isDown:
		return http.StatusServiceUnavailable, 0
	case !r.isFaulty || n > 4:
		return http.StatusNoContent, 0
	case n == 0:
		return http.StatusInternalServerError, 0
	case n == 1:
		return http.StatusTemporaryRedirect, 0
	case n == 2:
		return 0, 0
	default:
		return http.StatusOK, randomMillis(r.rng, 0, 800)
	}
}

func (r *webhookReceiver) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// webhookTimeout bounds the time until everything was accepted, after the receiver is well again.
const webhookTimeout = time.Minute

// count is how many tries were accepted.
func (r *webhookReceiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.accepted
}

// check: each change that was committed since the last check was accepted, and nothing else was sent; a change was
// sent after the earlier ones of its subject were accepted, or given up after they were refused, and always with the same ID
// and the same body. What was given up is replayed. It returns the number of changes, and what is wrong. Deliveries of
// changes that are not listed yet are compared by the next check; after the last one nothing may be left.
func (r *webhookReceiver) check(env *testenv.Env) (n int, problems []string) {
	committed, err := r.committed(env)
	if err != nil {
		return 0, []string{err.Error()}
	}
	var missing []holdfast.Change
	if !poll(webhookTimeout, 100*time.Millisecond, func() bool {
		if missing = r.missing(committed); len(missing) > 0 {
			r.replayAgain(context.Background(), webhooks.Replay{State: webhooks.Dead})
		}
		return len(missing) == 0
	}) {
		endpoint, _ := findAll[bson.M](env, "webhooks", bson.D{})
		pending, _ := findAll[bson.M](env, "webhookdeliveries", bson.D{{Key: "state", Value: "PENDING"}})
		for _, e := range endpoint {
			delete(e, "secrets")
		}
		problems = append(problems, fmt.Sprintf("%d of %d changes were not accepted %v after the receiver was well, such as %s; "+
			"the endpoint is %v; pending are %v", len(missing), len(committed), webhookTimeout, missing[0].ID(), endpoint, pending))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var wrong []string
	wrong, r.tries = r.checkTries(committed, r.tries)
	problems = append(append(problems, r.problems...), wrong...)
	r.problems = nil
	return len(committed), problems
}

// checkLast checks once more, and fails the test also if something was told that was never committed.
func (r *webhookReceiver) checkLast(env *testenv.Env) {
	_, problems := r.check(env)
	r.mu.Lock()
	defer r.mu.Unlock()
	more, unknown := r.checkTries(nil, r.tries) // what is replayed may be told meanwhile
	for _, p := range append(problems, more...) {
		r.t.Errorf("webhooks: %s", p)
	}
	for _, t := range unknown {
		r.t.Errorf("webhooks: the change %s of %s was told, but not committed", t.ID, t.Subject)
	}
}

// committed lists the changes since the last check.
func (r *webhookReceiver) committed(env *testenv.Env) (all []holdfast.Change, err error) {
	for {
		found, next, err := env.Changes.List(context.Background(), &r.from, changes.Filter{}, 500)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
		if next == r.from {
			return all, nil
		}
		r.from = next
	}
}

func (r *webhookReceiver) missing(committed []holdfast.Change) (missing []holdfast.Change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	accepted := map[string]bool{}
	for _, t := range r.tries {
		if !t.accepted.IsZero() {
			accepted[t.ID] = true
		}
	}
	for _, c := range committed {
		if !accepted[c.ID()] {
			missing = append(missing, c)
		}
	}
	return missing
}

// checkTries compares the tries with the changes. Those of an earlier check may be told again: their IDs are known.
// It returns the tries of changes that are not known.
func (r *webhookReceiver) checkTries(committed []holdfast.Change, tries []webhookTry) (problems []string, unknown []webhookTry) {
	type told struct {
		change   holdfast.Change
		accepted time.Time // first
		tried    time.Time // first
		before   string    // the change of the subject before it
	}
	byID, last := map[string]*told{}, map[string]string{}
	for _, c := range committed {
		byID[c.ID()] = &told{change: c, before: last[c.Subject()]}
		last[c.Subject()] = c.ID()
	}
	for _, t := range tries {
		c := byID[t.ID]
		if c == nil {
			continue
		}
		if c.tried.IsZero() || t.at.Before(c.tried) {
			c.tried = t.at
		}
		if !t.accepted.IsZero() && (c.accepted.IsZero() || t.accepted.Before(c.accepted)) {
			c.accepted = t.accepted
		}
	}
	for _, t := range tries {
		c, known := byID[t.ID]
		place := t.Subject + " " + t.Sequence
		if before := cmp.Or(r.told[t.ID], t.body); before != t.body {
			problems = append(problems, fmt.Sprintf("the change %s was %s and is %s", t.ID, before, t.body))
		}
		if !known {
			if r.told[t.ID] == "" {
				unknown = append(unknown, t)
			}
			continue
		}
		r.told[t.ID] = t.body
		if want := c.change.Subject() + " " + fmt.Sprintf("%019d", c.change.Revision); want != place || string(c.change.Type) != t.Type {
			problems = append(problems, fmt.Sprintf("the change %s of %s %s was told as %s of %s", t.ID, c.change.Type, want, t.Type, place))
		}
		b := byID[c.before]
		if b != nil && r.refused[c.before] && b.tried.Before(t.at) { // it may be DEAD
			continue
		}
		if b != nil && (b.accepted.IsZero() || b.accepted.After(t.at)) {
			problems = append(problems, fmt.Sprintf("the change %s of %s was told before %s was accepted", t.ID, place, c.before))
		}
	}
	return problems, unknown
}
