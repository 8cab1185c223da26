package mongodb

import (
	"errors"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
)

// AbortError is returned by a transaction's function to abort the transaction: nothing is
// written. InTx returns it to its caller, which handles it; no client sees it.
type AbortError string

func (e AbortError) Error() string { return string(e) }

// Translate gives an error of the driver a code, and returns other errors unchanged. It
// is for reads, and for transactions that certainly changed nothing; see UnknownOutcome.
func Translate(err error) error {
	if err == nil || !isDriver(err) {
		return err
	}
	return holdfast.Refuse(holdfast.CodeUnavailable, "The request failed and changed nothing; try again.").By(err)
}

// UnknownOutcome is Translate for writes outside of a transaction. An error of such a write
// proves nothing: the server may have written and then failed to wait for the majority, and
// the driver repeats a write by itself and returns only one of the errors. So the outcome is
// unknown unless a read has found it out.
func UnknownOutcome(err error) error {
	if err == nil || !isDriver(err) {
		return err
	}
	return unknownOutcome(err)
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
