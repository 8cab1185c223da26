package mongodb

import (
	"errors"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
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
	message := "The request failed and changed nothing; try again."
	if _, rejected := Rejection(err); rejected {
		message = "MongoDB rejected the request and changed nothing; if it does so again, report the time to the operator."
	}
	return holdfast.Refuse(holdfast.CodeUnavailable, "%s", message).By(err)
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

// IsDuplicate reports whether a unique index refused the write, and has the keys of one of ours. An
// index of other software says nothing about IDs, keys and addresses.
func IsDuplicate(err error, ours ...bson.D) bool {
	violated := violatedKeys(err)
	return violated != nil && slices.ContainsFunc(ours, func(keys bson.D) bool { return hasKeys(violated, keys) })
}

// violatedKeys are the keys of the index that refused a write.
func violatedKeys(err error) bson.Raw {
	if !mongo.IsDuplicateKeyError(err) {
		return nil
	}
	var answer bson.Raw
	var write mongo.WriteException
	var command mongo.CommandError
	if errors.As(err, &write) && len(write.WriteErrors) > 0 {
		answer = write.WriteErrors[0].Raw
	} else if errors.As(err, &command) {
		answer = command.Raw
	}
	keys, _ := answer.Lookup("keyPattern").DocumentOK()
	return keys
}

// ConflictError says that conflicts with other transactions, or an outage, used up the time
// or the attempts. The cause is the last attempt's. Nothing was changed.
func ConflictError(cause error) error {
	if isOutage(cause) {
		return holdfast.Refuse(holdfast.CodeUnavailable, "The database is not available, and nothing was changed; try again.").By(cause)
	}
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

// outageCodes are answers of a server that is no primary, or stops.
var outageCodes = []int{91, 189, 10058, 10107, 11600, 11602, 13435, 13436}

// isOutage reports whether no server answered, or only one that can't write now.
func isOutage(err error) bool {
	var server mongo.ServerError
	if !errors.As(err, &server) {
		return false
	}
	codes := server.ErrorCodes()
	noAnswer := len(codes) == 0 || codes[0] == 0 // the driver's own error, such as a server selection
	return noAnswer || mongo.IsNetworkError(err) || slices.ContainsFunc(outageCodes, server.HasErrorCode)
}

// Rejection returns the code of a server that answered and rejected the request for what it
// is, or for a document that it met, such as TypeMismatch. It is no outage and no conflict.
func Rejection(err error) (code int, ok bool) {
	var server mongo.ServerError
	if !RejectedByServer(err) || isOutage(err) || !errors.As(err, &server) {
		return 0, false
	}
	return server.ErrorCodes()[0], true
}

// documentCodes are the errors of MongoDB that the content of a document can cause.
var documentCodes = []int{
	2,                          // BadValue
	9,                          // FailedToParse
	14,                         // TypeMismatch
	15,                         // Overflow
	22,                         // InvalidBSON
	28,                         // PathNotViable
	52,                         // DollarPrefixedFieldName
	56,                         // EmptyFieldName
	57,                         // DottedFieldName
	66,                         // ImmutableField
	121,                        // DocumentValidationFailure
	171,                        // CannotIndexParallelArrays
	241,                        // ConversionFailure
	10334, 17280, 17419, 17420, // a document or a key that is too large
	11000, 11001, 12582, // DuplicateKey
	7693400,                           // an update with expressions of a document that has a field twice
	16554, 16555, 16556, 31034, 40400, // an expression on a value of another type; an invalid string
}

// RejectedForDocument reports whether a server answered the write and rejected it because of a
// document: nothing was written, and a write without that document may succeed. A full disk, a
// quota or an interruption concern every write.
func RejectedForDocument(err error) bool {
	var server mongo.ServerError
	return RejectedByServer(err) && errors.As(err, &server) && slices.ContainsFunc(documentCodes, server.HasErrorCode)
}

// RejectedByServer reports whether a server answered the write and rejected it: nothing
// was written, and another write may succeed.
func RejectedByServer(err error) bool {
	var server mongo.ServerError
	return errors.As(err, &server) && !mongo.IsNetworkError(err) && !mongo.IsTimeout(err) &&
		!server.HasErrorLabel("TransientTransactionError")
}
