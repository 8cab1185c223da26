package main

import (
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// These are the names of variants with numbered seats. The unique index of seats is left out unless the name says
// otherwise.
const (
	indexedName       = "engine, with the index"
	generalName       = "engine, general admission" // an event of as many places without numbers
	postgresSeatsName = "PostgreSQL, a row per seat"
	postgresPicksName = "PostgreSQL, SKIP LOCKED"
)

// seatedNamed compares named seats with general admission.
func seatedNamed(s settings) (rows []*result) {
	for _, clients := range []int{1, 64, mostClients} {
		for _, name := range []string{engineName, indexedName, generalName} {
			rows = append(rows, seatsInProcess(s, name, clients))
		}
		if s.postgresURL != "" {
			rows = append(rows, seatsInPostgres(s, clients))
		}
	}
	return rows
}

// seatedHTTP is seatedNamed through HTTP.
func seatedHTTP(s settings) (rows []*result) {
	for _, name := range []string{engineName, indexedName, generalName} {
		rows = append(rows, seatsOverHTTP(s, name, clientsLoad(mostClients), 1))
	}
	return rows
}

// seatedProcesses sells one hall by three processes.
func seatedProcesses(s settings) (rows []*result) {
	const processes = 3
	for _, name := range []string{engineName, indexedName, generalName} {
		rows = append(rows, seatsOverHTTP(s, name, processesLoad(processes), processes))
	}
	return rows
}

// seatsInProcess measures a variant of the engine without HTTP.
func seatsInProcess(s settings, name string, clients int) *result {
	return soldHalls(s, name, clientsLoad(clients), clients, func(ctx context.Context, e *env, v *venue) (measurement, error) {
		return closedLoop(ctx, clients, s.duration, v.sell(mongodb.NewID(), func(ctx context.Context, r seatRequest) (bool, error) {
			return e.lockSeats(ctx, r.lockRequest(name))
		}))
	})
}

// seatsOverHTTP measures a variant of the engine through one or several servers.
func seatsOverHTTP(s settings, name, load string, processes int) *result {
	return soldHalls(s, name, load, mostClients, func(ctx context.Context, e *env, v *venue) (m measurement, err error) {
		user, err := e.createUser(ctx)
		if err != nil {
			return m, err
		}
		servers, stop, err := e.startServers(ctx, s, name, processes)
		defer stop()
		if err != nil {
			return m, err
		}
		return throughServers(ctx, s, servers, mostClients, func(ctx context.Context, to serverConn, client, n int) (bool, error) {
			return v.sell(user.ID, func(_ context.Context, r seatRequest) (bool, error) {
				return to.postLock("/api/locks", r.hall, r.user, r.key, r.wish(name != generalName))
			})(ctx, client, n)
		})
	})
}

// soldHalls measures a variant that sells halls, and checks them.
func soldHalls(
	s settings, name, load string, clients int, sell func(context.Context, *env, *venue) (measurement, error),
) *result {
	return s.hallRow(name, load, func(ctx context.Context, e *env) (m measurement, err error) {
		open, err := e.hallOpener(ctx, name)
		if err != nil {
			return m, err
		}
		v, err := newVenue(s, clients, open)
		if err != nil {
			return m, err
		}
		if m, err = sell(ctx, e, v); err == nil {
			err = e.checkHalls(ctx, v.seats(), int64(m.Granted))
		}
		m.setRefusedApart()
		return m, err
	})
}

// hallRow is row on a database without the unique index of seats, unless the variant's name says otherwise.
func (s settings) hallRow(name, load string, measure func(context.Context, *env) (measurement, error)) *result {
	all := core.Collections()
	if name != indexedName {
		all = core.WithoutSeatIndex(all)
	}
	return s.rowWith(all, name, load, measure)
}

// lockRequest returns the request for the seats by a variant.
func (r seatRequest) lockRequest(name string) holdfast.LockRequest {
	request := holdfast.LockRequest{EventID: r.hall, UserID: r.user}
	if name != keylessName {
		request.Key = r.key
	}
	if name == generalName {
		request.Seats = int64(r.seats)
	} else {
		request.Wish.SeatIDs = r.ids()
	}
	return request
}

// lockSeats locks what a request asks for. granted is false if other customers have the seats.
func (e *env) lockSeats(ctx context.Context, r holdfast.LockRequest) (granted bool, err error) {
	_, _, err = e.Seats.AcquireLock(ctx, r)
	if holdfast.HasCode(err, holdfast.CodeSeatsUnavailable) {
		return false, nil
	}
	return err == nil, err
}

// frontRow compares the refusals of named seats that are taken with grants of general admission.
func frontRow(s settings) []*result {
	return []*result{wantFrontRow(s, engineName), wantFrontRow(s, keylessName), seatsInProcess(s, generalName, mostClients)}
}

// wantFrontRow lets all clients ask for the same four pairs of seats, which are taken.
func wantFrontRow(s settings, name string) *result {
	const pairs, pair = 4, 2
	frontMiddle := block{row: sectionsAcross / 2 * rowsInSection, seats: pair}
	return s.hallRow(name, clientsLoad(mostClients), func(ctx context.Context, e *env) (m measurement, err error) {
		hall, err := e.createHall(ctx)
		if err != nil {
			return m, err
		}
		user := mongodb.NewID()
		ask := func(ctx context.Context, client, n int) (bool, error) {
			b := frontMiddle
			b.first = (client + n) % pairs * pair
			r := seatRequest{block: b, hall: hall, user: user, key: requestKey(client, n)}
			return e.lockSeats(ctx, r.lockRequest(name))
		}
		for n := range pairs {
			if granted, err := ask(ctx, -1, n+1); err != nil || !granted {
				return m, errors.Join(errNotFirst, err)
			}
		}
		if m, err = closedLoop(ctx, mostClients, s.duration, ask); err != nil {
			return m, err
		}
		return m, e.checkHalls(ctx, pairs*pair, pairs+int64(m.Granted))
	})
}

var errNotFirst = errors.New("the first customer got no seat")
