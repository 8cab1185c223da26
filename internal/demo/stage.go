package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast/client"
	"github.com/holdfast-dev/holdfast/internal/devserver"
)

const (
	// startTime covers a first fetch of MongoDB over a slow line.
	startTime = 10 * time.Minute
	// jobTime is the default interval of the sweeps, and room for one run.
	jobTime = 75 * time.Second
	poll    = 100 * time.Millisecond
)

// stage is the running Holdfast that the demo plays on.
type stage struct {
	state devserver.State
	api   *client.Client
	mongo *mongo.Client
	own   *devserver.Process // nil where it ran already
}

func findOrStart(ctx context.Context) (*stage, error) {
	s := &stage{}
	if s.reach(ctx) {
		fmt.Println("Found a running Holdfast at", s.state.API)
	} else if err := s.start(ctx); err != nil {
		return nil, err
	}
	s.api = client.New(s.state.API)
	db, err := mongo.Connect(options.Client().ApplyURI(s.state.MongoDBURI))
	s.mongo = db
	return s, err
}

// reach reads the state of a running one, and whether it answers.
func (s *stage) reach(ctx context.Context) bool {
	state, err := devserver.ReadState()
	if err != nil {
		return false
	}
	s.state = state
	return ready(ctx, s.state.API)
}

func (s *stage) start(ctx context.Context) (err error) {
	fmt.Println("No Holdfast is running here: starting one, whose sweeps run every second.")
	port, err := devserver.KeepPort()
	if err != nil {
		return err
	}
	defer port.Close() //nolint:errcheck // nothing was written
	log := filepath.Join(".build", "demo.log")
	output, err := os.Create(log) //nolint:gosec // a fixed name
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
	fmt.Println("  its output goes to", log)
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for !s.reach(ctx) || s.state.API != "http://"+port.Addr() {
		select {
		case <-s.own.Done():
			return fmt.Errorf("it ended; see %s", log)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(poll):
		}
	}
	return nil
}

func (s *stage) close() {
	s.mongo.Disconnect(context.Background()) //nolint:errcheck // at the end of the program
	if s.own != nil {
		s.own.Stop()
	}
}

// ready reports whether an API answers, and serves.
func ready(ctx context.Context, api string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, api+"/readyz", nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	response.Body.Close() //nolint:errcheck,gosec // only the status counts
	return response.StatusCode == http.StatusOK
}

func did(what, id string) { fmt.Printf("  made the %-8s %s\n", what, id) }

// available compares what an event has left.
func (s *stage) available(ctx context.Context, event string, want int64) error {
	return expect(ctx, "event "+event+" availableSeats", want, 0, func(ctx context.Context) (int64, error) {
		e, err := s.api.GetEvent(ctx, event)
		return e.AvailableSeats, err
	})
}

// lockIs and bookingIs compare a status, at once or, where it depends on a job, as
// soon as the job has run.
func (s *stage) lockIs(ctx context.Context, id, want string, wait time.Duration) error {
	return expect(ctx, "lock "+id+" status", want, wait, func(ctx context.Context) (string, error) {
		l, err := s.api.GetLock(ctx, id)
		return l.Status, err
	})
}

func (s *stage) bookingIs(ctx context.Context, id, want string, wait time.Duration) error {
	return expect(ctx, "booking "+id+" status", want, wait, func(ctx context.Context) (string, error) {
		b, err := s.api.GetBooking(ctx, id)
		return b.Status, err
	})
}

func expect[T comparable](ctx context.Context, what string, want T, wait time.Duration, read func(context.Context) (T, error)) error {
	ctx, cancel := context.WithTimeout(ctx, wait+poll*100)
	defer cancel()
	for start := now(); ; {
		seen, err := read(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if seen == want && wait > 0 {
			what += fmt.Sprintf(" (after %v)", now().Sub(start).Round(poll))
		}
		if seen == want || now().Sub(start) >= wait {
			return compare(what, want, seen)
		}
		select {
		case <-ctx.Done():
			return compare(what, want, seen)
		case <-time.After(poll):
		}
	}
}

var errDiffers = errors.New("what was seen is not what was expected")

func compare(what string, want, seen any) error {
	verdict, err := "ok", error(nil)
	if fmt.Sprint(want) != fmt.Sprint(seen) {
		verdict, err = "DIFFERS", errDiffers
	}
	fmt.Printf("  %-72s expected %-10v seen %-10v %s\n", what, want, seen, verdict)
	return err
}
