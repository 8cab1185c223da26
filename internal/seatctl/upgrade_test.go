package seatctl_test

import (
	"context"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// connectAsFormer opens a connection like those of the former version.
func connectAsFormer(t *testing.T, w *testenv.Env) (disconnect func()) {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI(w.URI).SetAppName("holdfast:" + w.DB.Name()))
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Ping(w.Ctx(), nil); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := client.Disconnect(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

func TestUpgrade_StatusAndFinish(t *testing.T) {
	t.Parallel()
	w := testenv.NewShared(t)
	w.Acquire(w.Event(10), 1, testenv.Soon())
	step := func(what, in string, wantCode int, wantText string, args ...string) {
		t.Helper()
		code, out, errs := ctl(w, in, append([]string{"upgrade"}, args...)...)
		if all := strings.Join(strings.Fields(out+errs), " "); code != wantCode || !strings.Contains(all, wantText) {
			t.Errorf("%s: code %d, want %d and %q:\n%s%s", what, code, wantCode, wantText, out, errs)
		}
	}
	step("running", "", 0, "running: processes of both versions", "status")
	step("no former process", "", 0, "no connection is seen", "status")
	disconnect := connectAsFormer(t, w)
	step("a former process", "", 0, "connected from 127.0.0.1:", "status")
	step("a former process", "yes\n", 1, "nothing was changed: processes of the former version are connected", "finish")
	step("a former process, without asking", "", 1, "nothing was changed", "finish", "--yes")
	disconnect()
	testenv.WaitFor(t, func() bool {
		addresses, known, err := w.DB.FormerConnections(w.Ctx())
		return err == nil && known && len(addresses) == 0
	})
	step("not confirmed", "no\n", 1, "nothing was changed: answer yes, or use --yes", "finish")
	step("still running", "", 0, "running: processes of both versions", "status")
	step("confirmed", "yes\n", 0, "The upgrade is finished.", "finish")
	step("finished", "", 0, "finished", "status")
	step("again", "", 0, "The upgrade is finished already.", "finish", "--yes")
	step("an unknown command", "", 2, "unexpected argument begin", "begin")
}

// A new database needs no upgrade.
func TestUpgrade_NewDatabaseIsFinished(t *testing.T) {
	t.Parallel()
	code, out, errs := ctl(testenv.New(t), "", "upgrade", "finish")
	if code != 0 || !strings.Contains(out, "The upgrade is finished already.") {
		t.Errorf("code %d: %s%s", code, out, errs)
	}
}
