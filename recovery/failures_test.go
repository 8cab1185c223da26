package recovery_test

import (
	"errors"
	"log/slog"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/recovery"
)

// Changes of sold locks fail, and no document is the cause. The pass goes on if the database answers,
// and ends with the error if it does not.
func TestRun_FailuresEndAPassOnlyIfTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	control := testenv.Open(t, testenv.OwnServer(t), "holdfast_test_control")
	const sales, failures = 20, 12
	recoverWith := func(t *testing.T, database, commands string, mode any) (*testenv.Env, recovery.Report, error) {
		t.Helper()
		w := testenv.Open(t, control.URI, database)
		event := w.Event(100)
		for range sales {
			b := w.Book(w.Acquire(event, 1, testenv.Soon()), testenv.Soon())
			if _, err := w.Bookings.ConfirmBooking(w.Ctx(), b.ID, holdfast.Charge{}); err != nil {
				t.Fatal(err)
			}
			w.Set("seatlocks", b.LockID, bson.D{{Key: "status", Value: "ACTIVE"}})
		}
		const outOfDiskSpace = 14031
		off := control.FailCommands(commands, mode,
			bson.D{{Key: "errorCode", Value: outOfDiskSpace}, {Key: "appName", Value: "holdfast:" + database}})
		defer off()
		report, err := w.Recovery.Run(w.Ctx(), "run", slog.New(w.Log))
		return w, report, err
	}
	t.Run("it answers", func(t *testing.T) {
		w, report, err := recoverWith(t, "holdfast_test_answers", "update", bson.D{{Key: "times", Value: failures}})
		// MongoDB counts the failures only after it began them: commands at the same time can fail, too.
		if !errors.Is(err, recovery.ErrLeftOver) || report.Errors < failures ||
			report.Consumed == 0 || report.Consumed != sales-report.Errors || report.Checked != 1 {
			t.Errorf("%+v, %v; want at least %d errors, and the rest of the pass", report, err, failures)
		}
		if next := w.Recover(); next.Consumed != report.Errors {
			t.Errorf("the next pass: %+v", next)
		}
	})
	t.Run("it is away", func(t *testing.T) {
		_, report, err := recoverWith(t, "holdfast_test_away", "update hello", "alwaysOn")
		if err == nil || errors.Is(err, recovery.ErrLeftOver) || report.Checked != 0 {
			t.Errorf("%+v, %v; want the pass to end with the error", report, err)
		}
	})
}
