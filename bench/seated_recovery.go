package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/ids"
)

const (
	numberedEvents = 20
	numberedSeats  = 1_000_000 // of all events: 50,000 of the 60,000 seats of each hall are taken
	numberedLocks  = numberedSeats / recoverySeatsPerLock
)

// recoverSeated compares the recovery of numbered seats with the recovery of the same locks without numbers, and
// with one sum of all locks. Rates are of the seats. Nothing is wrong.
func recoverSeated(s settings) []*result {
	var numbered, general *env // each is created and filled by its first measurement
	s.afterScenario(func(ctx context.Context) error {
		for _, e := range []*env{numbered, general} {
			if e == nil {
				continue
			}
			if err := e.drop(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	row := func(name string, in **env, seated bool, measure func(context.Context, recoveryData) (measurement, error)) *result {
		load := fmt.Sprintf("%d seats", numberedSeats)
		return &result{Variant: name, Load: load, measure: func(ctx context.Context) (m measurement, err error) {
			if *in == nil {
				if *in, err = newHallEnv(ctx, s.mongoURI, false); err != nil {
					return m, err
				}
				if err := (*in).fillNumbered(ctx, seated); err != nil {
					return m, err
				}
			}
			return measure(ctx, recoveryData{uri: s.mongoURI, db: (*in).DB.Database})
		}}
	}
	byEngine := func(ctx context.Context, d recoveryData) (measurement, error) {
		return d.recoverNumbered(ctx, recoverySteps[engineName])
	}
	return []*result{
		row(engineName, &numbered, true, byEngine),
		row("engine, reconcile alone", &numbered, true, func(ctx context.Context, d recoveryData) (measurement, error) {
			return d.recoverNumbered(ctx, recoverySteps[countersName])
		}),
		row(generalName, &general, false, byEngine),
		row("one aggregation alone", &general, false, func(ctx context.Context, d recoveryData) (measurement, error) {
			seconds, err := d.sumLocks(ctx, numberedEvents)
			return measurement{Granted: numberedSeats, Seconds: seconds, note: fmt.Sprintf("%.2f s", seconds)}, err
		}),
	}
}

// fillNumbered sells the halls, by locks of two seats, and confirms some of them.
func (e *env) fillNumbered(ctx context.Context, seated bool) error {
	const locksPerEvent = numberedLocks / numberedEvents
	var plan holdfast.ID
	if seated {
		var err error
		if plan, err = e.createPlan(ctx); err != nil {
			return err
		}
	}
	expiresAt := clock.System().Add(365 * 24 * time.Hour)
	for range numberedEvents {
		hall, err := e.createEvent(ctx, hallSeats)
		if seated {
			hall, err = e.createHall(ctx, plan)
		}
		if err != nil {
			return err
		}
		var locks, bookings []any
		for i := range locksPerEvent {
			lock, user, status := ids.New(), ids.New(), "ACTIVE"
			if i%recoveryLocksPerEvent < recoverySoldPerEvent {
				status = "CONSUMED"
				bookings = append(bookings, bson.D{{Key: "_id", Value: ids.New()}, {Key: "eventId", Value: hall}, {Key: "userId", Value: user},
					{Key: "seatLockId", Value: lock}, {Key: "seats", Value: recoverySeatsPerLock}, {Key: "status", Value: "CONFIRMED"}})
			}
			doc := bson.D{{Key: "_id", Value: lock}, {Key: "eventId", Value: hall}, {Key: "userId", Value: user},
				{Key: "seats", Value: recoverySeatsPerLock}, {Key: "status", Value: status}, {Key: "expiresAt", Value: expiresAt}}
			if seated {
				first := i * recoverySeatsPerLock
				doc = append(doc, bson.E{Key: "seatIds", Value: seatIDs[first : first+recoverySeatsPerLock]})
			}
			locks = append(locks, doc)
		}
		for name, documents := range map[string][]any{"seatlocks": locks, "bookings": bookings} {
			if _, err := e.DB.Collection(name).InsertMany(ctx, documents); err != nil {
				return err
			}
		}
	}
	_, err := recoveryData{uri: e.uri, db: e.DB.Database}.run(ctx, recoverySteps[engineName]) // counters and maps
	return err
}

// recoverNumbered recovers the halls in a new process, and finds nothing.
func (d recoveryData) recoverNumbered(ctx context.Context, steps string) (measurement, error) {
	report, err := d.run(ctx, steps)
	if err != nil {
		return measurement{}, err
	}
	if report.Corrections > 0 || report.Checked < numberedEvents {
		return measurement{}, fmt.Errorf("%d events were checked and %d corrected; want %d and 0",
			report.Checked, report.Corrections, numberedEvents)
	}
	return measurement{Granted: numberedSeats, Seconds: report.Seconds,
		note: fmt.Sprintf("%.2f s, peak memory %d MiB", report.Seconds, report.Peak)}, nil
}

// run runs a recovery in a new process.
func (d recoveryData) run(ctx context.Context, steps string) (report recoveryReport, err error) {
	self, err := os.Executable()
	if err != nil {
		return report, err
	}
	stdout, err := output(ctx, self, "recover", steps, d.uri, d.db.Name())
	if err == nil {
		err = json.Unmarshal(stdout, &report)
	}
	return report, err
}
