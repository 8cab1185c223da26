package httpapi_test

import (
	"reflect"
	"testing"

	"github.com/holdfast-dev/holdfast/client"
)

func TestClient_WaitsForSeats(t *testing.T) {
	t.Parallel()
	s := openShop(t, passThrough)
	ctx := t.Context()
	event, user := s.createHouse(t)
	list, err := s.UpdateEvent(ctx, event.ID, client.EventChange{
		Waitlist: new(client.WaitlistIsOpen), WaitlistOfferSeconds: new(int64(600)), WaitlistFit: new(client.WaitlistIsStrict),
	})
	if err != nil || list.Waitlist != client.WaitlistIsOpen || list.WaitlistOfferSeconds != 600 ||
		list.WaitlistFit != client.WaitlistIsStrict || list.Waiting == nil || *list.Waiting != 0 {
		t.Fatalf("the event is %+v, %v", list, err)
	}
	guest := client.JoinRequest{EventID: event.ID, Holder: "guest 1", EntryWish: client.EntryWish{Seats: 1, Section: "pit"}}
	if _, err := s.JoinWaitlist(ctx, guest); !client.Is(err, client.SeatsStillAvailable) {
		t.Errorf("while there are seats: %v", err)
	}
	held, err := s.AcquireLock(ctx, client.LockRequest{EventID: event.ID, Holder: "owner", Section: "pit", Seats: pitOf(event)})
	if err != nil {
		t.Fatal(err)
	}
	data := client.ShopData{Reference: "w-1", Metadata: map[string]string{"a": "1"}}
	pit := client.JoinRequest{EventID: event.ID, UserID: user.ID, EntryWish: client.EntryWish{Seats: 1, Section: "pit"}, ShopData: data}
	first, err := s.JoinWaitlist(ctx, pit)
	if err != nil || first.Status != "WAITING" || first.Position != 1 || first.UserID != user.ID || first.Section != "pit" ||
		!reflect.DeepEqual(first.ShopData, data) {
		t.Fatalf("joined %+v, %v", first, err)
	}
	if again, err := s.JoinWaitlist(ctx, pit); err != nil || again.ID != first.ID {
		t.Errorf("again: %+v, %v", again, err)
	}
	pit.Seats = 2
	if _, err := s.JoinWaitlist(ctx, pit); !client.Is(err, client.EntryExists) {
		t.Errorf("another wish: %v", err)
	}
	second, err := s.JoinWaitlist(ctx, guest)
	if err != nil || second.Position != 2 || second.Holder != "guest 1" {
		t.Errorf("joined %+v, %v", second, err)
	}
	if _, err := s.DeclineEntry(ctx, first.ID); !client.Is(err, client.NotOffered) {
		t.Errorf("declined while waiting: %v", err)
	}
	if _, err := s.ReleaseLock(ctx, held.ID); err != nil {
		t.Fatal(err)
	}
	s.endsOffers(t, event.ID, first.ID, second.ID)
	if _, err := s.UpdateEvent(ctx, event.ID, client.EventChange{Waitlist: new(client.WaitlistIsClosed)}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.JoinWaitlist(ctx, guest); !client.Is(err, client.WaitlistClosed) {
		t.Errorf("closed: %v", err)
	}
}

// endsOffers finds the offers of two entries, the second of which is of guest 1, and ends both.
func (s *shop) endsOffers(t *testing.T, event, first, second string) {
	t.Helper()
	ctx := t.Context()
	offered, err := s.GetEntry(ctx, first)
	if err != nil || offered.Status != "OFFERED" || offered.LockID == "" || offered.Position != 0 {
		t.Errorf("the entry is %+v, %v", offered, err)
	}
	if lock, err := s.GetLock(ctx, offered.LockID); err != nil || lock.WaitlistEntryID != first || lock.Section() != "pit" {
		t.Errorf("the offer is %+v, %v", lock, err)
	}
	var listed []string
	for e, err := range s.ListEntries(ctx, event, client.EntryFilter{Status: new("OFFERED")}) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, e.ID)
	}
	if !reflect.DeepEqual(listed, []string{first, second}) {
		t.Errorf("listed %v", listed)
	}
	for e, err := range s.ListEntries(ctx, event, client.EntryFilter{Holder: new("guest 1")}) {
		if err != nil || e.ID != second {
			t.Errorf("listed %+v, %v", e, err)
		}
	}
	if declined, err := s.DeclineEntry(ctx, first); err != nil || declined.Status != "DECLINED" {
		t.Errorf("declined %+v, %v", declined, err)
	}
	if left, err := s.LeaveWaitlist(ctx, second); err != nil || left.Status != "LEFT" {
		t.Errorf("left %+v, %v", left, err)
	}
	if _, err := s.GetEntry(ctx, someID); !client.Is(err, client.EntryNotFound) {
		t.Errorf("no entry: %v", err)
	}
}

// pitOf is the capacity of the only area of general admission.
func pitOf(event client.Event) int64 { return event.Sections[0].Capacity }
