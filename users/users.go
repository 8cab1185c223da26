// Package users stores the customers: a name, and an email address that is unique
// case-insensitively. Only this package accesses the collection users.
package users

import (
	"cmp"
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// ID identifies a user.
type ID = holdfast.ID

const name = "users"

// Collections returns the collections and indexes that this package needs.
func Collections() []mongodb.Collection {
	return []mongodb.Collection{{Name: name, Indexes: []mongodb.Index{{
		Keys: mongodb.Keys("email"), Unique: true, CaseInsensitive: true,
		Partial: bson.D{{Key: "email", Value: bson.D{{Key: "$exists", Value: true}}}},
	}}}}
}

// Service reads and writes the users of one database.
type Service struct{ db *mongodb.DB }

// New returns the service for a database.
func New(db *mongodb.DB) *Service { return &Service{db} }

type doc struct {
	ID        ID           `bson:"_id"`
	Name      mongodb.Text `bson:"name"`
	Email     mongodb.Text `bson:"email"`
	CreatedAt mongodb.Date `bson:"createdAt"`
}

// CreateUser adds a user. It fails with EMAIL_TAKEN if another user has the address, and
// with VALIDATION_FAILED for a name or an address that is none; after OUTCOME_UNKNOWN the
// user may exist.
func (s *Service) CreateUser(ctx context.Context, fullName, email string) (holdfast.User, error) {
	if err := cmp.Or(holdfast.CheckName("body.name", fullName), holdfast.CheckEmail("body.email", email)); err != nil {
		return holdfast.User{}, err
	}
	u := holdfast.User{ID: ids.New(), Name: fullName, Email: email, CreatedAt: s.db.Clock()().UTC().Truncate(time.Millisecond)}
	_, err := s.db.Collection(name).InsertOne(ctx, bson.D{
		{Key: "_id", Value: u.ID}, {Key: "name", Value: u.Name}, {Key: "email", Value: u.Email}, {Key: "createdAt", Value: u.CreatedAt},
	})
	if mongodb.IsDuplicate(err) {
		return holdfast.User{}, holdfast.Refuse(holdfast.CodeEmailTaken, "Another user has this email address.")
	}
	return u, mongodb.TranslateWrite(err)
}

// Unknown returns the IDs that no user has, each with the refusal USER_NOT_FOUND. The
// result is confirmed: it never includes a user that existed before the call.
func (s *Service) Unknown(ctx context.Context, userIDs []ID) (map[ID]*holdfast.Error, error) {
	unknown, err := s.unknown(ctx, userIDs)
	if err != nil || len(unknown) == 0 {
		return nil, err
	}
	if err := s.db.Barrier(ctx); err != nil {
		return nil, err
	}
	return s.unknown(ctx, userIDs)
}

func (s *Service) unknown(ctx context.Context, userIDs []ID) (map[ID]*holdfast.Error, error) {
	found, err := mongodb.All[struct {
		ID ID `bson:"_id"`
	}](ctx, s.db.Collection(name), mongo.Pipeline{mongodb.Match(mongodb.In("_id", userIDs)), mongodb.Only("_id")})
	if err != nil {
		return nil, mongodb.Translate(err)
	}
	known := make(map[ID]bool, len(found))
	for _, f := range found {
		known[f.ID] = true
	}
	unknown := map[ID]*holdfast.Error{}
	for _, id := range userIDs {
		if !known[id] {
			unknown[id] = holdfast.NotFound(holdfast.CodeUserNotFound)
		}
	}
	return unknown, nil
}

// GetUser returns a user, or USER_NOT_FOUND. The refusal is confirmed: a user that existed
// before the call is found.
func (s *Service) GetUser(ctx context.Context, id ID) (holdfast.User, error) {
	return mongodb.ConfirmRefusal(ctx, s.db, holdfast.IsNotFound, func(ctx context.Context) (holdfast.User, error) { return s.get(ctx, id) })
}

func (s *Service) get(ctx context.Context, id ID) (holdfast.User, error) {
	d, found, err := mongodb.First[doc](ctx, s.db.Collection(name), mongo.Pipeline{mongodb.Match(mongodb.Is("_id", id))})
	switch {
	case err != nil:
		return holdfast.User{}, mongodb.Translate(err)
	case !found:
		return holdfast.User{}, holdfast.NotFound(holdfast.CodeUserNotFound)
	}
	created := d.CreatedAt.Time
	if created.IsZero() {
		created = d.ID.CreatedAt()
	}
	return holdfast.User{ID: d.ID, Name: string(d.Name), Email: string(d.Email), CreatedAt: created}, nil
}
