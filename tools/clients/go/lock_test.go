// Package clients_test uses the Go client that scripts/clients generates from the OpenAPI
// document. It is a separate module, so the programs do not depend on the generator.
package clients_test

import (
	"context"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/oapi-codegen/runtime/types"

	"github.com/holdfast-dev/holdfast/tools/clients/go/api"
)

func TestGeneratedClient_AcquiresALock(t *testing.T) {
	ctx := t.Context()
	client, err := api.NewClientWithResponses(os.Getenv("HOLDFAST_URL"), api.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+os.Getenv("HOLDFAST_KEY"))
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	event, err := client.CreateEventWithResponse(ctx, nil, api.NewEvent{Name: "Go", TotalSeats: new(int64(3)), EventDate: time.Now().Add(time.Hour)})
	if err != nil || event.JSON201 == nil {
		t.Fatalf("%v %s", err, event.Body)
	}
	user, err := client.CreateUserWithResponse(ctx, nil, api.NewUser{Name: "Ada", Email: types.Email("go-" + event.JSON201.Id + "@example.com")})
	if err != nil || user.JSON201 == nil {
		t.Fatalf("%v %s", err, user.Body)
	}
	request := api.NewLock{EventId: event.JSON201.Id, UserId: &user.JSON201.Id, Seats: new(int64(2))}
	lock, err := client.AcquireLockWithResponse(ctx, nil, request)
	if err != nil || lock.JSON201 == nil || lock.JSON201.Status != api.LockStatusACTIVE || lock.JSON201.Seats != 2 {
		t.Fatalf("%v %s", err, lock.Body)
	}
	refused, err := client.AcquireLockWithResponse(ctx, nil, request)
	if err != nil || refused.ApplicationproblemJSONDefault == nil {
		t.Fatalf("%v %s", err, refused.Body)
	}
	problem := *refused.ApplicationproblemJSONDefault
	if problem.Code != api.SEATSUNAVAILABLE || problem.Available == nil || *problem.Available != 1 {
		t.Errorf("%+v", problem)
	}
	list, err := client.ListLocksWithResponse(ctx, &api.ListLocksParams{EventId: &event.JSON201.Id})
	if err != nil || list.JSON200 == nil || len(list.JSON200.Items) != 1 {
		t.Errorf("%v %s", err, list.Body)
	}
}
