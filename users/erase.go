package users

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// erasedAt is when a user was erased. Such a user does not exist for any other function of this package.
const erasedAt = "internal.erasedAt"

// Known refuses with USER_NOT_FOUND, unless there is or was such a user: an erased one counts.
func (s *Service) Known(ctx context.Context, id ID) error {
	_, err := mongodb.ConfirmRefusal(ctx, s.db, holdfast.IsNotFound, func(ctx context.Context) (doc, error) {
		d, err := s.any(ctx, id)
		return d, mongodb.Translate(err)
	})
	return err
}

// any reads a user, erased or not.
func (s *Service) any(ctx context.Context, id ID) (doc, error) {
	d, found, err := mongodb.First[doc](ctx, s.db.Collection(name), mongo.Pipeline{mongodb.Match(mongodb.Is("_id", id))})
	if err == nil && !found {
		err = holdfast.NotFound(holdfast.CodeUserNotFound)
	}
	return d, err
}

// Erase makes a user unknown for good: the name becomes erased, the address <id>@erased.invalid, and the idempotency key of
// the creation is forgotten. An erased user stays as it is. It refuses with USER_NOT_FOUND.
func (s *Service) Erase(ctx context.Context, id ID) error {
	return mongodb.Do(ctx, s.db, func(ctx context.Context) error {
		d, err := s.any(ctx, id)
		if err != nil {
			return err
		}
		_, err = s.db.Collection(name).UpdateOne(ctx, mongodb.And(mongodb.Is("_id", id), mongodb.Is(erasedAt, nil)), bson.D{
			{Key: "$set", Value: bson.D{{Key: "name", Value: "erased"}, {Key: "email", Value: id.String() + "@erased.invalid"}}},
			{Key: "$unset", Value: bson.D{{Key: givenEmail, Value: ""}}},
			{Key: "$currentDate", Value: bson.D{{Key: erasedAt, Value: true}}},
		})
		if err != nil {
			return refuseTaken(err)
		}
		return s.db.ForgetCreation(ctx, id, d.CreatedAt)
	})
}
