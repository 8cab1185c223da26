package groupcommit

import "time"

// Batch contains the commands of one commit.
type Batch[K comparable, C any] struct {
	Groups []Group[K, C] // one for each key; never empty
	// Settling says that an earlier commit of the same commands, in the same order, was not answered. It may have
	// happened, or may still happen before this one.
	Settling bool
	// RetryDelay is about how long to wait if a transaction of another process holds the key's document. It is 0 if
	// that is not known.
	RetryDelay time.Duration
	// Rest is for the pauses between attempts. It calls wait, while other keys may commit, and may take longer than
	// wait. Batches of tests may leave it nil.
	Rest func(wait func())
}

// Group contains the commands of one key, in order of arrival. There is at least one.
type Group[K comparable, C any] struct {
	Key       K
	Commands  []C
	Contended bool // other processes commit to the key too

	tickets []*ticket // parallel to Commands; nil in a test's group
}

// Abandoned reports whether the caller of command i has given up. The answer may change to true at any time, and
// never changes back. Posted commands are never abandoned.
func (g Group[K, C]) Abandoned(i int) bool {
	return g.tickets != nil && g.tickets[i].state.Load() == abandoned
}

// Committed is the result of a commit. Groups is parallel to Batch.Groups.
type Committed[R any] struct {
	Groups []GroupResult[R]
}

// GroupResult is the outcome of a group's commands.
type GroupResult[R any] struct {
	Outcomes []Outcome[R] // parallel to Group.Commands
	// Apart says that the commit has left out the group, and changed nothing for it. The queue then commits the
	// group by itself. It is valid only for batches of several groups; the other fields are ignored.
	Apart bool

	Written
}

// Outcome is the result of a command, or says that the command is undecided.
type Outcome[R any] struct {
	Result R
	// Undecided says that the transaction could not decide the command, and changed nothing for it. The command goes
	// first in the key's next batch; Result is ignored.
	Undecided bool
}

// group is the queue's own form of a Group. The queue builds a new Batch for each call of Commit, so that changes
// made by Commit do not affect a later attempt.
type group[K comparable, C, R any] struct {
	line     *line[K, C, R]
	requests []*request[C, R]
}

func newBatch[K comparable, C, R any](groups []group[K, C, R]) *Batch[K, C] {
	b := &Batch[K, C]{Groups: make([]Group[K, C], len(groups))}
	if len(groups) == 1 {
		b.RetryDelay = groups[0].line.pace.retryDelay()
	}
	for i, g := range groups {
		commands, tickets := make([]C, len(g.requests)), make([]*ticket, len(g.requests))
		for j, r := range g.requests {
			commands[j], tickets[j] = r.command, &r.ticket
		}
		b.Groups[i] = Group[K, C]{Key: g.line.key, Commands: commands, Contended: g.line.pace.isContended(), tickets: tickets}
	}
	return b
}

// one returns a batch of one group.
func one[K comparable, C, R any](g group[K, C, R]) []group[K, C, R] { return []group[K, C, R]{g} }

// isComplete reports whether there is exactly one outcome for each command, except for groups that the commit of
// several groups has left out.
func isComplete[K comparable, C, R any](groups []group[K, C, R], c Committed[R]) bool {
	if len(c.Groups) != len(groups) {
		return false
	}
	for i, g := range groups {
		if c.Groups[i].Apart && len(groups) > 1 {
			continue
		}
		if len(c.Groups[i].Outcomes) != len(g.requests) {
			return false
		}
	}
	return true
}
