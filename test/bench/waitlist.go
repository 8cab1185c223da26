package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

const (
	waitingCustomers = 10_000
	listPassersBy    = 64

	// These are the names of variants of events whose seats are taken.
	releasesName  = "engine, releases"
	offersName    = "engine, releases to a list"
	partiesName   = "engine, releases to a list of parties"
	joinsName     = "engine, joins of a list"
	freeListsName = "engine, with an open list"
)

// waitingLists compares releases of seats for which 10,000 customers wait with releases of seats for which nobody does, while the
// same passers-by ask for seats without a pause; and joins with locks.
func waitingLists(s settings) (rows []*result) {
	for _, clients := range []int{1, 64} {
		rows = append(rows, s.releases(releasesName, clients, nil), s.releases(offersName, clients, func(int) int64 { return 1 }),
			s.releases(partiesName, clients, func(n int) int64 { return 1 + int64(n)%4 }))
	}
	for _, clients := range []int{64, mostClients} {
		rows = append(rows, inProcess(s, engineVariant, clients, 1, ampleSeats), joins(s, clients), openListLocks(s, clients))
	}
	return rows
}

// releases measures releases of locks of one seat. seatsOf is how many seats each entry of the list wants; nil: there is no list.
func (s settings) releases(variant string, clients int, seatsOf func(n int) int64) *result {
	load := fmt.Sprintf("%s, %d passers-by", clientsLoad(clients), listPassersBy)
	return s.row(variant, load, func(ctx context.Context, e *env) (m measurement, err error) {
		event, locks, err := e.createTaken(ctx, seatsOf)
		if err != nil {
			return m, err
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		passing, stop := context.WithCancel(ctx)
		var asked, passed atomic.Int64
		var others sync.WaitGroup
		for c := range listPassersBy {
			others.Go(func() {
				for n := 0; passing.Err() == nil; n++ {
					granted, err := e.lock(ctx, event, mongodb.NewID(), 1, requestKey(clients+c, n))
					if err != nil {
						cancel(err)
						return
					}
					asked.Add(1)
					if granted {
						passed.Add(1)
					}
				}
			})
		}
		var next atomic.Int64
		m, err = closedLoop(ctx, clients, s.duration, func(ctx context.Context, _, _ int) (bool, error) {
			n := next.Add(1)
			if n > int64(len(locks)) {
				return false, errLoadDone
			}
			_, err := e.Seats.ReleaseLock(ctx, locks[n-1])
			return err == nil, err
		})
		stop()
		others.Wait()
		if err != nil {
			return m, err
		}
		m.note = fmt.Sprintf("%.0f requests of passers-by a second, %d granted", float64(asked.Load())/m.Seconds, passed.Load())
		return m, e.checkReleases(ctx, event, int64(m.Granted), passed.Load(), seatsOf, &m)
	})
}

// takenSeats is how many locks of one seat there are to release.
const takenSeats = 60_000

// createTaken creates an event whose seats are all locked one by one, and lets customers wait.
func (e *env) createTaken(ctx context.Context, seatsOf func(n int) int64) (event holdfast.ID, locks []holdfast.ID, err error) {
	list := holdfast.DefaultWaitlist()
	locked := takenSeats
	if seatsOf != nil {
		list.Status = holdfast.WaitlistOpen
		locked = 0
		for n := range waitingCustomers {
			locked += int(seatsOf(n))
		}
	}
	created, err := e.Seats.CreateEvent(ctx, holdfast.NewEvent{
		Name: "Event", TotalSeats: int64(locked), EventDate: mongodb.SystemTime().UTC(), Waitlist: &list,
	})
	if err != nil {
		return event, nil, err
	}
	locks = make([]holdfast.ID, locked)
	err = inParallel(ctx, locked, func(ctx context.Context, n int) error {
		lock, _, err := e.Seats.AcquireLock(ctx, holdfast.LockRequest{EventID: created.ID, Holder: "buyer", Seats: 1, Key: strconv.Itoa(n)})
		locks[n] = lock.ID
		return err
	})
	if err != nil || seatsOf == nil {
		return created.ID, locks, err
	}
	return created.ID, locks, inParallel(ctx, waitingCustomers, func(ctx context.Context, n int) error {
		return e.join(ctx, holdfast.JoinRequest{EventID: created.ID, Holder: strconv.Itoa(n), EntryWish: holdfast.EntryWish{Seats: seatsOf(n)}})
	})
}

func (e *env) join(ctx context.Context, r holdfast.JoinRequest) error {
	_, _, err := e.Seats.Join(ctx, r)
	return err
}

// inParallel calls do for each number below n, with mostClients at a time.
func inParallel(ctx context.Context, n int, do func(ctx context.Context, n int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var all sync.WaitGroup
	for range mostClients {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(n) && ctx.Err() == nil; i = next.Add(1) - 1 {
				if err := do(ctx, int(i)); err != nil {
					cancel(err)
				}
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// checkReleases: counters agree with the locks, each seat that came back was offered in the transaction that released it if an entry
// fits it, and others got none of these.
func (e *env) checkReleases(ctx context.Context, event holdfast.ID, released, passed int64, seatsOf func(int) int64, m *measurement) error {
	if err := e.reconcile(ctx); err != nil || seatsOf == nil {
		return err
	}
	offers, late, gap, err := e.offersOf(ctx, event)
	if err != nil {
		return err
	}
	m.addNote("%d offers, each in the transaction that released its last seat, %v after it by their times", offers, gap)
	if late > 0 {
		return fmt.Errorf("%d of %d offers were made in a transaction that released nothing", late, offers)
	}
	if ones := seatsOf(1) == 1; ones && (offers != released || passed > 0) {
		return fmt.Errorf("%d seats were released, but %d offered, and others got %d", released, offers, passed)
	}
	return nil
}

// offersOf counts the offers of an event, and those whose record of changes has no released lock. gap is how much later offers were
// made than the locks of their transactions were released, at most.
func (e *env) offersOf(ctx context.Context, event holdfast.ID) (offers, late int64, gap time.Duration, err error) {
	isType := func(name string) bson.D {
		return bson.D{{Key: "$filter", Value: bson.D{{Key: "input", Value: "$items"}, {Key: "cond", Value: bson.D{
			{Key: "$eq", Value: bson.A{"$$this.type", name}},
		}}}}}
	}
	records, err := mongodb.All[struct {
		Offered []struct {
			Entry struct {
				LockID holdfast.ID `bson:"lockId"`
			} `bson:"entry"`
		} `bson:"offered"`
		Released []struct {
			Lock struct {
				ID holdfast.ID `bson:"_id"`
			} `bson:"lock"`
		} `bson:"released"`
	}](ctx, e.DB.Collection("changes"), mongo.Pipeline{
		mongodb.Match(bson.D{{Key: "eventId", Value: event}, {Key: "items.type", Value: "waitlist.offered"}}),
		{{Key: "$project", Value: bson.D{
			{Key: "offered", Value: isType("waitlist.offered")}, {Key: "released", Value: isType("lock.released")},
		}}},
	})
	if err != nil {
		return 0, 0, 0, err
	}
	locks, err := mongodb.All[struct {
		ID        holdfast.ID `bson:"_id"`
		CreatedAt time.Time   `bson:"createdAt"`
		UpdatedAt time.Time   `bson:"updatedAt"`
	}](ctx, e.DB.Collection("seatlocks"), mongo.Pipeline{
		{{Key: "$project", Value: bson.D{{Key: "createdAt", Value: 1}, {Key: "updatedAt", Value: 1}}}},
	})
	if err != nil {
		return 0, 0, 0, err
	}
	made, ended := map[holdfast.ID]time.Time{}, map[holdfast.ID]time.Time{}
	for _, l := range locks {
		made[l.ID], ended[l.ID] = l.CreatedAt, l.UpdatedAt
	}
	for _, r := range records {
		offers += int64(len(r.Offered))
		if len(r.Released) == 0 {
			late += int64(len(r.Offered))
			continue
		}
		for _, o := range r.Offered {
			gap = max(gap, made[o.Entry.LockID].Sub(ended[r.Released[0].Lock.ID]))
		}
	}
	return offers, late, gap, nil
}

// joins measures customers who join the list of an event whose only seat is taken.
func joins(s settings, clients int) *result {
	return inLoop(s, joinsName, clients, func(ctx context.Context, e *env) (do operation, check func(granted int) error, err error) {
		list := holdfast.DefaultWaitlist()
		list.Status = holdfast.WaitlistOpen
		event, err := e.Seats.CreateEvent(ctx, holdfast.NewEvent{
			Name: "Event", TotalSeats: 1, EventDate: mongodb.SystemTime().UTC(), Waitlist: &list,
		})
		if err == nil {
			_, err = e.lock(ctx, event.ID, mongodb.NewID(), 1, "the only seat")
		}
		check = func(granted int) error {
			n, err := e.DB.Collection("waitlist").CountDocuments(ctx, bson.D{{Key: "status", Value: string(holdfast.EntryWaiting)}})
			if err == nil && n != int64(granted) {
				err = fmt.Errorf("%d joined, but %d wait", granted, n)
			}
			return err
		}
		return func(ctx context.Context, client, n int) (bool, error) {
			err := e.join(ctx, holdfast.JoinRequest{EventID: event.ID, UserID: mongodb.NewID(), EntryWish: holdfast.EntryWish{Seats: 1}})
			return err == nil, err
		}, check, err
	})
}

// openListLocks measures locks of an event whose list is open, and empty.
func openListLocks(s settings, clients int) *result {
	return inLoop(s, freeListsName, clients, func(ctx context.Context, e *env) (do operation, check func(granted int) error, err error) {
		list := holdfast.DefaultWaitlist()
		list.Status = holdfast.WaitlistOpen
		event, err := e.Seats.CreateEvent(ctx, holdfast.NewEvent{
			Name: "Event", TotalSeats: ampleSeats, EventDate: mongodb.SystemTime().UTC(), Waitlist: &list,
		})
		user := mongodb.NewID()
		return func(ctx context.Context, client, n int) (bool, error) {
			return e.lock(ctx, event.ID, user, 1, requestKey(client, n))
		}, func(granted int) error { return e.checkGranted(ctx, granted) }, err
	})
}
