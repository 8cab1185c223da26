package groupcommit

import "errors"

var (
	// ErrFull says that too many commands wait for the key. The command is not
	// carried out; the caller may retry later.
	ErrFull = errors.New("too many commands wait for this key")
	// ErrNotStarted says that the caller gave up before its command was taken up.
	// The command is not carried out. It wraps the context's error.
	ErrNotStarted = errors.New("the caller gave up before its command was taken up")
	// ErrInFlight says that the caller gave up while its command was in flight.
	// The command may be carried out. It wraps the context's error.
	ErrInFlight = errors.New("the caller gave up while its command was in flight")
	// ErrUnknown says that the command may or may not have been carried out:
	// settling gave no answer in time, or Commit panicked. It wraps the cause.
	ErrUnknown = errors.New("the outcome of the commit is unknown")
)
