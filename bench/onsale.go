package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// onSale is a seeded model of the customers of an on-sale: when they come, what they ask for, how often they try
// again, and what becomes of the seats they get. The same values give the same customers. It has no I/O and no
// clock: all times count from the opening of the sale.
//
// What was published of real sales, and how the defaults follow from it (onsale_test.go holds them to it):
//
//   - TicketLeap's test sale for Comic-Con 2011: 51,658 people wanted 1,000 tickets. There were "over half a million
//     page requests in the first hour", so about 10 a person, and 844 a second at the peak, which is 6 times that
//     hour's mean. 529 tickets were sold in the first minute. The other 47 % were held: they came back on sale after
//     half an hour, and were sold then (TicketLeap's report of December 2010, as quoted by
//     www.lordshaper.com/2010/12/17/51658-people-vs-1000-tickets). The organizer said that some of the people
//     were several browsers of one person (www.cbr.com/assessing-ccis-ticket-sales-trial-run).
//   - The sale itself, February 2011: 35 million page requests in 7 hours, 403,000 a minute at the peak, 5 times
//     the mean (www.comicsbeat.com/san-diego-comic-con-tickets-sold-out-in-seven-hours-leaving-fans-spent).
//   - Glastonbury 2007: 400,000 people were registered for 137,500 tickets, 2.9 a ticket
//     (www.theregister.co.uk/Alert/2007/04/02/glastonbury).
//   - Ticketmaster, November 2022: 40 % of invited fans "show up and buy tickets, and most purchase an average of
//     3" (variety.com/2022/music/news/ticketmaster-explains-taylor-swift-ticket-crisis-eras-tour-1235435673).
//   - Queue-it: carts last 10 minutes at many sellers; all seats are in carts within minutes, and many carts are
//     left to expire, so that a second sale begins when the first carts end
//     (queue-it.com/blog/tickets-sold-out-debunking-instant-sellout-myth).
//
// The rest are assumptions. Of the seats that are locked, 40 % are never paid for: less than TicketLeap's 47 %, some of
// which were slow payments, and less than the 60 to 80 % that shops in general report. A quarter of these are released by the
// customer. A payment takes minutes; TicketLeap's were faster, but a sale with slow payments has more open bookings.
type onSale struct {
	Seed      uint64
	Customers int
	Events    int           // which the customers choose evenly
	Length    time.Duration // of the sale: no customer comes or tries again later

	Early      float64       // share of customers that wait for the opening
	EarlyMean  time.Duration // mean time until one of them comes
	LateMean   time.Duration // the same of the others
	RetryMean  time.Duration // mean pause before a customer tries again
	GiveUp     float64       // probability that a refusal is the customer's last
	MeanWish   float64       // seats a customer
	PerTicket  float64       // seats that customers want, for each seat that is there
	Abandon    float64       // share of granted locks that are never paid for
	Release    float64       // share of these that the customer releases; the others expire
	Payment    time.Duration // median time from the lock to the payment
	PaymentVar float64       // standard deviation of the logarithm of that time
	LockTTL    time.Duration
}

// mostSeats is how many seats a customer may ask for.
const mostSeats = 4

// defaultOnSale is the model in the time of a real sale.
func defaultOnSale() onSale {
	return onSale{
		Seed: 1, Customers: 50_000, Events: 24, Length: time.Hour,
		Early: 0.4, EarlyMean: 30 * time.Second, LateMean: 12 * time.Minute,
		RetryMean: time.Minute, GiveUp: 0.1,
		MeanWish: 2.5, PerTicket: 2.9,
		Abandon: 0.4, Release: 0.25, Payment: 3 * time.Minute, PaymentVar: 0.5,
		LockTTL: 10 * time.Minute,
	}
}

// faster returns the model with all times divided by a scale: at 60, a minute of a real sale takes a second.
func (o onSale) faster(scale float64) onSale {
	for _, d := range []*time.Duration{&o.Length, &o.EarlyMean, &o.LateMean, &o.RetryMean, &o.Payment, &o.LockTTL} {
		*d = time.Duration(float64(*d) / scale)
	}
	return o
}

// seatsPerEvent is how many seats each event has.
func (o onSale) seatsPerEvent() int {
	return max(mostSeats, int(float64(o.Customers)*o.MeanWish/o.PerTicket/float64(o.Events)))
}

// intent is what a customer does with a lock.
type intent string

const (
	pays    intent = "pays"
	lets    intent = "lets it expire"
	returns intent = "releases it"
)

// customer is one customer of the model.
type customer struct {
	Number  int
	Arrival time.Duration
	Event   int // from 0
	Seats   int
	Pauses  []time.Duration // before each further try; after the last the customer gives up
	Intent  intent
	Decides time.Duration // from the lock to the payment, or to the release
}

// customers returns all customers in the order of their arrival. Each one has random numbers of its own, so that a
// larger model has the customers of a smaller one.
func (o onSale) customers() []customer {
	all := make([]customer, o.Customers)
	for i := range all {
		all[i] = o.customer(i)
	}
	slices.SortFunc(all, func(a, b customer) int { return int(a.Arrival - b.Arrival) })
	return all
}

func (o onSale) customer(number int) customer {
	r := rand.New(rand.NewPCG(o.Seed, uint64(number))) //nolint:gosec // a model is repeatable
	c := customer{Number: number, Event: r.IntN(o.Events), Seats: o.wish(r)}
	mean := o.LateMean
	if r.Float64() < o.Early {
		mean = o.EarlyMean
	}
	c.Arrival = exponentialWithin(r, mean, o.Length)
	switch draw := r.Float64(); {
	case draw >= o.Abandon:
		c.Intent = pays
	case draw < o.Abandon*o.Release:
		c.Intent = returns
	default:
		c.Intent = lets
	}
	// A customer who would need longer than the lock lasts has lost it.
	c.Decides = time.Duration(float64(o.Payment) * math.Exp(o.PaymentVar*r.NormFloat64()))
	for at := c.Arrival; r.Float64() >= o.GiveUp; {
		pause := time.Duration(r.ExpFloat64() * float64(o.RetryMean))
		if at += pause; at > o.Length {
			break
		}
		c.Pauses = append(c.Pauses, pause)
	}
	return c
}

// wish is a number of seats from 1 to mostSeats with the mean MeanWish: the sum of independent wishes of companions.
func (o onSale) wish(r *rand.Rand) (seats int) {
	seats = 1
	for range mostSeats - 1 {
		if r.Float64() < (o.MeanWish-1)/(mostSeats-1) {
			seats++
		}
	}
	return seats
}

// exponentialWithin draws from an exponential distribution that is cut off at the most.
func exponentialWithin(r *rand.Rand, mean, most time.Duration) time.Duration {
	below := 1 - math.Exp(-float64(most)/float64(mean)) // the probability of a draw below the most
	return time.Duration(-float64(mean) * math.Log(1-below*r.Float64()))
}
