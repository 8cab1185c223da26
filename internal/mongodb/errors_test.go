package mongodb_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// message is what the client reads.
func message(t *testing.T, err error) string {
	t.Helper()
	var refusal *holdfast.Error
	if !errors.As(err, &refusal) {
		t.Fatalf("%v has no message", err)
	}
	return refusal.Message
}

// The message "Too many changes" is used for conflicts only.
func TestConflictError_TellsAnOutageFromAConflict(t *testing.T) {
	t.Parallel()
	transient := []string{"TransientTransactionError"}
	for name, c := range map[string]struct {
		cause  error
		outage bool
	}{
		"write conflict":      {testenv.Conflict(), false},
		"stale plan":          {errors.New("the event has changed"), false},
		"network":             {mongo.CommandError{Message: "connection reset", Labels: append(transient, "NetworkError")}, true},
		"no server to select": {mongo.CommandError{Message: "server selection error", Labels: transient}, true},
		"not primary":         {mongo.CommandError{Code: 10107, Message: "not primary", Labels: transient}, true},
		"shutting down":       {mongo.CommandError{Code: 11600, Message: "shutdown", Labels: transient}, true},
		"two causes":          {errors.Join(mongo.CommandError{Code: 189, Labels: transient}, context.DeadlineExceeded), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := mongodb.ConflictError(c.cause)
			if !holdfast.HasCode(err, holdfast.CodeUnavailable) ||
				strings.HasPrefix(message(t, err), "The database is not available") != c.outage {
				t.Errorf("answered %v", err)
			}
		})
	}
}

// A transaction whose attempts all meet a stopped server has met no conflict.
func TestInTx_AStoppedServerIsNoConflict(t *testing.T) {
	t.Parallel()
	server := testenv.OwnMongod(t)
	w := testenv.Open(t, server.URI, "holdfast_test")
	server.Kill()
	ctx, cancel := context.WithTimeout(w.Ctx(), time.Second)
	defer cancel()
	err := mongodb.Do(ctx, w.DB, func(ctx context.Context) error { return insert(ctx, w) })
	if !holdfast.HasCode(err, holdfast.CodeUnavailable) || strings.Contains(message(t, err), "Too many changes") ||
		w.Transactions(mongodb.Unavailable) != 1 {
		t.Errorf("answered %v, counted %d conflicts", err, w.Transactions(mongodb.Conflict))
	}
}

// A write that the server rejects because a string is in the field to be raised is not an outage: neither in the
// answer nor in the count of transactions.
func TestInTx_ARejectedWriteIsNoOutage(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	err := mongodb.Do(w.Ctx(), w.DB, func(ctx context.Context) error {
		_, err := w.DB.Collection("events").UpdateOne(ctx, bson.D{{Key: "_id", Value: event}},
			bson.D{{Key: "$inc", Value: bson.D{{Key: "name", Value: 1}}}})
		return err
	})
	if !holdfast.HasCode(err, holdfast.CodeUnavailable) || !strings.HasPrefix(message(t, err), "MongoDB rejected the request") ||
		w.Transactions(mongodb.Rejected) != 1 {
		t.Errorf("answered %v, counted %d outages", err, w.Transactions(mongodb.Unavailable))
	}
}
