package mongodb

import (
	"errors"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
)

// AbortError is returned by a transaction's function to abort the transaction: nothing is written. InTx returns it
// to its caller, which has to handle it. No client sees it.
type AbortError string

func (e AbortError) Error() string { return string(e) }

// Translate gives a driver error a code, and returns other errors unchanged. It is for reads, and for transactions
// that certainly changed nothing; see UnknownOutcome.
func Translate(err error) error {
	if errors.Is(err, ErrCorrupt) && holdfast.CodeOf(err) == "" {
		return Unreadable(err)
	}
	if err == nil || !isDriver(err) {
		return err
	}
	message := "The request failed and changed nothing; try again."
	if _, rejected := Rejection(err); rejected {
		message = "MongoDB rejected the request and changed nothing; if it does so again, report the time to the operator."
	}
	return holdfast.Refuse(holdfast.CodeUnavailable, "%s", message).By(err)
}

// Unreadable is the refusal of a request that relies on a corrupt document.
func Unreadable(cause error) error {
	return holdfast.Refuse(holdfast.CodeUnavailable, "What the request is about can't be read; an operator has to correct it.").By(cause)
}

// UnknownOutcome is Translate for writes outside of a transaction. An error of such a write does not show whether it
// was written: the server may have written and then failed to wait for the majority, and the driver retries a write
// by itself and returns only one of the errors. So the outcome is unknown unless a read has found it out.
func UnknownOutcome(err error) error {
	if err == nil || !isDriver(err) {
		return err
	}
	return unknownOutcome(err)
}

// IsDuplicate reports whether a unique index with one of these keys refused the write. A violation of another index
// says nothing about IDs, keys and addresses.
func IsDuplicate(err error, ours ...bson.D) bool {
	violated := violatedKeys(err)
	return violated != nil && slices.ContainsFunc(ours, func(keys bson.D) bool { return hasKeys(violated, keys) })
}

// IsTooLarge reports whether an answer would be a document of more than 16 MiB.
func IsTooLarge(err error) bool { return hasCode(err, codeObjectTooLarge, codeLookupTooLarge) }

const (
	codeObjectTooLarge = 10334
	codeLookupTooLarge = 4568
)

// violatedKeys returns the keys of the index that refused a write.
func violatedKeys(err error) bson.Raw {
	keys, _ := duplicate(err).Lookup("keyPattern").DocumentOK()
	return keys
}

// DuplicateValue returns the values that a write has in the fields of the unique index that refused it.
func DuplicateValue(err error) bson.Raw {
	value, _ := duplicate(err).Lookup("keyValue").DocumentOK()
	return value
}

// duplicate returns the server's answer to a write that a unique index refused.
func duplicate(err error) (answer bson.Raw) {
	if !mongo.IsDuplicateKeyError(err) {
		return nil
	}
	var write mongo.WriteException
	var command mongo.CommandError
	if errors.As(err, &write) && len(write.WriteErrors) > 0 {
		answer = write.WriteErrors[0].Raw
	} else if errors.As(err, &command) {
		answer = command.Raw
	}
	return answer
}

// ConflictError says that conflicts with other transactions, or an outage, used up the time or the attempts. Its
// cause is the error of the last attempt. Nothing was changed.
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

// outageCodes are the errors of a server that is not the primary, or that is shutting down.
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

// Rejection returns the code of a server that answered and rejected the request because of its content, or because
// of a document that it read, such as TypeMismatch. An outage is not a rejection, and neither is a conflict.
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

// RejectedForDocument reports whether a server answered the write and rejected it because of a document: nothing was
// written, and a write without that document may succeed. A full disk, a quota or an interruption concerns every
// write, so it does not count.
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

// ErrCorrupt says that a document breaks the schema of its collection. MongoDB refuses to write such a document, but
// it may have been restored, or written while validation was off.
const ErrCorrupt = AbortError("the document breaks the schema of its collection; seatctl doctor names what is wrong")
