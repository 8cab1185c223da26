package booking_test

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// An extension that began before the end of a lock may commit after it. The same customer's request for more seats reads the
// lock meanwhile, which is due. They can't both succeed if the customer may not hold the seats of both.
func TestRace_AnExtendedLockCountsAgainstTheLimit(t *testing.T) {
	t.Parallel()
	const mostSeats = 3
	for name, grow := range map[string]func(w *testenv.Env, eventID, user holdfast.ID) func() error{
		"a new lock": func(w *testenv.Env, eventID, user holdfast.ID) func() error {
			return func() error {
				_, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: eventID, UserID: user, Seats: 2})
				return err
			}
		},
		"a change of seats": func(w *testenv.Env, eventID, user holdfast.ID) func() error {
			lock := acquireFor(w, eventID, user, 1, testenv.Soon())
			return func() error {
				_, err := w.Seats.ChangeSeats(w.Ctx(), lock.ID, 2, holdfast.Wish{})
				return err
			}
		},
		"a late payment": func(w *testenv.Env, eventID, user holdfast.ID) func() error {
			lock := acquireFor(w, eventID, user, 2, testenv.Soon())
			b := w.Book(lock, testenv.Soon())
			past := bson.D{{Key: "paymentExpiresAt", Value: time.Now().Add(-time.Minute)}}
			w.Set("bookings", b.ID, past)
			w.SweepBookings()
			return func() error {
				_, err := w.Bookings.ConfirmBooking(w.Ctx(), b.ID, holdfast.Charge{Reference: "late"})
				return err
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			created, err := w.Seats.CreateEvent(w.Ctx(), holdfast.NewEvent{
				Name: "E", TotalSeats: 100, MaxSeatsPerUser: mostSeats,
				LatePayments: &holdfast.LatePayments{Policy: holdfast.LatePaymentsAccepted, Seconds: 3600},
			})
			if err != nil {
				t.Fatal(err)
			}
			user := mongodb.NewID()
			request := grow(w, created.ID, user)
			lock := acquireFor(w, created.ID, user, 2, holdfast.Until{At: time.Now().Add(time.Second)})
			extend := beginExtension(w, lock.ID)
			testenv.WaitFor(t, func() bool { return time.Now().After(lock.ExpiresAt.Add(100 * time.Millisecond)) })
			answered := make(chan error, 1)
			go func() { answered <- request() }()
			select {
			case err = <-answered:
				extend()
			case <-time.After(500 * time.Millisecond): // it waits for the extension
				extend()
				err = <-answered
			}
			held := int64(0)
			for _, l := range locksOf(w, user) {
				held += l.Seats
			}
			if held > mostSeats {
				t.Errorf("the customer holds %d seats, the limit is %d; the request was answered %v", held, mostSeats, err)
			}
			testenv.CheckInvariants(t, w.DB.Database)
		})
	}
}

func acquireFor(w *testenv.Env, eventID, user holdfast.ID, n int64, until holdfast.Until) holdfast.Lock {
	w.T.Helper()
	lock, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: eventID, UserID: user, Seats: n, Until: until})
	if err != nil {
		w.T.Fatal(err)
	}
	return lock
}

// beginExtension extends a lock in a transaction, which commit commits.
func beginExtension(w *testenv.Env, lock holdfast.ID) (commit func()) {
	w.T.Helper()
	session, err := w.DB.Client().StartSession()
	if err != nil {
		w.T.Fatal(err)
	}
	if err := session.StartTransaction(); err != nil {
		w.T.Fatal(err)
	}
	update := bson.D{
		{Key: "$inc", Value: bson.D{{Key: "internal.rev", Value: int64(1)}}},
		{Key: "$set", Value: bson.D{{Key: "expiresAt", Value: time.Now().Add(time.Hour)}}},
	}
	ctx := mongo.NewSessionContext(w.Ctx(), session)
	if _, err := w.DB.Collection("seatlocks").UpdateOne(ctx, bson.D{{Key: "_id", Value: lock}}, update); err != nil {
		w.T.Fatal(err)
	}
	return func() {
		if err := session.CommitTransaction(context.WithoutCancel(w.Ctx())); err != nil {
			w.T.Log("the extension was not committed: ", err)
		}
		session.EndSession(context.Background())
	}
}

// locksOf returns the locks of a customer that take seats, and are not due.
func locksOf(w *testenv.Env, user holdfast.ID) (held []holdfast.Lock) {
	w.T.Helper()
	all, _, err := w.Seats.ListLocks(w.Ctx(), holdfast.LockFilter{UserID: &user}, holdfast.Page{Size: 100})
	if err != nil {
		w.T.Fatal(err)
	}
	for _, l := range all {
		if l.Status == holdfast.LockConsumed || l.Status == holdfast.LockActive && l.ExpiresAt.After(time.Now()) {
			held = append(held, l)
		}
	}
	return held
}
