package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

const manyCount = 1000 // events

func manyEvents(s settings) (rows []*result) {
	for _, v := range s.addPostgres(completeVariants) {
		rows = append(rows, inProcess(s, v, mostClients, manyCount, ampleSeats))
	}
	return append(rows, manyByProcesses(s), hotAmongMany(s, 0), hotAmongMany(s, 8))
}

// manyByProcesses lets three engines, each with its own queue, memory and connections, sell the events: each its own ones.
func manyByProcesses(s settings) *result {
	const engines = 3
	name := engineName + ", three engines, by event"
	return inLoop(s, name, mostClients, func(ctx context.Context, e *env) (do operation, check func(int) error, err error) {
		all := []*env{e}
		for len(all) < engines {
			another, err := openEnv(ctx, e.uri, e.DB.Name())
			if err != nil {
				return nil, nil, err
			}
			all = append(all, another)
		}
		events, err := e.createEvents(ctx, manyCount, ampleSeats)
		user := mongodb.NewID()
		return func(ctx context.Context, client, n int) (bool, error) {
				i := rand.IntN(len(events))
				return all[i%engines].lock(ctx, events[i], user, 1, requestKey(client, n))
			}, func(granted int) (err error) {
				for _, another := range all[1:] {
					err = errors.Join(err, another.Pipeline.Close(ctx), another.DB.Close(ctx))
				}
				return errors.Join(err, e.checkGranted(ctx, granted))
			}, err
	})
}

// hotAmongMany measures one event while other clients lock seats of the other events, which are checked but not
// counted.
func hotAmongMany(s settings, others int) *result {
	name := engineName + ", one event"
	if others > 0 {
		name = fmt.Sprintf("%s with %d clients of 999", name, others)
	}
	return inLoop(s, name, mostClients, func(ctx context.Context, e *env) (do operation, check func(int) error, err error) {
		events, err := e.createEvents(ctx, manyCount, ampleSeats)
		if err != nil {
			return nil, nil, err
		}
		var otherGrants atomic.Int64
		var running sync.WaitGroup
		user, until := mongodb.NewID(), mongodb.SystemTime().Add(s.duration)
		for c := range others {
			running.Go(func() {
				for n := 0; mongodb.SystemTime().Before(until); n++ {
					event := events[1+rand.IntN(manyCount-1)]
					ok, err := e.lock(ctx, event, user, 1, fmt.Sprint("o", requestKey(c, n)))
					if ok && err == nil {
						otherGrants.Add(1)
					}
				}
			})
		}
		return func(ctx context.Context, client, n int) (bool, error) {
				return e.lock(ctx, events[0], user, 1, requestKey(client, n))
			}, func(granted int) error {
				running.Wait()
				return e.checkGranted(ctx, granted+int(otherGrants.Load()))
			}, nil
	})
}
