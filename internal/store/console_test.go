package store_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// An index serves each look-up of the console: it reads no document that it does not return.
func TestConsole_LookUpsReadAnIndex(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	sold := w.Event(100)
	for range 5 {
		b := w.Book(w.Acquire(sold, 2, testenv.Soon()), testenv.Soon())
		if _, err := w.Bookings.ConfirmBooking(w.Ctx(), b.ID, holdfast.Charge{Reference: "pay-" + b.ID.String()}); err != nil {
			t.Fatal(err)
		}
	}
	var sent bson.Raw
	watching := watched(t, w, &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
		if e.CommandName == "aggregate" {
			sent = append(bson.Raw{}, e.Command...)
		}
	}})
	for name, c := range map[string]struct {
		ask   func() error
		index string
		reads int64
	}{
		"bookings by reference": {func() error {
			_, err := watching.Store.BookingsByReference(w.Ctx(), "pay-none", 10)
			return err
		}, "hf_paymentReference__id_if_paymentReference", 0},
		"sales": {func() error {
			_, err := watching.Store.SalesOf(w.Ctx(), sold, "day", time.Hour, 10)
			return err
		}, "hf_eventId_status__id_seats", 0},
	} {
		t.Run(name, func(t *testing.T) {
			if err := c.ask(); err != nil {
				t.Fatal(err)
			}
			plan, reads := explain(t, w, sent)
			if !strings.Contains(plan, `"indexName": "`+c.index+`"`) && !strings.Contains(plan, `"indexName":"`+c.index+`"`) || reads != c.reads {
				t.Errorf("%d documents were read, want %d by %s: %s", reads, c.reads, c.index, plan)
			}
		})
	}
}

// explain runs an aggregation again, and returns its plan and how many documents it has read.
func explain(t *testing.T, w *env, command bson.Raw) (plan string, reads int64) {
	t.Helper()
	again := bson.D{}
	for _, field := range []string{"aggregate", "pipeline", "cursor"} {
		again = append(again, bson.E{Key: field, Value: command.Lookup(field)})
	}
	answer, err := w.DB.RunCommand(w.Ctx(), bson.D{{Key: "explain", Value: again}, {Key: "verbosity", Value: "executionStats"}}).Raw()
	if err != nil {
		t.Fatal(err)
	}
	stats, err := answer.LookupErr("executionStats")
	if err != nil {
		stats, err = answer.LookupErr("stages", "0", "$cursor", "executionStats")
	}
	if err != nil {
		t.Fatal(answer)
	}
	reads, _ = stats.Document().Lookup("totalDocsExamined").AsInt64OK()
	return answer.String(), reads
}
