package inventory_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// The time that the decision of a batch of 256 requests costs.
func BenchmarkDecide(b *testing.B) {
	const requests = 256
	now := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	rules := inventory.Rules{DefaultLockTTL: 10 * time.Minute, MaxLockTTL: 2 * time.Hour}
	id := func(n int) (id holdfast.ID) {
		copy(id[:], fmt.Sprintf("%012d", n))
		return id
	}
	for name, available := range map[string]int64{"granted": 1 << 40, "sold out": 0} {
		event := &inventory.Event{
			Event: holdfast.Event{ID: id(0), TotalSeats: 1 << 40, AvailableSeats: available, Status: holdfast.OnSale},
		}
		read := inventory.State{Event: event, Now: now, Held: true, Keys: map[inventory.UserKey]*inventory.Lock{}, Due: &[]inventory.Lock{}}
		for _, keyed := range []bool{false, true} {
			commands := make([]inventory.Command, requests)
			for i := range commands {
				a := inventory.Acquire{LockID: id(i), LockRequest: holdfast.LockRequest{EventID: id(0), UserID: id(i), Seats: 1}}
				if keyed {
					a.Key = fmt.Sprint("cart-", i)
					read.Keys[inventory.UserKey{User: a.UserID, Key: a.Key}] = nil
				}
				commands[i] = a
			}
			for state, s := range map[string]inventory.State{"remembered": {Event: event}, "read": read} {
				b.Run(fmt.Sprintf("%s/%s/keys=%v", name, state, keyed), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						inventory.Decide(s, commands, rules)
					}
				})
			}
		}
	}
}
