package mongodb

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast"
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

// clientName is what this version's connections tell MongoDB, besides the application's name,
// which both versions share. The former version's connections don't.
const clientName = "holdfast"

// FormerConnections returns the addresses from which processes of the former version are
// connected to the server that answers. known is false behind mongos, which does not tell.
// Processes that are connected as another user of the database, or not at all, are not seen.
func (db *DB) FormerConnections(ctx context.Context) (addresses []string, known bool, err error) {
	var hello struct {
		Msg string `bson:"msg"`
	}
	if err := db.admin().RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&hello); err != nil || hello.Msg == "isdbgrid" {
		return nil, false, Translate(err)
	}
	cursor, err := db.admin().Aggregate(ctx, mongo.Pipeline{
		stage("$currentOp", bson.D{{Key: "idleConnections", Value: true}, {Key: "allUsers", Value: false}}),
		Match(Is("appName", db.appName), Not("clientMetadata.driver.name", bson.E{Key: "$regex", Value: clientName})),
		Group("$client"), Sort("_id"),
	})
	if err != nil {
		return nil, false, Translate(err)
	}
	var found []struct {
		Client string `bson:"_id"`
	}
	if err := cursor.All(ctx, &found); err != nil {
		return nil, false, Translate(err)
	}
	for _, f := range found {
		addresses = append(addresses, f.Client)
	}
	return addresses, true, nil
}

const metaMove = "move" // _id of the position of the move of fields

// UpgradePosition is how far the fields of the former version were moved. It is stored, so that
// a move that was interrupted goes on.
type UpgradePosition struct {
	Collection string      `bson:"collection"`
	After      holdfast.ID `bson:"after"` // zero at the beginning of the collection
	Moved      int64       `bson:"moved"` // documents
}

// UpgradePosition reads the position; it is zero before the first step.
func (db *DB) UpgradePosition(ctx context.Context) (p UpgradePosition, err error) {
	p, _, err = First[UpgradePosition](ctx, db.Collection(metaCollection), mongo.Pipeline{Match(Is("_id", metaMove))})
	return p, Translate(err)
}

// DropPosition forgets the position: the next move begins anew.
func (db *DB) DropPosition(ctx context.Context) error {
	_, err := db.Collection(metaCollection).DeleteOne(ctx, Is("_id", metaMove))
	return UnknownOutcome(err)
}

// SavePosition stores the position.
func (db *DB) SavePosition(ctx context.Context, p UpgradePosition) error {
	_, err := db.Collection(metaCollection).UpdateByID(ctx, metaMove, bson.D{{Key: "$set", Value: p}}, options.UpdateOne().SetUpsert(true))
	return UnknownOutcome(err)
}
