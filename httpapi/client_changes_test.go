package httpapi_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/client"
)

// A token goes on where the last page ended, also after the last one.
func TestClient_FollowsChanges(t *testing.T) {
	t.Parallel()
	s := openShop(t, passThrough)
	ctx := t.Context()
	event, user := s.createHouse(t)
	token := ""
	// next waits until the changes have their numbers.
	next := func(f client.ChangeFilter, wants ...string) (found []client.Change) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); len(found) < len(wants) && time.Now().Before(deadline); {
			page, after, err := s.ListChanges(ctx, token, f)
			if err != nil {
				t.Fatal(err)
			}
			found, token = append(found, page...), after
			if _, err := s.env.Changes.Number(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if len(found) != len(wants) {
			t.Fatalf("got %+v, want %v", found, wants)
		}
		for i, want := range wants {
			if found[i].Type != want {
				t.Errorf("change %d is %+v, want %s", i, found[i], want)
			}
		}
		return found
	}
	next(client.ChangeFilter{}, "holdfast.seating_plan.created", "holdfast.event.created")
	lock, err := s.AcquireLock(ctx, client.LockRequest{EventID: event.ID, UserID: user.ID, SeatIDs: []string{"A-1-1"}})
	if err != nil {
		t.Fatal(err)
	}
	found := next(client.ChangeFilter{EventID: event.ID, Type: "holdfast.lock.*"}, "holdfast.lock.created")
	var data client.Lock
	if err := json.Unmarshal(found[0].Data, &data); err != nil || data.ID != lock.ID || found[0].Subject != "locks/"+lock.ID {
		t.Errorf("the change is %+v with %+v: %v", found[0], data, err)
	}
	token = ""
	history := client.ChangeFilter{
		EventID: event.ID, Subjects: []string{found[0].Subject, "bookings/" + lock.ID},
		Since: lock.CreatedAt, Until: lock.CreatedAt.Add(time.Hour),
	}
	next(history, "holdfast.lock.created")
	if late, _, err := s.ListChanges(ctx, "", client.ChangeFilter{Since: time.Now().Add(time.Hour)}); err != nil || len(late) > 0 {
		t.Errorf("in an hour there were %+v, %v", late, err)
	}
	if _, _, err := s.ListChanges(ctx, "x", client.ChangeFilter{}); !client.Is(err, client.ValidationFailed) {
		t.Errorf("a token of another kind: %v", err)
	}
}
