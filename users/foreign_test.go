package users_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// Users of other software, with values of every type in every field, can be read, and are in
// no other user's way.
func TestForeignDocuments_OfUsers(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	var docs []any
	var named []holdfast.ID
	for field := range 4 {
		for _, value := range testenv.Extremes() {
			id := ids.New()
			doc := bson.D{{Key: "_id", Value: id}, {Key: "name", Value: "A"}, {Key: "email", Value: id.String() + "@example.com"},
				{Key: "createdAt", Value: time.Now()}}
			if docs = append(docs, testenv.With(doc, field, value)); field > 0 {
				named = append(named, id)
			}
		}
	}
	// MongoDB refuses some, such as an _id that is an array, and keys that are not unique.
	_, insertErr := w.DB.Collection("users").InsertMany(t.Context(), docs, options.InsertMany().SetOrdered(false))
	missing, err := w.Users.Unknown(t.Context(), named)
	if err != nil || len(missing) > len(named)/10 {
		t.Fatalf("%d of %d users are missing: %v, %v", len(missing), len(named), err, insertErr)
	}
	for _, id := range named {
		u, err := w.Users.GetUser(t.Context(), id)
		if missing[id] == nil && (err != nil || u.ID != id || u.CreatedAt.Year() < 1 || u.CreatedAt.Year() > 9999) {
			t.Errorf("%+v, %v", u, err)
		}
	}
	u, err := w.Users.CreateUser(t.Context(), "B", "b@example.com")
	if err != nil {
		t.Fatal(err)
	}
	if found, exists, err := w.Users.FindUser(t.Context(), "B@example.com"); err != nil || !exists || found.ID != u.ID {
		t.Errorf("%+v %v %v", found, exists, err)
	}
	if _, err := w.Users.CreateUser(t.Context(), "C", "B@EXAMPLE.com"); !holdfast.HasCode(err, holdfast.CodeEmailTaken) {
		t.Error(err)
	}
}

// A key that other software has changed makes no second user, and names no other one.
func TestForeignDocuments_OfCreationKeys(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	fields := []string{"createdId", "requestHash", "createdAt"}
	for _, field := range fields {
		for n, value := range testenv.Extremes() {
			key := holdfast.CreationKey{Key: field + time.Duration(n).String()}
			wanted := holdfast.NewUser{Name: "A", Email: ids.New().String() + "@example.com"}
			u, _, err := w.Users.CreateUserOnce(t.Context(), wanted, key)
			if err != nil {
				t.Fatal(err)
			}
			change := bson.D{{Key: "$set", Value: bson.D{{Key: field, Value: value}}}}
			if value == testenv.Missing {
				change = bson.D{{Key: "$unset", Value: bson.D{{Key: field, Value: ""}}}}
			}
			if _, err := w.DB.Collection("idempotencykeys").UpdateOne(t.Context(), bson.D{{Key: "createdId", Value: u.ID}}, change); err != nil {
				t.Fatal(err)
			}
			again, replayed, err := w.Users.CreateUserOnce(t.Context(), wanted, key)
			_, isOther := value.(holdfast.ID)
			switch {
			case field == "createdAt" && (err != nil || !replayed || again.ID != u.ID):
				t.Errorf("%s %v: %+v, %v", field, value, again, err)
			case field == "createdId" && isOther && value != (holdfast.ID{}) && holdfast.HasCode(err, holdfast.CodeUserNotFound):
				// a user that may have been removed
			case field != "createdAt" && !holdfast.HasCode(err, holdfast.CodeIdempotencyKeyReused):
				t.Errorf("%s %v: %+v, %v", field, value, again, err)
			}
		}
	}
	n, err := w.DB.Collection("users").CountDocuments(t.Context(), bson.D{})
	if want := int64(len(fields) * len(testenv.Extremes())); err != nil || n != want {
		t.Errorf("%d users, want %d: %v", n, want, err)
	}
}

// An index of other software is not taken for the one on addresses, or for the keys of requests.
func TestForeignIndex_IsNoTakenAddressAndNoUsedKey(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	create := func(name, email, key string) error {
		_, _, err := w.Users.CreateUserOnce(t.Context(), holdfast.NewUser{Name: name, Email: email}, holdfast.CreationKey{Key: key})
		return err
	}
	w.ForeignIndex("idempotencykeys", "code")
	if err := create("Ada", "a@example.com", "a"); err != nil {
		t.Fatal(err)
	}
	if err := create("Ada", "b@example.com", "b"); !testenv.IsOfForeignIndex(err) {
		t.Errorf("a key: %v", err)
	}
	w.ForeignIndex("users", "name")
	if err := create("Ada", "b@example.com", ""); !testenv.IsOfForeignIndex(err) {
		t.Errorf("a user: %v", err)
	}
	if err := create("Bob", "A@example.com", ""); !holdfast.HasCode(err, holdfast.CodeEmailTaken) {
		t.Errorf("the same address: %v", err)
	}
}

// A user whose _id is no ObjectID has no name in the API: it is not answered with another ID.
func TestFindUser_LeavesOutForeignIDs(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	for n, id := range []any{"text", 1, holdfast.ID{}, nil, bson.D{{Key: "a", Value: 1}}} {
		email := string(rune('a'+n)) + "@example.com"
		w.Insert("users", bson.D{{Key: "_id", Value: id}, {Key: "name", Value: "A"}, {Key: "email", Value: email}})
		if u, found, err := w.Users.FindUser(t.Context(), email); err != nil || found {
			t.Errorf("_id %v: found %+v, %v", id, u, err)
		}
		if _, err := w.Users.CreateUser(t.Context(), "B", email); !holdfast.HasCode(err, holdfast.CodeEmailTaken) {
			t.Errorf("_id %v: %v", id, err)
		}
	}
}
