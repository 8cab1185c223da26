package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/devserver"
	"github.com/holdfast-dev/holdfast/internal/ids"
)

func main() {
	ctx := context.Background()
	m, err := devserver.StartMongod(ctx, devserver.MongodOptions{Progress: os.Stderr})
	if err != nil {
		panic(err)
	}
	defer m.Stop()
	for _, clients := range []int{1, 8, 64, 256} {
		for _, name := range []string{"engine", "insertMany", "increment", "transaction", "mutex"} {
			w, err := newWorld(ctx, m.URI)
			if err != nil {
				panic(err)
			}
			ev, err := w.event(ctx, 10_000_000)
			if err != nil {
				panic(err)
			}
			var s side
			switch name {
			case "engine":
				s = engine{w.seats}
			case "insertMany":
				s = newInsertMany(ctx, w.db.Database)
			case "increment":
				s = increment{w.db.Database}
			case "transaction":
				s = transaction{w.db.Database}
			case "mutex":
				s = &mutex{transaction: transaction{w.db.Database}}
			}
			user := ids.New()
			r, err := closedLoop(ctx, clock.System, clients, 3*time.Second, 0, func(ctx context.Context, c, n int) (bool, error) {
				return s.lock(ctx, ev, user, 1, fmt.Sprintf("%d-%d", c, n))
			})
			fmt.Println(clients, name, int(r.perSecond()), r.quantile(.5), r.quantile(.99), r.quantile(.999), err)
			if err := w.close(ctx); err != nil {
				panic(err)
			}
		}
	}
}
