package webhooks

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// ID names an endpoint or a delivery.
type ID = holdfast.ID

// State says whether an endpoint gets changes.
type State string

// These are the states of endpoints.
const (
	Enabled  State = "ENABLED"
	Disabled State = "DISABLED"
)

// These are the reasons why an endpoint is disabled.
const (
	ReasonOperator = "operator"
	ReasonGone     = "gone"     // it answered 410
	ReasonFailures = "failures" // nothing but failures for disableAfter
)

// Reasons returns the reasons why an endpoint can be disabled, in a new slice.
func Reasons() []string { return []string{ReasonOperator, ReasonGone, ReasonFailures} }

const (
	// MaxEndpoints bounds the deliveries of each change.
	MaxEndpoints  = 50
	maxTypes      = 50
	maxTypeLength = 64
)

// Endpoint is a receiver of changes, as its document stores it.
type Endpoint struct {
	ID        ID        `bson:"_id"`
	URL       string    `bson:"url"`
	Types     []string  `bson:"types"`             // types, or prefixes of types that end with *
	EventID   ID        `bson:"eventId,omitempty"` // zero: of all events and plans
	State     State     `bson:"state"`
	Reason    string    `bson:"reason,omitempty"` // why it is disabled
	Secrets   []secret  `bson:"secrets" json:"-"`
	CreatedAt time.Time `bson:"createdAt"`
	UpdatedAt time.Time `bson:"updatedAt"`
	Internal  struct {
		// FailingSince is the time of the first failed try after the last success. It is zero if the last try
		// succeeded, or if there was none.
		FailingSince time.Time `bson:"failingSince,omitempty"`
		// DisabledAt is when the endpoint was disabled last, and DisabledSeq the position behind which it was told nothing.
		DisabledAt  time.Time `bson:"disabledAt,omitempty"`
		DisabledSeq int64     `bson:"disabledSeq,omitempty"`
	} `bson:"internal"`
}

// wants reports whether the endpoint subscribes to a change.
func (e *Endpoint) wants(c *holdfast.Change) bool {
	return (e.EventID.IsZero() || e.EventID == c.EventID) && isOfTypes(e.Types, c.Type)
}

// isSince reports whether a change counts as one of a time or later. Behind the place where the endpoint was disabled,
// a change is of that time at least: it may have been decided before, but was committed too late to be told.
func (e *Endpoint) isSince(p *changes.Placed, since time.Time) bool {
	isBehind := p.Position.Seq >= e.Internal.DisabledSeq && !e.Internal.DisabledAt.Before(since)
	return isBehind || !p.At.Before(since)
}

// isOfTypes reports whether one of the patterns selects a type.
func isOfTypes(patterns []string, t holdfast.ChangeType) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		prefix, isPrefix := strings.CutSuffix(pattern, "*")
		return isPrefix && strings.HasPrefix(string(t), prefix) || pattern == string(t)
	})
}

// checkTypes refuses patterns that select nothing. A pattern that is a prefix may select types of later versions.
func checkTypes(patterns []string) error {
	const where = "body.types"
	if len(patterns) == 0 || len(patterns) > maxTypes {
		return holdfast.RefuseInput(where, "types must have between 1 and %d items.", maxTypes)
	}
	for _, pattern := range patterns {
		_, err := changes.TypesOf(pattern)
		isKnown := strings.HasSuffix(pattern, "*") || slices.Contains(holdfast.ChangeTypes(), holdfast.ChangeType(pattern))
		if err != nil || len(pattern) > maxTypeLength || !isKnown {
			return holdfast.RefuseInput(where, "Each item of types must be a type of changes, or the beginning of one with * at the end.")
		}
	}
	return nil
}

const name = "webhooks"

// Collections returns the collections of endpoints and deliveries, with their indexes.
func Collections() []mongodb.Collection {
	return []mongodb.Collection{{Name: name, Schema: &endpointRules}, {Name: deliveriesName, Indexes: deliveryIndexes}}
}

// decode decodes documents one by one. It leaves out a document that can't be decoded, so that the other ones are
// not affected. Each process logs such a document once.
func decode[T any](ctx context.Context, s *Service, collection string, docs []bson.Raw) []T {
	decoded := make([]T, 0, len(docs))
	for _, raw := range docs {
		var d T
		err := mongodb.Unmarshal(raw, &d)
		if err == nil {
			decoded = append(decoded, d)
			continue
		}
		if _, isLogged := s.corrupt.LoadOrStore(raw.Lookup("_id").String(), true); !isLogged {
			s.db.Log().ErrorContext(ctx, "[WEBHOOKS JOB] A document can't be decoded; it is left out", slog.String("collection", collection),
				slog.String("id", raw.Lookup("_id").String()), slog.Any("error", err))
		}
	}
	return decoded
}

// find reads the endpoints that match and can be decoded.
func (s *Service) find(ctx context.Context, which bson.D) ([]Endpoint, error) {
	docs, err := mongodb.All[bson.Raw](ctx, s.endpoints(), mongo.Pipeline{
		mongodb.Match(which), mongodb.Sort("_id"), mongodb.Limit(2 * MaxEndpoints),
	})
	return decode[Endpoint](ctx, s, name, docs), err
}

var isEnabled = mongodb.Is("state", Enabled)
