package main

import (
	"context"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strings"
	"sync/atomic"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// These are the dimensions of the hall with numbered seats: an arena of 60,000 seats, with ten sections side by
// side.
const (
	hallSections   = 60
	rowsInSection  = 25
	seatsInRow     = 40 // at most 64: a picture has a word for each row
	hallRows       = hallSections * rowsInSection
	hallSeats      = hallRows * seatsInRow
	sectionsAcross = 10
	maxTogether    = 4 // seats of one lock
)

// hallPlan returns the plan of the hall. The number of a row in the hall and the number of a seat in its row make
// the seat's ID.
func hallPlan() holdfast.SeatingPlan {
	const sectionWidth, sectionDepth = seatsInRow + 5, rowsInSection + 5 // with aisles
	plan := holdfast.SeatingPlan{
		Name: "Arena", Categories: []holdfast.Category{{Key: "seats", Name: "Seats"}},
		FocalPoint: &holdfast.Point{X: sectionsAcross * sectionWidth / 2 * holdfast.Unit, Y: -10 * holdfast.Unit},
	}
	for s := range hallSections {
		section := holdfast.Section{Key: fmt.Sprint(s), Name: fmt.Sprint("Section ", s), Category: "seats"}
		for r := range rowsInSection {
			row := holdfast.Row{Key: fmt.Sprint(r)}
			for i := range seatsInRow {
				x := holdfast.Thousandths(s%sectionsAcross*sectionWidth+i) * holdfast.Unit
				y := holdfast.Thousandths(s/sectionsAcross*sectionDepth+r) * holdfast.Unit
				row.Seats = append(row.Seats, &holdfast.Seat{ID: seatID(s*rowsInSection+r, i), X: &x, Y: &y})
			}
			section.Rows = append(section.Rows, row)
		}
		plan.Sections = append(plan.Sections, section)
	}
	return plan
}

func seatID(row, seat int) string { return fmt.Sprintf("%d-%d", row, seat) }

// seatIDs contains the IDs of a hall's seats, row by row.
var seatIDs = func() (all []string) {
	for row := range hallRows {
		for seat := range seatsInRow {
			all = append(all, seatID(row, seat))
		}
	}
	return all
}()

// block is a group of adjacent seats in a row.
type block struct{ row, first, seats int }

// number returns the number of the first seat in the hall.
func (b block) number() int { return b.row*seatsInRow + b.first }

// ids returns the seats' IDs. The caller must not change them.
func (b block) ids() []string { return seatIDs[b.number() : b.number()+b.seats] }

// wish is the part of a body that says which seats: these, or as many others.
func (b block) wish(areNamed bool) string {
	if areNamed {
		return `"seatIds":["` + strings.Join(b.ids(), `","`) + `"]`
	}
	return fmt.Sprintf(`"seats":%d`, b.seats)
}

func (b block) mask() uint64 { return (1<<b.seats - 1) << b.first }

// picture is what customers see of a hall: the taken seats, one word for each row. It is as current as a map that
// shows each lock as soon as it is answered.
type picture [hallRows]atomic.Uint64

func (p *picture) take(b block) { p[b.row].Or(b.mask()) }
func (p *picture) free(b block) { p[b.row].And(^b.mask()) }

// pick returns adjacent seats that look free, in a random place.
func (p *picture) pick(seats int) block {
	for {
		row := rand.IntN(hallRows)
		free := ^p[row].Load() & (1<<seatsInRow - 1)
		fits := free // the first seats of free runs that are long enough
		for n := 1; n < seats; n++ {
			fits &= free >> n
		}
		if fits == 0 {
			continue
		}
		if behind := fits &^ (1<<rand.IntN(seatsInRow) - 1); behind != 0 {
			fits = behind
		}
		return block{row, bits.TrailingZeros64(fits), seats}
	}
}

// seatRequest is a customer's choice.
type seatRequest struct {
	block

	hall holdfast.ID // the event
	user holdfast.ID
	key  string
}

// lockSeats is one way to lock the seats of a request, or as many other seats.
type lockSeats func(ctx context.Context, r seatRequest) (granted bool, err error)

// venue has events in halls of the same size, which are sold one after the other. All clients move on to the next
// one when limit seats are taken, so that every measurement covers the same range of fill several times.
type venue struct {
	halls    []holdfast.ID
	limit    int64
	pictures []picture // nil: customers leave the choice of seats to the variant
	taken    []atomic.Int64
	current  atomic.Int64
}

// openVenue opens halls.
func openVenue(halls int, limit int64, open func() (holdfast.ID, error)) (*venue, error) {
	v := &venue{halls: make([]holdfast.ID, halls), limit: limit, taken: make([]atomic.Int64, halls)}
	for i := range v.halls {
		var err error
		if v.halls[i], err = open(); err != nil {
			return nil, err
		}
	}
	return v, nil
}

const (
	// soldShare is how much of a hall is sold by named seats before the next hall follows.
	soldShare = 0.5
	// maxSeatsPerSecond is more than any variant sells. It determines how many halls a measurement needs.
	maxSeatsPerSecond = 120_000
)

// newVenue opens halls in which customers name their seats.
func newVenue(s settings, clients int, open func() (holdfast.ID, error)) (*venue, error) {
	const spare, limit = 2, soldShare * hallSeats
	n := spare
	if clients > 1 {
		n += int(s.duration.Seconds() * maxSeatsPerSecond / limit)
	}
	v, err := openVenue(n, limit, open)
	if err == nil {
		v.pictures = make([]picture, n)
	}
	return v, err
}

// sell lets a client choose 1 to 4 adjacent seats and lock them. It ends the load when all halls are sold.
func (v *venue) sell(user holdfast.ID, lock lockSeats) operation {
	return func(ctx context.Context, client, n int) (bool, error) {
		h := v.current.Load()
		if h >= int64(len(v.halls)) {
			return false, errLoadDone
		}
		b := block{seats: 1 + rand.IntN(maxTogether)}
		if v.pictures != nil {
			b = v.pictures[h].pick(b.seats)
		}
		// The load may end while a lock is being created. That lock counts too.
		ctx = context.WithoutCancel(ctx)
		granted, err := lock(ctx, seatRequest{block: b, hall: v.halls[h], user: user, key: requestKey(client, n)})
		if !granted || err != nil {
			return false, err
		}
		if v.pictures != nil {
			v.pictures[h].take(b)
		}
		if v.taken[h].Add(int64(b.seats)) >= v.limit {
			v.current.CompareAndSwap(h, h+1)
		}
		return true, nil
	}
}

// seats returns the number of granted seats in all halls.
func (v *venue) seats() (n int64) {
	for i := range v.taken {
		n += v.taken[i].Load()
	}
	return n
}

// setRefusedApart removes refused requests from the rate, and notes their number.
func (m *measurement) setRefusedApart() {
	if m.Refused > 0 {
		share := float64(m.Refused) / float64(m.Granted+m.Refused)
		m.note, m.Refused = strings.TrimPrefix(m.note+"; ", "; ")+fmt.Sprintf("%.1f %% refused besides", 100*share), 0 //nolint:mnd // percent
	}
}

// hallOpener stores the plan of the hall, and returns a function that creates an event there. For general admission the
// event has as many places without numbers.
func (e *env) hallOpener(ctx context.Context, variant string) (open func() (holdfast.ID, error), err error) {
	if variant == generalName {
		return func() (holdfast.ID, error) { return e.createEvent(ctx, hallSeats) }, nil
	}
	plan, _, err := e.Plans.Create(ctx, hallPlan(), holdfast.CreationKey{})
	return func() (holdfast.ID, error) { return e.createSeated(ctx, plan.ID) }, err
}

func (e *env) createSeated(ctx context.Context, plan holdfast.ID) (holdfast.ID, error) {
	event, err := e.Seats.CreateEvent(ctx, holdfast.NewEvent{
		Name: "Event", EventDate: mongodb.SystemTime().UTC(), Seating: holdfast.Seating{PlanID: plan},
	})
	return event.ID, err
}

// createHall creates an event in the hall.
func (e *env) createHall(ctx context.Context) (hall holdfast.ID, err error) {
	open, err := e.hallOpener(ctx, engineName)
	if err != nil {
		return hall, err
	}
	return open()
}
