package webhooks

import (
	"context"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// Update is a change of an endpoint; nil: the value stays.
type Update struct {
	URL   *string
	Types []string
	State *State
}

// Update changes an endpoint. What was committed before goes by the types that it had then. One that is enabled again is told of
// what was committed before it was disabled, and then of what is committed from now on; its documents stay. Update fails with
// UNAVAILABLE if it disables the endpoint, or gives it types, and what was committed before can't be numbered.
func (s *Service) Update(ctx context.Context, id ID, u Update) (Endpoint, error) {
	if u.URL != nil {
		if err := checkURL(*u.URL, s.allowPrivate); err != nil {
			return Endpoint{}, err
		}
	}
	if u.Types != nil {
		if err := checkTypes(u.Types); err != nil {
			return Endpoint{}, err
		}
	}
	before, err := s.Get(ctx, id)
	if err != nil {
		return Endpoint{}, err
	}
	if slices.Equal(u.Types, before.Types) { // no line is to be drawn
		u.Types = nil
	}
	now, err := s.now(ctx)
	var end changes.Position
	if err == nil && (u.State != nil || u.Types != nil) {
		// What gets its number later goes by the new types, and is not told to an endpoint that is enabled again.
		end, err = s.end(ctx, u.Types != nil || *u.State == Disabled)
	}
	if err != nil {
		return Endpoint{}, err
	}
	return mongodb.InTx(ctx, s.db, func(ctx context.Context) (Endpoint, error) {
		e, err := s.get(ctx, id)
		if err != nil {
			return e, err
		}
		update := e.apply(u, end, now)
		if update == nil {
			return e, nil
		}
		return e, s.updateOne(ctx, id, update)
	})
}

// apply changes the endpoint, and returns the update of its document; nil: nothing changes. end is behind all that was committed before.
func (e *Endpoint) apply(u Update, end changes.Position, now time.Time) (update bson.D) {
	set, unset, push := bson.D{}, bson.D{}, bson.D{}
	if u.URL != nil && *u.URL != e.URL {
		e.URL = *u.URL
		set = append(set, bson.E{Key: "url", Value: e.URL})
	}
	if u.Types != nil && !slices.Equal(u.Types, e.Types) {
		if f := (subscription{until: end.Seq, types: e.Types}); e.needs(f) {
			push = append(push, pushFormer(f))
		}
		e.Types = u.Types
		set = append(set, bson.E{Key: "types", Value: e.Types})
	}
	if u.State != nil && *u.State != e.State {
		e.State, e.Reason = *u.State, ""
		set = append(set, bson.E{Key: "state", Value: e.State})
		if e.State == Disabled {
			e.Reason = ReasonOperator
			set = append(set, bson.E{Key: "reason", Value: e.Reason}, bson.E{Key: "internal.disabledFrom", Value: end.Seq})
		} else { // a runner that has not ended yet must not go on: it does not know of the gap
			update = append(update, bson.E{Key: "$inc", Value: bson.D{{Key: "internal.epoch", Value: int64(1)}}})
			if e.disabledFrom == 0 { // of an earlier version
				e.disabledFrom = e.position.Seq
			}
			if e.disabledFrom < end.Seq {
				push = append(push, pushGap(gap{from: e.disabledFrom, to: end.Seq}))
			}
			set = append(set, bson.E{Key: "internal.recoveredAt", Value: now})
			for _, field := range []string{"reason", "internal.failingSince", "internal.disabledFrom"} {
				unset = append(unset, bson.E{Key: field, Value: ""})
			}
		}
	}
	if len(set) == 0 {
		return nil
	}
	e.UpdatedAt = now
	update = append(update, bson.E{Key: "$set", Value: append(set, bson.E{Key: "updatedAt", Value: e.UpdatedAt})})
	if len(unset) > 0 {
		update = append(update, bson.E{Key: "$unset", Value: unset})
	}
	if len(push) > 0 {
		update = append(update, bson.E{Key: "$push", Value: push})
	}
	return update
}
