package mongodb

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast/internal/fault"
)

// Codes of what the database, not a rule, refuses.
const (
	// CodeUnavailable: nothing was written; ask again later.
	CodeUnavailable fault.Code = "UNAVAILABLE"
	// CodeOutcomeUnknown: it may have been written; ask again with the same key.
	CodeOutcomeUnknown fault.Code = "OUTCOME_UNKNOWN"
)

// Codes lists this package's codes.
var Codes = []fault.Code{CodeUnavailable, CodeOutcomeUnknown}

// Translate turns a driver's error into one with a code; others pass. It is
// for reads, and for writes of which nothing was applied; see TranslateWrite.
func Translate(err error) error {
	if err == nil || !isDriver(err) {
		return err
	}
	return fault.New(CodeUnavailable, "The database did not answer in time; ask again.").By(err)
}

// TranslateWrite is Translate for a single write outside of a transaction: one
// that was sent and not answered may have been applied.
func TranslateWrite(err error) error {
	if err == nil || !isDriver(err) {
		return err
	}
	if mongo.IsNetworkError(err) || mongo.IsTimeout(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return unknown(err)
	}
	return Translate(err)
}

// IsDuplicate reports whether a unique index refused the write.
func IsDuplicate(err error) bool { return mongo.IsDuplicateKeyError(err) }

func busy(cause error) error {
	return fault.New(CodeUnavailable, "Too many changes at once; ask again.").By(cause)
}

func unknown(cause error) error {
	return fault.New(CodeOutcomeUnknown, "The database did not say whether the change was made; ask again with the same idempotency key.").By(cause)
}

// isDriver reports whether err comes from the driver or a context rather than
// from a rule of ours. What is neither known as ours is the driver's.
func isDriver(err error) bool {
	return fault.CodeOf(err) == ""
}

// RejectedByServer reports whether a server answered the write and refused it,
// so that nothing was written and another write may fare better.
func RejectedByServer(err error) bool {
	var server mongo.ServerError
	return errors.As(err, &server) && !mongo.IsNetworkError(err) && !mongo.IsTimeout(err) &&
		!server.HasErrorLabel("TransientTransactionError")
}
