package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
)

// Names of variants with numbered seats. The unique index of seats is left out where the name does not say
// otherwise.
const (
	indexedName       = "engine, with the index"
	generalName       = "engine, general admission" // an event of as many places without numbers
	postgresSeatsName = "PostgreSQL, a row per seat"
	postgresPicksName = "PostgreSQL, SKIP LOCKED"
)

// mostClients is the load of the scenarios that have only one.
const mostClients = 256

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
		rows = append(rows, seatsOverHTTP(s, name, fmt.Sprintf("%d processes", processes), processes))
	}
	return rows
}

// seatsInProcess measures a variant of the engine without HTTP.
func seatsInProcess(s settings, name string, clients int) *result {
	return &result{Variant: name, Load: clientsLoad(clients), measure: func(ctx context.Context) (m measurement, err error) {
		e, v, err := newHalls(ctx, s, name, clients)
		if err != nil {
			return m, err
		}
		m, err = closedLoop(ctx, clients, s.duration, v.sell(ids.New(), func(ctx context.Context, r seatRequest) (bool, error) {
			granted, err := e.lockSeats(ctx, r.lockRequest(name))
			return granted, err
		}))
		if err == nil {
			err = e.checkHalls(ctx, v.seats(), int64(m.Granted))
		}
		if err != nil {
			return m, err
		}
		m.setRefusedApart()
		return m, e.drop(ctx)
	}}
}

// seatsOverHTTP measures a variant of the engine through one or several servers.
func seatsOverHTTP(s settings, name, load string, processes int) *result {
	return &result{Variant: name, Load: load, measure: func(ctx context.Context) (m measurement, err error) {
		e, v, err := newHalls(ctx, s, name, mostClients)
		if err != nil {
			return m, err
		}
		user, err := e.Users.CreateUser(ctx, "Ada", "ada@example.com")
		if err != nil {
			return m, err
		}
		servers := make([]*server, processes)
		for i := range servers {
			if servers[i], err = startServer(ctx, name, serverConfig{binDir: s.binDir, mongoURI: s.mongoURI, database: e.DB.Name()}); err != nil {
				return m, err
			}
			defer servers[i].Stop()
		}
		m, err = throughServers(ctx, s, servers, mostClients, func(ctx context.Context, to serverConn, client, n int) (bool, error) {
			return v.sell(user.ID, func(_ context.Context, r seatRequest) (bool, error) { return to.postLock(r.body(name)) })(ctx, client, n)
		})
		if err != nil {
			return m, err
		}
		for _, server := range servers {
			server.Stop() // it completes the requests in flight first
		}
		if err := e.checkHalls(ctx, v.seats(), int64(m.Granted)); err != nil {
			return m, err
		}
		m.setRefusedApart()
		return m, e.drop(ctx)
	}}
}

// newHalls opens a database with the halls of a measurement.
func newHalls(ctx context.Context, s settings, name string, clients int) (e *env, v *venue, err error) {
	if e, err = newHallEnv(ctx, s.mongoURI, name == indexedName); err != nil {
		return nil, nil, err
	}
	open := func() (holdfast.ID, error) { return e.createEvent(ctx, hallSeats) }
	if name != generalName {
		plan, err := e.createPlan(ctx)
		if err != nil {
			return nil, nil, err
		}
		open = func() (holdfast.ID, error) { return e.createHall(ctx, plan) }
	}
	v, err = newVenue(s, clients, open)
	return e, v, err
}

// lockRequest is the request of a variant for the seats.
func (r seatRequest) lockRequest(name string) holdfast.LockRequest {
	request := holdfast.LockRequest{EventID: r.hall, UserID: r.user}
	if !strings.HasSuffix(name, withoutKeys) {
		request.Key = r.key
	}
	if name == generalName {
		request.Seats = int64(r.seats)
	} else {
		request.Wish.SeatIDs = r.ids()
	}
	return request
}

// body is lockRequest in JSON.
func (r seatRequest) body(name string) []byte {
	wish := fmt.Sprintf(`"seats":%d`, r.seats)
	if name != generalName {
		wish = `"seatIds":["` + strings.Join(r.ids(), `","`) + `"]`
	}
	return fmt.Appendf(nil, `{"eventId":"%s","userId":"%s","idempotencyKey":"%s",%s}`, r.hall, r.user, r.key, wish)
}

// lockSeats locks what a request asks for. granted is false if others have it.
func (e *env) lockSeats(ctx context.Context, r holdfast.LockRequest) (granted bool, err error) {
	_, _, err = e.Seats.AcquireLock(ctx, r)
	if holdfast.HasCode(err, holdfast.CodeSeatsUnavailable) {
		return false, nil
	}
	return err == nil, err
}

// frontRow compares the refusals of named seats that are taken with grants of general admission.
func frontRow(s settings) []*result {
	row := func(name string) *result {
		return &result{Variant: name, Load: clientsLoad(mostClients), measure: func(ctx context.Context) (measurement, error) {
			return wantFrontRow(ctx, s, name)
		}}
	}
	return []*result{
		row(engineName), row(keylessName), row(indexedName), row(indexedName + withoutKeys), seatsInProcess(s, generalName, mostClients),
	}
}

// withoutKeys ends the names of variants that send no idempotency keys.
const withoutKeys = ", without keys"

// wantFrontRow lets all clients ask for the same four pairs of seats, which are taken.
func wantFrontRow(ctx context.Context, s settings, name string) (m measurement, err error) {
	const pairs, pair = 4, 2
	frontMiddle := block{row: sectionsAcross / 2 * rowsInSection, seats: pair}
	e, err := newHallEnv(ctx, s.mongoURI, strings.HasPrefix(name, indexedName))
	if err != nil {
		return m, err
	}
	plan, err := e.createPlan(ctx)
	if err != nil {
		return m, err
	}
	hall, err := e.createHall(ctx, plan)
	if err != nil {
		return m, err
	}
	user := ids.New()
	ask := func(ctx context.Context, client, n int) (bool, error) {
		b := frontMiddle
		b.first = (client + n) % pairs * pair
		r := seatRequest{block: b, hall: hall, user: user, key: requestKey(client, n)}
		granted, err := e.lockSeats(ctx, r.lockRequest(name))
		return granted, err
	}
	for n := range pairs {
		switch granted, err := ask(ctx, -1, n+1); {
		case err != nil:
			return m, fmt.Errorf("the first customers got no seats: %w", err)
		case !granted:
			return m, errors.New("the first customers got no seats: they were refused")
		}
	}
	if m, err = closedLoop(ctx, mostClients, s.duration, ask); err != nil {
		return m, err
	}
	if err := e.checkHalls(ctx, pairs*pair, pairs+int64(m.Granted)); err != nil {
		return m, err
	}
	return m, e.drop(ctx)
}
