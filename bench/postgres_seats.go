package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
)

// rowPerSeat is the usual way to sell numbered seats on PostgreSQL: a row for each seat, and a transaction for
// each request, which locks the rows of its seats in their order. There is no counter, so requests for
// different seats do not wait for each other.
type rowPerSeat struct{ *rowLock }

const seatsSchema = `
DROP TABLE IF EXISTS seats;
CREATE TABLE seats (event bytea, seat int, "row" int NOT NULL, lock bytea, PRIMARY KEY (event, seat));
CREATE INDEX ON seats (event, "row", seat) WHERE lock IS NULL;
ALTER TABLE seatlocks ADD COLUMN seat_numbers int[];`

var errSeatTaken = errors.New("a seat is taken")

// openRowPerSeat creates the tables anew, with halls.
func openRowPerSeat(ctx context.Context, url string, halls []holdfast.ID) (*rowPerSeat, error) {
	r, err := openRowLock(ctx, url, nil, 0)
	if err != nil {
		return nil, err
	}
	p := &rowPerSeat{r}
	if _, err := r.pool.Exec(ctx, seatsSchema); err != nil {
		return nil, err
	}
	for _, hall := range halls {
		_, err := r.pool.Exec(ctx, "INSERT INTO seats SELECT $1, n, n / $2 FROM generate_series(0, $3 - 1) n", hall[:], seatsInRow, hallSeats)
		if err != nil {
			return nil, err
		}
	}
	_, err = r.pool.Exec(ctx, "VACUUM ANALYZE seats")
	return p, err
}

func (p *rowPerSeat) lock(ctx context.Context, r seatRequest) (bool, error) {
	numbers := make([]int32, r.seats)
	for i := range numbers {
		numbers[i] = int32(r.number() + i) //nolint:gosec // a hall has 60,000 seats
	}
	err := pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		const seats = "SELECT lock IS NULL FROM seats WHERE event = $1 AND seat = ANY($2) ORDER BY seat FOR UPDATE"
		rows, err := tx.Query(ctx, seats, r.hall[:], numbers)
		if err != nil {
			return err
		}
		free, err := pgx.CollectRows(rows, pgx.RowTo[bool])
		if err != nil {
			return err
		}
		for _, isFree := range free {
			if !isFree {
				return errSeatTaken
			}
		}
		id := ids.New()
		if _, err := tx.Exec(ctx, insertSeatLock, id[:], r.hall[:], r.user[:], len(numbers), requestHash, r.key, numbers); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "UPDATE seats SET lock = $3 WHERE event = $1 AND seat = ANY($2)", r.hall[:], numbers, id[:])
		return err
	})
	if errors.Is(err, errSeatTaken) {
		return false, nil
	}
	return err == nil, err
}

const (
	requestHash    = "0123456789abcdef0123456789abcdef"
	insertSeatLock = "INSERT INTO seatlocks VALUES ($1, $2, $3, $4, 'ACTIVE', now() + interval '10 minutes', $5, 0, now(), now(), $6, $7)"
)

// check returns an error if seats or locks contradict the granted seats. It closes the pool.
func (p *rowPerSeat) check(ctx context.Context, granted int64) error {
	defer p.pool.Close()
	var taken, held int64
	err := p.pool.QueryRow(ctx, "SELECT (SELECT count(*) FROM seats WHERE lock IS NOT NULL),"+
		" (SELECT coalesce(sum(seats), 0) FROM seatlocks WHERE status = 'ACTIVE')").Scan(&taken, &held)
	if err != nil {
		return err
	}
	if taken != granted || held != granted {
		return fmt.Errorf("%d seats were granted; %d rows are taken; the locks hold %d", granted, taken, held)
	}
	return nil
}

// seatsInPostgres measures named seats on PostgreSQL.
func seatsInPostgres(s settings, clients int) *result {
	return &result{Variant: postgresSeatsName, Load: clientsLoad(clients), measure: func(ctx context.Context) (m measurement, err error) {
		slower := s
		slower.duration /= postgresSlowness
		v, err := newVenue(slower, clients, func() (holdfast.ID, error) { return ids.New(), nil })
		if err != nil {
			return m, err
		}
		p, err := openRowPerSeat(ctx, s.postgresURL, v.halls)
		if err != nil {
			return m, err
		}
		if m, err = closedLoop(ctx, clients, s.duration, v.sell(ids.New(), p.lock)); err == nil {
			err = p.check(ctx, v.seats())
		}
		m.setRefusedApart()
		return m, err
	}}
}

// postgresSlowness is by how much PostgreSQL needs fewer halls, at least.
const postgresSlowness = 4

// pick locks adjacent seats that are free, in a random place: the first ones that the index of free seats has
// behind it, but for those that other transactions are about to take.
func (p *rowPerSeat) pick(ctx context.Context, r seatRequest) (granted bool, err error) {
	lock := ids.New()
	for _, from := range []int{rand.IntN(hallRows), 0} {
		tag, err := p.pool.Exec(ctx, pickStatements[r.seats], lock[:], r.hall[:], r.user[:], r.seats, requestHash, r.key, from)
		if err != nil || tag.RowsAffected() > 0 {
			return err == nil, err
		}
	}
	return false, nil
}

// pickStatements pick by number of seats.
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

// walkIndexes makes PostgreSQL walk the index of free seats until it finds adjacent ones. It would rather look for
// all of them, which takes thirty times as long.
const walkIndexes = "&enable_hashjoin=off&enable_mergejoin=off&enable_bitmapscan=off&enable_sort=off"

// picksOfPostgres measures PostgreSQL's way to the best available seats: any adjacent ones.
func picksOfPostgres(ctx context.Context, s settings) (m measurement, err error) {
	const hallsAtOnce = 3
	var p *rowPerSeat
	sold := nearlySold().sold()
	lock := func(ctx context.Context, r seatRequest) (bool, error) { return p.pick(ctx, r) }
	open := func(ctx context.Context, halls int) (v *venue, err error) {
		if v, err = openVenue(halls, bestLimit, func() (holdfast.ID, error) { return ids.New(), nil }); err != nil {
			return nil, err
		}
		if p, err = openRowPerSeat(ctx, s.postgresURL+walkIndexes, v.halls); err != nil {
			return nil, err
		}
		for _, hall := range v.halls {
			if _, err := p.pool.Exec(ctx, insertSeatLock, hall[:], hall[:], hall[:], len(sold), requestHash, "sold", sold); err != nil {
				return nil, err
			}
			if _, err := p.pool.Exec(ctx, "UPDATE seats SET lock = $1 WHERE event = $1 AND seat = ANY($2)", hall[:], sold); err != nil {
				return nil, err
			}
		}
		_, err = p.pool.Exec(ctx, "VACUUM FULL ANALYZE seats")
		return v, err
	}
	var checkErr error
	m, err = sellNearlySold(ctx, s, hallsAtOnce, lock, open, func(v *venue, _ int) {
		checkErr = errors.Join(checkErr, p.check(ctx, v.seats()+int64(len(v.halls)*len(sold))))
	})
	return m, errors.Join(err, checkErr)
}
