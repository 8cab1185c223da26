package main

import (
	"cmp"
	"container/heap"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"
)

func TestOnSale_IsRepeatable(t *testing.T) {
	t.Parallel()
	o := defaultOnSale()
	o.Customers = 1000
	first, second := o.customers(), o.customers()
	if !reflect.DeepEqual(first, second) {
		t.Error("the same seed gave other customers")
	}
	o.Seed++
	if reflect.DeepEqual(first, o.customers()) {
		t.Error("another seed gave the same customers")
	}
	if !slices.IsSortedFunc(first, func(a, b customer) int { return cmp.Compare(a.Arrival, b.Arrival) }) {
		t.Error("the customers are not in the order of their arrival")
	}
}

func TestOnSale_LargerModelHasTheSmallersCustomers(t *testing.T) {
	t.Parallel()
	o := defaultOnSale()
	for _, number := range []int{0, 7, 999} {
		small := o.customer(number)
		o.Customers *= 2
		if large := o.customer(number); !reflect.DeepEqual(small, large) {
			t.Errorf("customer %d became %+v in a larger model, was %+v", number, large, small)
		}
	}
}

func TestOnSale_HasTheSharesAndMeansOfItsParameters(t *testing.T) {
	t.Parallel()
	o := defaultOnSale()
	o.PaymentVar = 0.3
	n := float64(o.Customers)
	var early, seats, pauses, paying, returning float64
	var decide []time.Duration
	for _, c := range o.customers() {
		if c.Arrival < 0 || c.Arrival > o.Length || c.Seats < 1 || c.Seats > mostSeats || c.Event < 0 || c.Event >= o.Events {
			t.Fatalf("impossible customer %+v", c)
		}
		if c.Arrival < o.EarlyMean {
			early++
		}
		seats += float64(c.Seats)
		pauses += float64(len(c.Pauses))
		decide = append(decide, c.Decides)
		switch c.Intent {
		case pays:
			paying++
		case returns:
			returning++
		case lets:
		}
	}
	slices.Sort(decide)
	wantEarly := o.Early*(1-1/math.E) + (1-o.Early)*(1-math.Exp(-float64(o.EarlyMean)/float64(o.LateMean)))
	// A customer who comes at t goes on trying at the rate of GiveUp, until the sale ends at the latest.
	tries := 0.0
	for _, c := range o.customers() {
		tries += (1 - o.GiveUp) / o.GiveUp * (1 - math.Exp(-o.GiveUp*float64(o.Length-c.Arrival)/float64(o.RetryMean)))
	}
	tries /= n
	for _, row := range []struct {
		what      string
		got, want float64
	}{
		{"share that comes within EarlyMean", early / n, wantEarly},
		{"seats", seats / n, o.MeanWish},
		{"further tries, without those after the sale", pauses / n, tries},
		{"share that pays", paying / n, 1 - o.Abandon},
		{"share that releases", returning / n, o.Abandon * o.Release},
		{"median time to decide, s", decide[len(decide)/2].Seconds(), o.Payment.Seconds()},
	} {
		if math.Abs(row.got/row.want-1) > 0.04 {
			t.Errorf("%s: %.3f, want %.3f", row.what, row.got, row.want)
		}
	}
}

func TestOnSale_FasterDividesTimesOnly(t *testing.T) {
	t.Parallel()
	slow := defaultOnSale()
	slow.Customers = 200
	fast := slow.faster(60)
	if fast.LockTTL != slow.LockTTL/60 || fast.seatsPerEvent() != slow.seatsPerEvent() {
		t.Errorf("lock %v and %d seats, from %v and %d", fast.LockTTL, fast.seatsPerEvent(), slow.LockTTL, slow.seatsPerEvent())
	}
	for number := range slow.Customers {
		a, b := slow.customer(number), fast.customer(number)
		if a.Seats != b.Seats || a.Intent != b.Intent || len(a.Pauses) != len(b.Pauses) ||
			(a.Arrival/60-b.Arrival).Abs() > time.Microsecond || (a.Decides/60-b.Decides).Abs() > time.Microsecond {
			t.Fatalf("%+v at 60 times the speed is %+v", a, b)
		}
	}
}

// The model of TicketLeap's sale has the published figures of that sale, if answers take no time. A page request is
// taken as a try.
func TestOnSale_AgreesWithAMeasuredSale(t *testing.T) {
	t.Parallel()
	o := defaultOnSale()
	o.Customers, o.Events, o.LockTTL = 51_658, 1, 30*time.Minute
	o.MeanWish, o.PerTicket = 1.5, 51.658*1.5
	played := play(o)
	t.Logf("%.1f requests a customer, at most %d a second, %.1f times the hour's mean",
		played.perCustomer, played.peak, played.overMean)
	within := func(what string, got, least, most float64) {
		if got < least || got > most {
			t.Errorf("%s: %.1f, want %.1f to %.1f", what, got, least, most)
		}
	}
	within("requests a customer; published: 9.7", played.perCustomer, 8, 12)
	within("requests a second at the peak; published: 844", float64(played.peak), 650, 1050)
	within("peak ÷ the hour's mean; published: 6.1", played.overMean, 4.5, 7.5)
}

type playedSale struct {
	perCustomer, overMean float64
	peak                  int
}

// play lets the customers of a model buy seats of a shop whose answers take no time.
func play(o onSale) playedSale {
	customers := o.customers()
	free := make([]int, o.Events)
	for i := range free {
		free[i] = o.seatsPerEvent()
	}
	var steps stepHeap
	for i := range customers {
		steps = append(steps, saleStep{at: customers[i].Arrival, customer: i})
	}
	heap.Init(&steps)
	perSecond := make([]int, int(o.Length.Seconds())+1)
	var played playedSale
	requests := 0
	for steps.Len() > 0 {
		s := heap.Pop(&steps).(saleStep)
		if s.at > o.Length {
			break
		}
		c := customers[s.customer]
		if s.returned > 0 {
			free[c.Event] += s.returned
			continue
		}
		requests++
		perSecond[int(s.at.Seconds())]++
		switch {
		case free[c.Event] >= c.Seats:
			free[c.Event] -= c.Seats
			switch c.Intent {
			case lets:
				heap.Push(&steps, saleStep{at: s.at + o.LockTTL, customer: s.customer, returned: c.Seats})
			case returns:
				heap.Push(&steps, saleStep{at: s.at + min(c.Decides, o.LockTTL), customer: s.customer, returned: c.Seats})
			case pays:
			}
		case s.try < len(c.Pauses):
			heap.Push(&steps, saleStep{at: s.at + c.Pauses[s.try], customer: s.customer, try: s.try + 1})
		}
	}
	played.perCustomer = float64(requests) / float64(o.Customers)
	played.peak = slices.Max(perSecond)
	played.overMean = float64(played.peak) / (float64(requests) / o.Length.Seconds())
	return played
}

type saleStep struct {
	at            time.Duration
	customer, try int
	returned      int // seats that come back
}

type stepHeap []saleStep

func (h stepHeap) Len() int           { return len(h) }
func (h stepHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h stepHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *stepHeap) Push(x any)        { *h = append(*h, x.(saleStep)) }
func (h *stepHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
