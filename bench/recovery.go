package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

const recoveryName = "recovery" // the scenario

// recoverAll compares the recovery of a large database with the least work by
// which any method can verify its counters: one sum of all locks by event. The
// recovery also repairs the wrong counters.
func recoverAll(s settings) []*result {
	var e *env // created and filled by the first measurement
	s.afterScenario(func(ctx context.Context) error {
		if e == nil {
			return nil
		}
		return e.drop(ctx)
	})
	row := func(name string, measure func(context.Context, recoveryData) (measurement, error)) *result {
		return &result{Variant: name, Load: recoveryLoad, measure: func(ctx context.Context) (m measurement, err error) {
			if e != nil {
				return measure(ctx, recoveryData{uri: s.mongoURI, db: e.DB.Database})
			}
			if e, err = newEnv(ctx, s.mongoURI); err != nil {
				return m, err
			}
			d := recoveryData{uri: s.mongoURI, db: e.DB.Database}
			if err := d.fill(ctx); err != nil {
				return m, err
			}
			return measure(ctx, d)
		}}
	}
	engineRow := func(name string) *result {
		return row(name, func(ctx context.Context, d recoveryData) (measurement, error) {
			self, err := os.Executable()
			if err != nil {
				return measurement{}, err
			}
			return d.recover(ctx, self, recoverySteps[name])
		})
	}
	aggregate := row("one aggregation alone", func(ctx context.Context, d recoveryData) (measurement, error) { return d.aggregate(ctx) })
	return []*result{engineRow(engineName), engineRow(countersName), aggregate}
}

const (
	countersName = "engine, counters alone"
	recoveryLoad = "1000000 locks"
)

// recoverySteps has the argument of the recover process for each variant.
var recoverySteps = map[string]string{engineName: "all", countersName: "counters"}

// recoveryData is a large database with locks and bookings.
type recoveryData struct {
	uri string
	db  *mongo.Database
}

const (
	recoveryEvents        = 100_000
	recoveryLocksPerEvent = 10
	recoverySoldPerEvent  = 4 // locks of confirmed bookings
	recoverySeatsPerLock  = 2
	recoveryLocks         = recoveryEvents * recoveryLocksPerEvent // see recoveryLoad
	wrongCounterRatio     = 100                                    // one counter in a hundred is wrong
)

// fill inserts the events with their locks and bookings.
func (d recoveryData) fill(ctx context.Context) error {
	const eventsPerInsert = 1000
	expiresAt := clock.System().Add(365 * 24 * time.Hour)
	for range recoveryEvents / eventsPerInsert {
		var events, locks, bookings []any
		for range eventsPerInsert {
			event := ids.New()
			events = append(events, bson.D{{Key: "_id", Value: event}, {Key: "name", Value: "Event"}, {Key: "status", Value: "ON_SALE"},
				{Key: "totalSeats", Value: 1000}, {Key: "availableSeats", Value: 1000 - recoverySeatsPerLock*recoveryLocksPerEvent}})
			for i := range recoveryLocksPerEvent {
				lock, user := ids.New(), ids.New()
				status := "ACTIVE"
				if i < recoverySoldPerEvent {
					status = "CONSUMED"
					bookings = append(bookings, bson.D{{Key: "_id", Value: ids.New()}, {Key: "eventId", Value: event}, {Key: "userId", Value: user},
						{Key: "seatLockId", Value: lock}, {Key: "seats", Value: recoverySeatsPerLock}, {Key: "status", Value: "CONFIRMED"}})
				}
				locks = append(locks, bson.D{{Key: "_id", Value: lock}, {Key: "eventId", Value: event}, {Key: "userId", Value: user},
					{Key: "seats", Value: recoverySeatsPerLock}, {Key: "status", Value: status}, {Key: "expiresAt", Value: expiresAt}})
			}
		}
		for name, documents := range map[string][]any{"events": events, "seatlocks": locks, "bookings": bookings} {
			if _, err := d.db.Collection(name).InsertMany(ctx, documents); err != nil {
				return err
			}
		}
	}
	return nil
}

// damage makes one counter in wrongCounterRatio wrong, by one seat.
func (d recoveryData) damage(ctx context.Context) (wrong int64, err error) {
	hash := bson.D{{Key: "$abs", Value: bson.D{{Key: "$toHashedIndexKey", Value: "$_id"}}}}
	filter := bson.D{{Key: "$expr", Value: bson.D{{Key: "$eq", Value: bson.A{
		bson.D{{Key: "$mod", Value: bson.A{hash, wrongCounterRatio}}}, 0,
	}}}}}
	updated, err := d.db.Collection("events").UpdateMany(ctx, filter, addAvailable(-1))
	if err != nil {
		return 0, err
	}
	return updated.ModifiedCount, nil
}

// recover damages counters and measures a recovery of them. The recovery runs in
// a new process of the given bench binary, which reports its memory.
func (d recoveryData) recover(ctx context.Context, binary, steps string) (measurement, error) {
	wrong, err := d.damage(ctx)
	if err != nil {
		return measurement{}, err
	}
	stdout, err := output(ctx, binary, "recover", steps, d.uri, d.db.Name())
	if err != nil {
		return measurement{}, err
	}
	var report recoveryReport
	if err := json.Unmarshal(stdout, &report); err != nil {
		return measurement{}, err
	}
	if int64(report.Corrections) != wrong {
		return measurement{}, fmt.Errorf("%d counters were wrong, %d were repaired", wrong, report.Corrections)
	}
	m := measurement{Granted: recoveryLocks, Seconds: report.Seconds,
		note: fmt.Sprintf("%d repaired; %.1f s, peak memory %d MiB", wrong, report.Seconds, report.Peak)}
	return m, checkInventory(ctx, d.db, expectation{seats: recoverySeatsPerLock * recoveryLocks, counters: true})
}

// aggregate is sumLocks as a measurement.
func (d recoveryData) aggregate(ctx context.Context) (measurement, error) {
	seconds, err := d.sumLocks(ctx, recoveryEvents)
	return measurement{Granted: recoveryLocks, Seconds: seconds, note: fmt.Sprintf("%.1f s", seconds)}, err
}

// sumLocks sums all locks by event, by the index that the engine uses. It returns how long that took.
func (d recoveryData) sumLocks(ctx context.Context, wantEvents int) (seconds float64, err error) {
	start := wallClock()
	cursor, err := d.db.Collection("seatlocks").Aggregate(ctx, mongo.Pipeline{
		mongodb.Match(
			bson.D{{Key: "eventId", Value: bson.D{{Key: "$gte", Value: holdfast.ID{}}}}}, // for the index
			mongodb.In("status", []string{"ACTIVE", "CONSUMED"}),
		),
		{{Key: "$group", Value: bson.D{{Key: "_id", Value: "$eventId"}, {Key: "seats", Value: sum("$seats")}}}},
	})
	if err != nil {
		return 0, err
	}
	events := 0
	for cursor.Next(ctx) {
		events++
	}
	if err := cursor.Err(); err != nil {
		return 0, err
	}
	if events != wantEvents {
		return 0, fmt.Errorf("the sums are of %d events instead of %d", events, wantEvents)
	}
	return wallClock.Since(start).Seconds(), nil
}

// recoveryReport is the output of a recover process. A comparison reads the reports
// of other revisions: its keys must not change.
type recoveryReport struct {
	Seconds     float64
	Corrections int
	Checked     int   // counters
	Peak        int64 // MiB; 0 if the system does not report it
}

// recoverProcess is a process that runs a recovery. Its arguments are
// all|counters|sealed URI DATABASE.
func recoverProcess(ctx context.Context, args []string) error {
	const arguments = 3
	if len(args) != arguments {
		return errors.New("usage: recover all|counters|sealed URI DATABASE")
	}
	e, err := openEnv(ctx, args[1], args[2])
	if err != nil {
		return err
	}
	run := e.Recovery.Run
	switch args[0] {
	case recoverySteps[countersName]:
		run = e.Recovery.Reconcile
	case allSteps:
		run = e.Recovery.RunAll
	}
	start := wallClock()
	report, err := run(ctx, "bench", slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	seconds := wallClock.Since(start).Seconds()
	err = json.NewEncoder(os.Stdout).Encode(recoveryReport{
		Seconds: seconds, Corrections: report.Corrections, Checked: report.Checked, Peak: peakMemory(),
	})
	return errors.Join(err, e.DB.Close(ctx))
}

// peakMemory returns this process's peak memory in MiB; 0 if the system does not
// report it. The parent can't measure it: the result of the wait system call
// includes the parent's own memory at the time of the fork.
func peakMemory() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		value, found := strings.CutPrefix(line, "VmHWM:")
		if !found {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			return 0
		}
		return kib >> 10
	}
	return 0
}
