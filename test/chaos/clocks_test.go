package chaos_test

import (
	"context"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/devserver"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// clockOffsets are how far the clocks of a replica set's members are off.
var clockOffsets = []string{"+5m", "-5m", "+0s"}

// The clocks of the members are five minutes fast, five minutes slow and right. Each becomes the
// primary in turn, while customers buy and sweeps run, so what is due is due no longer, and the
// other way round. No seat is sold twice, and no acknowledged confirmation is lost.
func TestClocks_OfMembersMinutesApartSellNoSeatTwice(t *testing.T) {
	t.Parallel()
	set, err := devserver.StartReplicaSet(t.Context(), devserver.MongodOptions{Test: true, Progress: os.Stderr,
		Member: func(i int) devserver.MemberOptions {
			env, err := devserver.ClockOffset(t.Context(), clockOffsets[i], os.Stderr)
			if err != nil {
				t.Error(err)
			}
			return devserver.MemberOptions{Env: env}
		}}, len(clockOffsets))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(set.Stop)
	env := testenv.Open(t, set.URI, "clocks")
	ctx, stop := context.WithCancel(t.Context())
	stream := startStreamChecker(ctx, t, env)
	s := &failoverSale{Env: env, event: env.Event(300), sold: map[holdfast.ID]bool{}}
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			for ctx.Err() == nil {
				s.buy(ctx)
			}
		})
	}
	all.Go(func() {
		for ctx.Err() == nil { // Sweeps fail while there is no primary.
			_, _ = env.Sweeper.SweepLocks(ctx, env.Run(holdfast.EndedByLockExpiry))
			delay(ctx, 200*time.Millisecond)
		}
	})
	for _, i := range []int{1, 0, 2} { // The first primary is the first member.
		s.awaitSales(2)
		s.fail(set, set.Members[i])
	}
	s.awaitSales(1)
	poll(answerTimeout, 100*time.Millisecond, func() bool { return s.countExpired() > 0 })
	stream.catchUp(context.Background(), env)
	for _, v := range stream.takeViolations() {
		t.Error(v)
	}
	stop()
	all.Wait()
	<-stream.done
	testenv.CheckInvariants(t, env.DB.Database)
	s.check()
	if s.countExpired() == 0 {
		t.Error("no lock expired")
	}
}

// failoverSale is a sale while the database fails over.
type failoverSale struct {
	*testenv.Env
	event holdfast.ID

	mu       sync.Mutex
	sold     map[holdfast.ID]bool // bookings whose confirmation was acknowledged, and not cancelled
	confirms int
}

// buy locks a seat for a few minutes, and confirms or abandons it. Most sales are cancelled.
func (s *failoverSale) buy(ctx context.Context) {
	kind := rand.IntN(16)
	lock, _, err := s.Seats.AcquireLock(ctx, holdfast.LockRequest{EventID: s.event, UserID: mongodb.NewID(), Seats: 1,
		Until: holdfast.Until{For: 3 * time.Minute}, Key: mongodb.NewID().String()})
	if err != nil {
		delay(ctx, 20*time.Millisecond)
		return
	}
	b, _, err := s.Bookings.CreateBooking(ctx, holdfast.BookingRequest{UserID: lock.UserID, EventID: s.event, LockID: lock.ID,
		Window: holdfast.Until{For: 4 * time.Minute}})
	if err != nil || kind < 2 {
		return
	}
	if _, err := s.Bookings.ConfirmBooking(ctx, b.ID, holdfast.Charge{Reference: b.ID.String()}); err != nil {
		return
	}
	s.mu.Lock()
	s.sold[b.ID] = true
	s.confirms++
	s.mu.Unlock()
	if kind == 2 {
		return
	}
	s.mu.Lock()
	delete(s.sold, b.ID) // An answer that is lost leaves it unknown.
	s.mu.Unlock()
	_, _ = s.Bookings.CancelBooking(ctx, b.ID)
}

// awaitSales waits until n more sales were acknowledged that are not cancelled, or the event is
// sold out: then some locks were abandoned, too. It fails the test if sales do not go on.
func (s *failoverSale) awaitSales(n int) {
	known := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.sold)
	}
	before := known()
	sold := poll(answerTimeout, 50*time.Millisecond, func() bool {
		available := int64(1)
		if e, err := s.Store.Event(s.Ctx(), s.event); err == nil {
			available = e.AvailableSeats
		}
		return known() >= before+n || available == 0
	})
	if !sold {
		s.T.Errorf("%d sales in %v, want %d", known()-before, answerTimeout, n)
	}
}

func (s *failoverSale) countExpired() int64 {
	n, err := s.DB.Collection("seatlocks").CountDocuments(s.Ctx(), bson.D{{Key: "status", Value: "EXPIRED"}})
	if err != nil {
		s.T.Log(err)
	}
	return n
}

// fail makes another member the primary.
func (s *failoverSale) fail(set *devserver.ReplicaSet, to *devserver.Member) {
	t := s.T.(*testing.T)
	elected := poll(time.Minute, 500*time.Millisecond, func() bool {
		runAdminCommand(t, to, bson.D{{Key: "replSetStepUp", Value: 1}})
		return awaitPrimary(t, set) == to
	})
	if !elected {
		t.Fatalf("%s is not elected", to.Host)
	}
}

// check fails the test unless every sale that was acknowledged is there, and there were enough.
func (s *failoverSale) check() {
	for id := range s.sold {
		b := s.Booking(id)
		if b.Status != holdfast.BookingConfirmed || s.Lock(b.LockID).Status != holdfast.LockConsumed {
			s.T.Errorf("the confirmed booking %s is %s, and its lock %s", id, b.Status, s.Lock(b.LockID).Status)
		}
	}
	expired := s.countExpired()
	s.T.Logf("%d confirmations, %d of them not cancelled, %d locks expired", s.confirms, len(s.sold), expired)
	if len(s.sold) == 0 {
		s.T.Error("too few to prove anything")
	}
}
