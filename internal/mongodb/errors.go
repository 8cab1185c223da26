package mongodb

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
)

// Abort is an error of a transaction's function that ends the transaction and is
// returned as it is: nothing was written. It steers the caller, and never reaches a
// client.
type Abort string

func (a Abort) Error() string { return string(a) }

// Translate gives an error of the driver a code; other errors pass. It is for reads,
// and for writes of which nothing was applied; see TranslateWrite.
func Translate(err error) error {
	if err == nil || !isDriver(err) {
		return err
	}
	return holdfast.Refuse(holdfast.CodeUnavailable, "The request failed and changed nothing; try again.").By(err)
}

// TranslateWrite is Translate for a single write outside of a transaction: one
// that was sent and not answered may have been applied.
func TranslateWrite(err error) error {
	if err == nil || !isDriver(err) {
		return err
	}
	if mongo.IsNetworkError(err) || mongo.IsTimeout(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return unknownOutcome(err)
	}
	return Translate(err)
}

// IsDuplicate reports whether a unique index refused the write.
func IsDuplicate(err error) bool { return mongo.IsDuplicateKeyError(err) }

// ConflictError says that other transactions changed the same documents until time ran
// out. Nothing was changed.
func ConflictError(cause error) error {
	return holdfast.Refuse(holdfast.CodeUnavailable, "Too many changes at the same time; try again.").By(cause)
}

func unknownOutcome(cause error) error {
	return holdfast.Refuse(holdfast.CodeOutcomeUnknown,
		"It is not known whether the change was made; ask again with the same idempotency key.").By(cause)
}

// isDriver reports whether err comes from the driver or a context. Errors without a
// code are treated as driver errors, unless they abort a transaction.
func isDriver(err error) bool {
	var abort Abort
	return holdfast.CodeOf(err) == "" && !errors.As(err, &abort)
}

// RejectedByServer reports whether a server answered the write and rejected it: nothing
// was written, and another write may succeed.
func RejectedByServer(err error) bool {
	var server mongo.ServerError
	return errors.As(err, &server) && !mongo.IsNetworkError(err) && !mongo.IsTimeout(err) &&
		!server.HasErrorLabel("TransientTransactionError")
}
