package seats_test

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// A write of an event is answered by the truth whatever command of it fails, and however:
// UNAVAILABLE means that nothing was done, and a commit that may be done is OUTCOME_UNKNOWN.
func TestEventWrites_AnswerTheTruthWhateverFails(t *testing.T) {
	t.Parallel()
	server := testenv.Open(t, testenv.OwnServer(t), "holdfast_test")
	w := testenv.Open(t, server.URI, "holdfast_test", func(o *mongodb.Options) { o.CommitTimeout = 300 * time.Millisecond })
	event := server.Event(10)
	for operation, commands := range map[string][]string{
		"create": {"insert", "commitTransaction"}, "update": {"findAndModify", "update", "aggregate", "commitTransaction"},
	} {
		for _, command := range commands {
			for name, failure := range writeFailures() {
				t.Run(operation+"/"+command+"/"+name, func(t *testing.T) {
					id := mongodb.NewID()
					write := func(ctx context.Context) error {
						if operation == "create" {
							n := holdfast.NewEvent{ID: id, Name: id.String(), TotalSeats: 5}
							_, _, err := w.Seats.CreateEventOnce(ctx, n, holdfast.CreationKey{Key: id.String()})
							return err
						}
						_, err := w.Seats.UpdateEvent(ctx, event, holdfast.EventChange{Name: new(id.String())})
						return err
					}
					impatient, cancel := context.WithTimeout(w.Ctx(), time.Second)
					defer cancel()
					off := server.FailCommands(command, "alwaysOn", failure)
					err := write(impatient)
					off()
					done, countErr := server.DB.Collection("events").CountDocuments(t.Context(), bson.D{{Key: "name", Value: id.String()}})
					code := holdfast.CodeOf(err)
					switch {
					case countErr != nil:
						t.Fatal(countErr)
					case err == nil && done == 0, code == holdfast.CodeUnavailable && done > 0,
						err != nil && code != holdfast.CodeUnavailable && code != holdfast.CodeOutcomeUnknown:
						t.Errorf("answered %v; it was done: %v", err, done > 0)
					case name == "interrupted" && err == nil:
						t.Errorf("no command %s was sent, so that this test shows nothing", command)
					case command == "commitTransaction" && code != holdfast.CodeOutcomeUnknown:
						t.Errorf("answered %v to a commit that has no outcome; it was done: %v", err, done > 0)
					}
					// A commit without an answer leaves a transaction open; this ends it after a while.
					if err := write(w.Ctx()); err != nil {
						t.Errorf("asked again: %v", err)
					}
				})
			}
		}
	}
	testenv.CheckInvariants(t, server.DB.Database)
}

// writeFailures are how a command can fail: it is done and not known to be at the majority, it is
// not done, or there is no answer.
func writeFailures() map[string]bson.D {
	failures := map[string]bson.D{
		"interrupted": {{Key: "errorCode", Value: 11601}}, "out of time": {{Key: "errorCode", Value: 50}},
		"no answer": {{Key: "closeConnection", Value: true}},
	}
	for name, code := range map[string]int{
		"not waited": 64, "no such write concern": 79, "majority unreachable": 100, "stepped down": 189,
	} {
		failures[name] = bson.D{{Key: "writeConcernError", Value: bson.D{{Key: "code", Value: code}, {Key: "errmsg", Value: "staged"}}}}
	}
	return failures
}
