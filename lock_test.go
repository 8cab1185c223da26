package holdfast_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
)

var now = time.Date(2030, time.March, 4, 5, 6, 7, 0, time.UTC)

func TestLockStatus_EveryPairIsAllowedOrRefusedAsTheContractSays(t *testing.T) {
	allowed := map[holdfast.LockStatus]map[holdfast.LockAction]holdfast.LockStatus{
		"ACTIVE":   {"consume": "CONSUMED", "release": "RELEASED", "expire": "EXPIRED"},
		"CONSUMED": {"release": "RELEASED"},
		"EXPIRED":  {},
		"RELEASED": {},
	}
	if len(holdfast.LockStatuses()) != len(allowed) {
		t.Fatalf("%d statuses, want %d", len(holdfast.LockStatuses()), len(allowed))
	}
	for _, from := range append([]holdfast.LockStatus{"", "BROKEN"}, holdfast.LockStatuses()...) {
		for _, action := range []holdfast.LockAction{holdfast.ConsumeLock, holdfast.ReleaseLock, holdfast.ExpireLock, "break"} {
			t.Run(fmt.Sprintf("%s a lock that is %s", action, from), func(t *testing.T) {
				want, ok := allowed[from][action]
				if got, gotOK := from.Next(action); got != want || gotOK != ok {
					t.Errorf("got %q, %v; want %q, %v", got, gotOK, want, ok)
				}
			})
		}
	}
}

// A lock takes seats in each status that can be released.
func TestTakingStatuses_CanBeReleased(t *testing.T) {
	for _, status := range holdfast.LockStatuses() {
		t.Run(string(status), func(t *testing.T) {
			if _, ok := status.Next(holdfast.ReleaseLock); ok != slices.Contains(holdfast.TakingStatuses(), status) {
				t.Errorf("can be released: %v", ok)
			}
		})
	}
}

func TestLock_IsDueAtItsExpiry(t *testing.T) {
	for name, row := range map[string]struct {
		expires time.Time
		want    bool
	}{
		"an hour ago":        {now.Add(-time.Hour), true},
		"now":                {now, true},
		"in a millisecond":   {now.Add(time.Millisecond), false},
		"no time was stored": {time.Time{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (holdfast.Lock{ExpiresAt: row.expires}).Due(now); got != row.want {
				t.Errorf("due: %v, want %v", got, row.want)
			}
		})
	}
}

func TestLock_EndedSaysWhy(t *testing.T) {
	soon, past := now.Add(time.Minute), now
	for _, row := range []struct {
		status  holdfast.LockStatus
		expires time.Time
		want    holdfast.Code
	}{
		{"ACTIVE", soon, ""}, {"ACTIVE", past, holdfast.CodeLockExpired},
		{"CONSUMED", soon, holdfast.CodeLockConsumed}, {"CONSUMED", past, holdfast.CodeLockConsumed},
		{"RELEASED", soon, holdfast.CodeLockReleased}, {"RELEASED", past, holdfast.CodeLockReleased},
		{"EXPIRED", soon, holdfast.CodeLockExpired}, {"EXPIRED", past, holdfast.CodeLockExpired},
		{"BROKEN", soon, holdfast.CodeLockExpired},
	} {
		t.Run(fmt.Sprintf("%s, expires %v", row.status, row.expires), func(t *testing.T) {
			err := holdfast.Lock{Status: row.status, ExpiresAt: row.expires}.Ended(now)
			if holdfast.CodeOf(err) != row.want || (err == nil) != (row.want == "") {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}

func TestLockRequest_MadeTellsRequestsApart(t *testing.T) {
	request := holdfast.LockRequest{Seats: 2, Until: holdfast.Until{For: time.Minute}, Key: "key"}
	made := holdfast.Lock{Seats: 2, RequestHash: request.Hash()}
	for _, row := range []struct {
		name   string
		change func(*holdfast.LockRequest, *holdfast.Lock)
		want   bool
	}{
		{"the same", func(*holdfast.LockRequest, *holdfast.Lock) {}, true},
		{"other seats", func(r *holdfast.LockRequest, _ *holdfast.Lock) { r.Seats = 3 }, false},
		{"another duration", func(r *holdfast.LockRequest, _ *holdfast.Lock) { r.Until.For = time.Hour }, false},
		{"another time", func(r *holdfast.LockRequest, _ *holdfast.Lock) { r.Until.At = now }, false},
		{"no time", func(r *holdfast.LockRequest, _ *holdfast.Lock) { r.Until = holdfast.Until{} }, false},
		{"another time zone", func(r *holdfast.LockRequest, l *holdfast.Lock) {
			r.Until = holdfast.Until{At: now}
			l.RequestHash = r.Hash()
			r.Until.At = now.In(time.FixedZone("far", 3600))
		}, true},
		{"the lock's seats have changed since", func(_ *holdfast.LockRequest, l *holdfast.Lock) { l.Seats = 9 }, true},
		{"no hash, the same seats", func(_ *holdfast.LockRequest, l *holdfast.Lock) { l.RequestHash = "" }, true},
		{"no hash, other seats", func(_ *holdfast.LockRequest, l *holdfast.Lock) { l.RequestHash, l.Seats = "", 1 }, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			r, l := request, made
			row.change(&r, &l)
			if got := r.Made(l); got != row.want {
				t.Errorf("made: %v, want %v", got, row.want)
			}
		})
	}
}

// After an upgrade, the hash of a request must be the stored one.
func TestLockRequest_HashStaysTheSame(t *testing.T) {
	for _, row := range []struct {
		name    string
		request holdfast.LockRequest
		want    string
	}{
		{"empty", holdfast.LockRequest{}, "c80d87985e80f363c17347ff4893465d"},
		{"a duration", holdfast.LockRequest{Seats: 2, Until: holdfast.Until{For: 90 * time.Second}}, "0ec8fd2cfd73ac4446f3d208ef72a051"},
		{"a time", holdfast.LockRequest{Seats: 2, Until: holdfast.Until{At: now}}, "769a6290c12a3658197d8c3b5b34be19"},
		{"named seats, in any order", holdfast.LockRequest{Seats: 2, Wish: holdfast.Wish{SeatIDs: []string{"A-1-2", "A-1-1"}, Accessible: 1}},
			"3a6e6412fb8d42e5f5bae73cd04fe3cc"},
		{"general admission", holdfast.LockRequest{Seats: 3, Wish: holdfast.Wish{Section: `floor "left"`}}, "2bfab61e846e24408cc939d49a3918aa"},
		{"best available", holdfast.LockRequest{Seats: 2, Wish: holdfast.Wish{Best: &holdfast.BestAvailable{
			Categories: []string{"best", "good"}, Section: "A", Accessible: 1, Required: true}}}, "69b4b700c64f49e876158f8257765331"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := row.request.Hash(); got != row.want {
				t.Errorf("the hash is %s, want %s", got, row.want)
			}
		})
	}
}
