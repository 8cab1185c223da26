package mongodb_test

import (
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast/internal/devserver"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// A mongod that was started with --replSet, and nothing else, says what is missing.
func TestConnect_ReplicaSetThatWasNotInitiated(t *testing.T) {
	t.Parallel()
	set, err := devserver.StartReplicaSet(t.Context(), devserver.MongodOptions{Progress: os.Stderr}, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(set.Stop)
	direct, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + set.Members[0].Host + "/?directConnection=true"))
	if err != nil {
		t.Fatal(err)
	}
	defer direct.Disconnect(t.Context()) //nolint:errcheck // the server ends
	set.Members[0].Kill()
	if err := errors.Join(set.Members[0].RemoveData(), set.Members[0].Restart()); err != nil {
		t.Fatal(err)
	}
	if err := direct.Ping(t.Context(), nil); err != nil { // which waits until the server answers
		t.Fatal(err)
	}
	for _, uri := range []string{
		set.URI, "mongodb://" + set.Members[0].Host + "/?directConnection=true", "mongodb://" + set.Members[0].Host + "/?retryWrites=true",
	} {
		_, err := mongodb.Connect(t.Context(), uri+"&serverSelectionTimeoutMS=1000", "x", mongodb.Options{Log: slog.New(slog.DiscardHandler)})
		if err == nil || !strings.Contains(err.Error(), "was not initiated") || !strings.Contains(err.Error(), "rs.initiate(") {
			t.Errorf("%s: %v", uri, err)
		}
	}
}
