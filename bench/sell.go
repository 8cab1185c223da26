package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast/client"
	"github.com/holdfast-dev/holdfast/seats/seating/planjson"
)

const (
	// frontSections are the sections next to the stage. Each second request is of these alone.
	frontSections = 20
	// sellHoldTime is how long a lock lasts. So the hall does not run out: at 2,000 locks a second a sixth of it is taken,
	// and a quarter of the front.
	sellHoldTime = 2 * time.Second
	// sellReportInterval is the time between two lines of figures.
	sellReportInterval = 500 * time.Millisecond
)

// sale is a hall that is sold through HTTP at a fixed rate.
type sale struct {
	api                       *client.Client
	event, user               string
	seats                     picture
	granted, released, failed atomic.Int64
	open                      sync.WaitGroup
}

// sell is a process that creates a hall at an API and sells it: it sends requests for 1 to 4 adjacent seats at a fixed
// rate, whether or not earlier ones were answered, and releases each lock after sellHoldTime. Its arguments are
// ADDRESS RATE. It prints the event first, and then what was answered so far, until its input ends.
// tools/browser/bytes.mjs starts it.
func sell(ctx context.Context, args []string) error {
	const arguments = 2
	if len(args) != arguments {
		return fmt.Errorf("usage: sell ADDRESS RATE")
	}
	rate, err := strconv.Atoi(args[1])
	if err != nil || rate < 1 {
		return fmt.Errorf("the rate must be at least 1")
	}
	api, closeIdle := (&server{address: args[0]}).client(2 * rate) // locks and releases
	defer closeIdle()
	s := &sale{api: api}
	if err := s.create(ctx); err != nil {
		return err
	}
	fmt.Printf("{\"event\":%q}\n", s.event)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	s.run(ctx, rate)
	return nil
}

// create creates the hall, an event and a user.
func (s *sale) create(ctx context.Context) error {
	text, err := planjson.Write(hallPlan())
	if err != nil {
		return err
	}
	var plan client.SeatingPlan
	if err := json.Unmarshal(text, &plan); err != nil {
		return err
	}
	created, err := s.api.CreateSeatingPlan(ctx, plan, "")
	if err != nil {
		return err
	}
	event, err := s.api.CreateEvent(ctx, client.NewEvent{
		Name: plan.Name, EventDate: wallClock().Add(24 * time.Hour), SeatingPlanID: created.ID, //nolint:mnd // some time ahead
	})
	if err != nil {
		return err
	}
	user, err := s.api.CreateUser(ctx, "Ada", "ada@example.com")
	s.event, s.user = event.ID, user.ID
	return err
}

// run sells until ctx ends. It returns when all requests were answered.
func (s *sale) run(ctx context.Context, rate int) {
	start, reported := wallClock(), time.Duration(0)
	for n := 0; ctx.Err() == nil; n++ {
		scheduled := time.Duration(n) * time.Second / time.Duration(rate)
		sleep(ctx, scheduled-wallClock.Since(start))
		if scheduled-reported >= sellReportInterval {
			reported = scheduled
			s.report(wallClock.Since(start))
		}
		rows := hallRows
		if n%2 == 0 {
			rows = frontSections * rowsInSection
		}
		b := s.seats.pickFront(rows, 1+rand.IntN(maxTogether))
		s.seats.take(b) // now, so that no two requests name the same seats
		s.open.Go(func() { s.hold(ctx, b, n) })
	}
	s.open.Wait()
}

// report prints what was answered so far.
func (s *sale) report(after time.Duration) {
	fmt.Printf("{\"seconds\":%.3f,\"granted\":%d,\"released\":%d,\"failed\":%d}\n",
		after.Seconds(), s.granted.Load(), s.released.Load(), s.failed.Load())
}

// hold locks seats for a while. Seats of a request that failed are not asked for again.
func (s *sale) hold(ctx context.Context, b block, n int) {
	whole := context.WithoutCancel(ctx) // requests in flight are answered
	lock, err := s.api.AcquireLock(whole, client.LockRequest{
		EventID: s.event, UserID: s.user, SeatIDs: b.ids(), IdempotencyKey: strconv.Itoa(n),
	})
	if err != nil {
		s.fail(err)
		return
	}
	s.granted.Add(1)
	sleep(ctx, sellHoldTime)
	if ctx.Err() != nil {
		return
	}
	if _, err := s.api.InEvent(s.event).ReleaseLock(whole, lock.ID); err != nil {
		s.fail(err)
		return
	}
	s.released.Add(1)
	s.seats.free(b)
}

// fail counts a request that failed, and says why for the first one.
func (s *sale) fail(err error) {
	if s.failed.Add(1) == 1 {
		fmt.Fprintln(os.Stderr, "the first request that failed:", strings.TrimSpace(err.Error()))
	}
}
