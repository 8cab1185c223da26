package mongodb

import (
	"bytes"
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
	if !read.IsState() { // the first process of this version has not written it yet, or other software has
		return
	}
	for {
		before := u.known.Load()
		if before != nil && read.rank() <= before.rank() || u.known.CompareAndSwap(before, &read) {
			return
		}
	}
}

// IsState reports whether it is one of the states.
func (u Upgrade) IsState() bool {
	return u == UpgradeRunning || u == UpgradeFinishing || u == UpgradeFinished
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
// as it was known, for as long as if it had been read. It is not called in a transaction.
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
	if _, _, err := db.ReadVersion(ctx); err != nil {
		db.log.DebugContext(ctx, "Could not read the state of the upgrade", slog.Any("error", err))
	}
	if ctx.Err() == nil { // otherwise the next caller may have more luck
		db.upgrade.learned = db.clock()
	}
}

// RefusedAsFormer reports whether a validator refused a write for its fields of the former
// version, because the upgrade was finished meanwhile. The write has to be built anew. shared
// is what Shared was when the write was built.
func (db *DB) RefusedAsFormer(ctx context.Context, err error, shared bool) bool {
	if !shared || !hasCode(err, codeInvalidDocument) {
		return false
	}
	if _, _, err := db.ReadVersion(ctx); err != nil {
		return false
	}
	return !db.Shared()
}

// RefusesFormer reports whether a collection has the validator of the end of the upgrade.
func RefusesFormer(ctx context.Context, db *DB, collections ...Collection) (bool, error) {
	for _, c := range collections {
		if c.Upgraded == nil {
			continue
		}
		have, _, err := db.validatorOf(ctx, c.Name)
		if err != nil {
			return false, Translate(err)
		}
		if want, err := bson.Marshal(c.Upgraded); err != nil || bytes.Equal(have, want) {
			return err == nil, err
		}
	}
	return false, nil
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
// a move that was interrupted goes on, and dropped at the end.
type UpgradePosition struct {
	Walk       holdfast.ID `bson:"walk"` // a new one whenever the move begins anew
	Collection string      `bson:"collection"`
	After      holdfast.ID `bson:"after"` // zero at the beginning of the collection
	Moved      int64       `bson:"moved"` // documents
}

// UpgradePosition reads the position. exists is false if nothing is being moved.
func (db *DB) UpgradePosition(ctx context.Context) (p UpgradePosition, exists bool, err error) {
	p, exists, err = First[UpgradePosition](ctx, db.Collection(metaCollection), mongo.Pipeline{Match(Is("_id", metaMove))})
	return p, exists, Translate(err)
}

// ResetPosition lets a move begin anew, also one that is going on.
func (db *DB) ResetPosition(ctx context.Context) error {
	begin := UpgradePosition{Walk: holdfast.ID(bson.NewObjectID())}
	_, err := db.Collection(metaCollection).UpdateByID(ctx, metaMove, bson.D{{Key: "$set", Value: begin}}, options.UpdateOne().SetUpsert(true))
	return UnknownOutcome(err)
}

// SavePosition stores the position. isCurrent is false if the move has begun anew, or another process
// has ended it.
func (db *DB) SavePosition(ctx context.Context, p UpgradePosition) (isCurrent bool, err error) {
	result, err := db.Collection(metaCollection).UpdateOne(ctx, ofWalk(p), bson.D{{Key: "$set", Value: p}})
	if err != nil {
		return false, UnknownOutcome(err)
	}
	return result.MatchedCount > 0, nil
}

// DropPosition says that the move has come to its end, unless it has begun anew.
func (db *DB) DropPosition(ctx context.Context, p UpgradePosition) error {
	_, err := db.Collection(metaCollection).DeleteOne(ctx, ofWalk(p))
	return UnknownOutcome(err)
}

func ofWalk(p UpgradePosition) bson.D { return And(Is("_id", metaMove), Is("walk", p.Walk)) }
