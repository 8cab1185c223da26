package chaos_test

import (
	"context"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast/internal/devserver"
)

// primaryFaults are faults of a replica set's primary, by what the primary then is. Each one
// ends by itself.
var primaryFaults = map[string]func(t *testing.T, primary *devserver.Member, rng *rand.Rand){
	"killed": func(t *testing.T, primary *devserver.Member, rng *rand.Rand) {
		primary.Kill()
		delay(t.Context(), time.Duration(1+rng.IntN(3))*time.Second)
		if err := primary.Restart(); err != nil {
			t.Error(err)
		}
	},
	"frozen": func(t *testing.T, primary *devserver.Member, rng *rand.Rand) {
		primary.Signal(syscall.SIGSTOP)
		delay(t.Context(), time.Duration(2+rng.IntN(5))*time.Second)
		primary.Signal(syscall.SIGCONT)
	},
	"stepped down": func(t *testing.T, primary *devserver.Member, _ *rand.Rand) {
		runAdminCommand(t, primary, bson.D{{Key: "replSetStepDown", Value: 5}, {Key: "force", Value: true}})
	},
	"losing commit replies": func(t *testing.T, primary *devserver.Member, rng *rand.Rand) {
		failCommands(t, primary, 5+rng.IntN(20), bson.D{
			{Key: "failCommands", Value: bson.A{"commitTransaction"}},
			{Key: "writeConcernError", Value: bson.D{{Key: "code", Value: 64}, {Key: "errmsg", Value: "lost"}}},
		})
		delay(t.Context(), 2*time.Second)
	},
	"slow": func(t *testing.T, primary *devserver.Member, rng *rand.Rand) {
		failCommands(t, primary, 10, bson.D{
			{Key: "failCommands", Value: bson.A{"insert", "update", "findAndModify", "aggregate", "commitTransaction"}},
			{Key: "blockConnection", Value: true}, {Key: "blockTimeMS", Value: 50 + rng.IntN(1950)},
		})
		delay(t.Context(), 3*time.Second)
	},
}

// failCommands makes a member's next commands fail or wait, as data says.
func failCommands(t *testing.T, m *devserver.Member, times int, data bson.D) {
	t.Helper()
	runAdminCommand(t, m, bson.D{
		{Key: "configureFailPoint", Value: "failCommand"},
		{Key: "mode", Value: bson.D{{Key: "times", Value: times}}},
		{Key: "data", Value: data},
	})
}

// runAdminCommand runs a command on one member. Its error is logged only: a member that steps
// down closes the connection, and one that is down does not answer.
func runAdminCommand(t *testing.T, m *devserver.Member, command bson.D) (answer bson.M) {
	t.Helper()
	uri := "mongodb://" + m.Host + "/?directConnection=true"
	client, err := mongo.Connect(options.Client().ApplyURI(uri).SetServerSelectionTimeout(2 * time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Disconnect(context.Background()) }()
	if err := client.Database("admin").RunCommand(t.Context(), command).Decode(&answer); err != nil {
		t.Logf("%v: %v", command[0].Key, err)
	}
	return answer
}

// awaitPrimary waits until a replica set has a primary, and returns it.
func awaitPrimary(t *testing.T, set *devserver.ReplicaSet) *devserver.Member {
	t.Helper()
	for range 300 {
		for _, m := range set.Members {
			if answer := runAdminCommand(t, m, bson.D{{Key: "hello", Value: 1}}); answer["isWritablePrimary"] == true {
				return m
			}
		}
		delay(t.Context(), 100*time.Millisecond)
	}
	t.Fatal("the replica set has no primary")
	return nil
}
