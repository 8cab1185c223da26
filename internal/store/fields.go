package store

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
)

// Fields that only Holdfast uses are in one sub-document of each document, so that they can't collide with other
// fields.
const (
	internalName = "internal"

	rev      = internalName + ".rev"      // raised by every change
	fixes    = internalName + ".fixes"    // raised by every repair of an event's counter
	fence    = internalName + ".fence"    // raised by a transaction that holds an event and does not change it
	sweptRev = internalName + ".sweptRev" // rev after the last sweep's transaction
	heldAt   = internalName + ".heldAt"   // when HoldSeats held a seated event
	writers  = internalName + ".writers"  // of an event: the processes of its last changes, if there are several
	runID    = internalName + ".runId"    // the run that made the last change of a run; public in locks
	listName = internalName + ".list"     // of an event: the state of its waiting list, once it was open or paused

	lockRunID = "runId"

	keyField    = "idempotencyKey"
	hashField   = "requestHash"
	holderField = "holder" // of locks, bookings and payments whose customer is a holder
)

// The fields of holdfast.ShopData.
const (
	shopReference = "reference"
	shopMetadata  = "metadata"
)

// eventInternal has the fields of an event that only Holdfast uses. Each collection has a type of its own, because the schema
// of a collection checks the fields of that collection only.
type eventInternal struct {
	Rev      int64     `bson:"rev"`
	Repairs  int64     `bson:"fixes"`
	SweptRev *int64    `bson:"sweptRev"`
	HeldAt   time.Time `bson:"heldAt"`
	Writers  []int32   `bson:"writers"`
	List     *listDoc  `bson:"list"`
}

type lockInternal struct {
	Rev int64 `bson:"rev"`
}

type bookingInternal struct {
	Rev      int64                    `bson:"rev"`
	Payments []holdfast.ListedPayment `bson:"payments"`
	Done     []holdfast.DoneRequest   `bson:"done"`
}

// raiseRevision is part of every update of an event, a lock, a booking or a payment. An update that changes nothing
// would not conflict with another transaction.
var raiseRevision = bson.E{Key: "$inc", Value: bson.D{{Key: rev, Value: int64(1)}}}
