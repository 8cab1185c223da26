package chaos_test

import (
	"context"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/client"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// The checker of what was answered about waiting lists; see waitlistChecker for the committed states.

// finalEntry is an entry at the end of a round.
type finalEntry struct {
	ID    holdfast.ID `bson:"_id"`
	Entry listEntry   `bson:",inline"`
}

// isOf reports whether the entry is of an event and a customer.
func (e listEntry) isOf(event, user, holder string) bool {
	return e.Event.String() == event && e.Holder == holder && (holder != "" || e.User.String() == user)
}

// readEntries reads the entries that a filter selects, by ID.
func readEntries(env *testenv.Env, filter bson.D) (map[string]finalEntry, error) {
	found, err := findAll[finalEntry](env, "waitlist", filter)
	entries := map[string]finalEntry{}
	for _, e := range found {
		entries[e.ID.String()] = e
	}
	return entries, err
}

// offersTimeout bounds the time until all offers are made that no transaction of the event makes by itself, and all documents of a
// list that was closed are written: 5 s, and the time of a new leader.
const offersTimeout = 5*time.Second + expiryTimeout

// endedAs are the statuses of an entry that declining or leaving it is refused for.
var endedAs = map[string][]string{
	"LOCK_EXPIRED": {"EXPIRED"}, "LOCK_CONSUMED": {"ACCEPTED"}, "WAITLIST_CLOSED": {"CLOSED"}, "LOCK_RELEASED": {"LEFT", "DECLINED"},
}

// checkLists: at rest, no list owes an offer; entries are what their clients were told, and the API lists them in their order.
func (c *clients) checkLists(stream *streamChecker, env *testenv.Env) {
	for _, e := range c.events {
		var open []string
		isSettled := poll(offersTimeout, 100*time.Millisecond, func() bool {
			stream.catchUp(context.Background(), env)
			open = stream.lists.openOffers(parseID(c.t, e.id))
			return len(open) == 0
		})
		if !isSettled {
			c.violation("waiting lists", "event %s, %v after the faults: %v", e.id, offersTimeout, open)
		}
	}
	final := c.checkDocuments(env)
	c.checkReads(final)
	c.checkEntries(final)
	for event := range c.events {
		c.checkPositions(c.events[event].id, final)
	}
}

// checkEntries: an entry that was acknowledged is there, as it was asked for, and has ended as it was answered. Each other one was
// made by a request that had no definite answer.
func (c *clients) checkEntries(final finalState) {
	known, lost := map[string]bool{}, 0
	for _, inv := range c.history {
		switch e, exists := final.entries[inv.target]; {
		case inv.op == opJoin:
			lost += len(inv.indeterminateAttempts)
			if inv.duplicate {
				lost++ // Of two answers the client may have kept one.
			}
			if inv.code != "" {
				continue
			}
			known[inv.id] = true
			e, exists = final.entries[inv.id]
			user, holder := c.customer(inv.opInput.user)
			if !exists || !e.Entry.isOf(inv.target, user, holder) || e.Entry.Seats != inv.seats {
				c.violation("acknowledged", "%s of customer %d was answered with %s, which is %+v", inv.op, inv.opInput.user, inv.id, e)
			}
		case inv.op != opDecline && inv.op != opLeave:
		case !exists:
			c.violation("acknowledged", "%s of %s was answered with %q, but it does not exist", inv.op, inv.target, inv.code)
		case inv.code == "" && e.Entry.Status != resultingStatus[inv.op],
			inv.code != "" && inv.code != "WAITLIST_NOT_OFFERED" && !slices.Contains(endedAs[inv.code], e.Entry.Status):
			c.violation("acknowledged", "%s of %s was answered with %q, but it is %s", inv.op, inv.target, inv.code, e.Entry.Status)
		}
	}
	unknown := 0
	for id := range final.entries {
		if !known[id] {
			unknown++
		}
	}
	if unknown > lost {
		c.violation("refused", "%d entries are of no answer, but only %d requests had none", unknown, lost)
	}
}

// checkPositions: the API lists the entries of an event as they are, and those that wait in the order of the list.
func (c *clients) checkPositions(event string, final finalState) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	place, last, n := int64(0), int64(0), 0
	for e, err := range c.apis[0].ListEntries(ctx, event, client.EntryFilter{}) {
		is := final.entries[e.ID].Entry
		if e.Status == "WAITING" {
			place++
		}
		isInPlace := e.Status != "WAITING" && e.Position == 0 || e.Position == place && e.Status == "WAITING"
		if err != nil || e.Status != is.Status || e.Seats != is.Seats || !isInPlace || is.Internal.Seq <= last {
			c.violation("waiting lists", "event %s lists %+v %v, but it is %+v after number %d, and %d wait", event, e, err, is, last, place)
			return
		}
		last = is.Internal.Seq
		n++
	}
	want := 0
	for _, e := range final.entries {
		if e.Entry.Event.String() == event {
			want++
		}
	}
	if e, err := c.apis[1].GetEvent(ctx, event); err != nil || n != want || e.Waiting == nil || *e.Waiting != place {
		c.violation("waiting lists", "event %s lists %d entries of %d, of which %d wait: %+v %v", event, n, want, place, e, err)
	}
}
