package mongodb

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Upgrade says how far the upgrade of a database from the former version is. It is stored, and
// only goes forward.
type Upgrade string

const (
	// UpgradeRunning says that processes of the former version may serve the database too. What is
	// written is right for both versions.
	UpgradeRunning Upgrade = "running"
	// UpgradeFinishing says that the operator has told us that the former version is gone. Its fields are
	// no longer written, and are being moved.
	UpgradeFinishing Upgrade = "finishing"
	// UpgradeFinished says that its fields were moved. Validators refuse the former version. A new
	// database begins so.
	UpgradeFinished Upgrade = "finished"
)

// learnInterval is how old this process's knowledge of a running upgrade may be when a command
// begins.
const learnInterval = 2 * time.Second

// upgrade is what this process knows of the upgrade. The zero value knows nothing.
type upgrade struct {
	known    atomic.Pointer[Upgrade] // nil: nothing
	learning sync.Mutex
	learned  time.Time // guarded by learning
}

func (u *upgrade) get() Upgrade {
	if known := u.known.Load(); known != nil {
		return *known
	}
	return ""
}

// note keeps what was read. Two reads may end in the wrong order, so it only goes forward.
func (u *upgrade) note(read Upgrade) {
	for {
		before := u.known.Load()
		if before != nil && read.rank() <= before.rank() || u.known.CompareAndSwap(before, &read) {
			return
		}
	}
}

func (u Upgrade) rank() int {
	switch u {
	case UpgradeFinished:
		return 2
	case UpgradeFinishing:
		return 1
	default:
		return 0
	}
}

// Shared reports whether processes of the former version may serve the database too, as far as
// this process knows. What is written for both versions stays right if it knows too little:
// the validators refuse the fields of the former version, and RefusedAsFormer then learns more.
func (db *DB) Shared() bool { return db.upgrade.get().rank() == 0 }

// LearnUpgrade reads the state of the upgrade if this process does not know it, or knew it as
// running some time ago. It costs nothing after the upgrade. If the read fails, the state stays
// as it was known. It is not called in a transaction.
func (db *DB) LearnUpgrade(ctx context.Context) {
	if !db.Shared() {
		return
	}
	if db.upgrade.get() == "" {
		db.upgrade.learning.Lock()
	} else if !db.upgrade.learning.TryLock() {
		return
	}
	defer db.upgrade.learning.Unlock()
	if !db.Shared() || !db.upgrade.learned.IsZero() && db.clock.Since(db.upgrade.learned) < learnInterval {
		return
	}
	if _, _, err := db.version(ctx); err != nil {
		db.log.DebugContext(ctx, "Could not read the state of the upgrade", slog.Any("error", err))
		return
	}
	db.upgrade.learned = db.clock()
}

// RefusedAsFormer reports whether a validator refused a write for its fields of the former
// version, because the upgrade was finished meanwhile. The write has to be built anew. shared
// is what Shared was when the write was built.
func (db *DB) RefusedAsFormer(ctx context.Context, err error, shared bool) bool {
	if !shared || !hasCode(err, codeInvalidDocument) {
		return false
	}
	if _, _, err := db.version(ctx); err != nil {
		return false
	}
	return !db.Shared()
}
