package webhooks

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// gap are the numbers of the changes of a time while the endpoint was disabled, without the last one. It is told of them by
// a replay alone. What was committed before, and it was not told of yet, follows when it is enabled again.
type gap struct{ from, to int64 }

// maxGaps bounds the gaps in front of which an endpoint still has changes. Of more, the oldest are told too.
const maxGaps = 50

func (g gap) has(seq int64) bool { return g.from <= seq && seq < g.to }

// gapAt reports whether a position is in a gap, and where it ends.
func (e *Endpoint) gapAt(p changes.Position) (end changes.Position, isGap bool) {
	for _, g := range e.gaps {
		if g.has(p.Seq) {
			return changes.Position{Seq: g.to}, true
		}
	}
	return p, false
}

// isPast reports whether the endpoint is not told of the change at a position any more, but by a replay.
func (e *Endpoint) isPast(p changes.Position) bool {
	_, isGap := e.gapAt(p)
	isOfPresentGap := e.State == Disabled && e.disabledFrom > 0 && p.Seq >= e.disabledFrom
	return isGap || isOfPresentGap || p.Compare(e.position) < 0
}

// isAhead reports whether the endpoint is still told of all changes behind a position that it wants.
func (e *Endpoint) isAhead(p changes.Position) bool {
	for _, g := range e.gaps {
		if p.Seq < g.to {
			return false
		}
	}
	for _, f := range e.former {
		if p.Seq < f.until {
			return false
		}
	}
	return e.State == Enabled && p.Compare(e.position) >= 0
}

type gapDoc struct {
	From mongodb.Whole `bson:"from"`
	To   mongodb.Whole `bson:"to"`
}

// pushGap is of the $push of an update.
func pushGap(g gap) bson.E {
	return bson.E{Key: "internal.gaps", Value: lastOf(maxGaps, bson.D{{Key: "from", Value: g.from}, {Key: "to", Value: g.to}})}
}

// lastOf pushes an element to a list, which keeps the last ones.
func lastOf(most int, element bson.D) bson.D {
	return bson.D{{Key: "$each", Value: bson.A{element}}, {Key: "$slice", Value: -most}}
}

// pullPassed is of an update: the endpoint has passed these gaps and former subscriptions.
func pullPassed(p changes.Position) bson.E {
	upTo := bson.D{{Key: "$lte", Value: p.Seq}}
	return bson.E{Key: "$pull", Value: bson.D{
		{Key: "internal.gaps", Value: bson.D{{Key: "to", Value: upTo}}}, {Key: "internal.former", Value: bson.D{{Key: "until", Value: upTo}}},
	}}
}
