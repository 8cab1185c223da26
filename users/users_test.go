package users_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

var ada = holdfast.NewUser{Name: "Ada", Email: "ada@example.com"}

// UNAVAILABLE means that nothing was done. After any failure, the same request with the same
// key makes the one user, or finds it.
func TestCreateUser_AnswersTheTruthWhateverFails(t *testing.T) {
	t.Parallel()
	server := testenv.Open(t, testenv.OwnServer(t), "holdfast_test")
	w := testenv.Open(t, server.URI, "holdfast_test", func(o *mongodb.Options) { o.CommitTimeout = 300 * time.Millisecond })
	notWaited := func(code int) bson.D {
		return bson.D{{Key: "writeConcernError", Value: bson.D{{Key: "code", Value: code}, {Key: "errmsg", Value: "staged"}}}}
	}
	failures := map[string]bson.D{
		"not waited": notWaited(64), "no such write concern": notWaited(79), "majority unreachable": notWaited(100),
		"interrupted": {{Key: "errorCode", Value: 11601}}, "out of time": {{Key: "errorCode", Value: 50}},
		"no answer": {{Key: "closeConnection", Value: true}},
	}
	n := 0
	for _, command := range []string{"insert", "commitTransaction"} {
		for name, failure := range failures {
			n++
			user := holdfast.NewUser{Name: "Ada", Email: fmt.Sprintf("ada%d@example.com", n)}
			key := holdfast.CreationKey{Caller: "shop", Key: user.Email}
			t.Run(command+"/"+name, func(t *testing.T) {
				off := server.FailCommands(command, "alwaysOn", failure)
				_, _, err := w.Users.CreateUserOnce(w.Ctx(), user, key)
				off()
				found, exists, findErr := server.Users.FindUser(w.Ctx(), user.Email)
				if findErr != nil || (err == nil && !exists) || (holdfast.HasCode(err, holdfast.CodeUnavailable) && exists) {
					t.Errorf("answered %v; the user exists: %v, %v", err, exists, findErr)
				}
				again, replayed, err := w.Users.CreateUserOnce(w.Ctx(), user, key)
				if err != nil || replayed != exists || (exists && again != found) {
					t.Errorf("asked again: %+v, replayed %v, %v; want %+v", again, replayed, err, found)
				}
			})
		}
	}
}

// A repeat by key comes before the check of the address.
func TestCreateUserOnce_ReplaysByKey(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	key := holdfast.CreationKey{Caller: "shop", Key: "k"}
	made, replayed, err := w.Users.CreateUserOnce(w.Ctx(), ada, key)
	if err != nil || replayed {
		t.Fatal(replayed, err)
	}
	if again, replayed, err := w.Users.CreateUserOnce(w.Ctx(), ada, key); err != nil || !replayed || again != made {
		t.Errorf("the same request: %+v, replayed %v, %v; want %+v", again, replayed, err, made)
	}
	for name, c := range map[string]struct {
		user holdfast.NewUser
		key  holdfast.CreationKey
		code holdfast.Code
	}{
		"another name":             {holdfast.NewUser{Name: "Bob", Email: ada.Email}, key, holdfast.CodeIdempotencyKeyReused},
		"another address":          {holdfast.NewUser{Name: ada.Name, Email: "bob@example.com"}, key, holdfast.CodeIdempotencyKeyReused},
		"another key":              {ada, holdfast.CreationKey{Caller: "shop", Key: "other"}, holdfast.CodeEmailTaken},
		"another caller's key":     {ada, holdfast.CreationKey{Caller: "door", Key: "k"}, holdfast.CodeEmailTaken},
		"no key, in other letters": {holdfast.NewUser{Name: ada.Name, Email: "ADA@Example.com"}, holdfast.CreationKey{}, holdfast.CodeEmailTaken},
		"a key that is too long":   {ada, holdfast.CreationKey{Key: fmt.Sprintf("%0201d", 0)}, holdfast.CodeInvalid},
		"a key that is not a text": {ada, holdfast.CreationKey{Key: "\xff"}, holdfast.CodeInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := w.Users.CreateUserOnce(w.Ctx(), c.user, c.key); !holdfast.HasCode(err, c.code) {
				t.Errorf("got %v, want %s", err, c.code)
			}
		})
	}
	// A refused request leaves no key behind.
	other := holdfast.NewUser{Name: "Bob", Email: "bob@example.com"}
	if _, replayed, err := w.Users.CreateUserOnce(w.Ctx(), other, holdfast.CreationKey{Caller: "shop", Key: "other"}); err != nil || replayed {
		t.Errorf("the key of a refused request: replayed %v, %v", replayed, err)
	}
}

// Two processes get the same request at the same time: one user, and all know it.
func TestCreateUserOnce_MakesOneUserInTwoProcesses(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	processes := []*testenv.Env{w, testenv.Open(t, w.URI, w.DB.Name())}
	var mu sync.Mutex
	ids, made := map[holdfast.ID]bool{}, 0
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			u, replayed, err := processes[i%2].Users.CreateUserOnce(w.Ctx(), ada, holdfast.CreationKey{Key: "k"})
			mu.Lock()
			defer mu.Unlock()
			if ids[u.ID] = true; err != nil {
				t.Error(err)
			}
			if !replayed {
				made++
			}
		})
	}
	all.Wait()
	if len(ids) != 1 || made != 1 {
		t.Errorf("%d users, of which %d requests say that they made one; want 1 and 1", len(ids), made)
	}
}

func TestFindUser_IgnoresCase(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	made, err := w.Users.CreateUser(w.Ctx(), ada.Name, ada.Email)
	if err != nil {
		t.Fatal(err)
	}
	if u, found, err := w.Users.FindUser(w.Ctx(), "Ada@EXAMPLE.com"); err != nil || !found || u != made {
		t.Errorf("%+v, %v, %v; want %+v", u, found, err, made)
	}
	if _, found, err := w.Users.FindUser(w.Ctx(), "bob@example.com"); err != nil || found {
		t.Errorf("unknown email: %v, %v", found, err)
	}
}

// A primary that was deposed, and does not know it yet, may miss a user. So the look-up is repeated, at the time of a read
// that the majority has confirmed.
func TestUnknown_IsConfirmed(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	var reads []string
	process := testenv.Open(t, w.URI, w.DB.Name(), func(o *mongodb.Options) {
		o.Monitor = &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
			level, _ := e.Command.Lookup("readConcern", "level").StringValueOK()
			collection, _ := e.Command.Index(0).Value().StringValueOK()
			switch _, _, isTied := e.Command.Lookup("readConcern", "afterClusterTime").TimestampOK(); {
			case level == "linearizable":
				reads = append(reads, "barrier")
			case collection != "users":
			case isTied:
				reads = append(reads, "tied")
			default:
				reads = append(reads, "read")
			}
		}}
	})
	id := mongodb.NewID()
	unknown, err := testenv.Core(process.DB, nil).Users.Unknown(t.Context(), []holdfast.ID{id})
	if err != nil || !holdfast.HasCode(unknown[id], holdfast.CodeUserNotFound) {
		t.Errorf("%v, %v", unknown, err)
	}
	if got := strings.Join(reads, " "); got != "read barrier tied" {
		t.Errorf("MongoDB received %q", got)
	}
}
