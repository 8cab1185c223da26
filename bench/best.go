package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// seatedBest compares the best available seats of halls that are sold to 95 % with general admission of events
// that are. The halls sell until 97.5 %, one after the other. They are opened, and sell their first lock, while
// no time is measured.
func seatedBest(s settings) (rows []*result) {
	load := clientsLoad(mostClients)
	for _, name := range []string{engineName, generalName} {
		rows = append(rows, &result{Variant: name, Load: load, measure: func(ctx context.Context) (measurement, error) {
			return bestOfEngine(ctx, s, name)
		}})
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
	// A process remembers the maps of a million seats: a warm one is measured.
	hallsAtOnce = 16
)

// A hall that is sold to 95 % has free groups of maxTogether adjacent seats.
const (
	freeSeats  = hallSeats * 5 / 100
	freeGroups = freeSeats / maxTogether
)

// nearlySold is a picture of such a hall, always the same.
func nearlySold() *picture {
	p, random := &picture{}, rand.New(rand.NewPCG(1, 2))
	for n, row := range random.Perm(hallRows) {
		taken := uint64(1<<seatsInRow - 1)
		if n < freeGroups {
			taken &^= block{row, random.IntN(seatsInRow - maxTogether), maxTogether}.mask()
		}
		p[row].Store(taken)
	}
	return p
}

// sold are the numbers of the taken seats.
func (p *picture) sold() (taken []int) {
	for row := range p {
		for seat := range seatsInRow {
			if p[row].Load()>>seat&1 == 1 {
				taken = append(taken, row*seatsInRow+seat)
			}
		}
	}
	return taken
}

func bestOfEngine(ctx context.Context, s settings, name string) (m measurement, err error) {
	e, err := newHallEnv(ctx, s.mongoURI, false)
	if err != nil {
		return m, err
	}
	var plan holdfast.ID
	if name != generalName {
		if plan, err = e.createPlan(ctx); err != nil {
			return m, err
		}
	}
	lock := func(ctx context.Context, r seatRequest) (bool, error) {
		request := holdfast.LockRequest{EventID: r.hall, UserID: r.user, Key: r.key, Seats: int64(r.seats)}
		if name != generalName {
			request.Wish.Best = &holdfast.BestAvailable{}
		}
		granted, err := e.lockSeats(ctx, request)
		return granted, err
	}
	var seats, locks int64
	m, err = sellNearlySold(ctx, s, hallsAtOnce, lock, func(ctx context.Context, halls int) (*venue, error) {
		v, err := e.openNearlySold(ctx, halls, plan)
		seats, locks = seats+int64(halls)*(hallSeats-freeSeats), locks+int64(halls)
		return v, err
	}, func(v *venue, granted int) { seats, locks = seats+v.seats(), locks+int64(granted) })
	if err == nil {
		err = e.checkHalls(ctx, seats, locks)
	}
	if err != nil {
		return m, err
	}
	return m, e.drop(ctx)
}

// sellNearlySold sells halls of a variant until the measurement's time has passed. sold is called with what was
// granted.
func sellNearlySold(
	ctx context.Context, s settings, halls int, lock lockSeats,
	open func(ctx context.Context, halls int) (*venue, error), sold func(v *venue, granted int),
) (total measurement, err error) {
	for total.Seconds < s.duration.Seconds() {
		v, err := open(ctx, halls)
		if err != nil {
			return total, err
		}
		user := ids.New()
		for i := range v.halls {
			granted, err := lock(ctx, seatRequest{block: block{seats: 1}, hall: v.halls[i], user: user, key: "first"})
			switch {
			case err != nil:
				return total, fmt.Errorf("the first customer got no seat: %w", err)
			case !granted:
				return total, errors.New("the first customer got no seat: the request was refused")
			}
			v.taken[i].Add(1)
		}
		left := s.duration - time.Duration(total.Seconds*float64(time.Second))
		m, err := closedLoop(ctx, mostClients, left, v.sell(user, lock))
		if err != nil {
			return total, err
		}
		sold(v, m.Granted+halls)
		total.Granted, total.Refused, total.Seconds = total.Granted+m.Granted, total.Refused+m.Refused, total.Seconds+m.Seconds
		total.latencies = append(total.latencies, m.latencies...)
	}
	total.setRefusedApart()
	return total, nil
}

// openNearlySold opens halls of a plan, or unseated events without one, and sells 95 % of each, by one lock.
func (e *env) openNearlySold(ctx context.Context, halls int, plan holdfast.ID) (*venue, error) {
	var soldIDs []string
	for _, n := range nearlySold().sold() {
		soldIDs = append(soldIDs, seatIDs[n])
	}
	v, err := openVenue(halls, bestLimit, func() (holdfast.ID, error) {
		if plan.IsZero() {
			return e.createEvent(ctx, hallSeats)
		}
		return e.createHall(ctx, plan)
	})
	if err != nil {
		return nil, err
	}
	for _, hall := range v.halls {
		now := clock.System()
		lock := bson.D{
			{Key: "_id", Value: ids.New()}, {Key: "eventId", Value: hall}, {Key: "userId", Value: ids.New()},
			{Key: "seats", Value: len(soldIDs)}, {Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: now.Add(time.Hour)},
			{Key: "createdAt", Value: now}, {Key: "updatedAt", Value: now},
		}
		if !plan.IsZero() {
			lock = append(lock, bson.E{Key: "seatIds", Value: soldIDs})
		}
		if _, err := e.DB.Collection("seatlocks").InsertOne(ctx, lock); err != nil {
			return nil, err
		}
	}
	_, err = e.Recovery.Reconcile(ctx, ids.NewRun("bench", clock.System()), slog.New(slog.DiscardHandler))
	return v, err
}

// seatedDecision measures the choice of the best available seats alone: find, take and undo. Four decisions, of 1 to
// 4 seats, are timed together, since the reading of the clock takes a good part of the time of one.
func seatedDecision(settings) []*result {
	const percent, groups, warmUp = 99, 50_000, 100
	row := &result{Variant: engineName, Load: fmt.Sprintf("%d %% full", percent)}
	row.measure = func(context.Context) (m measurement, err error) {
		hall, err := seating.NewHall(hallPlan())
		if err != nil {
			return m, err
		}
		o, random := seating.NewOccupancy(hall), rand.New(rand.NewPCG(1, 2))
		for n, section := range hall.Sections() {
			for i := range section.Seats {
				if random.IntN(100) < percent { //nolint:mnd // percent
					o.Take(seating.Place{Section: n, Seat: i})
				}
			}
		}
		o.Settle()
		buffer := make([]seating.Place, 0, holdfast.MaxNamedSeats)
		decideGroup := func() {
			for i := range maxTogether {
				mark := o.Mark()
				for _, p := range o.Best(seating.Wish{Seats: 1 + i, Section: seating.AnySection, Settled: true}, buffer).Places {
					o.Take(p)
				}
				o.Undo(mark)
			}
		}
		for range warmUp {
			decideGroup()
		}
		took := make([]time.Duration, groups)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := wallClock()
		for i := range took {
			began := wallClock()
			decideGroup()
			took[i] = wallClock.Since(began)
		}
		m = measurement{Granted: groups * maxTogether, Seconds: wallClock.Since(start).Seconds()}
		runtime.ReadMemStats(&after)
		slices.Sort(took)
		m.note = fmt.Sprintf("median %d ns a decision, of four; %.2f allocations", took[groups/2].Nanoseconds()/maxTogether,
			float64(after.Mallocs-before.Mallocs)/(groups*maxTogether))
		return m, nil
	}
	return []*result{row}
}
