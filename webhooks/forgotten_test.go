package webhooks_test

import (
	"net/http"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/webhooks"
)

// A runner may believe that a change is to be repeated which is not there any more: it has read that from a primary that
// knew less than the one before. The later changes of the subject are sent.
func TestDispatcher_WaitsForNoDeliveryThatIsGone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := newReceiver(t)
	lock := b.Acquire(b.Event(10), 1, testenv.Soon())
	subject := "locks/" + lock.ID.String()
	r.answers(func(one told, _ http.ResponseWriter) int {
		if one.Subject == subject {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
	b.number()
	id := b.endpoint(r)
	b.run()
	extend := func(minutes time.Duration) {
		if _, err := b.Seats.ExtendLock(b.Ctx(), lock.ID, holdfast.Until{For: minutes * time.Minute}); err != nil {
			t.Fatal(err)
		}
	}
	extend(90)
	testenv.WaitFor(t, func() bool { return len(b.deliveries(id, webhooks.Pending)) == 1 })
	if _, err := b.DB.Collection("webhookdeliveries").DeleteMany(b.Ctx(), mongodb.Is("subject", subject)); err != nil {
		t.Fatal(err)
	}
	r.answersAlways(http.StatusOK)
	extend(91)
	extend(92)
	testenv.WaitFor(t, func() bool {
		_, accepted := r.got()
		return len(accepted) >= 2 && len(b.deliveries(id, webhooks.Pending)) == 0
	})
	r.checkOrder()
}

// A delivery that waits for none is found: by the next process at once, by the same one after some time.
func TestDispatcher_FindsADeliveryThatWaitsForNothing(t *testing.T) {
	t.Parallel()
	for name, isRunning := range map[string]bool{"by the next process": false, "by the same process": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			findWaiting(t, isRunning)
		})
	}
}

func findWaiting(t *testing.T, isRunning bool) {
	b := benchOn(testenv.New(t), webhooks.Hooks{Timeout: tryTimeout, WakeEvery: 100 * time.Millisecond})
	r := newReceiver(t)
	id := b.endpoint(r, "holdfast.lock.*")
	r.answersAlways(http.StatusInternalServerError)
	b.Acquire(b.Event(10), 1, testenv.Soon())
	if isRunning {
		b.run()
		b.number()
		testenv.WaitFor(t, func() bool { return len(b.deliveries(id, webhooks.Pending)) == 1 })
	} else {
		b.dispatchOnce()
	}
	update := bson.D{{Key: "$unset", Value: bson.D{{Key: "nextAttemptAt", Value: ""}}}}
	found, err := b.DB.Collection("webhookdeliveries").UpdateOne(b.Ctx(), mongodb.Is("webhookId", id), update)
	if err != nil || found.ModifiedCount != 1 {
		t.Fatal(found, err)
	}
	r.answersAlways(http.StatusOK)
	if !isRunning {
		b.run()
	}
	testenv.WaitFor(t, func() bool { return r.hasAccepted(b.changeIDs()[1:]) })
}
