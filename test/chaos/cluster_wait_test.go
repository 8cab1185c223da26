package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/devserver"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// awaitReady waits until all nodes are ready. A process that has ended, as it does if it
// finds no primary while it starts, is started again, as an orchestrator would do.
func (c *cluster) awaitReady() error {
	deadline := time.Now().Add(readyTimeout)
	for _, name := range nodeNames {
		for {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			status, _, err := c.caller(name).call(ctx, "GET", "/readyz", nil)
			cancel()
			if err == nil && status == http.StatusOK {
				break
			}
			if c.hasExited(name) {
				c.startNode(name)
			}
			if time.Now().After(deadline) {
				log := c.nodes[name].process.log
				return errors.Join(fmt.Errorf("%s is not ready after %v: status %d: %s", name, readyTimeout, status, log), err)
			}
			delay(context.Background(), 50*time.Millisecond)
		}
	}
	return nil
}

// awaitMembers waits until every member of the replica set is the primary or a secondary, so that
// no fault leaves a member that the next one does not expect.
func awaitMembers(t *testing.T, set *devserver.ReplicaSet) error {
	t.Helper()
	for _, m := range set.Members {
		var state bson.M
		ready := poll(readyTimeout, 200*time.Millisecond, func() bool {
			state = runAdminCommand(t, m, bson.D{{Key: "hello", Value: 1}})
			return state["isWritablePrimary"] == true || state["secondary"] == true
		})
		if !ready {
			return fmt.Errorf("%s is not back after %v: running %t, %v", m.Host, readyTimeout, m.IsRunning(), state)
		}
	}
	return nil
}

// awaitExpired waits until everything that is due has been expired, and returns how long that
// took since the faults ended.
func (c *cluster) awaitExpired(faultsEnded time.Time) (time.Duration, error) {
	for {
		n, err := c.countDue(time.Now())
		if err == nil && n == 0 {
			return time.Since(faultsEnded), nil
		}
		if time.Since(faultsEnded) > expiryTimeout {
			return 0, errors.Join(fmt.Errorf("%d locks and bookings are still due %v after the faults ended", n, expiryTimeout), err)
		}
		delay(context.Background(), 50*time.Millisecond)
	}
}

// awaitQuiet waits until no lock or booking is due, or becomes due soon, and no event is left to
// be cancelled with all that it has, so that the documents do not change while the checkers read them.
func (c *cluster) awaitQuiet() error {
	var n int64
	var err error
	quiet := poll(maxShortTTL+expiryTimeout, 50*time.Millisecond, func() bool {
		n, err = c.countDue(time.Now().Add(maxShortTTL))
		if err == nil && n == 0 {
			n, err = c.countCancellations()
		}
		return err == nil && n == 0
	})
	if !quiet {
		return errors.Join(fmt.Errorf("%d locks, bookings and cancelled events are not ended", n), err)
	}
	return nil
}

// countCancellations counts the wishes to cancel all of an event that no pass has carried out.
func (c *cluster) countCancellations() (int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return c.env.DB.Collection("eventcancels").CountDocuments(ctx, bson.D{{Key: "passed", Value: bson.D{{Key: "$ne", Value: true}}}})
}

// countDue counts the locks and bookings that are due by a time and not expired.
func (c *cluster) countDue(by time.Time) (int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	passed := func(field string) bson.E {
		return bson.E{Key: field, Value: bson.D{{Key: "$lte", Value: by}}}
	}
	locks, err := c.env.DB.Collection("seatlocks").CountDocuments(ctx, bson.D{{Key: "status", Value: "ACTIVE"}, passed("expiresAt")})
	if err != nil {
		return 0, err
	}
	bookings, err := c.env.DB.Collection("bookings").CountDocuments(ctx,
		bson.D{{Key: "status", Value: "PAYMENT_PENDING"}, passed("paymentExpiresAt")})
	if err != nil {
		return 0, err
	}
	withoutLock, err := c.env.DB.Collection("bookings").Aggregate(ctx, bson.A{
		bson.D{{Key: "$match", Value: bson.D{{Key: "status", Value: "INITIATED"}}}},
		bson.D{{Key: "$lookup", Value: bson.D{
			{Key: "from", Value: "seatlocks"}, {Key: "localField", Value: "seatLockId"},
			{Key: "foreignField", Value: "_id"}, {Key: "as", Value: "lock"},
		}}},
		bson.D{{Key: "$match", Value: bson.D{{Key: "lock.status", Value: bson.D{{Key: "$ne", Value: "ACTIVE"}}}}}},
	})
	if err != nil {
		return 0, err
	}
	defer func() { _ = withoutLock.Close(ctx) }()
	for withoutLock.Next(ctx) {
		bookings++
	}
	return locks + bookings, withoutLock.Err()
}
