package chaos_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// What is found by comparing what customers were told with what is there in the
// end. Each checker's findings begin with its name.

type leftLock struct {
	ID        ids.ID    `bson:"_id"`
	EventID   ids.ID    `bson:"eventId"`
	Seats     int64     `bson:"seats"`
	Status    string    `bson:"status"`
	ExpiresAt time.Time `bson:"expiresAt"`
	Key       string    `bson:"idempotencyKey"`
	EndedBy   string    `bson:"endedBy"`
	UpdatedAt time.Time `bson:"updatedAt"`
}

type leftBooking struct {
	ID        ids.ID    `bson:"_id"`
	LockID    ids.ID    `bson:"seatLockId"`
	Status    string    `bson:"status"`
	Window    time.Time `bson:"paymentExpiresAt"`
	UpdatedAt time.Time `bson:"updatedAt"`
	CreatedAt time.Time `bson:"createdAt"`
}

type leftEvent struct {
	ID        ids.ID `bson:"_id"`
	Total     int64  `bson:"totalSeats"`
	Available int64  `bson:"availableSeats"`
	Status    string `bson:"status"`
}

// leftovers are the documents of a round.
type leftovers struct {
	events   map[string]leftEvent
	locks    []leftLock
	bookings map[ids.ID][]leftBooking // by lock
}

func allOf[T any](w *testenv.Env, collection string, filter bson.D) (found []T, err error) {
	cursor, err := w.DB.Collection(collection).Find(context.Background(), filter)
	if err == nil {
		err = cursor.All(context.Background(), &found)
	}
	return found, err
}

func (c *crowd) leftovers(w *testenv.Env) (left leftovers, err error) {
	var eventIDs []ids.ID
	for _, h := range c.halls {
		eventIDs = append(eventIDs, parse(c.t, h.id))
	}
	events, err := allOf[leftEvent](w, "events", bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: eventIDs}}}})
	if err != nil {
		return left, err
	}
	left.events, left.bookings = map[string]leftEvent{}, map[ids.ID][]leftBooking{}
	for _, e := range events {
		left.events[e.ID.String()] = e
	}
	of := bson.D{{Key: "eventId", Value: bson.D{{Key: "$in", Value: eventIDs}}}}
	if left.locks, err = allOf[leftLock](w, "seatlocks", of); err != nil {
		return left, err
	}
	bookings, err := allOf[leftBooking](w, "bookings", of)
	for _, b := range bookings {
		left.bookings[b.LockID] = append(left.bookings[b.LockID], b)
	}
	return left, err
}

// judge runs every checker over a round's history and documents.
func (c *crowd) judge(w *testenv.Env) leftovers {
	left, err := c.leftovers(w)
	if err != nil {
		c.broke("documents", "%v", err)
		return left
	}
	for _, b := range testenv.Violations(c.t, w.DB.Database) {
		c.broke("invariants", "%s", b)
	}
	c.judgeAnswers(left)
	c.judgeTimes(left)
	for h := range c.halls {
		c.judgeHistory(h, left)
	}
	return left
}

// judgeAnswers: what was acknowledged is there, what was refused is not, and
// there is nothing that nobody was told of.
func (c *crowd) judgeAnswers(left leftovers) {
	byKey, byID := map[string]leftLock{}, map[string]bool{}
	for _, l := range left.locks {
		if other, twice := byKey[l.Key]; twice {
			c.broke("one effect", "key %s made the locks %s and %s", l.Key, l.ID, other.ID)
		}
		byKey[l.Key], byID[l.ID.String()] = l, true
		for _, b := range left.bookings[l.ID] {
			byID[b.ID.String()] = true
		}
	}
	told := map[string]string{} // the lock by its key, "" where it was refused
	for _, a := range c.history {
		if a.code == "" && a.id != "" && a.deed != doResize && a.deed != doSale && !byID[a.id] {
			c.broke("acknowledged", "%s of %s gave %s, which is not there", a.deed, a.what, a.id)
		}
		if a.deed != doLock {
			continue
		}
		if before, known := told[a.key]; known && before != a.id && before != "" && a.id != "" {
			c.broke("one effect", "key %s was answered with the locks %s and %s", a.key, before, a.id)
		}
		told[a.key] = cmp.Or(told[a.key], a.id)
	}
	for key, l := range byKey {
		switch id, known := told[key]; {
		case known && id == "":
			c.broke("refused", "key %s was refused, and lock %s is there, %s", key, l.ID, l.Status)
		case id != l.ID.String():
			c.broke("one effect", "key %s was answered with %q, and lock %s is there", key, id, l.ID)
		}
	}
}

// judgeTimes: nothing was expired before its time or confirmed after it, and
// nothing that is due is left.
func (c *crowd) judgeTimes(left leftovers) {
	now := time.Now()
	for _, l := range left.locks {
		if l.Status == "ACTIVE" && l.ExpiresAt.Before(now.Add(-sellableAgain)) {
			c.broke("sellable again", "lock %s was due at %v and is ACTIVE", l.ID, l.ExpiresAt)
		}
		if (l.Status == "EXPIRED") != (l.EndedBy != "" && l.EndedBy != "api") {
			c.broke("documents", "lock %s is %s, ended by %q", l.ID, l.Status, l.EndedBy)
		}
		if due := l.due(left.bookings[l.ID]); l.Status == "EXPIRED" && l.UpdatedAt.Before(due.Add(-tolerance*time.Millisecond)) {
			c.broke("time", "lock %s was due at %v and was expired at %v by %s", l.ID, due, l.UpdatedAt, l.EndedBy)
		}
		for _, b := range left.bookings[l.ID] {
			if b.Status == "CONFIRMED" && !b.UpdatedAt.Before(b.Window.Add(tolerance*time.Millisecond)) {
				c.broke("time", "booking %s was confirmed at %v, its window ended at %v", b.ID, b.UpdatedAt, b.Window)
			}
			if b.Status == "EXPIRED" && l.Status == "ACTIVE" {
				c.broke("sellable again", "booking %s is EXPIRED, and its lock %s still holds seats", b.ID, l.ID)
			}
			if (b.Status == "INITIATED" || b.Status == "PAYMENT_PENDING") && l.Status != "ACTIVE" {
				c.broke("sellable again", "booking %s is %s, and its lock %s is %s", b.ID, b.Status, l.ID, l.Status)
			}
		}
	}
}

// due is when a sweep may end a lock at the earliest: its own time, or the end of
// the payment window of the booking that was expired with it.
func (l leftLock) due(bookings []leftBooking) time.Time {
	due := l.ExpiresAt
	for _, b := range bookings {
		if b.Status == "EXPIRED" && !b.Window.IsZero() && b.Window.Before(due) && l.EndedBy != "lock-expiry" && l.EndedBy != "reclaim" {
			due = b.Window
		}
	}
	return due
}

// fewCalls is how many askings without an answer are reckoned with, of what may be
// done more than once.
const fewCalls = 4

// commitMost is how long after it wrote a document a transaction may be committed:
// a server ends it by then, and a commit that was sent is repeated for 10 s.
const commitMost = 25 * time.Second

// operations are an event's history for porcupine.
func (c *crowd) operations(h int, left leftovers) (ops []porcupine.Operation) {
	add := func(m move, r reply, called, returned int64) {
		ops = append(ops, porcupine.Operation{ClientId: len(ops) % 64, Input: m, Output: r, Call: called, Return: returned})
	}
	last := time.Now().UnixMilli()
	never := last + time.Hour.Milliseconds()
	numbers := map[string]int{}
	made := map[string]bool{} // keys whose lock a definite answer made: no other asking did
	for _, a := range c.history {
		made[a.key] = made[a.key] || (a.event == h && a.deed == doLock && a.code == "" && !a.replayed)
	}
	for _, a := range c.history {
		if a.event != h {
			continue
		}
		if a.deed == doLock {
			numbers[a.key] = a.lock
		}
		add(a.move, a.reply, a.called, a.returned)
		if a.deed == doLock && (!a.replayed || made[a.key]) { // one effect: none of the others was done
			continue
		}
		switch { // more of them only make more orders
		case a.deed != doResize && a.deed != doSale: // it is done once at most, and the first asking may be done whenever a later one may
			a.calls = a.calls[:min(1, len(a.calls))]
		case len(a.calls) > fewCalls:
			a.calls = append(a.calls[:fewCalls-1:fewCalls-1], a.calls[len(a.calls)-1])
		}
		for _, called := range a.calls {
			unclear, r := a.move, a.reply
			unclear.unclear, r.called, r.returned, r.replayed = true, called, never, false
			if unclear.deed == doBook {
				r.id = ""
			}
			until := a.returned // done again after its answer, it changes nothing
			if a.deed == doResize || a.deed == doSale || a.code == "BOOKING_NOT_PAYABLE" {
				until = never
			}
			add(unclear, r, called, until)
		}
	}
	final := hallState{locks: make([]lockState, c.halls[h].locks)}
	e := left.events[c.halls[h].id]
	final.total, final.free, final.sale = e.Total, e.Available, e.Status
	for _, l := range left.locks {
		number, known := numbers[l.Key]
		if l.EventID.String() != c.halls[h].id || !known {
			continue
		}
		s := lockState{status: l.Status[0], seats: l.Seats, expires: l.ExpiresAt.UnixMilli()}
		for _, b := range left.bookings[l.ID] {
			if b.Status == "INITIATED" || b.Status == "PAYMENT_PENDING" || b.Status == "CONFIRMED" {
				s.booking = b.Status[0]
			}
		}
		final.locks[number] = s
		if l.Status == "EXPIRED" {
			at := l.UpdatedAt.UnixMilli()
			add(move{deed: hasExpired, event: h, lock: number}, reply{returned: at}, at-tolerance, min(at+commitMost.Milliseconds(), last-1))
		}
	}
	add(move{deed: isLeft, event: h, left: final}, reply{}, last, last+1)
	return ops
}

// judgeTime bounds the search for an order, drawTime that for a picture of a search
// that had no end.
const (
	judgeTime = 90 * time.Second
	drawTime  = 10 * time.Second
)

// judgeHistory: one hall that does one thing at a time could have told all that.
func (c *crowd) judgeHistory(h int, left leftovers) {
	ops := c.operations(h, left)
	slices.SortStableFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	model := hallModel(c.halls[h].total, c.halls[h].perUser, c.halls[h].locks)
	result := porcupine.CheckOperationsTimeout(model, ops, judgeTime)
	if result == porcupine.Ok {
		return
	}
	if result == porcupine.Unknown {
		path, where := c.draw(model, ops, drawTime)
		c.t.Logf("the history of event %s (%d requests) could not be judged within %v; drawn in %s\n%s", c.halls[h].id, len(ops), judgeTime, path, where)
		c.unjudged++
		return
	}
	path, where := c.draw(model, ops, judgeTime)
	c.broke("linearizability", "no order of its %d requests explains the history of event %s; drawn in %s\n%s", len(ops), c.halls[h].id, path, where)
}

// draw keeps the picture of a history that can't be, and tells its longest
// explanation's end and what could not follow it.
func (c *crowd) draw(model porcupine.Model, ops []porcupine.Operation, most time.Duration) (path, where string) {
	_, info := porcupine.CheckOperationsVerbose(model, ops, most)
	dir := filepath.Join("..", ".build", "chaos")
	path = filepath.Join(dir, "history-"+ids.New().String()+".html")
	if err := os.MkdirAll(dir, 0o755); err == nil {
		err = porcupine.VisualizePath(model, info, path)
		if err != nil {
			path = err.Error()
		}
	}
	var longest []porcupine.Operation
	for _, partial := range info.PartialLinearizationsOperations() {
		for _, p := range partial {
			if len(p) > len(longest) {
				longest = p
			}
		}
	}
	state := model.Init()
	explained := map[string]int{}
	for _, op := range longest {
		_, state = model.Step(state, op.Input, op.Output)
		explained[describe(model, op)]++
	}
	var text strings.Builder
	for _, op := range longest[max(0, len(longest)-8):] {
		fmt.Fprintf(&text, "    %s\n", describe(model, op))
	}
	fmt.Fprintf(&text, "  then the hall is: %s\n  and none of these can follow:\n", model.DescribeState(state))
	shown := 0
	for _, op := range ops {
		if d := describe(model, op); explained[d] > 0 {
			explained[d]--
		} else if shown++; shown <= 12 {
			fmt.Fprintf(&text, "    %s\n", d)
		}
	}
	return path, text.String()
}

func describe(model porcupine.Model, op porcupine.Operation) string {
	return clockOf(op.Call) + "–" + clockOf(op.Return) + " " + model.DescribeOperation(op.Input, op.Output)
}
