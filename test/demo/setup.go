package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast/client"
	"github.com/holdfast-dev/holdfast/internal/devserver"
)

const (
	startTimeout = 10 * time.Minute // the first start fetches MongoDB, perhaps over a slow connection
	jobTimeout   = 75 * time.Second // the default interval of the sweeps, and time for a run
	readTimeout  = 10 * time.Second
	pollInterval = 100 * time.Millisecond
)

// setup is the running Holdfast that the demo uses.
type setup struct {
	state devserver.State
	api   *client.Client
	mongo *mongo.Client
	own   *devserver.Process // nil if it was running before

	events []string // that the scenarios have created
}

func findOrStart(ctx context.Context) (*setup, error) {
	s := &setup{}
	if s.find(ctx) {
		fmt.Println("Found a running Holdfast at", s.state.API)
	} else if err := s.start(ctx); err != nil {
		return nil, err
	}
	s.api = client.New(s.state.API)
	db, err := mongo.Connect(options.Client().ApplyURI(s.state.MongoDBURI))
	s.mongo = db
	return s, err
}

// find reports whether scripts/run is running, and reads its addresses.
func (s *setup) find(ctx context.Context) bool {
	state, err := devserver.ReadState()
	if err != nil {
		return false
	}
	s.state = state
	return devserver.GetOK(ctx, s.state.API+"/readyz") == nil
}

func (s *setup) start(ctx context.Context) (err error) {
	fmt.Println("Holdfast is not running here: starting it, with sweeps every second.")
	port, err := devserver.ReservePort()
	if err != nil {
		return err
	}
	defer port.Close()
	log := filepath.Join(".build", "demo.log")
	output, err := os.Create(log)
	if err != nil {
		return err
	}
	s.own, err = devserver.Start(devserver.Command{
		Args:   []string{".build/devserver", "run", "--http-addr=" + port.Addr(), "--lock-expiry-interval=1s", "--booking-expiry-interval=1s"},
		Output: output,
	})
	if err != nil {
		return err
	}
	fmt.Println("  its output is in", log)
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for !s.find(ctx) || s.state.API != "http://"+port.Addr() {
		select {
		case <-s.own.Done():
			return fmt.Errorf("scripts/run ended; see %s", log)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollInterval):
		}
	}
	return nil
}

// cancelEvents takes the demo's events out of the shop. The API removes no event.
func (s *setup) cancelEvents(ctx context.Context) error {
	for _, id := range s.events {
		if _, err := s.api.CancelEvent(ctx, id); err != nil {
			return err
		}
	}
	fmt.Printf("\nThe %d events of the demo are cancelled; a job releases their seats.\n", len(s.events))
	return nil
}

func (s *setup) close() {
	_ = s.mongo.Disconnect(context.Background()) // the program ends
	if s.own != nil {
		s.own.Stop()
	}
}

func logCreated(what, id string) { fmt.Printf("  created %-8s %s\n", what, id) }

// expectAvailable compares an event's availableSeats.
func (s *setup) expectAvailable(ctx context.Context, event string, want int64) error {
	return expect(ctx, "event "+event+" availableSeats", want, 0, func(ctx context.Context) (int64, error) {
		e, err := s.api.GetEvent(ctx, event)
		return e.AvailableSeats, err
	})
}

// expectLock polls until a lock has the wanted status, for at most wait.
func (s *setup) expectLock(ctx context.Context, id, want string, wait time.Duration) error {
	return expect(ctx, "lock "+id+" status", want, wait, func(ctx context.Context) (string, error) {
		l, err := s.api.GetLock(ctx, id)
		return l.Status, err
	})
}

// expectBooking polls until a booking has the wanted status, for at most wait.
func (s *setup) expectBooking(ctx context.Context, id, want string, wait time.Duration) error {
	return expect(ctx, "booking "+id+" status", want, wait, func(ctx context.Context) (string, error) {
		b, err := s.api.GetBooking(ctx, id)
		return b.Status, err
	})
}

func expect[T comparable](ctx context.Context, what string, want T, wait time.Duration, read func(context.Context) (T, error)) error {
	ctx, cancel := context.WithTimeout(ctx, wait+readTimeout)
	defer cancel()
	for start := now(); ; {
		got, err := read(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if got == want && wait > 0 {
			what += fmt.Sprintf(" (after %v)", now().Sub(start).Round(pollInterval))
		}
		if got == want || now().Sub(start) >= wait {
			return compare(what, want, got)
		}
		select {
		case <-ctx.Done():
			return compare(what, want, got)
		case <-time.After(pollInterval):
		}
	}
}

var errDiffers = errors.New("the result is not as expected")

func compare(what string, want, got any) error {
	result, err := "ok", error(nil)
	if fmt.Sprint(want) != fmt.Sprint(got) {
		result, err = "DIFFERS", errDiffers
	}
	fmt.Printf("  %-72s expected %-10v got %-10v %s\n", what, want, got, result)
	return err
}
