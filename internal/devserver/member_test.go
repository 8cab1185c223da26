package devserver_test

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast/internal/devserver"
)

// Two faults kill the same member and restart it at the same time: one process runs afterwards,
// with the member's data, and the member knows it.
func TestMember_KilledAndRestartedByTwoAtOnceRunsOnce(t *testing.T) {
	t.Parallel()
	set, err := devserver.StartReplicaSet(t.Context(), devserver.MongodOptions{Progress: os.Stderr}, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(set.Stop)
	things := func() *mongo.Collection { // by a client that has met no failure
		client, err := mongo.Connect(options.Client().ApplyURI(set.URI).SetServerSelectionTimeout(30 * time.Second))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Disconnect(t.Context()) })
		return client.Database("test").Collection("things")
	}
	if _, err := things().InsertOne(t.Context(), bson.D{}); err != nil {
		t.Fatal(err)
	}
	m := set.Members[0]
	m.Kill()
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if err := m.Restart(); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	restarted := things()
	if n, err := restarted.CountDocuments(t.Context(), bson.D{}); err != nil || n != 1 {
		t.Errorf("after the restart there are %d documents, %v", n, err)
	}
	m.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := restarted.Database().Client().Ping(ctx, nil); err == nil {
		t.Error("a process that the member does not know still answers")
	}
}
