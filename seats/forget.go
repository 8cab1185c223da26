package seats

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// forgettable locks have ended and count in no sum. CONSUMED ones are sold.
var forgettable = []Status{Expired, Released}

// Ages of ended locks: by the time of their last change; where another tool left
// none, by their expiry.
const (
	byChange = "updatedAt"
	byExpiry = "expiresAt"
)

// Forgettable walks the locks that were EXPIRED or RELEASED before a time, and
// hands their IDs over in batches; a lock that is left in place is not handed
// over twice.
func (s *Service) Forgettable(ctx context.Context, before time.Time, batch int, visit func(context.Context, []ID) error) error {
	for _, status := range forgettable {
		for _, age := range []string{byChange, byExpiry} {
			if err := s.walkEnded(ctx, status, age, before, batch, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// endedDoc is a lock's place in the order of the walk.
type endedDoc struct {
	ID        ID           `bson:"_id"`
	UpdatedAt mongodb.Date `bson:"updatedAt"`
	ExpiresAt mongodb.Date `bson:"expiresAt"`
}

func (s *Service) walkEnded(ctx context.Context, status Status, age string, before time.Time, batch int, visit func(context.Context, []ID) error) error {
	old := bson.D{{Key: age, Value: bson.D{{Key: "$type", Value: "date"}, {Key: "$lte", Value: before}}}}
	if age == byExpiry {
		old = append(old, mongodb.Is(byChange, nil)...)
	}
	var behind bson.D
	for {
		docs, err := mongodb.All[endedDoc](ctx, s.locks(), mongo.Pipeline{
			mongodb.Match(mongodb.Is("status", string(status)), old, behind),
			mongodb.Sort(byChange, byExpiry, "_id"), mongodb.Limit(batch), mongodb.Only(byChange, byExpiry),
		})
		if err != nil || len(docs) == 0 {
			return mongodb.Translate(err)
		}
		found := make([]ID, 0, len(docs))
		for _, d := range docs {
			found = append(found, d.ID)
		}
		if err := visit(ctx, found); err != nil || len(docs) < batch {
			return err
		}
		behind = docs[len(docs)-1].behind(age)
	}
}

// behind continues the walk after the lock.
func (d endedDoc) behind(age string) bson.D {
	byID := After{At: d.ExpiresAt.Time, ID: d.ID}.Filter(byExpiry)
	if age == byExpiry {
		return byID
	}
	return bson.D{
		{Key: byChange, Value: bson.D{{Key: "$gte", Value: d.UpdatedAt.Time}}},
		{Key: "$or", Value: bson.A{
			bson.D{{Key: byChange, Value: bson.D{{Key: "$gt", Value: d.UpdatedAt.Time}}}},
			mongodb.And(mongodb.Is(byChange, d.UpdatedAt.Time), byID),
		}},
	}
}

// Forget removes locks that have ended, in the caller's transaction, and
// returns how many.
func (s *Service) Forget(ctx context.Context, lockIDs []ID) (int, error) {
	result, err := s.locks().DeleteMany(ctx, mongodb.And(mongodb.In("_id", lockIDs), mongodb.In("status", forgettable)))
	if err != nil {
		return 0, err
	}
	return int(result.DeletedCount), nil
}
