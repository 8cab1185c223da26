// Package users stores the customers: a name, and an email address that is unique
// case-insensitively. Only this package accesses the collection users.
package users

import (
	"cmp"
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// ID identifies a user.
type ID = holdfast.ID

const name = "users"

// Collections returns the collections and indexes that this package needs.
func Collections() []mongodb.Collection {
	return []mongodb.Collection{{Name: name, Indexes: []mongodb.Index{byEmail}, ForeignValidator: true}}
}

var byEmail = mongodb.Index{
	Keys: mongodb.Keys("email"), Unique: true, CaseInsensitive: true,
	Partial: bson.D{{Key: "email", Value: bson.D{{Key: "$exists", Value: true}}}},
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

// place is of every user: users are not sharded, because their email addresses are unique.
var place = mongodb.Place{Collection: name, Filter: mongodb.Is("_id", ID{})}

// CreateUser is CreateUserOnce without a key: after OUTCOME_UNKNOWN the user may exist, and
// FindUser finds it.
func (s *Service) CreateUser(ctx context.Context, fullName, email string) (holdfast.User, error) {
	u, _, err := s.CreateUserOnce(ctx, holdfast.NewUser{Name: fullName, Email: email}, holdfast.CreationKey{})
	return u, err
}

// CreateUserOnce adds a user. replayed says that an earlier request with the same key added
// it; it is returned in its present state. It refuses with IDEMPOTENCY_KEY_REUSED, or with
// EMAIL_TAKEN if another user has the address, and with VALIDATION_FAILED. After OUTCOME_UNKNOWN the user may exist; the
// same request with the same key returns it.
func (s *Service) CreateUserOnce(
	ctx context.Context, n holdfast.NewUser, key holdfast.CreationKey,
) (u holdfast.User, replayed bool, err error) {
	err = cmp.Or(
		holdfast.CheckName("body.name", n.Name), holdfast.CheckEmail("body.email", n.Email),
		holdfast.CheckText("body.idempotencyKey", key.Key, holdfast.MaxKeyLength),
	)
	if err != nil {
		return holdfast.User{}, false, err
	}
	u = holdfast.User{ID: ids.New(), Name: n.Name, Email: n.Email, CreatedAt: s.db.Clock()().UTC().Truncate(time.Millisecond)}
	id, replayed, err := s.db.Create(ctx, mongodb.Creation{Collection: name, ID: u.ID, Key: key, Hash: n.Hash(),
		Insert: func(ctx context.Context) error { return s.insert(ctx, u) }})
	switch {
	case err != nil:
		return holdfast.User{}, false, err
	case replayed:
		u, err = s.GetUser(ctx, id)
	}
	return u, replayed, err
}

func (s *Service) insert(ctx context.Context, u holdfast.User) error {
	_, err := s.db.Collection(name).InsertOne(ctx, bson.D{
		{Key: "_id", Value: u.ID}, {Key: "name", Value: u.Name}, {Key: "email", Value: u.Email}, {Key: "createdAt", Value: u.CreatedAt},
	})
	if mongodb.IsDuplicate(err, byEmail.Keys) {
		return holdfast.Refuse(holdfast.CodeEmailTaken, "Another user has this email address.")
	}
	return err
}

// FindUser returns the user with an email address, in any case. found is false if there is
// none; that is confirmed, as in GetUser. It is false too if other software wrote the user with an
// _id that is no ObjectID, although no other user can have that address.
func (s *Service) FindUser(ctx context.Context, email string) (u holdfast.User, found bool, err error) {
	u, err = mongodb.ConfirmRefusal(ctx, s.db, holdfast.IsNotFound, mongodb.At(place), func(ctx context.Context) (holdfast.User, error) {
		return s.first(ctx, mongodb.Is("email", email), options.Aggregate().SetCollation(mongodb.IgnoringCase()))
	})
	if holdfast.IsNotFound(err) {
		return holdfast.User{}, false, nil
	}
	return u, err == nil, err
}

// Unknown returns the IDs that no user has, each with the refusal USER_NOT_FOUND. The
// result is confirmed: it never includes a user that existed before the call.
func (s *Service) Unknown(ctx context.Context, userIDs []ID) (map[ID]*holdfast.Error, error) {
	unknown, err := s.unknown(ctx, userIDs)
	if err != nil || len(unknown) == 0 {
		return nil, err
	}
	at, err := s.db.Barrier(ctx, []mongodb.Place{place})
	if err != nil {
		return nil, err
	}
	return s.unknown(mongodb.WithReadTime(ctx, at), userIDs)
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
	return mongodb.ConfirmRefusal(ctx, s.db, holdfast.IsNotFound, mongodb.At(place), func(ctx context.Context) (holdfast.User, error) {
		return s.first(ctx, mongodb.Is("_id", id))
	})
}

func (s *Service) first(ctx context.Context, filter bson.D, o ...options.Lister[options.AggregateOptions]) (holdfast.User, error) {
	d, found, err := mongodb.First[doc](ctx, s.db.Collection(name), mongo.Pipeline{mongodb.Match(filter)}, o...)
	switch {
	case err != nil:
		return holdfast.User{}, mongodb.Translate(err)
	case !found || d.ID.IsZero():
		return holdfast.User{}, holdfast.NotFound(holdfast.CodeUserNotFound)
	}
	created := d.CreatedAt.Time
	if created.IsZero() {
		created = d.ID.CreatedAt()
	}
	return holdfast.User{ID: d.ID, Name: string(d.Name), Email: string(d.Email), CreatedAt: created}, nil
}

// Foreign returns up to limit users whose _id is no ObjectID, those whose turn it is. No request can
// name one.
func (s *Service) Foreign(ctx context.Context, turn *mongodb.Turn, limit int) ([]string, error) {
	return mongodb.ForeignIDs(ctx, s.db.Collection(name), turn, limit)
}
