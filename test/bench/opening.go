package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// openingDelay is how long clients ask for seats before the sale opens.
const openingDelay = 2 * time.Second

// saleOpens measures the opening of a sale that clients wait for: each asks for a seat without a pause, through one of two
// processes, until it has one. A latency is the time from the opening to the answer. It is an error if a lock was made before.
func saleOpens(s settings) []*result {
	row := httpRow{variant: engineName, load: clientsLoad(pollers), processes: 2, seats: ampleSeats}
	row.run = func(ctx context.Context, t target) (m measurement, err error) {
		now, err := t.DB.Now(ctx)
		if err != nil {
			return m, err
		}
		opensAt := now.Add(openingDelay)
		if _, err := t.Seats.UpdateEvent(ctx, t.event, holdfast.EventChange{SaleStartsAt: &opensAt}); err != nil {
			return m, err
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		var mu sync.Mutex
		var clients sync.WaitGroup
		for i, server := range t.servers {
			to := connectTo(server.address, pollers)
			defer to.CloseIdleConnections()
			for c := range pollers / len(t.servers) {
				clients.Go(func() {
					for n, granted := 0, false; !granted && ctx.Err() == nil; n++ {
						var err error
						if granted, err = to.postLock("/api/locks", t.event, t.user.ID, fmt.Sprint(i, "-", requestKey(c, n)), `"seats":1`); err != nil {
							cancel(err)
							return
						}
						if granted {
							mu.Lock()
							m.Granted, m.latencies = m.Granted+1, append(m.latencies, wallClock().Sub(opensAt))
							mu.Unlock()
						}
					}
				})
			}
		}
		clients.Wait()
		if err := context.Cause(ctx); err != nil {
			return m, err
		}
		m.Seconds = m.quantile(1).Seconds()
		return m, m.noteFirstLock(ctx, t, opensAt)
	}
	return []*result{overHTTP(s, row)}
}

// noteFirstLock notes how soon after the opening the first lock was made, by the database's clock.
func (m *measurement) noteFirstLock(ctx context.Context, t target, opensAt time.Time) error {
	first, _, err := mongodb.First[struct {
		CreatedAt time.Time `bson:"createdAt"`
	}](ctx, t.DB.Collection("seatlocks"), mongo.Pipeline{mongodb.Sort("createdAt")})
	after := first.CreatedAt.Sub(opensAt)
	m.addNote("the first lock after %d ms", after.Milliseconds())
	if err == nil && after < 0 {
		err = fmt.Errorf("a lock was made %v before the sale opened", -after)
	}
	return err
}
