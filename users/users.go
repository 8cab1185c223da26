// Package users stores the customers: a name, and an email address of which each mailbox is unique: in any case,
// Unicode form and spelling of its domain. Only this package accesses the collection users.
package users

import (
	"cmp"
	"context"
	"strings"
	"time"
	"unicode"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// ID identifies a user.
type ID = holdfast.ID

const name = "users"

// Collections returns the collections and indexes that this package needs.
func Collections() []mongodb.Collection {
	return []mongodb.Collection{{Name: name, Schema: &userRules, Indexes: []mongodb.Index{byEmail}}}
}

// existing matches the users that are not erased.
var existing = mongodb.And(userRules.Filter(), mongodb.Is(erasedAt, nil))

var userRules = mongodb.Schema{
	Required: []string{"_id"},
	Fields: []mongodb.Field{
		mongodb.ObjectIDField("_id"), mongodb.TextField("name"), mongodb.TextField("email"), mongodb.DateField("createdAt"),
		mongodb.DocumentOf(mongodb.TextField("email"), mongodb.DateField("erasedAt")).Field("internal"),
	},
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
	ID        ID        `bson:"_id"`
	Name      string    `bson:"name"`
	Email     string    `bson:"email"` // of a user of this package: the mailbox
	CreatedAt time.Time `bson:"createdAt"`
	Internal  struct {
		Email string `bson:"email"` // the address as it was given, if that differs from the mailbox
	} `bson:"internal"`
}

const givenEmail = "internal.email"

// mailbox is the spelling by which an address is stored and found: composed characters (Unicode NFC), the domain in ASCII
// (IDNA 2008), and without its final dot. The index of the collection ignores the case.
func mailbox(email string) string {
	email = norm.NFC.String(email)
	at := strings.LastIndexByte(email, '@')
	local, domain := email[:max(at, 0)], email[at+1:]
	domain = strings.TrimSuffix(domain, ".")
	isASCII := !strings.ContainsFunc(domain, func(r rune) bool { return r > unicode.MaxASCII })
	if ascii, err := idna.Lookup.ToASCII(domain); err == nil && !isASCII {
		domain = strings.TrimSuffix(ascii, ".") // a final dot of another script has become an ASCII one
	}
	return local + "@" + domain
}

// CreateUser is CreateUserOnce without a key: after OUTCOME_UNKNOWN the user may exist, and
// FindUser finds it.
func (s *Service) CreateUser(ctx context.Context, fullName, email string) (holdfast.User, error) {
	u, _, err := s.CreateUserOnce(ctx, holdfast.NewUser{Name: fullName, Email: email}, holdfast.CreationKey{})
	return u, err
}

// CreateUserOnce adds a user. replayed reports that an earlier request with the same key added
// the user, which is returned in its present state. It refuses with IDEMPOTENCY_KEY_REUSED, or with
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
	u = holdfast.User{ID: mongodb.NewID(), Name: n.Name, Email: n.Email, CreatedAt: s.db.Clock()().UTC().Truncate(time.Millisecond)}
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
	d := bson.D{
		{Key: "_id", Value: u.ID}, {Key: "name", Value: u.Name}, {Key: "email", Value: mailbox(u.Email)}, {Key: "createdAt", Value: u.CreatedAt},
	}
	if mailbox(u.Email) != u.Email {
		d = append(d, bson.E{Key: "internal", Value: bson.D{{Key: "email", Value: u.Email}}})
	}
	_, err := s.db.Collection(name).InsertOne(ctx, d)
	return refuseTaken(err)
}

func refuseTaken(err error) error {
	if mongodb.IsDuplicate(err, byEmail.Keys) {
		return holdfast.Refuse(holdfast.CodeEmailTaken, "Another user has this email address.")
	}
	return err
}

// UpdateUser changes a user and returns it. It refuses with USER_NOT_FOUND, with EMAIL_TAKEN if another user has the
// address, and with VALIDATION_FAILED. After OUTCOME_UNKNOWN the user may be changed.
func (s *Service) UpdateUser(ctx context.Context, id ID, c holdfast.UserChange) (holdfast.User, error) {
	if err := c.Check(); err != nil {
		return holdfast.User{}, err
	}
	return mongodb.ConfirmRefusal(ctx, s.db, mongodb.IsRefusal, func(ctx context.Context) (holdfast.User, error) {
		return mongodb.InTx(ctx, s.db, func(ctx context.Context) (holdfast.User, error) { return s.update(ctx, id, c) })
	})
}

func (s *Service) update(ctx context.Context, id ID, c holdfast.UserChange) (holdfast.User, error) {
	set, unset := bson.D{}, bson.D{}
	if c.Name != nil {
		set = append(set, bson.E{Key: "name", Value: *c.Name})
	}
	if c.Email != nil {
		box := mailbox(*c.Email)
		set = append(set, bson.E{Key: "email", Value: box})
		if box == *c.Email {
			unset = append(unset, bson.E{Key: givenEmail, Value: ""})
		} else {
			set = append(set, bson.E{Key: givenEmail, Value: *c.Email})
		}
	}
	if len(set) > 0 {
		update := bson.D{{Key: "$set", Value: set}, {Key: "$unset", Value: unset}}
		if _, err := s.db.Collection(name).UpdateOne(ctx, mongodb.And(mongodb.Is("_id", id), existing), update); err != nil {
			return holdfast.User{}, refuseTaken(err)
		}
	}
	return s.first(ctx, mongodb.Is("_id", id))
}

// FindUser returns the user with an email address, in any spelling of its mailbox. found is false if there is
// none; that is confirmed, as in GetUser.
func (s *Service) FindUser(ctx context.Context, email string) (u holdfast.User, found bool, err error) {
	u, err = mongodb.ConfirmRefusal(ctx, s.db, holdfast.IsNotFound, func(ctx context.Context) (holdfast.User, error) {
		return s.first(ctx, mongodb.In("email", []string{mailbox(email), email}), options.Aggregate().SetCollation(mongodb.IgnoringCase()))
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
	at, err := s.db.Barrier(ctx)
	if err != nil {
		return nil, err
	}
	return s.unknown(mongodb.WithReadTime(ctx, at), userIDs)
}

func (s *Service) unknown(ctx context.Context, userIDs []ID) (map[ID]*holdfast.Error, error) {
	found, err := mongodb.All[struct {
		ID ID `bson:"_id"`
	}](ctx, s.db.Collection(name), mongo.Pipeline{mongodb.Match(mongodb.In("_id", userIDs), mongodb.Is(erasedAt, nil)), mongodb.Only("_id")})
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
	return mongodb.ConfirmRefusal(ctx, s.db, holdfast.IsNotFound, func(ctx context.Context) (holdfast.User, error) {
		return s.first(ctx, mongodb.Is("_id", id))
	})
}

func (s *Service) first(ctx context.Context, filter bson.D, o ...options.Lister[options.AggregateOptions]) (holdfast.User, error) {
	d, found, err := mongodb.First[doc](ctx, s.db.Collection(name), mongo.Pipeline{mongodb.Match(filter, existing)}, o...)
	switch {
	case err != nil:
		return holdfast.User{}, mongodb.Translate(err)
	case !found:
		return holdfast.User{}, holdfast.NotFound(holdfast.CodeUserNotFound)
	}
	return d.user(), nil
}

func (d doc) user() holdfast.User {
	if d.CreatedAt.IsZero() {
		d.CreatedAt = d.ID.CreatedAt()
	}
	return holdfast.User{ID: d.ID, Name: d.Name, Email: cmp.Or(d.Internal.Email, d.Email), CreatedAt: d.CreatedAt}
}

// maxSearched bounds what a search by name reads, which takes about half a second. An index would cost each new user.
const maxSearched = 100_000

// FindByName returns up to limit users whose name has a part, in any case, newest first. It searches the newest 100,000.
func (s *Service) FindByName(ctx context.Context, part string, limit int) (found []holdfast.User, err error) {
	docs, err := mongodb.All[doc](ctx, s.db.Collection(name), mongo.Pipeline{
		{{Key: "$sort", Value: bson.D{{Key: "_id", Value: -1}}}}, mongodb.Limit(maxSearched),
		mongodb.Match(mongodb.Contains("name", part), existing), mongodb.Limit(limit),
	})
	for _, d := range docs {
		found = append(found, d.user())
	}
	return found, mongodb.Translate(err)
}
