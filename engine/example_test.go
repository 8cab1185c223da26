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
	"github.com/holdfast-dev/holdfast/booking"
	"github.com/holdfast-dev/holdfast/internal/devserver"
	"github.com/holdfast-dev/holdfast/seats"
)

const uri = "HOLDFAST_TEST_MONGODB_URI"

// Examples have no test to start a server with.
func TestMain(m *testing.M) {
	if os.Getenv(uri) == "" {
		server, err := devserver.StartMongod(context.Background(), devserver.MongodOptions{Progress: os.Stderr})
		if err != nil {
			log.Fatal(err)
		}
		defer server.Stop()
		os.Setenv(uri, server.URI) //nolint:errcheck // the examples fail without
	}
	m.Run() // its result is the process's
}

// open is a shop's engine on a database of its own, with a sale of 100 seats and a
// customer.
func open(ctx context.Context) (engine *holdfast.Engine, event, user holdfast.ID) {
	engine, err := holdfast.Open(ctx, holdfast.Options{
		URI: os.Getenv(uri), Database: "holdfast_test_" + rand.Text()[:12], Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		log.Fatal(err)
	}
	sale, err := engine.Seats.CreateEvent(ctx, seats.NewEvent{Name: "Opening night", TotalSeats: 100, EventDate: time.Date(2027, 6, 15, 19, 0, 0, 0, time.UTC)})
	if err != nil {
		log.Fatal(err)
	}
	ada, err := engine.Users.Create(ctx, "Ada", "ada@example.com")
	if err != nil {
		log.Fatal(err)
	}
	return engine, sale.ID, ada.ID
}

// A shop locks seats, books them and sells them.
func Example() {
	ctx := context.Background()
	engine, event, user := open(ctx)
	defer engine.Close(ctx) //nolint:errcheck // an example

	lock, _, err := engine.Seats.Take(ctx, seats.LockRequest{EventID: event, UserID: user, Seats: 2, Key: "cart-1"})
	if err != nil {
		log.Fatal(err)
	}
	sale, _, err := engine.Bookings.Create(ctx, booking.Request{EventID: event, UserID: user, LockID: lock.ID, Window: seats.Until{For: 15 * time.Minute}})
	if err != nil {
		log.Fatal(err)
	}
	if sale, err = engine.Bookings.Confirm(ctx, sale.ID, "payment-4711"); err != nil {
		log.Fatal(err)
	}
	left, err := engine.Seats.Event(ctx, event)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(sale.Status, left.AvailableSeats)
	// Output: CONFIRMED 98
}

// Two customers want the last seats: one is told how many are left.
func ExampleCodeOf() {
	ctx := context.Background()
	engine, event, user := open(ctx)
	defer engine.Close(ctx) //nolint:errcheck // an example

	for range 2 {
		_, _, err := engine.Seats.Take(ctx, seats.LockRequest{EventID: event, UserID: user, Seats: 60})
		fmt.Printf("%q\n", holdfast.CodeOf(err))
	}
	// Output:
	// ""
	// "SEATS_UNAVAILABLE"
}

// What nobody paid for comes back.
func ExampleEngine_Sweep() {
	ctx := context.Background()
	engine, event, user := open(ctx)
	defer engine.Close(ctx) //nolint:errcheck // an example

	past := seats.Until{At: time.Now().Add(-time.Minute)}
	if _, _, err := engine.Seats.Take(ctx, seats.LockRequest{EventID: event, UserID: user, Seats: 5, Until: past}); err != nil {
		log.Fatal(err)
	}
	report, err := engine.Sweep(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Applied, "lock was expired,", report.SeatsRestored, "seats came back")
	// Output: 1 lock was expired, 5 seats came back
}

// At its start a program makes sure that nothing is left from a crash.
func ExampleEngine_Recover() {
	ctx := context.Background()
	engine, _, _ := open(ctx)
	defer engine.Close(ctx) //nolint:errcheck // an example

	report, err := engine.Recover(ctx)
	fmt.Println(report.Corrections, "counters were wrong,", err)
	// Output: 0 counters were wrong, <nil>
}
