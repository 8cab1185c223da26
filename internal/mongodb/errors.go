package mongodb

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
)

// AbortError is returned by a transaction's function to abort the transaction: nothing is
// written. InTx returns it to its caller, which handles it; no client sees it.
type AbortError string

func (e AbortError) Error() string { return string(e) }

// Translate gives an error of the driver a code, and returns other errors unchanged. It
// is for reads, and for writes that certainly changed nothing; see TranslateWrite.
func Translate(err error) error {
	if err == nil || !isDriver(err) {
		return err
	}
	return holdfast.Refuse(holdfast.CodeUnavailable, "The request failed and changed nothing; try again.").By(err)
}

// TranslateWrite is Translate for a single write outside of a transaction. Such a write
// may have been applied although it was not answered.
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

// ConflictError says that conflicts with other transactions used up the time or the
// attempts. Nothing was changed.
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
	var abort AbortError
	return holdfast.CodeOf(err) == "" && !errors.As(err, &abort)
}

// RejectedByServer reports whether a server answered the write and rejected it: nothing
// was written, and another write may succeed.
func RejectedByServer(err error) bool {
	var server mongo.ServerError
	return errors.As(err, &server) && !mongo.IsNetworkError(err) && !mongo.IsTimeout(err) &&
		!server.HasErrorLabel("TransientTransactionError")
}
