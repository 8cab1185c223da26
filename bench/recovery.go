package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/recovery"
)

const (
	manyEventsToProve = 100_000
	locksPerEvent     = 10
	soldPerEvent      = 4   // of these are sold, with their bookings
	wrongEach         = 100 // of so many counters, one is wrong
)

// recoverAll compares the recovery of a large database with the least that any way
// of proving its counters has to do: one sum of all locks by event. Of the wrong
// counters, the recovery mends each.
func recoverAll(s settings) []*result {
	all := &largeWorld{settings: s}
	s.later(all.close)
	load := fmt.Sprintf("%d locks", manyEventsToProve*locksPerEvent)
	return []*result{
		{Side: engineName, Load: load, turn: func(ctx context.Context) (measure, error) { return all.recover(ctx, "all") }},
		{Side: "engine, counters alone", Load: load, turn: func(ctx context.Context) (measure, error) { return all.recover(ctx, "counters") }},
		{Side: "one aggregation alone", Load: load, turn: all.aggregate},
	}
}

// largeWorld is filled once for all turns.
type largeWorld struct {
	settings
	*world
}

func (l *largeWorld) close(ctx context.Context) error {
	if l.world == nil {
		return nil
	}
	return l.world.close(ctx)
}

// fill makes the events with their locks and bookings, on the first turn.
func (l *largeWorld) fill(ctx context.Context) (err error) {
	if l.world != nil {
		return nil
	}
	if l.world, err = newWorld(ctx, l.settings.uri); err != nil {
		return err
	}
	const most = 1000 // events at once
	later := clock.System().Add(365 * 24 * time.Hour)
	for done := 0; done < manyEventsToProve; done += most {
		var events, locks, bookings []any
		for range most {
			event := ids.New()
			events = append(events, bson.D{{Key: "_id", Value: event}, {Key: "name", Value: "Event"}, {Key: "status", Value: "ON_SALE"},
				{Key: "totalSeats", Value: 1000}, {Key: "availableSeats", Value: 1000 - 2*locksPerEvent}})
			for i := range locksPerEvent {
				lock, user := ids.New(), ids.New()
				status := "ACTIVE"
				if i < soldPerEvent {
					status = "CONSUMED"
					bookings = append(bookings, bson.D{{Key: "_id", Value: ids.New()}, {Key: "eventId", Value: event}, {Key: "userId", Value: user},
						{Key: "seatLockId", Value: lock}, {Key: "seats", Value: 2}, {Key: "status", Value: "CONFIRMED"}})
				}
				locks = append(locks, bson.D{{Key: "_id", Value: lock}, {Key: "eventId", Value: event}, {Key: "userId", Value: user},
					{Key: "seats", Value: 2}, {Key: "status", Value: status}, {Key: "expiresAt", Value: later}})
			}
		}
		for name, documents := range map[string][]any{"events": events, "seatlocks": locks, "bookings": bookings} {
			if _, err := l.db.Collection(name).InsertMany(ctx, documents); err != nil {
				return err
			}
		}
	}
	return nil
}

// damage makes one counter in wrongEach wrong, by one seat.
func (l *largeWorld) damage(ctx context.Context) (int64, error) {
	result, err := l.db.Collection("events").UpdateMany(ctx, bson.D{{Key: "$expr", Value: bson.D{{Key: "$eq", Value: bson.A{
		bson.D{{Key: "$mod", Value: bson.A{bson.D{{Key: "$abs", Value: bson.D{{Key: "$toHashedIndexKey", Value: "$_id"}}}}, wrongEach}}}, 0,
	}}}}}, less(1))
	if err != nil {
		return 0, err
	}
	return result.ModifiedCount, nil
}

// recover runs what in a process of its own, whose memory can be told.
func (l *largeWorld) recover(ctx context.Context, what string) (measure, error) {
	if err := l.fill(ctx); err != nil {
		return measure{}, err
	}
	wrong, err := l.damage(ctx)
	if err != nil {
		return measure{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return measure{}, err
	}
	command := exec.CommandContext(ctx, self, "recover", what, l.settings.uri, l.db.Name()) //nolint:gosec // this program
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return measure{}, err
	}
	var told recovered
	if err := json.Unmarshal(out, &told); err != nil {
		return measure{}, err
	}
	if int64(told.Corrections) != wrong {
		return measure{}, fmt.Errorf("%d counters were wrong, %d were mended", wrong, told.Corrections)
	}
	const all = manyEventsToProve * locksPerEvent
	m := measure{Granted: all, Seconds: told.Seconds, note: fmt.Sprintf("%d mended; %.1f s, peak memory %d MiB", wrong, told.Seconds, told.Peak)}
	return m, l.prove(ctx, 2*all, 0, true, false)
}

// recovered is what a process tells that ran a recovery.
type recovered struct {
	Seconds     float64
	Corrections int
	Peak        int64 // memory at most, MiB; 0 where the system does not tell
}

// peakMemory is this process's own; what wait tells of a child holds the memory of
// its parent, from before it became another program.
func peakMemory() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 { //nolint:errcheck // another line
			return kib >> 10
		}
	}
	return 0
}

// recoverProcess is a process that runs a recovery: WHAT URI DATABASE.
func recoverProcess(ctx context.Context, args []string) error {
	const wanted = 3
	if len(args) != wanted {
		return errors.New("usage: recover all|counters URI DATABASE")
	}
	w, err := openWorld(ctx, args[1], args[2])
	if err != nil {
		return err
	}
	const batch = 500 // SWEEP_BATCH's default
	r := &recovery.Recovery{DB: w.db, Seats: w.seats, Bookings: w.bookings, Clock: clock.System,
		Sweeper: &expiry.Sweeper{Seats: w.seats, Bookings: w.bookings, Batch: batch}}
	run := r.Run
	if args[0] == "counters" {
		run = r.Reconcile
	}
	start := clock.System()
	report, err := run(ctx, "bench", slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	err = json.NewEncoder(out).Encode(recovered{clock.Clock(clock.System).Since(start).Seconds(), report.Corrections, peakMemory()})
	return errors.Join(err, out.Flush(), w.db.Close(ctx))
}

// aggregate sums all locks by event, by the index that the engine uses.
func (l *largeWorld) aggregate(ctx context.Context) (measure, error) {
	if err := l.fill(ctx); err != nil {
		return measure{}, err
	}
	start := clock.System()
	cursor, err := l.db.Collection("seatlocks").Aggregate(ctx, mongo.Pipeline{
		mongodb.Match(bson.D{{Key: "eventId", Value: bson.D{{Key: "$gte", Value: ids.ID{}}}}}, mongodb.In("status", []string{"ACTIVE", "CONSUMED"})),
		{{Key: "$group", Value: bson.D{{Key: "_id", Value: "$eventId"}, {Key: "seats", Value: bson.D{{Key: "$sum", Value: "$seats"}}}}}},
	})
	if err != nil {
		return measure{}, err
	}
	events := 0
	for cursor.Next(ctx) {
		events++
	}
	if err := cursor.Err(); err != nil || events != manyEventsToProve {
		return measure{}, fmt.Errorf("summing %d events: %w", events, err)
	}
	took := clock.Clock(clock.System).Since(start).Seconds()
	return measure{Granted: manyEventsToProve * locksPerEvent, Seconds: took, note: fmt.Sprintf("%.1f s", took)}, nil
}
