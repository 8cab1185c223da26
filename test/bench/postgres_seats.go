package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// createHall creates a row for each seat of a hall.
func (p *postgres) createHall(ctx context.Context) (holdfast.ID, error) {
	hall := mongodb.NewID()
	_, err := p.pool.Exec(ctx, "INSERT INTO seats SELECT $1, n, n / $2 FROM generate_series(0, $3 - 1) n", hall[:], seatsInRow, hallSeats)
	return hall, err
}

// lockSeats runs a transaction for each request, which locks the rows of its seats in their order. There is no counter,
// so requests for different seats do not wait for each other.
func (p *postgres) lockSeats(ctx context.Context, r seatRequest) (bool, error) {
	numbers := make([]int32, r.seats)
	for i := range numbers {
		numbers[i] = int32(r.number() + i) //nolint:gosec // a hall has 60,000 seats
	}
	return isGranted(pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		const seats = "SELECT lock IS NULL FROM seats WHERE event = $1 AND seat = ANY($2) ORDER BY seat FOR UPDATE"
		rows, err := tx.Query(ctx, seats, r.hall[:], numbers)
		if err != nil {
			return err
		}
		free, err := pgx.CollectRows(rows, pgx.RowTo[bool])
		if err != nil {
			return err
		}
		if slices.Contains(free, false) {
			return errSoldOut
		}
		return takeSeats(ctx, tx.Exec, r, mongodb.NewID(), numbers)
	}))
}

// takeSeats stores a lock, and names it in the rows of its seats.
func takeSeats[Numbers []int32 | []int](
	ctx context.Context, exec func(context.Context, string, ...any) (pgconn.CommandTag, error), r seatRequest, id holdfast.ID, numbers Numbers,
) error {
	if _, err := exec(ctx, insertLock, id[:], r.hall[:], r.user[:], len(numbers), requestHash, r.key, numbers); err != nil {
		return err
	}
	_, err := exec(ctx, "UPDATE seats SET lock = $3 WHERE event = $1 AND seat = ANY($2)", r.hall[:], numbers, id[:])
	return err
}

// seatsInPostgres measures named seats on PostgreSQL.
func seatsInPostgres(s settings, clients int) *result {
	return &result{Variant: postgresSeatsName, Load: clientsLoad(clients), measure: func(ctx context.Context) (m measurement, err error) {
		p, err := openPostgres(ctx, s.postgresURL)
		if err != nil {
			return m, err
		}
		slower := s
		slower.duration /= postgresSlowness
		v, err := newVenue(slower, clients, func() (holdfast.ID, error) { return p.createHall(ctx) })
		if err != nil {
			return m, err
		}
		if _, err := p.pool.Exec(ctx, "VACUUM ANALYZE seats"); err != nil {
			return m, err
		}
		if m, err = closedLoop(ctx, clients, s.duration, v.sell(mongodb.NewID(), p.lockSeats)); err == nil {
			err = p.check(ctx, v.seats())
		}
		m.setRefusedApart()
		return m, err
	}}
}

// postgresSlowness is by what factor, at least, PostgreSQL needs fewer halls.
const postgresSlowness = 4

// pick locks adjacent free seats, in a random place: the first ones that follow in the index of free seats, except
// for seats that other transactions have locked.
func (p *postgres) pick(ctx context.Context, r seatRequest) (granted bool, err error) {
	lock := mongodb.NewID()
	for _, from := range []int{rand.IntN(hallRows), 0} {
		tag, err := p.pool.Exec(ctx, pickStatements[r.seats], lock[:], r.hall[:], r.user[:], r.seats, requestHash, r.key, from)
		if err != nil || tag.RowsAffected() > 0 {
			return err == nil, err
		}
	}
	return false, nil
}

// pickStatements are the statements of pick, by number of seats.
var pickStatements = func() (byNumber [maxTogether + 1]string) {
	for n := 1; n <= maxTogether; n++ {
		neighbours := ""
		for i := 1; i < n; i++ {
			neighbours += fmt.Sprintf(
				` JOIN seats s%[1]d ON s%[1]d.event = s.event AND s%[1]d.seat = s.seat + %[1]d AND s%[1]d."row" = s."row" AND s%[1]d.lock IS NULL`, i)
		}
		byNumber[n] = `WITH free AS (SELECT s.seat FROM seats s` + neighbours + `
	WHERE s.event = $2 AND s.lock IS NULL AND s."row" >= $7 ORDER BY s."row", s.seat LIMIT 1 FOR UPDATE SKIP LOCKED),
taken AS (UPDATE seats SET lock = $1 FROM free
	WHERE event = $2 AND seats.seat BETWEEN free.seat AND free.seat + $4 - 1 RETURNING seats.seat)
INSERT INTO seatlocks SELECT $1, $2, $3, $4, 'ACTIVE', now() + interval '10 minutes', $5, 0, now(), now(), $6, array_agg(seat)
	FROM taken HAVING count(*) = $4`
	}
	return byNumber
}()

// walkIndexes makes PostgreSQL walk the index of free seats until it finds adjacent ones. By default it would search
// for all of them, which takes thirty times as long.
const walkIndexes = "&enable_hashjoin=off&enable_mergejoin=off&enable_bitmapscan=off&enable_sort=off"

// picksOfPostgres measures how PostgreSQL finds the best available seats: any adjacent ones.
func picksOfPostgres(ctx context.Context, s settings) (m measurement, err error) {
	p, err := openPostgres(ctx, s.postgresURL+walkIndexes)
	if err != nil {
		return m, err
	}
	sold := nearlySold()
	const hallsAtOnce = 3
	return sellNearlySold(ctx, s, bestSeller{
		halls: hallsAtOnce, lock: p.pick,
		open:  func() (holdfast.ID, error) { return p.createHall(ctx) },
		check: func(ctx context.Context, seats, _ int64) error { return p.check(ctx, seats) },
		sellMost: func(ctx context.Context, halls []holdfast.ID) error {
			for _, hall := range halls {
				if err := takeSeats(ctx, p.pool.Exec, seatRequest{hall: hall, user: hall, key: "sold"}, hall, sold); err != nil {
					return err
				}
			}
			_, err := p.pool.Exec(ctx, "VACUUM FULL ANALYZE seats")
			return err
		},
	})
}
