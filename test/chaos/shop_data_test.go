package chaos_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/client"
)

// What the shop keeps with locks and bookings. A client gives some locks a reference and metadata when it makes them, and
// adds keys to locks and bookings, in every status: each key once, so that none may get lost.

// shopData is what a shop keeps with a lock or a booking.
type shopData struct {
	Reference string            `bson:"reference"`
	Metadata  map[string]string `bson:"metadata"`
}

func (d shopData) equals(o shopData) bool {
	return d.Reference == o.Reference && maps.Equal(d.Metadata, o.Metadata)
}

// madeWith is what the request for a lock with a key gives.
func madeWith(key string) (d shopData) {
	if key == "" { // an offer
		return d
	}
	switch key[len(key)-1] % 4 {
	case 0:
		d.Reference = "cart " + key
	case 1:
		d.Metadata = map[string]string{"made": key}
	case 2:
		d.Reference, d.Metadata = "cart "+key, map[string]string{"made": key}
	}
	return d
}

// orderOf is the reference that the request for a booking gives; "": it has that of its lock.
func orderOf(lock string) string {
	if lock[len(lock)-1]%4 == 0 {
		return "order " + lock
	}
	return ""
}

// noteLock adds a key to a lock's metadata, and at times changes its reference.
func (g *generator) noteLock(api, event int, lock string) {
	g.note(api, event, lock, func(ctx context.Context, api *client.Client, change client.ShopDataChange) (opOutput, error) {
		return outputOfLock(api.UpdateLock(ctx, lock, change))
	})
}

func (g *generator) noteBooking(api, event int, booking string) {
	g.note(api, event, booking, func(ctx context.Context, api *client.Client, change client.ShopDataChange) (opOutput, error) {
		return outputOfBooking(api.UpdateBooking(ctx, booking, change))
	})
}

func (g *generator) note(
	api, event int, id string, update func(context.Context, *client.Client, client.ShopDataChange) (opOutput, error),
) {
	in := opInput{op: opNote, event: event, note: g.nextNote(id)}
	change := client.ShopDataChange{Metadata: map[string]*string{in.note: &id}}
	if strings.HasSuffix(in.note, "0") {
		change.Reference = &in.note
	}
	g.invoke(api, invocation{opInput: in, target: id, send: func(ctx context.Context, api *client.Client) (opOutput, error) {
		return update(ctx, api, change)
	}})
}

// nextNote returns a key that no other request has.
func (c *clients) nextNote(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.notes == nil {
		c.notes = map[string]string{}
	}
	key := fmt.Sprint("note-", len(c.notes))
	c.notes[key] = id
	return key
}

// keeper is a lock or a booking, with what it may and must have.
type keeper struct {
	what, id string
	made     shopData
	from     []string  // the lock whose notes it has taken over
	before   time.Time // it must have those that were answered before this time
	is       shopData
}

// checkShopData: nothing that a client gave a lock or a booking was lost or changed, and nothing else is there.
func (c *clients) checkShopData(final finalState) {
	answered := map[string][]invocation{} // by lock or booking
	asked := map[string]int64{}           // when a booking was asked for or paid for first, in Unix milliseconds
	lockOf := map[string]string{}         // the lock that a booking was made of
	first := func(key string, inv invocation) {
		at := inv.firstCalled()
		if before, known := asked[key]; !known || at < before {
			asked[key] = at
		}
	}
	for _, inv := range c.history {
		switch {
		case inv.op == opNote && inv.code != "":
			c.violation("shop data", "%s of %s was refused with %s", inv.note, inv.target, inv.code)
		case inv.op == opNote:
			answered[inv.target] = append(answered[inv.target], inv)
		case inv.op == opBook:
			first("book "+inv.target, inv)
			if inv.code == "" {
				lockOf[inv.id] = inv.target
			}
		case inv.op == opConfirm, inv.op == opTransfer:
			first("leave "+inv.booking, inv)
		}
	}
	keyOf := map[string]string{} // of a lock
	isSale := c.saleKeys()
	for _, l := range final.locks {
		keyOf[l.ID.String()] = l.Key
		if isSale[l.Key] {
			lockOf[l.BookingID.String()] = l.ID.String()
		}
	}
	for _, l := range final.locks {
		for _, b := range final.bookings[l.ID] {
			previous := lockOf[b.ID.String()]
			if previous == "" {
				continue // its making had no answer
			}
			made := madeWith(keyOf[previous])
			if l.isNext() {
				left := time.UnixMilli(asked["leave "+b.ID.String()])
				c.checkKeeper(keeper{"next lock", l.ID.String(), made, []string{previous}, left, l.ShopData}, answered)
			}
			if order := orderOf(previous); order != "" && !isSale[keyOf[previous]] {
				made.Reference = order
			}
			booked := time.UnixMilli(asked["book "+previous])
			c.checkKeeper(keeper{"booking", b.ID.String(), made, []string{previous}, booked, b.ShopData}, answered)
		}
		if l.Key != "" {
			c.checkKeeper(keeper{"lock", l.ID.String(), madeWith(l.Key), nil, time.Time{}, l.ShopData}, answered)
		}
	}
}

func (c *clients) checkKeeper(k keeper, answered map[string][]invocation) {
	wrong := func(what string) {
		c.violation("shop data", "%s %s has %+v: %s; it was made with %+v", k.what, k.id, k.is, what, k.made)
	}
	must := map[string]string{}
	maps.Copy(must, k.made.Metadata)
	isChanged := false
	for _, inv := range answered[k.id] {
		must[inv.note] = k.id
		isChanged = isChanged || strings.HasSuffix(inv.note, "0")
	}
	for _, from := range k.from {
		for _, inv := range answered[from] {
			if time.UnixMilli(inv.returned).Before(k.before) {
				must[inv.note] = from
			}
		}
	}
	for key, value := range must {
		if k.is.Metadata[key] != value {
			wrong("it lacks " + key)
		}
	}
	for key, value := range k.is.Metadata {
		c.mu.Lock()
		of := c.notes[key]
		c.mu.Unlock()
		if must[key] != value && (of != value || of != k.id && !slices.Contains(k.from, of)) {
			wrong(key + " is of no request for it")
		}
	}
	c.mu.Lock()
	of := c.notes[k.is.Reference]
	c.mu.Unlock()
	isOwn := of != "" && (of == k.id || slices.Contains(k.from, of))
	if !isOwn && (isChanged || k.is.Reference != k.made.Reference) {
		wrong("its reference is another one")
	}
}

// beforeNotes sets the times of change of locks and bookings to those of their last change but notes.
func (f finalState) beforeNotes(told map[holdfast.ID][]toldItem) {
	changedAt := func(id holdfast.ID, at time.Time) time.Time {
		items := told[id]
		sortTold(items)
		for i := len(items) - 1; i > 0 && items[i].isNote(items[i-1]); i-- {
			at = items[i-1].at
		}
		return at
	}
	for i, l := range f.locks {
		f.locks[i].UpdatedAt = changedAt(l.ID, l.UpdatedAt)
		for j, b := range f.bookings[l.ID] {
			f.bookings[l.ID][j].UpdatedAt = changedAt(b.ID, b.UpdatedAt)
		}
	}
}

// isNote reports whether a change is that of a reference or metadata alone, or of the seats of what was sold.
func (i toldItem) isNote(before toldItem) bool {
	if i.Lock != nil {
		return i.Type == "lock.changed" && (i.Lock.Status == "CONSUMED" || !i.Lock.ShopData.equals(before.Lock.ShopData))
	}
	return i.Type == "booking.changed"
}
