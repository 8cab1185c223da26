package httpapi

import (
	"log/slog"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// A search by name reads many users, and the overview of every console does not wait for it.
func TestSearch_ByNameAndOverviewDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	_, a := newAPI(Services{
		Users: env.Users, Overview: env.Store, Log: slog.New(slog.DiscardHandler), Clock: mongodb.SystemTime, Metrics: telemetry.NewMetrics(),
	})
	if _, err := env.Users.CreateUser(env.Ctx(), "Ada", "ada@example.com"); err != nil {
		t.Fatal(err)
	}
	a.overviewSemaphore <- struct{}{}
	if hits, _, err := a.findByName(env.Ctx(), "ada"); err != nil || len(hits) != 1 {
		t.Errorf("with an overview in progress: %v %v", hits, err)
	}
	<-a.overviewSemaphore
	a.searchSemaphore <- struct{}{}
	if _, err := a.overview(env.Ctx(), &overviewQuery{PageSize: 1}); err != nil {
		t.Errorf("with a search in progress: %v", err)
	}
}
