package inventory

import "github.com/holdfast-dev/holdfast"

// Withdrawn stands for a command of another process that does not wait for it any more. It changes nothing: that process
// carries the command out itself.
type Withdrawn struct{}

func (Withdrawn) decide(*decision) Result {
	return Result{Err: holdfast.Refuse(holdfast.CodeOutcomeUnknown, "The caller gave up.")}
}
