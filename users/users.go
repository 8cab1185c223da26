// Package users keeps the customers: a name and an address that is unique
// without regard to case. It is the only code that touches the collection users.
package users

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// ID names a user.
type ID = ids.ID

// Codes of the refusals of this package.
const (
	CodeNotFound   fault.Code = "USER_NOT_FOUND"
	CodeEmailTaken fault.Code = "EMAIL_TAKEN"
)

// Codes lists them.
var Codes = []fault.Code{CodeNotFound, CodeEmailTaken}

// User is a customer.
type User struct {
	ID        ID
	Name      string
	Email     string
	CreatedAt time.Time
}

const name = "users"

// Collections is what this package wants MongoDB to hold.
func Collections() []mongodb.Collection {
	return []mongodb.Collection{{Name: name, Indexes: []mongodb.Index{{
		Keys: mongodb.Keys("email"), Unique: true, CaseInsensitive: true,
		Partial: bson.D{{Key: "email", Value: bson.D{{Key: "$exists", Value: true}}}},
	}}}}
}

// Service keeps the users of one database.
type Service struct{ db *mongodb.DB }

// New returns the users of db.
func New(db *mongodb.DB) *Service { return &Service{db} }

type doc struct {
	ID        ID           `bson:"_id"`
	Name      mongodb.Text `bson:"name"`
	Email     mongodb.Text `bson:"email"`
	CreatedAt mongodb.Date `bson:"createdAt"`
}

// Create adds a user, or refuses with CodeEmailTaken.
func (s *Service) Create(ctx context.Context, fullName, email string) (User, error) {
	u := User{ID: ids.New(), Name: fullName, Email: email, CreatedAt: s.db.Clock()().UTC().Truncate(time.Millisecond)}
	_, err := s.db.Collection(name).InsertOne(ctx, bson.D{
		{Key: "_id", Value: u.ID}, {Key: "name", Value: u.Name}, {Key: "email", Value: u.Email}, {Key: "createdAt", Value: u.CreatedAt},
	})
	if mongodb.IsDuplicate(err) {
		return User{}, fault.New(CodeEmailTaken, "Another user has this email address.")
	}
	return u, mongodb.TranslateWrite(err)
}

// Unknown returns, of some users, those that there are not, each with the
// refusal CodeNotFound.
func (s *Service) Unknown(ctx context.Context, userIDs []ID) (map[ID]error, error) {
	unknown, err := s.unknown(ctx, userIDs)
	if err != nil || len(unknown) == 0 {
		return nil, err
	}
	if err := s.db.Sure(ctx); err != nil {
		return nil, err
	}
	return s.unknown(ctx, userIDs)
}

func (s *Service) unknown(ctx context.Context, userIDs []ID) (map[ID]error, error) {
	found, err := mongodb.All[struct {
		ID ids.ID `bson:"_id"`
	}](ctx, s.db.Collection(name), mongo.Pipeline{mongodb.Match(mongodb.In("_id", userIDs)), mongodb.Only("_id")})
	if err != nil {
		return nil, mongodb.Translate(err)
	}
	known := make(map[ID]bool, len(found))
	for _, f := range found {
		known[f.ID] = true
	}
	unknown := map[ID]error{}
	for _, id := range userIDs {
		if !known[id] {
			unknown[id] = NotFound()
		}
	}
	return unknown, nil
}

// NotFound is the refusal CodeNotFound.
func NotFound() error { return fault.New(CodeNotFound, "There is no such user.") }

// Get returns a user, or CodeNotFound.
func (s *Service) Get(ctx context.Context, id ID) (User, error) {
	return mongodb.Surely(ctx, s.db, mongodb.Absence, func(ctx context.Context) (User, error) { return s.get(ctx, id) })
}

func (s *Service) get(ctx context.Context, id ID) (User, error) {
	d, found, err := mongodb.First[doc](ctx, s.db.Collection(name), mongo.Pipeline{mongodb.Match(mongodb.Is("_id", id))})
	switch {
	case err != nil:
		return User{}, mongodb.Translate(err)
	case !found:
		return User{}, NotFound()
	}
	created := d.CreatedAt.Time
	if created.IsZero() {
		created = bson.ObjectID(d.ID).Timestamp().UTC()
	}
	return User{d.ID, string(d.Name), string(d.Email), created}, nil
}
