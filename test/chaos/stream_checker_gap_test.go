package chaos_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/devserver"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// The checker hears all changes also if there is no primary for longer than the driver waits for
// one.
func TestStreamChecker_GoesOnAfterALongTimeWithoutAPrimary(t *testing.T) {
	t.Parallel()
	set, err := devserver.StartReplicaSet(t.Context(), devserver.MongodOptions{Progress: os.Stderr}, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(set.Stop)
	env := testenv.Open(t, set.URI, "checker")
	ctx, end := context.WithCancel(t.Context())
	s := startStreamChecker(ctx, t, env)
	event := env.Event(10)
	set.Members[0].Kill()
	delay(ctx, 7*time.Second) // The driver waits for 5 s.
	if err := set.Members[0].Restart(); err != nil {
		t.Fatal(err)
	}
	poll(answerTimeout, 100*time.Millisecond, func() bool { return env.DB.Client().Ping(ctx, nil) == nil })
	env.Acquire(event, 2, testenv.Soon())
	s.catchUp(ctx, env)
	for _, v := range s.takeViolations() {
		t.Error(v)
	}
	if !s.wasCommitted(event, availability{Total: 10, Available: 10}) || !s.wasCommitted(event, availability{Total: 10, Available: 8}) {
		t.Error("a committed state was not heard")
	}
	end()
	<-s.done
}
