package chaos_test

import (
	"context"
	"math/rand/v2"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/client"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// checkReconcile makes a counter wrong by one seat, and a map, and has both APIs reconcile at the same time,
// while a worker does so too: they are repaired, and the counter only once.
func (c *clients) checkReconcile(cl *cluster, rng *rand.Rand) {
	id := parseID(c.t, c.events[0].id)
	isDamaged := damageCounter(cl, rng, id)
	damageMap(cl, parseID(c.t, c.events[len(c.events)-1].id))
	var broken []string
	repaired := poll(expiryTimeout, 0, func() bool {
		cl.runOnBothAPIs("reconcile")
		broken = testenv.Violations(c.t, cl.env.DB.Database)
		return len(broken) == 0
	})
	if !repaired {
		c.violation("reconcile", "not repaired after %v: %v", expiryTimeout, broken)
		return
	}
	if !isDamaged {
		return
	}
	var event struct {
		Internal struct {
			Repairs int64 `bson:"fixes"`
		} `bson:"internal"`
	}
	err := cl.env.DB.Collection("events").FindOne(context.Background(), bson.D{{Key: "_id", Value: id}}).Decode(&event)
	if err != nil || event.Internal.Repairs != 1 {
		c.violation("reconcile", "a drift of one seat was repaired %d times, %v", event.Internal.Repairs, err)
	}
}

// unarchive is part of a write behind the back of Holdfast: reconcile passes over archived events.
var unarchive = bson.E{Key: "$unset", Value: bson.D{{Key: "internal.archivedAt", Value: ""}}}

// damageCounter makes an event's counter wrong by one seat, within its bounds.
func damageCounter(cl *cluster, rng *rand.Rand, id holdfast.ID) (changed bool) {
	drift, withinBounds := int64(1), bson.E{Key: "$expr", Value: bson.D{{Key: "$lt", Value: bson.A{"$availableSeats", "$totalSeats"}}}}
	if rng.IntN(2) == 0 {
		drift, withinBounds = -1, bson.E{Key: "availableSeats", Value: bson.D{{Key: "$gt", Value: 0}}}
	}
	cl.retry(func(ctx context.Context) error {
		result, err := cl.env.DB.Collection("events").UpdateOne(ctx, bson.D{{Key: "_id", Value: id}, withinBounds},
			bson.D{{Key: "$inc", Value: bson.D{{Key: "availableSeats", Value: drift}}}, unarchive})
		changed = err == nil && result.ModifiedCount == 1
		return err
	})
	return changed
}

// damageMap makes all seats of an event's first section available in its map, which has two bytes in each plan.
func damageMap(cl *cluster, id holdfast.ID) {
	cl.retry(func(ctx context.Context) error {
		_, err := cl.env.DB.Collection("events").UpdateOne(ctx, bson.D{{Key: "_id", Value: id}},
			bson.D{{Key: "$set", Value: bson.D{{Key: "internal.map.0", Value: bson.Binary{Data: []byte{0, 0}}}}}, unarchive})
		return err
	})
}

// checkMapAt: the map that an API answers has exactly the seats of the locks as taken.
func (c *clients) checkMapAt(name string, api *client.Client, event *eventOnSale, final finalState) {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	answer, err := api.GetSeatMap(ctx, event.id)
	hall := c.hallOf(final.events[event.id].Plan.String())
	if hall == nil {
		c.violation("documents", "event %s has the plan %s", event.id, final.events[event.id].Plan)
		return
	}
	var got seatSet
	for _, seat := range hall.Seats {
		if err == nil && answer.Sections[seat.Section].Taken(seat.InSection) {
			got |= seatsOf(seat.ID)
		}
	}
	want := final.blocked[parseID(c.t, event.id)]
	for _, l := range final.locks {
		if l.EventID.String() == event.id && (l.Status == "ACTIVE" || l.Status == "CONSUMED") {
			want |= l.places().named
		}
	}
	if err != nil || got != want {
		c.violation("documents", "%s answers that the seats %v of event %s are taken, want %v; %v", name, got, event.id, want, err)
	}
}
