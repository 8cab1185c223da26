package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/ids"
)

const (
	withoutSealedName = "without sealed events"
	allCheckedName    = "all events checked"
	// allSteps is the argument of a recover process that checks sealed events too.
	allSteps = "sealed"

	liveLocksPerEvent   = 10
	sealedLocksPerEvent = 1000
	sealAge             = 720 * time.Hour
)

// recoverSealed compares the recovery of live locks beside the locks of sealed events with the
// recovery of the same live locks alone. Rates are of the live locks.
func recoverSealed(s settings) []*result {
	var alone, beside *env // each is created and filled by its first measurement
	s.afterScenario(func(ctx context.Context) error {
		for _, e := range []*env{alone, beside} {
			if e == nil {
				continue
			}
			if err := e.drop(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	row := func(name, steps string, in **env, sealedLocks, checked int) *result {
		load := fmt.Sprintf("%d live locks, %d sealed", s.liveLocks, s.sealedLocks)
		return &result{Variant: name, Load: load, measure: func(ctx context.Context) (m measurement, err error) {
			if *in == nil {
				if *in, err = newEnv(ctx, s.mongoURI); err != nil {
					return m, err
				}
				if err := fillSealed(ctx, *in, s.liveLocks, sealedLocks); err != nil {
					return m, err
				}
			}
			return recoverBeside(ctx, *in, steps, s.liveLocks, checked)
		}}
	}
	live, over := s.liveLocks/liveLocksPerEvent, s.sealedLocks/sealedLocksPerEvent
	return []*result{
		row(engineName, recoverySteps[engineName], &beside, s.sealedLocks, live),
		row(withoutSealedName, recoverySteps[engineName], &alone, 0, live),
		row(allCheckedName, allSteps, &beside, s.sealedLocks, live+over),
	}
}

// fillSealed inserts living events and events that are over, by turns, and seals the latter.
func fillSealed(ctx context.Context, e *env, liveLocks, sealedLocks int) error {
	now := clock.System()
	data := recoveryData{uri: e.uri, db: e.DB.Database}
	live, over := liveLocks/liveLocksPerEvent, sealedLocks/sealedLocksPerEvent
	const liveEventsPerInsert, overEventsPerInsert = 1000, 400
	for live > 0 || over > 0 {
		if n := min(live, liveEventsPerInsert); n > 0 {
			live -= n
			if err := data.insert(ctx, n, liveLocksPerEvent, recoverySoldPerEvent, now.Add(2*sealAge)); err != nil {
				return err
			}
		}
		for range min(over, overEventsPerInsert) {
			over--
			if err := data.insert(ctx, 1, sealedLocksPerEvent, sealedLocksPerEvent, now.Add(-2*sealAge)); err != nil {
				return err
			}
		}
	}
	report, err := e.Sealer.Run(ctx, sealAge, slog.New(slog.DiscardHandler))
	if err == nil && report.Applied != sealedLocks/sealedLocksPerEvent {
		err = fmt.Errorf("%d of %d events were sealed", report.Applied, sealedLocks/sealedLocksPerEvent)
	}
	return err
}

// insert inserts events with locks, of which the first are sold.
func (d recoveryData) insert(ctx context.Context, events, locksPerEvent, soldPerEvent int, date time.Time) error {
	expiresAt := clock.System().Add(365 * 24 * time.Hour)
	var eventDocs, locks, bookings []any
	for range events {
		event := ids.New()
		eventDocs = append(eventDocs, bson.D{
			{Key: "_id", Value: event}, {Key: "name", Value: "Event"}, {Key: "status", Value: "ON_SALE"},
			{Key: "totalSeats", Value: recoverySeatsPerLock * locksPerEvent}, {Key: "availableSeats", Value: 0}, {Key: "eventDate", Value: date},
		})
		for i := range locksPerEvent {
			lock, user := ids.New(), ids.New()
			status := "ACTIVE"
			if i < soldPerEvent {
				status = "CONSUMED"
				bookings = append(bookings, bson.D{{Key: "_id", Value: ids.New()}, {Key: "eventId", Value: event}, {Key: "userId", Value: user},
					{Key: "seatLockId", Value: lock}, {Key: "seats", Value: recoverySeatsPerLock}, {Key: "status", Value: "CONFIRMED"}})
			}
			locks = append(locks, bson.D{{Key: "_id", Value: lock}, {Key: "eventId", Value: event}, {Key: "userId", Value: user},
				{Key: "seats", Value: recoverySeatsPerLock}, {Key: "status", Value: status}, {Key: "expiresAt", Value: expiresAt}})
		}
	}
	for name, documents := range map[string][]any{"events": eventDocs, "seatlocks": locks, "bookings": bookings} {
		if _, err := d.db.Collection(name).InsertMany(ctx, documents); err != nil {
			return err
		}
	}
	return nil
}

// recoverBeside measures a recovery in a new process, which has to check so many events and to
// find nothing.
func recoverBeside(ctx context.Context, e *env, steps string, liveLocks, checked int) (measurement, error) {
	self, err := os.Executable()
	if err != nil {
		return measurement{}, err
	}
	stdout, err := output(ctx, self, "recover", steps, e.uri, e.DB.Name())
	if err != nil {
		return measurement{}, err
	}
	var report recoveryReport
	if err := json.Unmarshal(stdout, &report); err != nil {
		return measurement{}, err
	}
	if report.Corrections > 0 || report.Checked != checked {
		return measurement{}, fmt.Errorf("%d events were checked and %d corrected; want %d and 0", report.Checked, report.Corrections, checked)
	}
	return measurement{Granted: liveLocks, Seconds: report.Seconds,
		note: fmt.Sprintf("%d events in %.2f s, peak memory %d MiB", checked, report.Seconds, report.Peak)}, nil
}
