package store

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// movePage is how many documents one step of MoveFormer passes over.
const movePage = 5000

// MoveFormer moves the fields of the former version under internal, in all events and in the
// locks that take seats. Ended locks never change, so they keep theirs. Only documents that have an
// ObjectID are moved: programs of either version change no others. It begins at the stored
// position; if there is none, nothing is to be moved. After each step it stores its position and
// calls note, so that a move that was interrupted goes on from there. At the end it returns the
// position, which is to be dropped. It may run beside any process of this version: a document that
// was moved counts as changed.
//
// It comes after the validators of the end, because these keep the fields from coming back.
func (s *Store) MoveFormer(ctx context.Context, note func(mongodb.UpgradePosition)) (mongodb.UpgradePosition, error) {
	position, exists, err := s.db.UpgradePosition(ctx)
	if err != nil || !exists {
		return position, err
	}
	for _, c := range []struct {
		name   string
		filter bson.D
		move   mongo.Pipeline
	}{
		{eventsName, anyFormer(formerEventNumbers...), move(formerEventNumbers, formerFixes)},
		{locksName, mongodb.And(mongodb.In("status", holdfast.TakingStatuses()), anyFormer(formerRev)), move([]string{formerRev})},
	} {
		if position.Collection == locksName && c.name == eventsName {
			continue
		}
		if position.Collection != c.name {
			position.Collection, position.After = c.name, ID{}
		}
		for {
			more, err := s.moveStep(ctx, &position, c.filter, c.move)
			if err != nil {
				return position, err
			}
			if !more {
				break
			}
			if isCurrent, err := s.db.SavePosition(ctx, position); err != nil {
				return position, err
			} else if !isCurrent {
				return s.MoveFormer(ctx, note)
			}
			note(position)
		}
	}
	if isCurrent, err := s.db.SavePosition(ctx, position); err != nil || isCurrent {
		return position, err
	}
	return s.MoveFormer(ctx, note)
}

// moveStep moves the fields of the documents of the next page. Only documents that this program
// can change are moved: it reports the others wherever it meets them.
func (s *Store) moveStep(ctx context.Context, p *mongodb.UpgradePosition, filter bson.D, update mongo.Pipeline) (more bool, err error) {
	collection := s.db.Collection(p.Collection)
	page, err := mongodb.All[struct {
		ID ID `bson:"_id"`
	}](ctx, collection, mongo.Pipeline{
		mongodb.Match(mongodb.Is("_id", bson.D{{Key: "$gt", Value: p.After}})),
		mongodb.Sort("_id"), mongodb.Limit(movePage), mongodb.Only("_id"),
	})
	if err != nil || len(page) == 0 {
		return false, mongodb.Translate(err)
	}
	last := page[len(page)-1].ID
	ofPage := bson.D{{Key: "_id", Value: bson.D{{Key: "$gt", Value: p.After}, {Key: "$lte", Value: last}}}}
	result, err := collection.UpdateMany(ctx, mongodb.And(ofPage, filter, hasRaisable), update)
	if err != nil { // the next attempt begins with this page
		return false, mongodb.UnknownOutcome(err)
	}
	p.After = last
	p.Moved += result.ModifiedCount
	return true, nil
}

func anyFormer(fields ...string) bson.D { return bson.D{{Key: "$or", Value: anyOf(fields)}} }

// move removes fields of the former version. The revision and the other numbers that guards
// compare become greater than both versions' ones: a guard that was built before never matches.
// A number of other software that is none counts as 0.
func move(fields []string, compared ...string) mongo.Pipeline {
	own := bson.D{}
	for _, field := range append([]string{formerRev}, compared...) {
		now := "$" + internalName + "." + field
		number := bson.D{{Key: "$cond", Value: bson.A{bson.D{{Key: "$isNumber", Value: now}}, now, int64(0)}}}
		former := bson.D{{Key: "$cond", Value: bson.A{bson.D{{Key: "$lt", Value: bson.A{"$" + field, mongodb.MaxWhole}}}, "$" + field, int64(0)}}}
		greater := bson.D{{Key: "$add", Value: bson.A{bson.D{{Key: "$max", Value: bson.A{number, former}}}, int64(1)}}}
		own = append(own, bson.E{Key: field, Value: bson.D{{Key: "$cond", Value: bson.A{isFormer(field), greater, now}}}})
	}
	set := bson.D{{Key: internalName, Value: bson.D{{Key: "$mergeObjects", Value: bson.A{"$" + internalName, own}}}}}
	for _, field := range fields {
		set = append(set, bson.E{Key: field, Value: bson.D{{Key: "$cond", Value: bson.A{isFormer(field), "$$REMOVE", "$" + field}}}})
	}
	return mongo.Pipeline{{{Key: "$set", Value: set}}}
}

func isFormer(field string) bson.D {
	return bson.D{{Key: "$eq", Value: bson.A{bson.D{{Key: "$type", Value: "$" + field}}, formerType}}}
}
