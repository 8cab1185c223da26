package booking_test

import (
	"context"
	"reflect"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// commitLog notes which transactions were committed.
type commitLog struct {
	mu   sync.Mutex
	sent map[string]bool
}

func (l *commitLog) note(_ context.Context, e *event.CommandStartedEvent) {
	if e.CommandName != "commitTransaction" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sent == nil {
		l.sent = map[string]bool{}
	}
	l.sent[e.Command.Lookup("lsid").String()+e.Command.Lookup("txnNumber").String()] = true
}

func (l *commitLog) transactions() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.sent)
}

// lostCommits makes the commits of a process fail, in one of two ways.
type lostCommits struct {
	*testenv.Env
	operator *testenv.Env // its own connections, which do not fail
	sent     *commitLog
	how      bson.D
}

// while runs act while commits are lost, until the queue settles the outcome by another transaction.
func (l lostCommits) while(act func() error) {
	l.T.Helper()
	before := l.sent.transactions()
	off := l.operator.FailCommands("commitTransaction", "alwaysOn", l.how)
	answered := make(chan error, 1)
	go func() { answered <- act() }()
	testenv.WaitFor(l.T, func() bool { return l.sent.transactions() >= before+2 })
	if len(answered) > 0 {
		l.T.Error("answered before the outcome was known")
	}
	off()
	if err := <-answered; err != nil {
		l.T.Errorf("answered %v", err)
	}
}

// The reply of a commit is lost, and the commit happened or did not. The queue finds out which: a change with its payment and
// its part, a transfer, and a sale have one effect, and an answer without an error.
func TestAfterSale_AnUnknownOutcomeHasOneEffect(t *testing.T) {
	t.Parallel()
	sent := &commitLog{}
	w := testenv.Open(t, testenv.OwnServer(t), "holdfast_test", func(o *mongodb.Options) {
		o.CommitTimeout = 100 * time.Millisecond
		o.Monitor = &event.CommandMonitor{Started: sent.note}
	})
	lost := lostCommits{Env: w, operator: testenv.Open(t, w.URI, w.DB.Name()), sent: sent}
	for name, how := range map[string]bson.D{
		"applied but not answered": {{Key: "writeConcernError", Value: bson.D{{Key: "code", Value: 64}, {Key: "errmsg", Value: "timeout"}}}},
		"not applied":              {{Key: "closeConnection", Value: true}},
	} {
		lost.how = how
		eventID := lost.operator.Event(10) // under load a commit takes longer than CommitTimeout
		for _, key := range []string{"key", ""} {
			t.Run(name+", with the key "+key, func(t *testing.T) {
				lost.wantOneChange(t, eventID, name, key)
				lost.wantOneTransfer(t, eventID, key)
				lost.wantOneSale(t, eventID, name, key)
			})
		}
		if available, _ := w.Available(eventID); available != 10 {
			t.Errorf("%d seats are available", available)
		}
	}
	wantRisingRevisions(t, w)
}

func (l lostCommits) wantOneChange(t *testing.T, eventID holdfast.ID, name, key string) {
	t.Helper()
	w := l.Env
	b := sell(w, eventID, paid(seatsOf(1, holdfast.Wish{}), charge(name+key, 100)))
	change := holdfast.BookingChange{
		Seats: 2, Payment: charge(name+key+" more", 50), Refund: &holdfast.PartRequest{Amount: 30}, Key: key,
	}
	var got holdfast.Booking
	l.while(func() (err error) { got, _, err = w.Bookings.ChangeBooking(w.Ctx(), b.ID, change); return err })
	again, _, err := w.Bookings.ChangeBooking(w.Ctx(), b.ID, change)
	if err != nil || again.Revision != b.Revision+1 || !reflect.DeepEqual(again, got) || len(again.Payments) != 2 {
		t.Errorf("got %+v, again %+v, %v", got, again, err)
	}
	if p := payment(w, b.Payments[0].ID); len(p.Refunds) != 1 || p.Revision != 1 {
		t.Errorf("the payment is %+v", p)
	}
	wantCancelled(t, w, b.ID, map[holdfast.ID]int64{b.Payments[0].ID: 100, change.Payment.PaymentID(): 50})
}

func (l lostCommits) wantOneTransfer(t *testing.T, eventID holdfast.ID, key string) {
	t.Helper()
	w := l.Env
	b := sell(w, eventID, seatsOf(1, holdfast.Wish{}))
	transfer := holdfast.BookingTransfer{Holder: "guest", Key: key}
	var got holdfast.Booking
	l.while(func() (err error) { got, _, err = w.Bookings.TransferBooking(w.Ctx(), b.ID, transfer); return err })
	if now := w.Booking(b.ID); now.Revision != b.Revision+1 || !reflect.DeepEqual(now, got) || now.Holder != "guest" {
		t.Errorf("got %+v, is %+v", got, now)
	}
	n, err := w.DB.Collection("seatlocks").CountDocuments(w.Ctx(), bson.D{{Key: "bookingId", Value: b.ID}})
	if err != nil || n != 2 {
		t.Errorf("%d locks, %v", n, err)
	}
	wantCancelled(t, w, b.ID, nil)
}

func (l lostCommits) wantOneSale(t *testing.T, eventID holdfast.ID, name, key string) {
	t.Helper()
	w := l.Env
	r := paid(seatsOf(2, holdfast.Wish{}), charge(name+key+" sale", 100))
	r.EventID, r.UserID, r.Key = eventID, mongodb.NewID(), key
	var got holdfast.Booking
	l.while(func() (err error) { got, _, err = w.Bookings.Sell(w.Ctx(), r); return err })
	list, _, err := w.Bookings.ListBookings(w.Ctx(), holdfast.BookingFilter{UserID: &r.UserID}, holdfast.Page{Size: 10})
	if err != nil || len(list) != 1 || !reflect.DeepEqual(list[0], got) || payment(w, r.Charge.PaymentID()).BookingID != got.ID {
		t.Errorf("got %+v, there are %+v, %v", got, list, err)
	}
	wantSame(t, w, got)
	wantCancelled(t, w, got.ID, map[holdfast.ID]int64{r.Charge.PaymentID(): 100})
}

// A part has no queue: its caller learns that the outcome is unknown, and asks again with the same key.
func TestRefundPart_AnUnknownOutcomeHasOneEffect(t *testing.T) {
	t.Parallel()
	w := testenv.Open(t, testenv.OwnServer(t), "holdfast_test", func(o *mongodb.Options) { o.CommitTimeout = 100 * time.Millisecond })
	operator := testenv.Open(t, w.URI, w.DB.Name())
	id := sell(operator, operator.Event(10), paid(seatsOf(1, holdfast.Wish{}), charge("paid", 100))).Payments[0].ID
	for n, failure := range []bson.D{
		{{Key: "writeConcernError", Value: bson.D{{Key: "code", Value: 64}, {Key: "errmsg", Value: "timeout"}}}},
		{{Key: "closeConnection", Value: true}},
	} {
		key := []string{"first", "second"}[n]
		off := operator.FailCommands("commitTransaction", "alwaysOn", failure)
		_, _, err := w.Bookings.RefundPart(w.Ctx(), id, 10, key)
		off()
		wantCode(t, err, holdfast.CodeOutcomeUnknown)
		testenv.WaitFor(t, func() bool { // under load a commit takes longer than CommitTimeout
			_, _, err = w.Bookings.RefundPart(w.Ctx(), id, 10, key)
			return holdfast.CodeOf(err) != holdfast.CodeOutcomeUnknown
		})
		if err != nil {
			t.Fatal(err)
		}
		if p := payment(w, id); len(p.Refunds) != n+1 {
			t.Errorf("the parts are %+v", p.Refunds)
		}
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// afterSaleRequests are a change, a transfer and a sale, each with a check of its effect.
func afterSaleRequests(w *testenv.Env) map[string]struct {
	send    func(context.Context, *testenv.Env) (replayed bool, err error)
	isDone  func() bool
	eventID holdfast.ID
} {
	type request = struct {
		send    func(context.Context, *testenv.Env) (replayed bool, err error)
		isDone  func() bool
		eventID holdfast.ID
	}
	eventID := w.Event(10)
	changed, transferred := sell(w, eventID, seatsOf(1, holdfast.Wish{})), sell(w, eventID, seatsOf(1, holdfast.Wish{}))
	sale := paid(seatsOf(1, holdfast.Wish{}), charge("paid", 1))
	sale.EventID, sale.UserID, sale.Key = eventID, mongodb.NewID(), "key"
	return map[string]request{
		"a change": {func(ctx context.Context, p *testenv.Env) (bool, error) {
			_, replayed, err := p.Bookings.ChangeBooking(ctx, changed.ID, holdfast.BookingChange{Seats: 3, Payment: charge("more", 1), Key: "key"})
			return replayed, err
		}, func() bool { return w.Booking(changed.ID).Seats == 3 }, eventID},
		"a transfer": {func(ctx context.Context, p *testenv.Env) (bool, error) {
			_, replayed, err := p.Bookings.TransferBooking(ctx, transferred.ID, holdfast.BookingTransfer{Holder: "guest", Key: "key"})
			return replayed, err
		}, func() bool { return w.Booking(transferred.ID).Holder == "guest" }, eventID},
		"a sale": {func(ctx context.Context, p *testenv.Env) (bool, error) {
			_, replayed, err := p.Bookings.Sell(ctx, sale)
			return replayed, err
		}, func() bool {
			list, _, err := w.Bookings.ListBookings(w.Ctx(), holdfast.BookingFilter{UserID: &sale.UserID}, holdfast.Page{Size: 10})
			if err != nil || len(list) > 1 {
				w.T.Errorf("%+v, %v", list, err)
			}
			return len(list) == 1
		}, eventID},
	}
}

// A caller that gives up before the last check of its transaction may have been answered elsewhere, so nothing is done for it.
// After that check all of it is done. Either way, its repeat with the same key has one effect.
func TestAfterSale_ACallerThatGivesUp(t *testing.T) {
	t.Parallel()
	for when, command := range map[string]string{"before the last check": "insert", "after it": "commitTransaction"} {
		w := testenv.New(t)
		for name, request := range afterSaleRequests(w) {
			t.Run(name+", "+when, func(t *testing.T) {
				ctx, giveUp := context.WithCancel(w.Ctx())
				defer giveUp()
				told := make(chan error, 1)
				stopped := make(chan error, 1)
				first := sync.OnceFunc(func() {
					giveUp()
					stopped <- <-told
				})
				isChange := func(c bson.Raw) bool { name, _ := c.Lookup("insert").StringValueOK(); return name == "changes" }
				p := testenv.Open(t, w.URI, w.DB.Name(), func(o *mongodb.Options) {
					o.Monitor = &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
						if e.CommandName == command && (command != "insert" || isChange(e.Command)) {
							first()
						}
					}}
				})
				go func() {
					_, err := request.send(ctx, p)
					told <- err
				}()
				wantCode(t, <-stopped, holdfast.CodeOutcomeUnknown)
				testenv.WaitFor(t, func() bool { return p.Pipeline.Queue().InFlight() == 0 })
				if done := request.isDone(); done != (command == "commitTransaction") {
					t.Errorf("it is done: %t", done)
				}
				replayed, err := request.send(w.Ctx(), w)
				if err != nil || replayed != (command == "commitTransaction") || !request.isDone() {
					t.Errorf("again: %t, %v", replayed, err)
				}
			})
		}
		testenv.CheckInvariants(t, w.DB.Database)
	}
}
