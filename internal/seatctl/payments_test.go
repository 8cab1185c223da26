package seatctl_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// pay tells of a charge for a booking of an event, which is due or not.
func pay(t *testing.T, env *testenv.Env, event holdfast.ID, window holdfast.Until, charge holdfast.Charge) (payment holdfast.ID) {
	t.Helper()
	b := env.Book(env.Acquire(event, 1, testenv.Soon()), window)
	if _, err := env.Bookings.ConfirmBooking(env.Ctx(), b.ID, charge); err != nil && !holdfast.HasCode(err, holdfast.CodeBookingExpired) {
		t.Fatal(err)
	}
	return charge.PaymentID()
}

// paid is a database with a payment of each status.
type paid struct {
	*testenv.Env

	event, other                   holdfast.ID
	accepted, due, older, refunded holdfast.ID
	booking                        holdfast.ID // of the accepted one
}

func newPaid(t *testing.T) paid {
	t.Helper()
	env := testenv.New(t)
	event, other := env.Event(100), env.Event(100)
	accepted := pay(t, env, event, testenv.Soon(), holdfast.Charge{
		Reference: "a", Provider: "acme", Amount: new(int64(1250)), Currency: "EUR",
	})
	due := pay(t, env, event, testenv.Past(), holdfast.Charge{Reference: "b", Amount: new(int64(500)), Currency: "EUR"})
	older := pay(t, env, event, testenv.Past(), holdfast.Charge{Reference: "c", Amount: new(int64(700)), Currency: "EUR"})
	refunded := pay(t, env, other, testenv.Past(), holdfast.Charge{Reference: "d"})
	for id, age := range map[holdfast.ID]time.Duration{due: 5 * time.Hour, older: 6 * time.Hour} {
		env.Set("payments", id, bson.D{{Key: "updatedAt", Value: time.Now().Add(-age)}})
	}
	if _, err := env.Bookings.RefundPayment(env.Ctx(), refunded, "back-1"); err != nil {
		t.Fatal(err)
	}
	p, err := env.Bookings.GetPayment(env.Ctx(), accepted)
	if err != nil {
		t.Fatal(err)
	}
	return paid{env, event, other, accepted, due, older, refunded, p.BookingID}
}

func TestPayments_AreListedByEachFilter(t *testing.T) {
	t.Parallel()
	p := newPaid(t)
	for _, c := range []struct {
		args     []string
		want     []holdfast.ID // in any order, unless isSorted
		isSorted bool
	}{
		{nil, []holdfast.ID{p.accepted, p.due, p.older, p.refunded}, false},
		{[]string{"--status", "REFUND_DUE"}, []holdfast.ID{p.due, p.older}, false},
		{[]string{"--status", "REFUND_DUE", "--older-than", "4h"}, []holdfast.ID{p.older, p.due}, true},
		{[]string{"--older-than", "330m"}, []holdfast.ID{p.older}, true},
		{[]string{"--older-than", "4h", "--limit", "1"}, []holdfast.ID{p.older}, true},
		{[]string{"--event", p.other.String()}, []holdfast.ID{p.refunded}, false},
		{[]string{"--event", p.event.String(), "--status", "ACCEPTED"}, []holdfast.ID{p.accepted}, false},
		{[]string{"--reference", "a"}, []holdfast.ID{p.accepted}, false},
		{[]string{"--provider", "acme"}, []holdfast.ID{p.accepted}, false},
		{[]string{"--booking", p.booking.String()}, []holdfast.ID{p.accepted}, false},
		{[]string{"--booking", ids.New().String()}, nil, false},
		{[]string{p.accepted.String()}, []holdfast.ID{p.accepted}, false},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			code, out, errs := ctl(p.Env, "", append([]string{"-o", "json", "payments"}, c.args...)...)
			var listed []struct{ ID string }
			if err := json.Unmarshal([]byte(out), &listed); err != nil || code != 0 {
				t.Fatal(code, out, errs)
			}
			var got, want []string
			for _, l := range listed {
				got = append(got, l.ID)
			}
			for _, id := range c.want {
				want = append(want, id.String())
			}
			if !c.isSorted {
				slices.Sort(got)
				slices.Sort(want)
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func TestPayments_ArePrintedAndSummedUp(t *testing.T) {
	t.Parallel()
	p := newPaid(t)
	for _, c := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{p.accepted.String()}, 0, []string{"acme a", p.booking.String(), p.event.String(), "1250 EUR", "ACCEPTED"}},
		{[]string{p.refunded.String()}, 0, []string{"default d", "REFUNDED", "late", "back-1"}},
		{[]string{"--totals"}, 0, []string{p.event.String(), "ACCEPTED", "1250 EUR", "REFUND_DUE", "1200 EUR", p.other.String(), "REFUNDED"}},
		{[]string{"--totals", "--event", p.other.String(), "-o", "json"}, 0, []string{`"payments": 1`, `"reason": "late"`}},
		{[]string{"--totals", "--status", "REFUND_DUE", "-o", "json"}, 0, []string{`"payments": 2`, `"amount": 1200`, `"currency": "EUR"`}},
		{[]string{"--totals", "--reference", "none", "-o", "json"}, 0, []string{"[]"}},
		{[]string{ids.New().String()}, 1, nil},
		{[]string{"x"}, 2, nil},
		{[]string{p.accepted.String(), "--totals"}, 2, nil},
		{[]string{"--totals", "--older-than", "1h"}, 2, nil},
		{[]string{"--older-than", "-1h"}, 2, nil},
		{[]string{"--status", "PAID"}, 2, nil},
		{[]string{"--reference", ""}, 2, nil},
		{[]string{"--event", "x"}, 2, nil},
	} {
		t.Run("prints "+strings.Join(c.args, " "), func(t *testing.T) {
			code, out, errs := ctl(p.Env, "", append([]string{"payments"}, c.args...)...)
			if code != c.code {
				t.Fatal(code, out, errs)
			}
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("%s lacks %s", out, want)
				}
			}
		})
	}
}

// No total is left out, unless --limit asks for that. Then a line says so.
func TestPayments_TotalsAreAllOfThem(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	event := env.Event(1)
	const number = 60
	for i := range number {
		env.Insert("payments", bson.D{
			{Key: "_id", Value: ids.New()}, {Key: "provider", Value: "default"}, {Key: "reference", Value: fmt.Sprint(i)},
			{Key: "part", Value: ""}, {Key: "bookingId", Value: ids.New()}, {Key: "eventId", Value: event}, {Key: "status", Value: "ACCEPTED"},
			{Key: "amount", Value: int64(1)}, {Key: "currency", Value: fmt.Sprintf("A%c%c", 'A'+i/26, 'A'+i%26)},
		})
	}
	for _, c := range []struct {
		args []string
		want int
		says string
	}{
		{nil, number, ""},
		{[]string{"--limit", "0"}, number, ""},
		{[]string{"--limit", "60"}, number, ""},
		{[]string{"--limit", "59"}, 59, "left out: 1."},
		{[]string{"--limit", "50"}, 50, "left out: 10."},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			code, out, errs := ctl(env, "", append([]string{"-o", "json", "payments", "--totals"}, c.args...)...)
			var totals []struct{ Payments int }
			if err := json.Unmarshal([]byte(out), &totals); err != nil || code != 0 || len(totals) != c.want {
				t.Errorf("%d, %d totals, %s", code, len(totals), errs)
			}
			if strings.Contains(errs, "left out") != (c.says != "") || !strings.Contains(errs, c.says) {
				t.Errorf("it says %q, want %q", errs, c.says)
			}
		})
	}
	code, out, errs := ctl(env, "", "-o", "json", "payments")
	var listed []struct{ ID string }
	if err := json.Unmarshal([]byte(out), &listed); err != nil || code != 0 || len(listed) != 50 {
		t.Errorf("%d, %d payments are listed, %s", code, len(listed), errs)
	}
	if code, _, errs := ctl(env, "", "payments", "--totals", "--limit=-1"); code != 2 || !strings.Contains(errs, "--limit") {
		t.Errorf("%d %s", code, errs)
	}
}
