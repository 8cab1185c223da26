package seats_test

import (
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// A process dies and leaves its transaction open on the server. Other processes acquire
// seats of the event within 8 s.
func TestAcquire_GoesOnAfterAProcessDiedInATransaction(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(1000)
	dead, err := mongo.Connect(options.Client().ApplyURI(w.URI).SetAppName("holdfast:" + w.DB.Name()))
	if err != nil {
		t.Fatal(err)
	}
	session, err := dead.StartSession()
	if err != nil {
		t.Fatal(err)
	}
	if err := session.StartTransaction(); err != nil {
		t.Fatal(err)
	}
	_, err = dead.Database(w.DB.Name()).Collection("events").UpdateOne(mongo.NewSessionContext(w.Ctx(), session),
		bson.D{{Key: "_id", Value: event}}, bson.D{{Key: "$inc", Value: bson.D{{Key: "internal.rev", Value: 1}}}})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	w.Acquire(event, 1, testenv.Soon())
	if took := time.Since(start); took > 8*time.Second {
		t.Errorf("it took %v", took)
	} else {
		t.Logf("it took %v", took)
	}
	if err := dead.Disconnect(w.Ctx()); err != nil {
		t.Log(err)
	}
}

// The replies to commits are lost again and again. Callers get the outcome, and seats are
// acquired once.
func TestAcquire_LostRepliesOfCommitsAreSettled(t *testing.T) {
	t.Parallel()
	uri := testenv.OwnServer(t)
	w := testenv.Open(t, uri, "holdfast_test")
	event := w.Event(1000)
	for _, failure := range []bson.D{notSentOn, appliedNotAnswered} {
		w.FailCommands("commitTransaction", bson.D{{Key: "times", Value: 3}}, failure)
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if _, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: mongodb.NewID(), Seats: 1}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	if available, _ := w.Available(event); available != 900 {
		t.Errorf("available %d, want 900", available)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// The commit is applied or not, and no repetition of it is answered in time. A later
// transaction on the event finds out.
func TestAcquire_CommitsNeverAnsweredAreSettledByALaterTransaction(t *testing.T) {
	t.Parallel()
	uri := testenv.OwnServer(t)
	for name, c := range map[string]struct {
		failure bson.D
		unknown int // outcomes in a row; a commit that was not sent is found out after about 7 s
	}{"applied": {appliedNotAnswered, 3}, "not sent on": {notSentOn, 2}} {
		t.Run(name, func(t *testing.T) {
			w := testenv.Open(t, uri, "holdfast_test_"+name[:3], func(o *mongodb.Options) { o.CommitTimeout = 200 * time.Millisecond })
			event := w.Event(1000)
			operator := testenv.Open(t, uri, w.DB.Name()) // its own connections, which do not fail
			off := operator.FailCommands("commitTransaction", "alwaysOn", c.failure)
			var all sync.WaitGroup
			for i := range 20 {
				all.Go(func() {
					q := holdfast.LockRequest{EventID: event, UserID: mongodb.NewID(), Seats: 1, Key: []string{"", "key"}[i%2]}
					if _, replayed, err := w.Seats.AcquireLock(w.Ctx(), q); err != nil || replayed {
						t.Error(replayed, err)
					}
				})
			}
			testenv.WaitFor(t, func() bool { return w.Transactions(mongodb.Unknown) >= c.unknown })
			off()
			all.Wait()
			testenv.WaitFor(t, func() bool { return w.Pipeline.Queue().InFlight() == 0 })
			if available, _ := w.Available(event); available != 980 {
				t.Errorf("available %d, want 980", available)
			}
			testenv.CheckInvariants(t, w.DB.Database)
		})
	}
}

// Two failures of a commit: it is not sent, or it is applied without an answer.
var (
	notSentOn          = bson.D{{Key: "closeConnection", Value: true}}
	appliedNotAnswered = bson.D{{Key: "writeConcernError", Value: bson.D{
		{Key: "code", Value: 64}, {Key: "errmsg", Value: "waiting for replication timed out"},
	}}}
)

// The first transaction that conflicts with a dead process's transaction ends it, long
// before the server would.
func TestAcquire_EndsTheTransactionOfADeadProcess(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	w.HoldEvent(event.String()) // and never releases it
	w.Acquire(event, 1, testenv.Soon())
	if len(w.Log.Lines("Ended orphaned transactions")) == 0 {
		t.Error("it was not ended")
	}
	testenv.CheckInvariants(t, w.DB.Database)
}
