package store_test

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// changed returns the new values of the fields that differ; nil means that a field was
// removed. It leaves out updatedAt, which must be new.
func changed(before, after bson.M) bson.M {
	diff := bson.M{}
	for name, value := range after {
		if !reflect.DeepEqual(before[name], value) {
			diff[name] = value
		}
	}
	for name := range before {
		if _, kept := after[name]; !kept {
			diff[name] = nil
		}
	}
	delete(diff, "updatedAt")
	return diff
}

func at(ms int64) bson.DateTime { return bson.DateTime(ms) }

func pointer[T any](v T) *T { return &v }

// eventWriteCase checks which fields of the event a write changes.
type eventWriteCase struct {
	name    string
	arrange func(f fixture)
	write   inventory.EventWrite
	want    bson.M
}

func oversold(f fixture) { f.setEvent(field("availableSeats", 0), field("oversold", 3)) }

func checkEventWrites(t *testing.T, w *env, cases []eventWriteCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, w, c.arrange)
			before := f.document("events", f.event)
			if c.write.Drift == nil {
				c.write.IfUnchanged = f.read.Event
			}
			applied, err := f.apply(inventory.Plan{Event: &c.write})
			if err != nil {
				t.Fatal(err)
			}
			after := f.document("events", f.event)
			got := changed(before, after)
			if !reflect.DeepEqual(normal(got), normal(c.want)) {
				t.Errorf("changed %v, want %v", got, c.want)
			}
			if now, isDate := after["updatedAt"].(bson.DateTime); !isDate || !now.Time().Equal(applied.Now) {
				t.Errorf("updatedAt is %v, written at %v", after["updatedAt"], applied.Now)
			}
			if e := applied.Event; e == nil || e.Revision != wholeOf(after["internal.rev"]) ||
				e.AvailableSeats != wholeOf(after["availableSeats"]) || applied.Took <= 0 {
				t.Errorf("returned %+v for %v", applied, after)
			}
		})
	}
}

func TestApply_WritesTheEventAsThePlanSays(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	allowAnyCounter(t, w)
	name, total, limit, none, date, closed := "$name", int64(20), int64(4), int64(0), time.UnixMilli(86_400_000).UTC(), holdfast.Closed
	checkEventWrites(t, w, []eventWriteCase{
		{name: "the revision alone", want: bson.M{"internal.rev": int64(1)}},
		{name: "a higher revision", arrange: func(f fixture) { f.setEvent(field("internal.rev", 6)) }, want: bson.M{"internal.rev": int64(7)}},
		{name: "seats go", write: inventory.EventWrite{Available: -3}, want: bson.M{"internal.rev": int64(1), "availableSeats": int64(5)}},
		{
			name: "seats come back and pay down", arrange: oversold, write: inventory.EventWrite{Available: 2, Oversold: -3},
			want: bson.M{"internal.rev": int64(1), "availableSeats": int64(2), "oversold": int64(0)},
		},
		{
			name: "a new counter", arrange: oversold, write: inventory.EventWrite{Counter: &inventory.Counter{AvailableSeats: 8}},
			want: bson.M{"internal.rev": int64(1), "availableSeats": int64(8), "oversold": nil, "internal.fixes": int64(1)},
		},
		{
			name: "a new counter, oversold", write: inventory.EventWrite{Counter: &inventory.Counter{Oversold: 2}, RunID: "run"},
			want: bson.M{
				"internal.rev": int64(1), "availableSeats": int64(0), "oversold": int64(2), "internal.fixes": int64(1), "internal.runId": "run",
			},
		},
		{
			name: "a sweep", write: inventory.EventWrite{RunID: "run", SweptAtRev: pointer(int64(7))},
			want: bson.M{"internal.rev": int64(1), "internal.runId": "run", "internal.sweptRev": int64(7)},
		},
		{
			name: "its fields",
			write: inventory.EventWrite{Fields: holdfast.EventChange{
				Name: &name, TotalSeats: &total, EventDate: &date, Status: &closed, MaxSeatsPerUser: &limit,
			}},
			want: bson.M{
				"internal.rev": int64(1), "name": "$name", "totalSeats": total, "eventDate": at(86_400_000), "status": "CLOSED",
				"maxSeatsPerUser": limit,
			},
		},
		{
			name: "a reference and metadata", write: inventory.EventWrite{ShopData: &shopData},
			want: bson.M{"internal.rev": int64(1), "reference": "$ref", "metadata": storedMetadata},
		},
		{
			name: "a reference and no metadata", arrange: withShopData, write: inventory.EventWrite{ShopData: &holdfast.ShopData{Reference: "A"}},
			want: bson.M{"internal.rev": int64(1), "reference": "A", "metadata": nil},
		},
		{
			name: "the settings of its waiting list", write: inventory.EventWrite{Fields: holdfast.EventChange{
				Waitlist: pointer(holdfast.WaitlistOpen), OfferSeconds: pointer(int64(90)), WaitlistFit: pointer(holdfast.WaitlistStrict),
			}},
			want: bson.M{"internal.rev": int64(1), "waitlist": "OPEN", "waitlistOfferSeconds": int64(90), "waitlistFit": "STRICT"},
		},
		{
			name: "its waiting list",
			write: inventory.EventWrite{List: &inventory.List{
				Seq: 4, Epoch: 1, Closing: true, Waiting: 3, Holds: true, CheckAt: date,
			}},
			want: bson.M{"internal.rev": int64(1), "internal.list": bson.D{field("seq", int64(4)), field("epoch", int64(1)), field("closing", true),
				field("waiting", int64(3)), field("holds", true), field("checkAt", at(86_400_000))}},
		},
		{
			name: "its waiting list, which nothing has to check any more", write: inventory.EventWrite{List: &inventory.List{Seq: 4}},
			arrange: func(f fixture) { f.setEvent(field("internal.list", bson.D{field("seq", 3), field("checkAt", date)})) },
			want: bson.M{"internal.rev": int64(1), "internal.list": bson.D{field("seq", int64(4)), field("epoch", int64(0)), field("closing", false),
				field("waiting", int64(0)), field("holds", false)}},
		},
		{
			name: "no limit", arrange: func(f fixture) { f.setEvent(field("maxSeatsPerUser", 4)) },
			write: inventory.EventWrite{Fields: holdfast.EventChange{MaxSeatsPerUser: &none}},
			want:  bson.M{"internal.rev": int64(1), "maxSeatsPerUser": nil},
		},
	})
}

func TestApply_SubtractsADriftFromTheCounter(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	allowAnyCounter(t, w)
	checkEventWrites(t, w, []eventWriteCase{
		{
			name: "a drift downwards", write: inventory.EventWrite{Drift: &inventory.Drift{Amount: 3}, RunID: "run"},
			want: bson.M{"availableSeats": int64(5), "internal.fixes": int64(1), "internal.runId": "run"},
		},
		{
			name: "a drift upwards", write: inventory.EventWrite{Drift: &inventory.Drift{Amount: -1}},
			want: bson.M{"availableSeats": int64(9), "internal.fixes": int64(1)},
		},
		{
			name: "a drift beyond the available seats", write: inventory.EventWrite{Drift: &inventory.Drift{Amount: 10}},
			want: bson.M{"availableSeats": int64(0), "oversold": int64(2), "internal.fixes": int64(1)},
		},
		{
			name: "a drift that pays down", arrange: oversold, write: inventory.EventWrite{Drift: &inventory.Drift{Amount: -5}},
			want: bson.M{"availableSeats": int64(2), "oversold": nil, "internal.fixes": int64(1)},
		},
	})
}

// normal converts every whole number to int64.
func normal(m bson.M) bson.M {
	for name, value := range m {
		switch n := value.(type) {
		case int32:
			m[name] = int64(n)
		case float64:
			m[name] = int64(n)
		}
	}
	return m
}

func wholeOf(value any) int64 {
	n, _ := normal(bson.M{"n": value})["n"].(int64)
	return n
}

// shopData is stored as storedMetadata has it.
var (
	shopData       = holdfast.ShopData{Reference: "$ref", Metadata: map[string]string{"a.b": "$x", "a": ""}}
	storedMetadata = bson.D{field("a", ""), field("a.b", "$x")}
)

// withShopData gives the event and its lock a reference and metadata.
func withShopData(f fixture) {
	f.setEvent(field("reference", "B"), field("metadata", bson.D{field("b", "1")}))
	f.Set("seatlocks", f.lock, bson.D{field("reference", "B"), field("metadata", bson.D{field("b", "1")})})
}

func TestApply_WritesLocksAsThePlanSays(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	booking, ahead := mongodb.NewID(), time.Now().Add(3*time.Hour).Truncate(time.Millisecond)
	for _, c := range []struct {
		name    string
		arrange func(f fixture)
		write   inventory.LockWrite
		want    bson.M
		dated   bool // its date of change is new
	}{
		{name: "the revision alone", write: inventory.LockWrite{To: holdfast.LockActive}, want: bson.M{"internal.rev": int64(4)}},
		{
			name: "consumed", write: inventory.LockWrite{To: holdfast.LockConsumed, RunID: "run"},
			want: bson.M{"internal.rev": int64(4), "status": "CONSUMED", "runId": "run"}, dated: true,
		},
		{
			name: "extended", write: inventory.LockWrite{To: holdfast.LockActive, ExpiresAt: ahead},
			want: bson.M{"internal.rev": int64(4), "expiresAt": bson.NewDateTimeFromTime(ahead)}, dated: true,
		},
		{
			name: "booked", write: inventory.LockWrite{To: holdfast.LockActive, BookingID: booking},
			want: bson.M{"internal.rev": int64(4), "bookingId": bson.ObjectID(booking)}, dated: true,
		},
		{
			name: "a reference and metadata", write: inventory.LockWrite{To: holdfast.LockActive, ShopData: &shopData},
			want: bson.M{"internal.rev": int64(4), "reference": "$ref", "metadata": storedMetadata}, dated: true,
		},
		{
			name: "neither", arrange: withShopData, write: inventory.LockWrite{To: holdfast.LockActive, ShopData: &holdfast.ShopData{}},
			want: bson.M{"internal.rev": int64(4), "reference": nil, "metadata": nil}, dated: true,
		},
		{
			name: "released", write: inventory.LockWrite{To: holdfast.LockReleased, EndedBy: holdfast.EndedByAPI},
			want: bson.M{"internal.rev": int64(4), "status": "RELEASED", "endedBy": "api"}, dated: true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, w, c.arrange)
			before := f.document("seatlocks", f.lock)
			c.write.ID, c.write.From = f.lock, holdfast.LockActive
			applied, err := f.apply(inventory.Plan{Locks: []inventory.LockWrite{c.write}})
			if err != nil || applied.Event != nil || !applied.Now.IsZero() {
				t.Fatal(applied, err)
			}
			after := f.document("seatlocks", f.lock)
			if got := changed(before, after); !reflect.DeepEqual(normal(got), c.want) {
				t.Errorf("changed %v, want %v", got, c.want)
			}
			if _, dated := after["updatedAt"]; dated != c.dated {
				t.Errorf("updatedAt is %v", after["updatedAt"])
			}
		})
	}
}

// bookingWriteCase checks which fields of a booking a write changes.
type bookingWriteCase struct {
	name  string
	from  holdfast.BookingStatus
	write inventory.BookingWrite
	want  bson.M
}

func checkBookingWrites(t *testing.T, cases []bookingWriteCase) {
	t.Helper()
	w, at := testenv.New(t), time.Now().Add(3*time.Hour).Truncate(time.Millisecond)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, w, func(f fixture) { f.setBooking(field("status", string(c.from)), field("holder", "cart")) })
			before := f.document("bookings", f.booking)
			c.write.ID, c.write.From, c.write.UpdatedAt = f.booking, c.from, at
			if _, err := f.apply(inventory.Plan{Bookings: []inventory.BookingWrite{c.write}}); err != nil {
				t.Fatal(err)
			}
			after := f.document("bookings", f.booking)
			if got := changed(before, after); !reflect.DeepEqual(normal(got), c.want) {
				t.Errorf("changed %v, want %v", got, c.want)
			}
			if dated := after["updatedAt"]; dated != bson.NewDateTimeFromTime(at) {
				t.Errorf("it was changed at %v", dated)
			}
		})
	}
}

func TestApply_WritesBookingsAsThePlanSays(t *testing.T) {
	t.Parallel()
	ends := time.Now().Add(3 * time.Hour).Truncate(time.Millisecond)
	checkBookingWrites(t, []bookingWriteCase{
		{
			name: "paid", from: holdfast.BookingInitiated, write: inventory.BookingWrite{To: holdfast.BookingPending, PaymentExpiresAt: ends},
			want: bson.M{"internal.rev": int64(1), "status": "PAYMENT_PENDING", "paymentExpiresAt": bson.NewDateTimeFromTime(ends)},
		},
		{
			name: "confirmed", from: holdfast.BookingPending,
			write: inventory.BookingWrite{To: holdfast.BookingConfirmed, WindowOpen: true, PaymentReference: "$ref"},
			want:  bson.M{"internal.rev": int64(1), "status": "CONFIRMED", "paymentReference": "$ref"},
		},
		{
			name: "expired", from: holdfast.BookingPending, write: inventory.BookingWrite{To: holdfast.BookingExpired, RunID: "run"},
			want: bson.M{"internal.rev": int64(1), "status": "EXPIRED", "internal.runId": "run"},
		},
		{
			name: "a reference and metadata", from: holdfast.BookingExpired,
			write: inventory.BookingWrite{To: holdfast.BookingExpired, ShopData: &shopData},
			want:  bson.M{"internal.rev": int64(1), "reference": "$ref", "metadata": storedMetadata},
		},
	})
}

func TestApply_WritesBookingsAfterTheSaleAsThePlanSays(t *testing.T) {
	t.Parallel()
	ends := time.Now().Add(3 * time.Hour).Truncate(time.Millisecond)
	newLock, newUser, amount := mongodb.NewID(), mongodb.NewID(), int64(500)
	checkBookingWrites(t, []bookingWriteCase{
		{
			name: "other seats", from: holdfast.BookingConfirmed,
			write: inventory.BookingWrite{To: holdfast.BookingConfirmed, Seats: &inventory.LockSeats{Seats: 2, SeatIDs: []string{"A-1", "$b"}}},
			want:  bson.M{"internal.rev": int64(1), "seats": int64(2), "seatIds": bson.A{"A-1", "$b"}},
		},
		{
			name: "other seats of a section", from: holdfast.BookingConfirmed,
			write: inventory.BookingWrite{To: holdfast.BookingConfirmed, Seats: &inventory.LockSeats{Seats: 3, Section: "pit"}},
			want:  bson.M{"internal.rev": int64(1), "seats": int64(3), "section": "pit"},
		},
		{
			name: "another user and lock", from: holdfast.BookingConfirmed,
			write: inventory.BookingWrite{To: holdfast.BookingConfirmed, LockID: newLock, Late: true,
				Customer: &inventory.Customer{UserID: newUser}},
			want: bson.M{"internal.rev": int64(1), "seatLockId": bson.ObjectID(newLock), "late": true, "userId": bson.ObjectID(newUser),
				"holder": nil},
		},
		{
			name: "another holder", from: holdfast.BookingConfirmed,
			write: inventory.BookingWrite{To: holdfast.BookingConfirmed, Customer: &inventory.Customer{UserID: newUser, Holder: "$h"}},
			want:  bson.M{"internal.rev": int64(1), "userId": bson.ObjectID(newUser), "holder": "$h"},
		},
		{
			name: "payments and what was done", from: holdfast.BookingConfirmed,
			write: inventory.BookingWrite{
				To: holdfast.BookingConfirmed, Payments: &[]holdfast.ListedPayment{{ID: newUser, Status: holdfast.PaymentAccepted, Amount: &amount}},
				Done: &[]holdfast.DoneRequest{{ID: newLock, KeyHash: "k", Hash: "h", At: ends}, {ID: newUser, Hash: "i", At: ends}},
			},
			want: bson.M{
				"internal.rev":      int64(1),
				"internal.payments": bson.A{bson.D{field("id", bson.ObjectID(newUser)), field("status", "ACCEPTED"), field("amount", amount)}},
				"internal.done": bson.A{
					bson.D{field("id", bson.ObjectID(newLock)), field("key", "k"), field("hash", "h"), field("at", bson.NewDateTimeFromTime(ends))},
					bson.D{field("id", bson.ObjectID(newUser)), field("hash", "i"), field("at", bson.NewDateTimeFromTime(ends))},
				},
			},
		},
	})
}

// Equal changes share a statement. That must not bring the second change of a booking before its first one.
func TestApply_ABookingChangesSeveralTimesInTheOrderOfThePlan(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	first, second := newFixture(t, w, func(f fixture) { f.setBooking(field("internal.rev", 1)) }), newFixture(t, w, nil)
	w.Set("bookings", second.booking, bson.D{field("eventId", first.event)})
	cancel := func(id holdfast.ID) inventory.BookingWrite {
		return inventory.BookingWrite{
			ID: id, EventID: first.event, From: holdfast.BookingPending, To: holdfast.BookingCancelled, Revision: 1, RunID: "run",
		}
	}
	list := inventory.BookingWrite{
		ID: second.booking, EventID: first.event, From: holdfast.BookingPending, To: holdfast.BookingPending,
		Payments: &[]holdfast.ListedPayment{{ID: second.lock, Status: holdfast.PaymentRefundDue}},
	}
	plan := inventory.Plan{Bookings: []inventory.BookingWrite{cancel(first.booking), list, cancel(second.booking)}}
	if _, err := first.apply(plan); err != nil {
		t.Fatal(err)
	}
	for _, id := range []holdfast.ID{first.booking, second.booking} {
		if b := w.Booking(id); b.Status != holdfast.BookingCancelled || b.Revision != 2 {
			t.Errorf("%+v", b)
		}
	}
}

func TestApply_InsertsLocksAndBookingsThatReadBackTheSame(t *testing.T) {
	t.Parallel()
	f := newFixture(t, testenv.New(t), nil)
	ends := time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)
	timed, relative := f.newLock(1, ""), f.newLock(2, "key")
	timed.ExpiresAt, timed.EntryID, relative.RequestHash, relative.ShopData = ends, mongodb.NewID(), "hash", shopData
	initiated := holdfast.Booking{ID: mongodb.NewID(), EventID: f.event, UserID: timed.UserID, LockID: timed.ID, Seats: 1,
		Status: holdfast.BookingInitiated, CreatedAt: ends, UpdatedAt: ends}
	pending := initiated
	pending.ID, pending.LockID, pending.Status, pending.PaymentExpiresAt = mongodb.NewID(), relative.ID, holdfast.BookingPending, ends
	pending.ShopData = shopData
	applied, err := f.apply(inventory.Plan{
		Event: &inventory.EventWrite{AtLeast: 3, Available: -3}, Acquired: []holdfast.Lock{timed, relative},
		TTL: []time.Duration{0, time.Minute}, NewBookings: []holdfast.Booking{initiated, pending},
	})
	if err != nil {
		t.Fatal(err)
	}
	timed.CreatedAt, relative.CreatedAt, relative.ExpiresAt = applied.Now, applied.Now, applied.Now.Add(time.Minute)
	for _, want := range []holdfast.Lock{timed, relative} {
		if got := f.Lock(want.ID); !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v,\nwant %+v", got, want)
		}
		if doc := f.document("seatlocks", want.ID); (doc["idempotencyKey"] == nil) != (want.Key == "") || doc["internal.rev"] != int64(0) {
			t.Errorf("key %v, revision %v", doc["idempotencyKey"], doc["internal.rev"])
		}
	}
	for _, want := range []holdfast.Booking{initiated, pending} {
		if got := f.Booking(want.ID); !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v,\nwant %+v", got, want)
		}
	}
}

// The plans of several events are one transaction: all are written, or none.
func TestApply_SeveralEventsAreWrittenTogether(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	three := func(t *testing.T) (list []fixture, plans []store.EventPlan) {
		for i := range 3 {
			f := newFixture(t, w, nil)
			plan := inventory.Plan{
				Event:    &inventory.EventWrite{AtLeast: int64(i), Available: -int64(i)},
				Acquired: []holdfast.Lock{f.newLock(int64(i), "key")}, TTL: []time.Duration{time.Duration(i) * time.Hour},
				Locks: []inventory.LockWrite{{ID: f.lock, From: holdfast.LockActive, To: holdfast.LockReleased}},
			}
			if i == 0 { // a plan that does not write its event
				plan = inventory.Plan{Bookings: []inventory.BookingWrite{{ID: f.booking, From: holdfast.BookingPending, To: holdfast.BookingCancelled}}}
			}
			list, plans = append(list, f), append(plans, store.EventPlan{EventID: f.event, Plan: plan})
		}
		return list, plans
	}
	t.Run("all are written", func(t *testing.T) {
		list, plans := three(t)
		applied, err := w.Store.Apply(w.Ctx(), mongodb.TxOptions{}, plans, func() error { return nil })
		if err != nil || len(applied) != 3 || applied[0].Event != nil {
			t.Fatal(applied, err)
		}
		for i, f := range list[1:] {
			seats := int64(i + 1)
			after, lock := applied[seats].Event, plans[seats].Acquired[0]
			if after.ID != f.event || after.AvailableSeats != 8-seats || applied[seats].Now.IsZero() {
				t.Errorf("event %d: %+v", seats, applied[seats])
			}
			if got := w.Lock(lock.ID); got.EventID != f.event || !got.ExpiresAt.Equal(applied[seats].Now.Add(time.Duration(seats)*time.Hour)) {
				t.Errorf("the lock of event %d is %+v", seats, got)
			}
			if status := w.Lock(f.lock).Status; status != holdfast.LockReleased {
				t.Errorf("the old lock of event %d is %s", seats, status)
			}
		}
		if status := w.Booking(list[0].booking).Status; status != holdfast.BookingCancelled {
			t.Errorf("the booking of the event that is not written is %s", status)
		}
	})
	for name, change := range map[string]func(f fixture){
		"the last event has changed": func(f fixture) { f.setEvent(field("status", "CLOSED")) },
		"the last lock has changed":  func(f fixture) { f.setLock(field("status", "CONSUMED")) },
	} {
		t.Run(name, func(t *testing.T) {
			list, plans := three(t)
			change(list[2])
			var before, after []map[string]string
			for _, f := range list {
				before = append(before, f.documents())
			}
			_, err := w.Store.Apply(w.Ctx(), mongodb.TxOptions{}, plans, func() error { t.Error("it would be committed"); return nil })
			for _, f := range list {
				after = append(after, f.documents())
			}
			if !errors.Is(err, store.ErrStale) || !reflect.DeepEqual(before, after) {
				t.Errorf("got %v; before %v, after %v", err, before, after)
			}
		})
	}
}

// One of several events is held by another transaction: the others don't wait for it.
func TestApply_SeveralEventsAreTriedOnce(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	free, held := newFixture(t, w, nil), newFixture(t, w, nil)
	before := free.documents()
	defer w.HoldEvent(held.event.String())()
	takes := inventory.Plan{Event: &inventory.EventWrite{AtLeast: 1, Available: -1}}
	ctx, cancel := context.WithTimeout(w.Ctx(), 10*time.Second)
	defer cancel()
	plans := []store.EventPlan{{EventID: free.event, Plan: takes}, {EventID: held.event, Plan: takes}}
	_, err := w.Store.Apply(ctx, mongodb.TxOptions{}, plans, func() error { return nil })
	if !errors.Is(err, store.ErrStale) || !reflect.DeepEqual(before, free.documents()) {
		t.Errorf("got %v", err)
	}
}

func TestApply_AnErrorBeforeTheCommitWritesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, testenv.New(t), nil)
	before, no := f.documents(), mongodb.AbortError("no")
	plans := []store.EventPlan{{EventID: f.event, Plan: inventory.Plan{
		Event: &inventory.EventWrite{AtLeast: 1, Available: -1}, Acquired: []holdfast.Lock{f.newLock(1, "")}, TTL: []time.Duration{time.Hour},
	}}}
	_, err := f.Store.Apply(f.Ctx(), mongodb.TxOptions{}, plans, func() error { return no })
	if !errors.Is(err, no) || !maps.Equal(before, f.documents()) {
		t.Errorf("got %v; before %v, after %v", err, before, f.documents())
	}
}

func TestApply_JoinsTheTransactionOfItsContext(t *testing.T) {
	t.Parallel()
	f := newFixture(t, testenv.New(t), nil)
	before, no := f.documents(), mongodb.AbortError("no")
	err := mongodb.Do(f.Ctx(), f.DB, func(ctx context.Context) error {
		plans := []store.EventPlan{{EventID: f.event, Plan: inventory.Plan{Event: &inventory.EventWrite{AtLeast: 1, Available: -1}}}}
		if _, err := f.Store.Apply(ctx, mongodb.TxOptions{}, plans, func() error { return nil }); err != nil {
			return err
		}
		return no
	})
	if !errors.Is(err, no) || !maps.Equal(before, f.documents()) {
		t.Errorf("got %v; before %v, after %v", err, before, f.documents())
	}
}

// An event of several notes its writer too, if other processes write it.
func TestApply_EachOfSeveralEventsNotesItsWriter(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	contended, alone := w.Event(10), w.Event(10)
	var plans []store.EventPlan
	for _, id := range []holdfast.ID{contended, alone} {
		plans = append(plans, store.EventPlan{
			EventID: id, Writer: 7, IsContended: id == contended,
			Plan: inventory.Plan{Event: &inventory.EventWrite{Available: -1, AtLeast: 1}},
		})
	}
	applied, err := w.Store.Apply(w.Ctx(), mongodb.TxOptions{}, plans, func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]int32{{7}, nil} {
		if got := applied[i].Writers; !slices.Equal(got, want) {
			t.Errorf("event %d has the writers %v, want %v", i, got, want)
		}
	}
}
