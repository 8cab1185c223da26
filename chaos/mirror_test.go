package chaos_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// A mirror hears of every change that MongoDB commits, one transaction after the
// other, and looks at each state that there was: the counters agree with the
// locks in all of them, and no lock or booking goes a way that the tables of the
// states don't have.
type mirror struct {
	t        *testing.T
	events   map[ids.ID]counter
	locks    map[ids.ID]mirrored
	bookings map[ids.ID]mirrored
	taken    map[ids.ID]int64
	changed  map[ids.ID]bool // events of the transaction that is heard
	pending  bson.Raw        // that transaction's session and number
	number   int64
	states   atomic.Int64 // looked at
	heard    atomic.Value // the mark that was heard last
	done     chan struct{}

	mu     sync.Mutex
	broken []string
	past   map[ids.ID]map[counter]bool // every state that was committed
}

// was reports whether an event was committed so.
func (m *mirror) was(id ids.ID, state counter) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.past[id][state]
}

func (m *mirror) broke(checker, format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = append(m.broken, checker+": "+fmt.Sprintf(format, args...))
}

// saw takes what was found broken so far.
func (m *mirror) saw() (broken []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	broken, m.broken = m.broken, nil
	return broken
}

type counter struct {
	Total     int64 `bson:"totalSeats"`
	Available int64 `bson:"availableSeats"`
	Oversold  int64 `bson:"oversold"`
}

type mirrored struct {
	Event  ids.ID `bson:"eventId"`
	Seats  int64  `bson:"seats"`
	Status string `bson:"status"`
}

type change struct {
	Op string `bson:"operationType"`
	NS struct {
		Collection string `bson:"coll"`
	} `bson:"ns"`
	Key struct {
		ID bson.RawValue `bson:"_id"`
	} `bson:"documentKey"`
	Full   bson.Raw `bson:"fullDocument"`
	Update struct {
		Fields  bson.Raw `bson:"updatedFields"`
		Removed []string `bson:"removedFields"`
	} `bson:"updateDescription"`
	Session bson.Raw `bson:"lsid"`
	Number  int64    `bson:"txnNumber"`
}

// reflect starts to hear, before there is anything in the database.
func reflect(ctx context.Context, t *testing.T, w *testenv.Env) *mirror {
	t.Helper()
	m := &mirror{t: t, events: map[ids.ID]counter{}, locks: map[ids.ID]mirrored{}, bookings: map[ids.ID]mirrored{},
		taken: map[ids.ID]int64{}, changed: map[ids.ID]bool{}, past: map[ids.ID]map[counter]bool{}, done: make(chan struct{})}
	stream, err := w.DB.Watch(ctx, mongo.Pipeline{}, options.ChangeStream().SetMaxAwaitTime(200*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(m.done)
		defer stream.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the test is over
		for stream.Next(ctx) {
			var ch change
			if err := stream.Decode(&ch); err != nil {
				m.broke("every state", "%v", err)
				return
			}
			m.hear(ch)
		}
		if ctx.Err() == nil {
			m.broke("every state", "the stream of changes ended: %v", stream.Err())
		}
	}()
	return m
}

// mark waits until all that was committed before has been heard.
func (m *mirror) mark(ctx context.Context, w *testenv.Env) {
	mark := ids.New()
	deadline := time.Now().Add(30 * time.Second)
	for {
		_, err := w.DB.Collection("marks").InsertOne(ctx, bson.D{{Key: "_id", Value: mark}})
		if err == nil || mongo.IsDuplicateKeyError(err) {
			break
		}
		if time.Now().After(deadline) {
			m.broke("every state", "marking: %v", err)
			return
		}
		pause(ctx, 100*time.Millisecond)
	}
	for m.heard.Load() != mark {
		if time.Now().After(deadline) {
			m.broke("every state", "changes are not heard of")
			return
		}
		pause(ctx, 20*time.Millisecond)
	}
}

func (m *mirror) hear(ch change) {
	if ch.Number != m.number || !slices.Equal(ch.Session, m.pending) || ch.Session == nil {
		m.look()
		m.pending, m.number = slices.Clone(ch.Session), ch.Number
	}
	var id ids.ID
	if ch.Key.ID.Unmarshal(&id) != nil {
		return
	}
	if ch.Op == "delete" { // by leave
		delete(m.events, id)
		delete(m.locks, id)
		delete(m.bookings, id)
		return
	}
	switch ch.NS.Collection {
	case "events":
		e := m.events[id]
		m.apply(ch, &e)
		if slices.Contains(ch.Update.Removed, "oversold") {
			e.Oversold = 0
		}
		m.events[id], m.changed[id] = e, true
	case "seatlocks":
		before := m.locks[id]
		after := before
		m.apply(ch, &after)
		m.locks[id], m.changed[after.Event] = after, true
		m.taken[after.Event] += weight(after) - weight(before)
		if !walks(before.Status, after.Status, "ACTIVE", lockWays) {
			m.broke("state machine", "lock %s went from %q to %s", id, before.Status, after.Status)
		}
	case "bookings":
		before := m.bookings[id]
		after := before
		m.apply(ch, &after)
		m.bookings[id] = after
		if !walks(before.Status, after.Status, "INITIATED", bookingWays) && (before.Status != "" || after.Status != "PAYMENT_PENDING") {
			m.broke("state machine", "booking %s went from %q to %s", id, before.Status, after.Status)
		}
	case "marks":
		m.look()
		m.heard.Store(id)
	}
}

func (m *mirror) apply(ch change, to any) {
	raw := ch.Full
	switch ch.Op {
	case "update":
		raw = ch.Update.Fields
	case "insert", "replace":
	default:
		m.broke("every state", "a %s in %s", ch.Op, ch.NS.Collection)
		return
	}
	if len(raw) == 0 {
		return
	}
	if err := bson.Unmarshal(raw, to); err != nil {
		m.broke("every state", "%v", err)
	}
}

func weight(l mirrored) int64 {
	if l.Status == "ACTIVE" || l.Status == "CONSUMED" {
		return l.Seats
	}
	return 0
}

// look proves the state that the last transaction left.
func (m *mirror) look() {
	for id := range m.changed {
		e, there := m.events[id]
		if !there {
			continue
		}
		m.states.Add(1)
		m.mu.Lock()
		if m.past[id] == nil {
			m.past[id] = map[counter]bool{}
		}
		m.past[id][e] = true
		m.mu.Unlock()
		if e.Available < 0 || e.Available > e.Total || e.Oversold < 0 || e.Available-e.Oversold != e.Total-m.taken[id] {
			m.broke("every state", "event %s was committed with %d available, %d oversold of %d, and locks of %d seats", id, e.Available, e.Oversold, e.Total, m.taken[id])
			m.taken[id] = e.Total - e.Available + e.Oversold // it is told once
		}
	}
	clear(m.changed)
}

// The ways that states go, as the contract has them.
var (
	lockWays = map[[2]string]bool{
		{"ACTIVE", "CONSUMED"}: true, {"ACTIVE", "RELEASED"}: true, {"ACTIVE", "EXPIRED"}: true, {"CONSUMED", "RELEASED"}: true,
	}
	bookingWays = map[[2]string]bool{
		{"INITIATED", "PAYMENT_PENDING"}: true, {"INITIATED", "CANCELLED"}: true, {"INITIATED", "EXPIRED"}: true,
		{"PAYMENT_PENDING", "CONFIRMED"}: true, {"PAYMENT_PENDING", "CANCELLED"}: true, {"PAYMENT_PENDING", "EXPIRED"}: true,
		{"CONFIRMED", "CANCELLED"}: true,
	}
)

func walks(from, to, first string, ways map[[2]string]bool) bool {
	return from == to || (from == "" && to == first) || ways[[2]string{from, to}]
}
