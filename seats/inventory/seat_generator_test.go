package inventory_test

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/hallmodel"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// seatGenerator draws halls of at most three rows of at most six places, stores with locks of their
// seats, and commands.
type seatGenerator struct {
	*generator

	plan  holdfast.SeatingPlan
	seats []string // IDs
	small bool     // halls are small
}

const standing = "pit" // the section of general admission

// newUnseatedGenerator draws a store of an unseated event, for the same commands.
func newUnseatedGenerator(t *rapid.T) *seatGenerator {
	return &seatGenerator{generator: newGenerator(t, false), seats: []string{"A1", "A2"}}
}

func newSeatGenerator(t *rapid.T) *seatGenerator {
	g := &seatGenerator{generator: &generator{T: t, rules: theRules}}
	plan := g.hall()
	g.store = newSeated(t, plan, g.otherHall(plan), g.otherHall(plan))
	g.refresh()
	g.rules.MaxSeatsPerLock = draw(g.generator, "MaxSeatsPerLock", int64(0), 0, 0, 3)
	g.rules.MaxLocksPerUser = draw(g.generator, "MaxLocksPerUser", int64(0), 0, 0, 2)
	e := g.store.event
	e.MaxSeatsPerUser = draw(g.generator, "maxSeatsPerUser", int64(0), 0, 0, 5)
	g.latePayments()
	g.saleTimes()
	const onSale = holdfast.OnSale
	e.Status = draw(g.generator, "status", onSale, onSale, onSale, onSale, holdfast.Closed, holdfast.Cancelled, "PLANNED")
	e.Seating.OrphanRule = draw(g.generator, "orphanRule", holdfast.OrphansRefused, holdfast.OrphansAllowed, holdfast.OrphansRefused, "")
	e.Seating.AccessiblePolicy = draw(g.generator, "accessiblePolicy", holdfast.AccessibleReserved, holdfast.AccessibleOpen, "")
	for range draw(g.generator, "locks", 0, 1, 2, 3, 4, 5, 6) {
		g.lock()
	}
	g.known = g.last
	return g
}

// refresh notes the plan that the event has.
func (g *seatGenerator) refresh() {
	if g.store.seats == nil || g.store.event == nil {
		return
	}
	g.plan, g.seats = g.store.seats.plans[g.store.event.Seating.PlanID], nil
	for _, s := range g.store.seats.model.Seats {
		g.seats = append(g.seats, s.ID)
	}
}

// otherHall draws another plan, with many seats of a plan in other places.
func (g *seatGenerator) otherHall(than holdfast.SeatingPlan) holdfast.SeatingPlan {
	var ids []string
	for _, s := range hallmodel.Of(than).Seats {
		ids = append(ids, s.ID)
	}
	for n := range 18 {
		ids = append(ids, fmt.Sprintf("new-%d", n))
	}
	if g.oneOf("any seats", 3) {
		ids = rapid.Permutation(ids).Draw(g.T, "seats of another plan")
	}
	plan := g.hall()
	for _, section := range plan.Sections {
		for _, row := range section.Rows {
			for _, seat := range row.Seats {
				if seat != nil {
					seat.ID, ids = ids[0], ids[1:]
				}
			}
		}
	}
	return plan
}

// hall draws a plan. Its coordinates have few values, so that distances are often equal.
func (g *seatGenerator) hall() holdfast.SeatingPlan {
	plan := holdfast.SeatingPlan{Name: "Hall"}
	for n := range g.number("categories", 1, 2) {
		plan.Categories = append(plan.Categories, holdfast.Category{Key: fmt.Sprintf("c%d", n), Name: "Category"})
	}
	if draw(g.generator, "focal point", false, true) {
		plan.FocalPoint = &holdfast.Point{X: g.coordinate(), Y: g.coordinate()}
	}
	accessible, gaps, placed := draw(g.generator, "accessible", false, true), draw(g.generator, "gaps", false, true), g.oneOf("placed", 4)
	companions := draw(g.generator, "companions", false, true)
	rows, places := draw(g.generator, "rows", 3, 2, 1), []int{6, 5, 6, 4, 3, 2, 1}
	if g.small {
		rows, places = min(rows, 2), []int{4, 3, 4, 2, 1}
	}
	for left := rows; left > 0; {
		section := holdfast.Section{Key: fmt.Sprintf("s%d", len(plan.Sections)), Name: "Section", Category: g.category(plan)}
		for n := range g.number("rows of the section", 1, left) {
			left--
			row := holdfast.Row{Key: fmt.Sprintf("r%d", n), Adjacency: draw(g.generator, "adjacency", "", "", "LINE", "ALL", holdfast.AdjacencyNone)}
			for i := range draw(g.generator, "places", places...) {
				if i > 0 && gaps && g.oneOf("gap", 4) {
					row.Seats = append(row.Seats, nil)
					continue
				}
				seat := &holdfast.Seat{ID: fmt.Sprintf("%s-%s-%d", section.Key, row.Key, i+1), Accessible: accessible && g.oneOf("accessible seat", 3)}
				seat.Companion = companions && g.oneOf("companion seat", 3)
				if g.oneOf("category of its own", 6) {
					seat.Category = g.category(plan)
				}
				if placed {
					seat.X, seat.Y = pointer(g.coordinate()), pointer(g.coordinate())
				}
				row.Seats = append(row.Seats, seat)
			}
			section.Rows = append(section.Rows, row)
		}
		plan.Sections = append(plan.Sections, section)
	}
	if draw(g.generator, "general admission", true, false) {
		plan.Sections = append(plan.Sections, holdfast.Section{
			Key: standing, Name: "Standing", Category: g.category(plan), Capacity: int64(g.number("capacity", 1, 6)),
		})
	}
	return plan
}

func (g *seatGenerator) coordinate() holdfast.Thousandths {
	return holdfast.Thousandths(g.number("coordinate", 0, 6)) * holdfast.Unit
}

func (g *seatGenerator) category(plan holdfast.SeatingPlan) string {
	return draw(g.generator, "category", plan.Categories...).Key
}

// oneOf is true once in n times.
func (g *seatGenerator) oneOf(what string, n int) bool { return g.number(what, 1, n) == n }

// lock draws a lock of free seats, and perhaps its booking; or a block.
func (g *seatGenerator) lock() {
	n := g.next()
	taken := g.taken()
	var seats []string
	for _, id := range g.ids(4) {
		if !taken[id] {
			seats = append(seats, id)
		}
	}
	general := g.store.seats.model.Section(standing)
	if general != nil && g.oneOf("standing", 4) {
		free := general.Capacity - g.store.seats.general[general.Number]
		seats = slices.Repeat([]string{standing}, min(int(free), 2))
	}
	status := draw(g.generator, "lock status", "ACTIVE", "ACTIVE", "ACTIVE", "CONSUMED", "EXPIRED", "BLOCKED", holdfast.LockReleased)
	if len(seats) == 0 || seats[0] == standing && status == "BLOCKED" {
		return
	}
	slices.SortFunc(seats, func(a, b string) int { return slices.Index(g.seats, a) - slices.Index(g.seats, b) })
	g.store.withSeats(g.T, n, status, g.time("lock expiry"), seats...)
	lock := g.store.locks[lockID(n)]
	if status == "BLOCKED" {
		return
	}
	made := g.request(n)
	lock.UserID, lock.Holder, lock.Key, lock.RequestHash = made.UserID, made.Holder, made.Key, draw(g.generator, "hash", made.Hash(), "")
	if lock.Key != "" && len(g.store.ofEvent(func(o *inventory.Lock) bool { return o.UserID == lock.UserID && o.Key == lock.Key })) > 1 {
		lock.Key = ""
	}
	booking := draw(g.generator, "booking", map[holdfast.LockStatus][]holdfast.BookingStatus{
		"ACTIVE": {"", "", "INITIATED", "PAYMENT_PENDING", "PAYMENT_PENDING", "EXPIRED", "CONFIRMED"}, "CONSUMED": {"CONFIRMED"},
		"EXPIRED": {"", "EXPIRED", "EXPIRED"}, "RELEASED": {"", "CANCELLED"},
	}[status]...)
	if booking == "" {
		return
	}
	window := g.time("window")
	if booking == holdfast.BookingInitiated {
		window = time.Time{}
	}
	g.store.withBooking(n, booking, window)
	b := g.store.bookings[bookingID(n)]
	b.UserID, b.Holder, b.Seats, b.SeatIDs, b.Section = lock.UserID, lock.Holder, lock.Seats, lock.SeatIDs, lock.Section
	g.paid(b)
}

// taken has the seats of the live locks.
func (g *seatGenerator) taken() map[string]bool {
	taken := map[string]bool{}
	for _, l := range g.store.ofEvent(takes) {
		for _, id := range l.SeatIDs {
			taken[id] = true
		}
	}
	return taken
}

// ids draws different seats: at times any, at times seats that follow each other.
func (g *seatGenerator) ids(most int) (ids []string) {
	n := min(len(g.seats), g.number("seats named", 1, most))
	if draw(g.generator, "neighbours", true, false) {
		first := g.number("first", 0, len(g.seats)-n)
		return slices.Clone(g.seats[first : first+n])
	}
	return rapid.Permutation(g.seats).Draw(g.T, "seats")[:n]
}

// wish draws a wish, which may not fit the hall.
func (g *seatGenerator) wish() (w holdfast.Wish, seats int64) {
	if g.store.seats == nil {
		if g.oneOf("of a seated event", 10) {
			w.SeatIDs = g.seats
		}
		return w, int64(g.number("seats", 1, 4))
	}
	switch draw(g.generator, "wish",
		"named", "named", "named", "named", "named", "best", "best", "best", "best", "best", "section", "section", "odd") {
	case "named":
		w.SeatIDs = g.ids(4)
		for _, id := range w.SeatIDs {
			if g.store.seats.model.ByID[id].Accessible && !g.oneOf("not told", 8) {
				w.Accessible++
			}
		}
		return w, int64(len(w.SeatIDs))
	case "best":
		return g.best()
	case "section":
		if pit := g.store.seats.model.Section(standing); pit == nil && !g.oneOf("odd section", 8) {
			return g.best()
		}
		w.Section = draw(g.generator, "section", standing, standing, standing, standing, "s0", "nowhere")
		return w, int64(g.number("seats", 1, 4))
	}
	switch draw(g.generator, "odd", "none", "doubled", "missing") {
	case "doubled":
		w.SeatIDs = []string{g.seats[0], g.seats[len(g.seats)-1], g.seats[0]}
	case "missing":
		w.SeatIDs = []string{g.seats[0], "nowhere"}
	}
	return w, int64(max(1, len(w.SeatIDs)))
}

func (g *seatGenerator) best() (w holdfast.Wish, seats int64) {
	seats = int64(draw(g.generator, "seats", 1, 2, 2, 3, 3, 4, 6, 9))
	b := &holdfast.BestAvailable{Required: draw(g.generator, "required", false, false, true)}
	if g.oneOf("of categories", 3) {
		for _, c := range rapid.Permutation(g.plan.Categories).Draw(g.T, "categories")[:g.number("categories", 1, len(g.plan.Categories))] {
			b.Categories = append(b.Categories, c.Key)
		}
		if g.oneOf("unknown category", 10) {
			b.Categories = append(b.Categories, "nothing")
		}
	}
	if g.oneOf("in a section", 4) {
		b.Section = draw(g.generator, "section", "s0", "s0", "s0", "s0", "s0", "s1", standing)
	}
	if g.oneOf("accessible seats", 3) {
		b.Accessible = int64(g.number("accessible seats", 0, int(min(seats, 3))))
	}
	return holdfast.Wish{Best: b}, seats
}

func (g *seatGenerator) request(n int) inventory.Acquire {
	c := g.generator.request(n)
	c.Wish, c.Seats = g.wish()
	return c
}

// queued draws a command that goes through the event's queue.
func (g *seatGenerator) queued() inventory.Command {
	switch draw(g.generator, "command",
		"acquire", "acquire", "acquire", "acquire", "change seats", "change seats", "block", "unblock", "release", "cancel", "change",
		"late", "late", "booking", "booking", "transfer", "sell") {
	case "late":
		return g.late()
	case "booking":
		w, seats := g.wish()
		return g.changeBooking(w, seats)
	case "transfer":
		return g.transfer()
	case "sell":
		return g.sell(g.request(g.next()))
	case "change seats":
		c := inventory.ChangeSeats{LockID: g.lockID()}
		c.Wish, c.Seats = g.wish()
		return c
	case "block":
		return inventory.Block{SeatIDs: g.toBlock(), LockID: lockID(g.next())}
	case "unblock":
		return inventory.Unblock{SeatIDs: g.toBlock()}
	case "release":
		c := inventory.Release{LockID: g.lockID()}
		return c
	case "cancel":
		id := g.bookingID()
		c := inventory.Cancel{BookingID: id, LockID: lockID(999)}
		if b := g.store.bookings[id]; b != nil {
			c.LockID = b.LockID
		}
		return c
	case "change":
		return g.setting()
	default:
		c := g.request(g.next())
		c.Abandoned = g.oneOf("abandoned", 12)
		return c
	}
}

func (g *seatGenerator) toBlock() []string {
	ids := g.ids(5)
	if g.oneOf("unknown seat", 12) {
		ids = append(ids, "nowhere")
	}
	return ids
}

// newHall draws a change of the plan, at times with capacities.
func (g *seatGenerator) newHall() inventory.ChangeEvent {
	var c inventory.ChangeEvent
	c.SeatingPlanID = pointer(planNumber(g.number("new plan", 0, 2)))
	if g.oneOf("capacities too", 3) {
		c.Sections = g.capacities()
	}
	return c
}

func (g *seatGenerator) capacities() []holdfast.SectionCapacity {
	key := draw(g.generator, "section to change", standing, standing, standing, standing, "s0", "nowhere")
	return []holdfast.SectionCapacity{{Key: key, Capacity: int64(g.number("new capacity", 1, 8))}}
}

func (g *seatGenerator) setting() inventory.ChangeEvent {
	var c inventory.ChangeEvent
	switch draw(g.generator, "setting",
		"status", "status", "limit", "orphanRule", "accessiblePolicy", "seats", "sections", "sections", "late payments", "start", "end") {
	case "late payments":
		return g.lateSetting()
	case "sections":
		c.Sections = g.capacities()
	case "limit":
		c.MaxSeatsPerUser = pointer(draw(g.generator, "new limit", int64(0), 0, 4))
	case "orphanRule":
		c.OrphanRule = pointer(draw(g.generator, "new orphanRule", holdfast.OrphansAllowed, holdfast.OrphansRefused))
	case "accessiblePolicy":
		c.AccessiblePolicy = pointer(draw(g.generator, "new accessiblePolicy", holdfast.AccessibleReserved, holdfast.AccessibleOpen))
	case "seats":
		c.TotalSeats = pointer(int64(g.number("new totalSeats", 0, 12)))
	case "start":
		c.SaleStartsAt = pointer(g.saleTime("new start"))
	case "end":
		c.SaleEndsAt = pointer(g.saleTime("new end"))
	default:
		c.Status = pointer(draw(g.generator, "new status",
			holdfast.OnSale, holdfast.OnSale, holdfast.OnSale, holdfast.OnSale, holdfast.Closed, holdfast.Cancelled))
	}
	return c
}
