//go:build unix

// These tests start servers, which do not run on Windows.

package engine_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/internal/devserver"
)

const uri = "HOLDFAST_TEST_MONGODB_URI"

// TestMain starts the server, because an example has no *testing.T.
func TestMain(m *testing.M) {
	if os.Getenv(uri) == "" {
		server, err := devserver.StartMongod(context.Background(), devserver.MongodOptions{Progress: os.Stderr})
		if err != nil {
			log.Fatal(err)
		}
		defer server.Stop()
		os.Setenv(uri, server.URI)
	}
	m.Run() // the process exits with its result
}

// open returns a shop's engine on a new database, with an event of 100 seats and a customer.
func open(ctx context.Context) (e *engine.Engine, event, user holdfast.ID) {
	e, err := engine.Open(ctx, engine.Options{
		URI: os.Getenv(uri), Database: "holdfast_test_" + rand.Text()[:12], Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		log.Fatal(err)
	}
	sale, err := e.Seats.CreateEvent(ctx, holdfast.NewEvent{
		Name: "Opening night", TotalSeats: 100, EventDate: time.Date(2027, 6, 15, 19, 0, 0, 0, time.UTC),
	})
	if err != nil {
		log.Fatal(err)
	}
	ada, err := e.Users.CreateUser(ctx, "Ada", "ada@example.com")
	if err != nil {
		log.Fatal(err)
	}
	return e, sale.ID, ada.ID
}

func closeEngine(ctx context.Context, e *engine.Engine) {
	if err := e.Close(ctx); err != nil {
		log.Print(err)
	}
}

// A shop acquires seats, books them and sells them.
func Example() {
	ctx := context.Background()
	e, event, user := open(ctx)
	defer closeEngine(ctx, e)

	lock, _, err := e.Seats.AcquireLock(ctx, holdfast.LockRequest{EventID: event, UserID: user, Seats: 2, Key: "cart-1"})
	if err != nil {
		log.Fatal(err)
	}
	sale, _, err := e.Bookings.CreateBooking(ctx, holdfast.BookingRequest{
		EventID: event, UserID: user, LockID: lock.ID, Window: holdfast.Until{For: 15 * time.Minute},
	})
	if err != nil {
		log.Fatal(err)
	}
	if sale, err = e.Bookings.ConfirmBooking(ctx, sale.ID, holdfast.Charge{Reference: "payment-4711"}); err != nil {
		log.Fatal(err)
	}
	left, err := e.Seats.GetEvent(ctx, event)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(sale.Status, left.AvailableSeats)
	// Output: CONFIRMED 98
}

// Two customers want the last seats: one of them is refused.
func ExampleCodeOf() {
	ctx := context.Background()
	e, event, user := open(ctx)
	defer closeEngine(ctx, e)

	for range 2 {
		_, _, err := e.Seats.AcquireLock(ctx, holdfast.LockRequest{EventID: event, UserID: user, Seats: 60})
		fmt.Printf("%q\n", holdfast.CodeOf(err))
	}
	// Output:
	// ""
	// "SEATS_UNAVAILABLE"
}

// A program that only embeds the engine makes a plan of a hall and sells a seat, while Run expires unpaid locks, numbers
// changes and removes what is old.
func ExampleEngine_Run() {
	ctx, stop := context.WithCancel(context.Background())
	e, _, user := open(ctx)
	defer closeEngine(context.WithoutCancel(ctx), e)
	ended := make(chan error)
	go func() {
		ended <- e.Run(ctx, engine.RunOptions{Intervals: map[string]time.Duration{"lock-expiry": time.Second}})
	}()

	plan, _, err := e.Plans.Create(ctx, holdfast.SeatingPlan{
		Name: "Small hall", Categories: []holdfast.Category{{Key: "A", Name: "Stalls"}},
		Sections: []holdfast.Section{{Key: "S", Name: "Stalls", Category: "A", Rows: []holdfast.Row{{Key: "1", Count: 2}}}},
	}, holdfast.CreationKey{Key: "small-hall"})
	if err != nil {
		log.Fatal(err)
	}
	sale, err := e.Seats.CreateEvent(ctx, holdfast.NewEvent{Name: "Premiere", Seating: holdfast.Seating{PlanID: plan.ID}})
	if err != nil {
		log.Fatal(err)
	}
	first, second := holdfast.Wish{SeatIDs: []string{"S-1-1"}}, holdfast.Wish{SeatIDs: []string{"S-1-2"}}
	sold := acquire(ctx, e, holdfast.LockRequest{EventID: sale.ID, UserID: user, Seats: 1, Wish: first})
	booking, _, err := e.Bookings.CreateBooking(ctx, holdfast.BookingRequest{
		EventID: sale.ID, UserID: user, LockID: sold.ID, Window: holdfast.Until{For: 15 * time.Minute},
	})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := e.Bookings.ConfirmBooking(ctx, booking.ID, holdfast.Charge{Reference: "payment-4712"}); err != nil {
		log.Fatal(err)
	}
	past := holdfast.Until{At: time.Now().Add(-time.Minute)}
	due := acquire(ctx, e, holdfast.LockRequest{EventID: sale.ID, UserID: user, Seats: 1, Wish: second, Until: past})
	for tick := time.Tick(50 * time.Millisecond); due.Status == holdfast.LockActive; <-tick {
		if due, err = e.Seats.GetLock(ctx, due.ID); err != nil {
			log.Fatal(err)
		}
	}
	stop()
	fmt.Println(due.Status, <-ended)
	// Output: EXPIRED <nil>
}

func acquire(ctx context.Context, e *engine.Engine, r holdfast.LockRequest) holdfast.Lock {
	lock, _, err := e.Seats.AcquireLock(ctx, r)
	if err != nil {
		log.Fatal(err)
	}
	return lock
}

// Unpaid seats become available again.
func ExampleEngine_Sweep() {
	ctx := context.Background()
	e, event, user := open(ctx)
	defer closeEngine(ctx, e)

	past := holdfast.Until{At: time.Now().Add(-time.Minute)}
	if _, _, err := e.Seats.AcquireLock(ctx, holdfast.LockRequest{EventID: event, UserID: user, Seats: 5, Until: past}); err != nil {
		log.Fatal(err)
	}
	report, err := e.Sweep(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Applied, "lock was expired,", report.SeatsRestored, "seats came back")
	// Output: 1 lock was expired, 5 seats came back
}

// At its start, a program repairs the contradictions that a crash may have left.
func ExampleEngine_Recover() {
	ctx := context.Background()
	e, _, _ := open(ctx)
	defer closeEngine(ctx, e)

	report, err := e.Recover(ctx)
	fmt.Println(report.Corrections, "counters were wrong,", err)
	// Output: 0 counters were wrong, <nil>
}
