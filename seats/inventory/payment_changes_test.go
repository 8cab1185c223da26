package inventory_test

import (
	"reflect"
	"testing"

	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// What a shop is told of payments, and of which command it is.
func TestChanges_OfPayments(t *testing.T) {
	t.Parallel()
	overdue := func() *store { // its lock is still ACTIVE
		s := anExpired(5).withLock(1, 2, "ACTIVE", begin.Add(-minutes(10)))
		s.bookings[bookingID(1)].Status = "PAYMENT_PENDING"
		return s
	}
	confirmed := func() *store {
		s := aBooking("PAYMENT_PENDING")
		wantCode(t, s.one(t, confirm), "")
		return s
	}
	cancelled := func() *store {
		s := confirmed()
		wantCode(t, s.one(t, cancel), "")
		return s
	}
	for _, row := range []struct {
		name    string
		store   *store
		command inventory.Command
		want    []string
	}{
		{"accepted", aBooking("PAYMENT_PENDING"), confirm, []string{"lock.consumed", "booking.confirmed", "payment.accepted"}},
		{"refused", aBooking("EXPIRED"), confirm, []string{"payment.refund_due"}},
		{"repeated", confirmed(), confirm, nil},
		{"late", anExpired(5), late, []string{"lock.created", "booking.confirmed", "payment.accepted"}},
		{"late, with its lock", overdue(), late, []string{"lock.expired", "lock.created", "booking.confirmed", "payment.accepted"}},
		{"late and refused", withStatus(anExpired(5), "CLOSED"), late, []string{"payment.refund_due"}},
		{"not yet decided", anExpired(5), confirm, nil},
		{"returned", confirmed(), cancel, []string{"lock.released", "booking.cancelled", "payment.refund_due"}},
		{"refunded", cancelled(), inventory.Refund{PaymentID: paidID, Reference: "back"}, []string{"payment.refunded"}},
		{"of an earlier version", soldBefore(1), confirm, []string{"payment.accepted"}},
		{"of an earlier version, returned", soldBefore(1), cancel, []string{"lock.released", "booking.cancelled", "payment.refund_due"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := &pipeline{store: row.store, rules: theRules}
			p.batch(t, acquire(7, 1), row.command)
			var got []string
			for _, c := range p.plan.Changes {
				if c.By == 1 {
					got = append(got, string(c.Type)[len("holdfast."):])
				}
			}
			if !reflect.DeepEqual(got, row.want) {
				t.Errorf("told %v, want %v", got, row.want)
			}
		})
	}
}
