package core

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Settings are the settings of an engine. A zero value means the default.
type Settings struct {
	Database string // "holdfast"

	LockDefaultTTL time.Duration // 10m
	LockMaxTTL     time.Duration // 2h, from a lock's creation
	PaymentMaxTTL  time.Duration // 24h, from a booking's creation
	SweepBatch     int           // documents in one transaction; the default is 500
	// A limit of 0 means that there is no limit.
	MaxSeatsPerLock, MaxActiveLocksPerUser int64
}

const (
	defaultDatabase   = "holdfast"
	defaultLockTTL    = 10 * time.Minute
	defaultMaxLockTTL = 2 * time.Hour
	defaultPaymentTTL = 24 * time.Hour
	defaultSweepBatch = 500
	// maxSweepBatch keeps a sweep's transaction far below the time and the size at which
	// MongoDB ends one.
	maxSweepBatch = 5000
	// minDuration is the unit of the times in the database.
	minDuration = time.Millisecond
	// maxDatabaseName is MongoDB's own limit, in bytes.
	maxDatabaseName = 63
)

func (s Settings) withDefaults() Settings {
	s.Database = cmp.Or(s.Database, defaultDatabase)
	s.LockDefaultTTL = cmp.Or(s.LockDefaultTTL, defaultLockTTL)
	s.LockMaxTTL = cmp.Or(s.LockMaxTTL, defaultMaxLockTTL)
	s.PaymentMaxTTL = cmp.Or(s.PaymentMaxTTL, defaultPaymentTTL)
	s.SweepBatch = cmp.Or(s.SweepBatch, defaultSweepBatch)
	return s
}

// rules returns the settings that decisions need.
func (s Settings) rules() inventory.Rules {
	return inventory.Rules{
		DefaultLockTTL: s.LockDefaultTTL, MaxLockTTL: s.LockMaxTTL, MaxPaymentTTL: s.PaymentMaxTTL,
		MaxSeatsPerLock: s.MaxSeatsPerLock, MaxLocksPerUser: s.MaxActiveLocksPerUser,
	}
}

// Check returns an error that says which setting is wrong and what to do. A zero value is
// not replaced by its default. names maps a field to its name in the error; a field without
// an entry keeps its own name.
func (s Settings) Check(names map[string]string) error {
	name := func(field string) string { return cmp.Or(names[field], field) }
	for _, d := range []struct {
		field string
		value time.Duration
	}{{"LockDefaultTTL", s.LockDefaultTTL}, {"LockMaxTTL", s.LockMaxTTL}, {"PaymentMaxTTL", s.PaymentMaxTTL}} {
		if err := CheckDuration(name(d.field), d.value); err != nil {
			return err
		}
	}
	for _, n := range []struct {
		field string
		value int64
	}{{"MaxSeatsPerLock", s.MaxSeatsPerLock}, {"MaxActiveLocksPerUser", s.MaxActiveLocksPerUser}} {
		if n.value < 0 {
			return fmt.Errorf("%s is %d, but must be greater than 0, or 0 for no limit", name(n.field), n.value)
		}
	}
	if s.LockDefaultTTL > s.LockMaxTTL {
		return fmt.Errorf("%s (%v) is greater than %s (%v): lower the first or raise the second",
			name("LockDefaultTTL"), s.LockDefaultTTL, name("LockMaxTTL"), s.LockMaxTTL)
	}
	if s.SweepBatch < 1 || s.SweepBatch > maxSweepBatch {
		return fmt.Errorf("%s is %d, but must be between 1 and %d", name("SweepBatch"), s.SweepBatch, maxSweepBatch)
	}
	if strings.ContainsAny(s.Database, `/\. "$*<>:|?`) || len(s.Database) > maxDatabaseName {
		return fmt.Errorf("%s %q is not a valid database name: use up to %d letters, digits, - and _",
			name("Database"), s.Database, maxDatabaseName)
	}
	if slices.Contains([]string{"admin", "config", "local"}, strings.ToLower(s.Database)) {
		return fmt.Errorf("%s is %s, which is a database of MongoDB's own: use another name, such as holdfast", name("Database"), s.Database)
	}
	return nil
}

// CheckDuration refuses a duration that is not greater than 0 in whole milliseconds.
func CheckDuration(name string, d time.Duration) error {
	if d < minDuration {
		return fmt.Errorf("%s is %v, but must be greater than 0, such as 30s or 5m", name, d)
	}
	return nil
}
