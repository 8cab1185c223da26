package main

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// seatedBest compares the best available seats of halls that are sold to 95 % with general admission of events that
// are sold to 95 %, and with PostgreSQL. The halls sell until 97.5 %, one after the other. The time to open them and to
// sell their first lock is not measured.
func seatedBest(s settings) (rows []*result) {
	load := clientsLoad(mostClients)
	for _, name := range []string{engineName, generalName} {
		rows = append(rows, s.hallRow(name, load, func(ctx context.Context, e *env) (m measurement, err error) {
			open, err := e.hallOpener(ctx, name)
			if err != nil {
				return m, err
			}
			return sellNearlySold(ctx, s, bestSeller{
				halls: hallsAtOnce, open: open, check: e.checkHalls,
				sellMost: func(ctx context.Context, halls []holdfast.ID) error {
					return e.sellMost(ctx, halls, name != generalName)
				},
				lock: func(ctx context.Context, r seatRequest) (bool, error) {
					request := holdfast.LockRequest{EventID: r.hall, UserID: r.user, Key: r.key, Seats: int64(r.seats)}
					if name != generalName {
						request.Wish.Best = &holdfast.BestAvailable{}
					}
					return e.lockSeats(ctx, request)
				},
			})
		}))
	}
	if s.postgresURL != "" {
		rows = append(rows, &result{Variant: postgresPicksName, Load: load, measure: func(ctx context.Context) (measurement, error) {
			return picksOfPostgres(ctx, s)
		}})
	}
	return rows
}

const (
	// bestLimit is how many of the free seats of a hall are sold.
	bestLimit = freeSeats / 2
	// A process caches the maps of a million seats, so warm maps are measured.
	hallsAtOnce = 16
)

// A hall that is sold to 95 % has free groups of maxTogether adjacent seats.
const (
	freeSeats  = hallSeats * 5 / 100
	freeGroups = freeSeats / maxTogether
)

// nearlySold returns the numbers of the taken seats of such a hall, always the same.
func nearlySold() (taken []int) {
	random := rand.New(rand.NewPCG(1, 2))
	for n, row := range random.Perm(hallRows) {
		free := block{row: row, first: random.IntN(seatsInRow - maxTogether), seats: maxTogether}
		for seat := range seatsInRow {
			if n >= freeGroups || free.mask()>>seat&1 == 0 {
				taken = append(taken, row*seatsInRow+seat)
			}
		}
	}
	return taken
}

// bestSeller is a variant that chooses the seats.
type bestSeller struct {
	halls    int // at once
	open     func() (holdfast.ID, error)
	sellMost func(ctx context.Context, halls []holdfast.ID) error // 95 % of each hall, by one lock
	lock     lockSeats
	check    func(ctx context.Context, seats, locks int64) error
}

// sellNearlySold sells halls of a variant until the measurement's time has passed.
func sellNearlySold(ctx context.Context, s settings, b bestSeller) (total measurement, err error) {
	var seats, locks int64
	for total.Seconds < s.duration.Seconds() {
		v, err := openVenue(b.halls, bestLimit, b.open)
		if err == nil {
			err = b.sellMost(ctx, v.halls)
		}
		if err != nil {
			return total, err
		}
		user := mongodb.NewID()
		for i := range v.halls {
			granted, err := b.lock(ctx, seatRequest{block: block{seats: 1}, hall: v.halls[i], user: user, key: "first"})
			if err != nil || !granted {
				return total, errors.Join(errNotFirst, err)
			}
			v.taken[i].Add(1)
		}
		left := s.duration - time.Duration(total.Seconds*float64(time.Second))
		m, err := closedLoop(ctx, mostClients, left, v.sell(user, b.lock))
		if err != nil {
			return total, err
		}
		seats, locks = seats+int64(b.halls*(hallSeats-freeSeats))+v.seats(), locks+int64(2*b.halls+m.Granted)
		total.Granted, total.Refused, total.Seconds = total.Granted+m.Granted, total.Refused+m.Refused, total.Seconds+m.Seconds
		total.latencies = append(total.latencies, m.latencies...)
	}
	total.setRefusedApart()
	return total, b.check(ctx, seats, locks)
}

// sellMost sells 95 % of each hall, by one lock. The lock of an unseated event names no seats.
func (e *env) sellMost(ctx context.Context, halls []holdfast.ID, isSeated bool) error {
	var soldIDs []string
	for _, n := range nearlySold() {
		soldIDs = append(soldIDs, seatIDs[n])
	}
	for _, hall := range halls {
		lock := newLockDocument(hall, mongodb.NewID(), int64(len(soldIDs)), "sold")
		if isSeated {
			lock = append(lock, bson.E{Key: "seatIds", Value: soldIDs})
		}
		if _, err := e.DB.Collection("seatlocks").InsertOne(ctx, lock); err != nil {
			return err
		}
	}
	_, err := e.Recovery.Reconcile(ctx, mongodb.NewRunID("bench", mongodb.SystemTime()), slog.New(slog.DiscardHandler))
	return err
}
