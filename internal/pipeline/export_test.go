package pipeline

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/groupcommit"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// MaxConflicts is how often a plan may go stale before its run holds the event.
const MaxConflicts = maxConflicts

// Settle carries out commands like a queue whose last commit had an unknown outcome.
func (p *Pipeline) Settle(ctx context.Context, eventID ID, commands ...inventory.Command) ([]inventory.Result, error) {
	group := groupcommit.Group[ID, queued]{Key: eventID}
	for _, c := range commands {
		group.Commands = append(group.Commands, queued{Command: c})
	}
	committed, err := p.commit(ctx, &groupcommit.Batch[ID, queued]{Groups: []groupcommit.Group[ID, queued]{group}, Settling: true})
	if err != nil {
		return nil, err
	}
	results := make([]inventory.Result, len(commands))
	for i, o := range committed.Groups[0].Outcomes {
		results[i] = o.Result
	}
	return results, nil
}

// Commit carries out the commands of several events in one transaction, like a queue
// whose batches have several groups.
func (p *Pipeline) Commit(ctx context.Context, commands map[ID][]inventory.Command) (map[ID][]inventory.Result, error) {
	groups, err := p.CommitGroups(ctx, commands)
	if err != nil {
		return nil, err
	}
	results := map[ID][]inventory.Result{}
	for eventID, g := range groups {
		for _, o := range g.Outcomes {
			results[eventID] = append(results[eventID], o.Result)
		}
	}
	return results, nil
}

// CommitGroups is Commit. It returns everything that the queue learns of each event.
func (p *Pipeline) CommitGroups(
	ctx context.Context, commands map[ID][]inventory.Command,
) (map[ID]groupcommit.GroupResult[inventory.Result], error) {
	b := &groupcommit.Batch[ID, queued]{}
	for eventID, list := range commands {
		group := groupcommit.Group[ID, queued]{Key: eventID}
		for _, c := range list {
			group.Commands = append(group.Commands, queued{Command: c})
		}
		b.Groups = append(b.Groups, group)
	}
	committed, err := p.commit(ctx, b)
	if err != nil {
		return nil, err
	}
	groups := map[ID]groupcommit.GroupResult[inventory.Result]{}
	for i, g := range b.Groups {
		groups[g.Key] = committed.Groups[i]
	}
	return groups, nil
}
