package webhooks

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// A subscription is the list of types that an endpoint had. What was committed then goes by them, however late the endpoint is told.
type subscription struct {
	until int64 // the number of the first change that does not go by them
	types []string
}

// maxFormer bounds the former subscriptions that changes may still go by. What would go by an older one goes by the oldest that is kept.
const maxFormer = 50

// typesAt are the types that the endpoint had when the change at a position was committed.
func (e *Endpoint) typesAt(p changes.Position) []string {
	for _, f := range e.former {
		if p.Seq < f.until {
			return f.types
		}
	}
	return e.Types
}

// needs reports whether a change may go by a former subscription. Not if the endpoint has passed all of them, or if an earlier
// subscription, which counts first, ends no earlier: nothing was committed between.
func (e *Endpoint) needs(f subscription) bool {
	isCovered := func(kept subscription) bool { return kept.until >= f.until }
	return e.position.Seq < f.until && !slices.ContainsFunc(e.former, isCovered)
}

type formerDoc struct {
	Until mongodb.Whole `bson:"until"`
	Types mongodb.Texts `bson:"types"`
}

// pushFormer is of the $push of an update.
func pushFormer(f subscription) bson.E {
	return bson.E{Key: "internal.former", Value: lastOf(maxFormer, bson.D{{Key: "until", Value: f.until}, {Key: "types", Value: f.types}})}
}
