package httpapi_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/client"
)

func TestClient_KeepsReferencesAndMetadata(t *testing.T) {
	t.Parallel()
	s := openShop(t, passThrough)
	ctx := t.Context()
	given := client.ShopData{Reference: "A", Metadata: map[string]string{"a": "1", "b": ""}}
	want := func(what string, got, want client.ShopData, err error) {
		t.Helper()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", what, got, err, want)
		}
	}
	event, err := s.CreateEvent(ctx, client.NewEvent{Name: "E", TotalSeats: 10, EventDate: time.Now(), ShopData: given})
	want("event", event.ShopData, given, err)
	user, err := s.CreateUser(ctx, "Ada", "ada@example.com")
	if err != nil {
		t.Fatal(err)
	}
	lock, err := s.AcquireLock(ctx, client.LockRequest{EventID: event.ID, UserID: user.ID, Seats: 1, ShopData: given})
	want("lock", lock.ShopData, given, err)
	own := client.ShopData{Reference: "B"}
	booking, err := s.CreateBooking(ctx, client.BookingRequest{EventID: event.ID, UserID: user.ID, LockID: lock.ID, ShopData: own})
	want("booking", booking.ShopData, client.ShopData{Reference: "B", Metadata: given.Metadata}, err)

	merged := client.ShopData{Reference: "C", Metadata: map[string]string{"a": "2"}}
	change := client.ShopDataChange{Reference: new("C"), Metadata: map[string]*string{"a": new("2"), "b": nil}}
	event, err = s.UpdateEvent(ctx, event.ID, client.EventChange{Name: new("F"), ShopDataChange: change})
	if want("event changed", event.ShopData, merged, err); event.Name != "F" {
		t.Errorf("%+v", event)
	}
	lock, err = s.UpdateLock(ctx, lock.ID, change)
	want("lock changed", lock.ShopData, merged, err)
	booking, err = s.InEvent(event.ID).UpdateBooking(ctx, booking.ID, change)
	want("booking changed", booking.ShopData, merged, err)
	for what, filter := range map[string]client.Filter{"A": {Reference: new("A")}, "C": {Reference: new("C"), UserID: &user.ID}} {
		n := 0
		for l, err := range s.ListLocks(ctx, filter) {
			if n++; err != nil || l.ID != lock.ID {
				t.Errorf("%+v, %v", l, err)
			}
		}
		for b, err := range s.ListBookings(ctx, filter) {
			if n++; err != nil || b.ID != booking.ID {
				t.Errorf("%+v, %v", b, err)
			}
		}
		if isFound := n == 2; isFound != (what == "C") {
			t.Errorf("%d have the reference %s", n, what)
		}
	}

	lock, err = s.UpdateLock(ctx, lock.ID, client.ShopDataChange{})
	want("lock not changed", lock.ShopData, merged, err)
	lock, err = s.UpdateLock(ctx, lock.ID, client.ShopDataChange{Reference: new("")})
	want("without a reference", lock.ShopData, client.ShopData{Metadata: merged.Metadata}, err)
	lock, err = s.UpdateLock(ctx, lock.ID, client.ShopDataChange{WithoutMetadata: true, Metadata: map[string]*string{}})
	want("with neither", lock.ShopData, client.ShopData{}, err)
	if _, err = s.UpdateLock(ctx, lock.ID, client.ShopDataChange{Reference: new("A\n")}); !client.Is(err, client.ValidationFailed) {
		t.Error(err)
	}
}

// The client refuses to remove and to set metadata in one change, which the API can't say.
func TestClient_RefusesToRemoveAndSetMetadata(t *testing.T) {
	t.Parallel()
	s := openShop(t, passThrough)
	ctx := t.Context()
	given := client.ShopData{Reference: "A", Metadata: map[string]string{"a": "1"}}
	event, err := s.CreateEvent(ctx, client.NewEvent{Name: "E", TotalSeats: 10, EventDate: time.Now(), ShopData: given})
	if err != nil {
		t.Fatal(err)
	}
	both := client.ShopDataChange{WithoutMetadata: true, Metadata: map[string]*string{"b": new("2")}}
	_, lockErr := s.UpdateLock(ctx, event.ID, both)
	_, bookingErr := s.UpdateBooking(ctx, event.ID, both)
	_, eventErr := s.UpdateEvent(ctx, event.ID, client.EventChange{Name: new("F"), ShopDataChange: both})
	for what, err := range map[string]error{"lock": lockErr, "booking": bookingErr, "event": eventErr} {
		if err == nil || client.CodeOf(err) != "" {
			t.Errorf("metadata is removed and set, of the %s: %v", what, err)
		}
	}
	if event, err = s.GetEvent(ctx, event.ID); err != nil || event.Name != "E" || !reflect.DeepEqual(event.ShopData, given) {
		t.Errorf("the event is %+v, %v", event, err)
	}
}

// Changes have the reference and the metadata, as the routes answer them.
func TestClient_ChangesHaveReferencesAndMetadata(t *testing.T) {
	t.Parallel()
	s := openShop(t, passThrough)
	event, user := s.createSale(t)
	given := client.ShopData{Reference: "A", Metadata: map[string]string{"a": "1"}}
	lock, err := s.AcquireLock(t.Context(), client.LockRequest{EventID: event.ID, UserID: user.ID, Seats: 1, ShopData: given})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.env.Changes.Number(t.Context()); err != nil {
		t.Fatal(err)
	}
	found, _, err := s.ListChanges(t.Context(), "", client.ChangeFilter{Type: "holdfast.lock.*"})
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	var data client.Lock
	if err := json.Unmarshal(found[0].Data, &data); err != nil || data.ID != lock.ID || !reflect.DeepEqual(data.ShopData, given) ||
		strings.Contains(string(found[0].Data), lock.IdempotencyKey) {
		t.Errorf("told %s", found[0].Data)
	}
}
