package seats_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// rivals is an event without an index of seats. Other software has locked A-1-1 and 3 standing places, which the map does
// not know. A customer has locked A-1-1 too, and others 5 of the 10 standing places.
type rivals struct {
	*testenv.Env

	event           holdfast.ID
	named, standing holdfast.ID // the locks of the other software
}

func newRivals(t *testing.T, counted bool) rivals {
	t.Helper()
	r := rivals{Env: testenv.New(t), named: ids.New(), standing: ids.New()}
	if err := r.DropSeatIndex(r.Ctx()); err != nil {
		t.Fatal(err)
	}
	r.event = r.SeatedEvent(holdfast.SeatingPlan{
		Name: "Hall", Categories: []holdfast.Category{{Key: "c", Name: "C"}}, Sections: []holdfast.Section{
			{Key: "A", Name: "A", Category: "c", Rows: []holdfast.Row{{Key: "1", Count: 3}}},
			{Key: "pit", Name: "Pit", Category: "c", Capacity: 10},
		},
	})
	r.insert(r.named, 1, bson.E{Key: "seatIds", Value: bson.A{"A-1-1"}})
	r.insert(r.standing, 3, bson.E{Key: "section", Value: "pit"})
	if counted {
		r.Set("events", r.event, bson.D{{Key: "availableSeats", Value: 9}})
	}
	for _, err := range []error{r.ask(0, holdfast.Wish{SeatIDs: []string{"A-1-1"}}), r.ask(5, holdfast.Wish{Section: "pit"})} {
		wantCode(t, err, "")
	}
	return r
}

func (r rivals) insert(id holdfast.ID, seats int, place bson.E) {
	r.T.Helper()
	r.Insert("seatlocks", bson.D{{Key: "_id", Value: id}, {Key: "eventId", Value: r.event}, {Key: "userId", Value: ids.New()},
		{Key: "seats", Value: seats}, place, {Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: time.Now().Add(time.Hour)}})
}

// ask asks for seats for a new customer.
func (r rivals) ask(seats int64, wish holdfast.Wish) error {
	_, _, err := r.Seats.AcquireLock(r.Ctx(), holdfast.LockRequest{
		EventID: r.event, UserID: ids.New(), Seats: seats, Wish: wish, Until: testenv.Soon(),
	})
	return err
}

// pass makes the locks of the other software due.
func (r rivals) pass() {
	for _, id := range []holdfast.ID{r.named, r.standing} {
		r.Set("seatlocks", id, bson.D{{Key: "expiresAt", Value: time.Now().Add(-time.Minute)}})
	}
}

// However a lock of other software ends, no seat becomes free that a customer has locked meanwhile.
func TestRivals_TheEndOfAForeignLockFreesNoSeatOfAnother(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, r rivals){
		"a sweep": func(_ *testing.T, r rivals) { r.pass(); r.SweepLocks() },
		"a sweep of bookings": func(_ *testing.T, r rivals) {
			for _, id := range []holdfast.ID{r.named, r.standing} {
				r.Insert("bookings", bson.D{{Key: "_id", Value: ids.New()}, {Key: "eventId", Value: r.event}, {Key: "userId", Value: ids.New()},
					{Key: "seatLockId", Value: id}, {Key: "status", Value: "PAYMENT_PENDING"},
					{Key: "paymentExpiresAt", Value: time.Now().Add(-time.Minute)}})
			}
			r.SweepBookings()
		},
		"a release": func(t *testing.T, r rivals) {
			for _, id := range []holdfast.ID{r.named, r.standing} {
				_, err := r.Seats.ReleaseLock(r.Ctx(), id)
				wantCode(t, err, "")
			}
		},
		"a request for the same seat": func(t *testing.T, r rivals) {
			r.pass()
			wantCode(t, r.ask(0, holdfast.Wish{SeatIDs: []string{"A-1-2", "A-1-1"}}), holdfast.CodeSeatsUnavailable)
			if status := r.Lock(r.named).Status; status != holdfast.LockActive {
				t.Errorf("the due lock is %s, though its end helped nobody", status)
			}
			r.SweepLocks()
		},
		"a request that reclaims": func(t *testing.T, r rivals) {
			r.pass()
			wantCode(t, r.ask(4, holdfast.Wish{Section: "pit"}), "")
			r.SweepLocks()
		},
		"other seats for the same lock": func(t *testing.T, r rivals) {
			_, err := r.Seats.ChangeSeats(r.Ctx(), r.named, 0, holdfast.Wish{SeatIDs: []string{"A-1-1", "A-1-2"}})
			wantCode(t, err, holdfast.CodeSeatsUnavailable)
			_, err = r.Seats.ChangeSeats(r.Ctx(), r.named, 0, holdfast.Wish{SeatIDs: []string{"A-1-3"}})
			wantCode(t, err, "")
			_, err = r.Seats.ChangeSeats(r.Ctx(), r.standing, 1, holdfast.Wish{Section: "pit"})
			wantCode(t, err, "")
		},
	} {
		for _, counted := range []bool{true, false} {
			t.Run(name+map[bool]string{true: ", counted", false: ", not counted"}[counted], func(t *testing.T) {
				t.Parallel()
				r := newRivals(t, counted)
				end(t, r)
				wantCode(t, r.ask(0, holdfast.Wish{SeatIDs: []string{"A-1-1"}}), holdfast.CodeSeatsUnavailable)
				wantCode(t, r.ask(6, holdfast.Wish{Section: "pit"}), holdfast.CodeSeatsUnavailable)
				testenv.CheckInvariants(t, r.DB.Database)
			})
		}
	}
}
