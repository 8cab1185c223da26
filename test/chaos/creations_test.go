package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/client"
)

// creation is the creation of a user or an event with an idempotency key. Its name is in no
// other request, so that the documents with this name are its effects.
type creation struct {
	collection string // users or events
	name, key  string
	ids        []string // the definite answers
}

// creations are what the creators of a round did.
type creations struct {
	*clients

	mu   sync.Mutex
	done []*creation
}

// create creates users and events until ctx ends, and then until the last one has an answer.
// Some requests are sent to both APIs at once, and some are repeated later with the same key.
func (c *creations) create(ctx context.Context, seed uint64, id int) {
	rng := rand.New(rand.NewPCG(seed, 1<<35+uint64(id)))
	for n := 0; ctx.Err() == nil; n++ {
		made := &creation{collection: "users", name: fmt.Sprintf("made %d-%d-%d", seed, id, n)}
		if rng.IntN(2) == 0 {
			made.collection = "events"
		}
		made.key = "key of " + made.name
		switch rng.IntN(4) {
		case 0:
			both(func() { c.ask(n, made) }, func() { c.ask(n+1, made) })
		case 1:
			c.ask(n, made)
			c.ask(n+1, made)
			c.reuse(n, made)
		default:
			c.ask(n, made)
		}
		c.mu.Lock()
		c.done = append(c.done, made)
		c.mu.Unlock()
		delay(ctx, randomMillis(rng, 0, 200))
	}
}

// ask sends the request until it has a definite answer, by turns to both APIs.
func (c *creations) ask(api int, made *creation) {
	deadline := time.Now().Add(answerTimeout)
	for ; ; api++ {
		id, err := c.send(api, made, 1)
		var refusal *client.Error
		switch {
		case err == nil:
			c.mu.Lock()
			made.ids = append(made.ids, id)
			c.mu.Unlock()
			return
		case errors.As(err, &refusal) && !isIndeterminate(refusal):
			c.violation("answers", "the creation of %s was answered with %v", made.name, refusal)
			return
		case time.Now().After(deadline):
			c.violation("answers", "the creation of %s had no definite answer after %v; the last one: %v", made.name, answerTimeout, err)
			return
		}
		delay(context.Background(), retryDelay)
	}
}

// reuse sends another request with the key once: it may only be refused.
func (c *creations) reuse(api int, made *creation) {
	_, err := c.send(api, made, 2)
	var refusal *client.Error
	if err == nil || errors.As(err, &refusal) && !isIndeterminate(refusal) && refusal.Code != client.IdempotencyKeyReused {
		c.violation("idempotency", "another request with the key of %s was answered with %v", made.name, err)
	}
}

// send sends the request once; requests with other seats are other ones.
func (c *creations) send(api int, made *creation, seats int64) (id string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	to := c.apis[api%len(c.apis)]
	if made.collection == "events" {
		n := client.NewEvent{Name: made.name, TotalSeats: seats, EventDate: time.Date(2040, 1, 2, 3, 4, 5, 0, time.UTC), IdempotencyKey: made.key}
		e, err := to.CreateEvent(ctx, n)
		return e.ID, err
	}
	email := fmt.Sprintf("%x-%d@example.com", made.name, seats)
	u, err := to.CreateUserOnce(ctx, client.NewUser{Name: made.name, Email: email, IdempotencyKey: made.key})
	return u.ID, err
}

// check compares the answers with the documents: each key has one effect, and what was
// acknowledged exists. It removes the documents.
func (c *creations) check(cl *cluster) (n int) {
	exists := map[string][]string{} // IDs by name
	for _, collection := range []string{"users", "events"} {
		filter := bson.D{{Key: "name", Value: bson.D{{Key: "$regex", Value: "^made "}}}}
		found, err := findAll[struct {
			ID   holdfast.ID `bson:"_id"`
			Name string      `bson:"name"`
		}](cl.env, collection, filter)
		if err != nil {
			c.violation("documents", "%v", err)
			return 0
		}
		for _, d := range found {
			exists[collection+d.Name] = append(exists[collection+d.Name], d.ID.String())
		}
		cl.retry(func(ctx context.Context) error {
			_, err := cl.env.DB.Collection(collection).DeleteMany(ctx, filter)
			return err
		})
	}
	for _, made := range c.done {
		documents := exists[made.collection+made.name]
		if len(documents) != 1 {
			c.violation("idempotency", "the key of %s made %v in %s", made.name, documents, made.collection)
			continue
		}
		for _, id := range made.ids {
			if id != documents[0] {
				c.violation("acknowledged", "the creation of %s was answered with %s, but %s exists", made.name, id, documents[0])
			}
		}
	}
	return len(c.done)
}
