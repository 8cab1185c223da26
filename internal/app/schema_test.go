package app

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// connect opens a process on a test's database, with leases in MongoDB.
func connect(t *testing.T, w *testenv.Env) *App {
	t.Helper()
	c, err := config.Parse("test", "", []string{"--mongodb-uri", w.URI, "--mongodb-database", w.DB.Name(), "--job-leases", "mongo"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := Connect(t.Context(), c, slog.New(w.Log))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return a
}

func look(t *testing.T, a *App) {
	t.Helper()
	if err := a.lookAtSchema(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestStateOfSchema(t *testing.T) {
	t.Parallel()
	const missing = "2 indexes or validators missing; the log says which and what to do"
	for want, c := range map[string]struct {
		gaps    int
		foreign string
	}{
		"ok":                                  {0, ""},
		missing:                               {2, ""},
		missing + "; a":                       {2, "a"},
		"a; b; c":                             {0, "a b c"},
		"a; b; c; 2 more; the log says which": {0, "a b c d e"},
	} {
		if got := stateOfSchema(c.gaps, strings.Fields(c.foreign)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Every process tells of what other software has set up, and none needs a lease for it.
func TestReady_TellsOfForeignSetups(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	w.ForeignIndex("seatlocks", "bookingId")
	for process := range 2 {
		a := connect(t, w)
		a.Boot(t.Context())
		ready := a.Ready(t.Context())
		if state := ready.Checks["schema"]; !ready.Degraded || !strings.Contains(state, `drop it by db.seatlocks.dropIndex("theirs")`) {
			t.Errorf("%+v", ready)
		}
		look(t, a)
		if lines := w.Log.Lines("ERROR"); len(lines) != process+1 {
			t.Errorf("process %d: %q", process, lines)
		}
	}
	if n, err := w.DB.Collection("jobruns").CountDocuments(t.Context(), bson.D{{Key: "job", Value: "schema"}}); err != nil || n > 0 {
		t.Errorf("%d runs made the schema, %v", n, err)
	}
	a := connect(t, w)
	a.Boot(t.Context())
	if err := w.DB.Collection("seatlocks").Indexes().DropOne(t.Context(), "theirs"); err != nil {
		t.Fatal(err)
	}
	look(t, a)
	if ready := a.Ready(t.Context()); ready.Degraded || ready.Checks["schema"] != schemaOK {
		t.Errorf("after the operator has dropped it: %+v", ready)
	}
}

// MongoDB rejects all leases. The schema is made all the same, and the log says once that the others wait.
func TestBoot_MakesTheSchemaAlthoughLeasesAreRejected(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	const lockKey = "hf_eventId_userId_idempotencyKey_unique_if_idempotencyKey"
	if err := w.DB.Collection("seatlocks").Indexes().DropOne(t.Context(), lockKey); err != nil {
		t.Fatal(err)
	}
	w.Command(bson.D{{Key: "collMod", Value: "jobleases"}, {Key: "validator", Value: bson.D{{Key: "never", Value: 1}}}})
	a := connect(t, w)
	ctx, cancel := context.WithCancel(t.Context())
	booted := make(chan struct{})
	go func() {
		a.Boot(ctx)
		close(booted)
	}()
	testenv.WaitFor(t, func() bool { return a.boot.schema.Load() != nil && len(w.Log.Lines("DEBUG Lease unavailable")) > 2 })
	cancel()
	<-booted
	specs, err := w.DB.Collection("seatlocks").Indexes().ListSpecifications(t.Context())
	isKey := func(s mongo.IndexSpecification) bool { return s.Name == lockKey }
	if err != nil || !slices.ContainsFunc(specs, isKey) {
		t.Errorf("the index is missing: %v", err)
	}
	ready := a.Ready(t.Context())
	if state := ready.Checks["schema"]; !ready.Degraded || !strings.HasPrefix(state, "jobleases has a validator that is not Holdfast's") {
		t.Errorf("%+v", ready)
	}
	if lines := w.Log.Lines("WARN Lease unavailable"); len(lines) != 2 { // of the schema, and of recovery
		t.Errorf("%q", lines)
	}
}
