package seats

import (
	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/store"
)

type (
	Change      = store.Change
	Event       = holdfast.Event
	Lock        = holdfast.Lock
	LockRequest = holdfast.LockRequest
	Until       = holdfast.Until
	NewEvent    = holdfast.NewEvent
	EventChange = holdfast.EventChange
	LockFilter  = holdfast.LockFilter
	Status      = holdfast.LockStatus
	SaleStatus  = holdfast.EventStatus
)

const (
	Active    = holdfast.LockActive
	Consumed  = holdfast.LockConsumed
	Expired   = holdfast.LockExpired
	Released  = holdfast.LockReleased
	OnSale    = holdfast.OnSale
	Closed    = holdfast.Closed
	Cancelled = holdfast.Cancelled
	MaxSeats  = holdfast.MaxSeats

	CodeEventNotFound     = holdfast.CodeEventNotFound
	CodeLockNotFound      = holdfast.CodeLockNotFound
	CodeSeatsUnavailable  = holdfast.CodeSeatsUnavailable
	CodeSeatLimit         = holdfast.CodeSeatLimitReached
	CodeNotOnSale         = holdfast.CodeEventNotOnSale
	CodeCapacity          = holdfast.CodeCapacityBelowTaken
	CodeLockConsumed      = holdfast.CodeLockConsumed
	CodeLockReleased      = holdfast.CodeLockReleased
	CodeLockExpired       = holdfast.CodeLockExpired
	CodeIdempotencyReused = holdfast.CodeIdempotencyKeyReused
)

var Statuses = holdfast.LockStatuses

func LockNotFound() error {
	return holdfast.Refuse(holdfast.CodeLockNotFound, "There is no such lock.")
}
