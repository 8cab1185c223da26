package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

const (
	recoveryEvents        = 100_000
	recoveryLocksPerEvent = 10
	recoverySoldPerEvent  = 4 // locks of confirmed bookings
	recoverySeatsPerLock  = 2
	recoveryLocks         = recoveryEvents * recoveryLocksPerEvent
	wrongCounterRatio     = 100 // one counter in a hundred is wrong
)

// recoverAll compares the recovery of a large database with the least work by which any method can verify its
// counters: one sum of all locks by event. The recovery also repairs the wrong counters.
func recoverAll(s settings) []*result {
	var filled *env // by the first measurement
	s.afterScenario(func(ctx context.Context) error {
		if filled == nil {
			return nil
		}
		return filled.drop(ctx)
	})
	row := func(name string, measure func(*env, context.Context) (measurement, error)) *result {
		load := fmt.Sprintf("%d locks", recoveryLocks)
		return &result{Variant: name, Load: load, measure: func(ctx context.Context) (m measurement, err error) {
			if filled == nil {
				if filled, err = newEnv(ctx, s.mongoURI, core.Collections()); err == nil {
					err = filled.fillForRecovery(ctx)
				}
				if err != nil {
					return m, err
				}
			}
			return measure(filled, ctx)
		}}
	}
	return []*result{row(engineName, (*env).recover), row("one aggregation alone", (*env).sumLocks)}
}

// fillForRecovery inserts the events with their locks and bookings.
func (e *env) fillForRecovery(ctx context.Context) error {
	const totalSeats = 1000
	expiresAt := mongodb.SystemTime().Add(365 * 24 * time.Hour)
	b := e.newBulkInsert()
	for range recoveryEvents {
		event := b.addEvent(ctx, totalSeats, recoverySeatsPerLock*recoveryLocksPerEvent)
		for i := range recoveryLocksPerEvent {
			if i < recoverySoldPerEvent {
				b.addSold(ctx, event, recoverySeatsPerLock, expiresAt, nil, nil)
			} else {
				b.addLock(ctx, event, recoverySeatsPerLock, "ACTIVE", expiresAt)
			}
		}
	}
	return b.flush(ctx)
}

// damage makes one counter in wrongCounterRatio wrong, by one seat.
func (e *env) damage(ctx context.Context) (wrong int64, err error) {
	hash := bson.D{{Key: "$abs", Value: bson.D{{Key: "$toHashedIndexKey", Value: "$_id"}}}}
	filter := bson.D{{Key: "$expr", Value: bson.D{{Key: "$eq", Value: bson.A{
		bson.D{{Key: "$mod", Value: bson.A{hash, wrongCounterRatio}}}, 0,
	}}}}}
	updated, err := e.DB.Collection("events").UpdateMany(ctx, filter, addAvailable(-1))
	if err != nil {
		return 0, err
	}
	return updated.ModifiedCount, nil
}

// recover damages counters and measures a recovery of them. The recovery runs in
// a new process, which reports its memory.
func (e *env) recover(ctx context.Context) (measurement, error) {
	self, err := os.Executable()
	if err != nil {
		return measurement{}, err
	}
	wrong, err := e.damage(ctx)
	if err != nil {
		return measurement{}, err
	}
	stdout, err := output(ctx, self, "recover", e.uri, e.DB.Name())
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
	return m, e.check(ctx, expectation{seats: recoverySeatsPerLock * recoveryLocks, counters: true})
}

// sumLocks sums all locks by event, by the index that the engine uses.
func (e *env) sumLocks(ctx context.Context) (m measurement, err error) {
	start := wallClock()
	cursor, err := e.DB.Collection("seatlocks").Aggregate(ctx, mongo.Pipeline{
		mongodb.Match(
			bson.D{{Key: "eventId", Value: bson.D{{Key: "$gte", Value: holdfast.ID{}}}}}, // for the index
			mongodb.In("status", []string{"ACTIVE", "CONSUMED"}),
		),
		{{Key: "$group", Value: bson.D{{Key: "_id", Value: "$eventId"}, {Key: "seats", Value: sum("$seats")}}}},
	})
	if err != nil {
		return m, err
	}
	events := 0
	for cursor.Next(ctx) {
		events++
	}
	if err := cursor.Err(); err != nil {
		return m, err
	}
	if events != recoveryEvents {
		return m, fmt.Errorf("the sums are of %d events instead of %d", events, recoveryEvents)
	}
	seconds := wallClock.Since(start).Seconds()
	return measurement{Granted: recoveryLocks, Seconds: seconds, note: fmt.Sprintf("%.1f s", seconds)}, nil
}

// recoveryReport is the output of a recover process.
type recoveryReport struct {
	Seconds     float64
	Corrections int
	Peak        int64 // MiB; 0 if the system does not report it
}

// recoverProcess is a process that runs a recovery. Its arguments are URI DATABASE.
func recoverProcess(ctx context.Context, args []string) error {
	const arguments = 2
	if len(args) != arguments {
		return errors.New("usage: recover URI DATABASE")
	}
	e, err := openEnv(ctx, args[0], args[1])
	if err != nil {
		return err
	}
	start := wallClock()
	report, err := e.Recovery.Run(ctx, "bench", slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	seconds := wallClock.Since(start).Seconds()
	err = json.NewEncoder(os.Stdout).Encode(recoveryReport{Seconds: seconds, Corrections: report.Corrections, Peak: peakMemory()})
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
		var kib int64
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
			return kib >> 10
		}
	}
	return 0
}
