package httpapi_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// atOnce sends requests concurrently, and returns their answers.
func atOnce(requests ...func() answer) []answer {
	answers := make([]answer, len(requests))
	begin := make(chan struct{})
	var all sync.WaitGroup
	for i, request := range requests {
		all.Go(func() {
			<-begin
			answers[i] = request()
		})
	}
	close(begin)
	all.Wait()
	return answers
}

// count counts answers by status and code.
func count(answers []answer) map[string]int {
	n := map[string]int{}
	for _, a := range answers {
		key := fmt.Sprint(a.status)
		if code, ok := a.body["code"].(string); ok {
			key += " " + code
		}
		n[key]++
	}
	return n
}

// Of two charges for one booking one is accepted, and the other goes back, however often both are told.
func TestPaymentsRace_OneOfTwoChargesIsAccepted(t *testing.T) {
	t.Parallel()
	s := open(t)
	_, booking := s.book(s.event(10), s.user(), fields{"seats": 1}, nil)
	var requests []func() answer
	for i := range 50 {
		requests = append(requests, func() answer {
			return s.confirm(booking, fields{"paymentReference": "r" + fmt.Sprint(i%2)})
		})
	}
	answers := atOnce(requests...)
	if n := count(answers); n["200"] != 25 || n["409 BOOKING_CONFIRMED"] != 25 {
		t.Errorf("answers: %v", n)
	}
	winner, loser := "r0", "r1"
	if answers[1].status == 200 {
		winner, loser = loser, winner
	}
	for i, a := range answers {
		if isWinner := fmt.Sprint("r", i%2) == winner; isWinner != (a.status == 200) {
			t.Errorf("r%d: %s", i%2, a.raw)
		}
	}
	s.wantPayments("", winner+" ACCEPTED", loser+" REFUND_DUE duplicate")
	s.checkInvariants()
}

// One charge for two bookings pays for one of them.
func TestPaymentsRace_OneChargePaysForOneBooking(t *testing.T) {
	t.Parallel()
	s := open(t)
	event := s.event(1000)
	for range 10 {
		user := s.user()
		_, first := s.book(event, user, fields{"seats": 1}, nil)
		_, second := s.book(event, user, fields{"seats": 1}, nil)
		charge := fields{"paymentReference": "of " + first}
		var requests []func() answer
		for range 4 {
			requests = append(requests, func() answer { return s.confirm(first, charge) }, func() answer { return s.confirm(second, charge) })
		}
		if n := count(atOnce(requests...)); n["200"] != 4 || n["409 PAYMENT_REFERENCE_USED"] != 4 {
			t.Errorf("answers: %v", n)
		}
		s.wantPayments("reference=of%20"+first, "of "+first+" ACCEPTED")
	}
	s.checkInvariants()
}

// A confirmation and a cancellation leave the payment of the booking's state.
func TestPaymentsRace_ConfirmAgainstCancel(t *testing.T) {
	t.Parallel()
	s := open(t)
	event, user := s.event(1000), s.user()
	for i := range 20 {
		reference := fmt.Sprint("r", i)
		_, booking := s.book(event, user, fields{"seats": 1}, nil)
		answers := atOnce(
			func() answer { return s.confirm(booking, fields{"paymentReference": reference}) },
			func() answer { return s.call("POST", "/api/bookings/"+booking+"/cancel", nil) },
		)
		s.want(answers[1], 200, "")
		if answers[0].status != 200 {
			s.want(answers[0], 409, "BOOKING_CANCELLED")
		}
		if got := s.call("GET", "/api/bookings/"+booking, nil).text("status"); got != "CANCELLED" {
			t.Errorf("the booking is %s", got)
		}
		s.wantPayments("reference="+reference, reference+" REFUND_DUE booking_cancelled")
	}
	s.checkInvariants()
}

// Late payments of customers whose bookings had the same seats: one customer gets them.
func TestPaymentsRace_LatePaymentsForTheSameSeats(t *testing.T) {
	t.Parallel()
	for name, wish := range map[string]fields{
		"unseated": {"seats": 6}, "named": {"seatIds": []string{"A-1-1", "A-1-2"}}, "general admission": {"section": "pit", "seats": 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			event := s.lateEvent(10, nil)
			if name != "unseated" {
				event = s.seatedEvent(fields{"latePayments": "ACCEPT"})
			}
			var requests []func() answer
			for i := range 4 {
				_, booking := s.book(event, s.user(), wish, endedAgo(time.Hour))
				s.w.SweepBookings()
				for range 2 {
					requests = append(requests, func() answer { return s.confirm(booking, fields{"paymentReference": fmt.Sprint("r", i)}) })
				}
			}
			if n := count(atOnce(requests...)); n["200"] != 2 || n["410 BOOKING_EXPIRED"] != 6 {
				t.Errorf("answers: %v", n)
			}
			accepted, due := 0, 0
			for _, p := range s.paymentsOf("") {
				switch {
				case strings.HasSuffix(p, " ACCEPTED"):
					accepted++
				case strings.HasSuffix(p, " REFUND_DUE seats_gone"):
					due++
				}
			}
			if accepted != 1 || due != 3 {
				t.Errorf("the payments are %q", s.paymentsOf(""))
			}
			s.checkInvariants()
		})
	}
}

// One refund is noted of several that are told at once.
func TestPaymentsRace_OneRefundIsNoted(t *testing.T) {
	t.Parallel()
	s := open(t)
	_, booking := s.book(s.event(10), s.user(), fields{"seats": 1}, endedAgo(time.Hour))
	id := s.wantRefused(s.confirm(booking, fields{"paymentReference": "r"}), 410, "BOOKING_EXPIRED", "REFUND_DUE", "late")
	var requests []func() answer
	for i := range 10 {
		requests = append(requests, func() answer {
			return s.call("POST", "/api/payments/"+id+"/refunded", fields{"refundReference": fmt.Sprint("back", i)})
		})
	}
	if n := count(atOnce(requests...)); n["200"] != 1 || n["409 PAYMENT_REFUNDED"] != 9 {
		t.Errorf("answers: %v", n)
	}
	s.checkInvariants()
}
