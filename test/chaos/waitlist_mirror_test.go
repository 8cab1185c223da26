package chaos_test

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
)

// What waitlistChecker knows of an event that has a waiting list: its documents as they are committed.

// listEvent is an event as it is committed.
type listEvent struct {
	fields bson.D // of listFields
	listDocument
	locks   map[holdfast.ID]listLock // that take seats
	entries map[holdfast.ID]listEntry
}

// listFields are the fields of an event that bear upon its waiting list.
var listFields = []string{
	"totalSeats", "maxSeatsPerUser", "status", "waitlist", "waitlistFit", "waitlistOfferSeconds", "saleStartsAt", "saleEndsAt",
	"seatingPlanId", "sections", "updatedAt",
}

type listDocument struct {
	Total        int64              `bson:"totalSeats"`
	PerUser      int64              `bson:"maxSeatsPerUser"`
	Status       string             `bson:"status"`
	Waitlist     string             `bson:"waitlist"`
	Fit          string             `bson:"waitlistFit"`
	OfferSeconds int64              `bson:"waitlistOfferSeconds"`
	StartsAt     time.Time          `bson:"saleStartsAt"`
	EndsAt       time.Time          `bson:"saleEndsAt"`
	Plan         holdfast.ID        `bson:"seatingPlanId"`
	Sections     []capacityDocument `bson:"sections"`
	UpdatedAt    time.Time          `bson:"updatedAt"`
	Internal     struct {
		List listState `bson:"list"`
	} `bson:"internal"`
}

// listState is the part that only Holdfast uses.
type listState struct {
	Seq     int64     `bson:"seq"`
	Epoch   int64     `bson:"epoch"`
	Closing bool      `bson:"closing"`
	Waiting int64     `bson:"waiting"`
	Holds   bool      `bson:"holds"`
	CheckAt time.Time `bson:"checkAt"`
}

type listLock struct {
	Event     holdfast.ID `bson:"eventId"`
	User      holdfast.ID `bson:"userId"`
	Entry     holdfast.ID `bson:"waitlistEntryId"`
	Booking   holdfast.ID `bson:"bookingId"`
	Seats     int64       `bson:"seats"`
	Status    string      `bson:"status"`
	SeatIDs   []string    `bson:"seatIds"`
	Section   string      `bson:"section"`
	EndedBy   string      `bson:"endedBy"`
	ExpiresAt time.Time   `bson:"expiresAt"`
	CreatedAt time.Time   `bson:"createdAt"`
}

type listEntry struct {
	Event      holdfast.ID `bson:"eventId"`
	User       holdfast.ID `bson:"userId"`
	Holder     string      `bson:"holder"`
	Seats      int64       `bson:"seats"`
	Categories []string    `bson:"categories"`
	Section    string      `bson:"section"`
	Accessible int64       `bson:"accessibleSeats"`
	Adjacent   string      `bson:"adjacent"`
	Status     string      `bson:"status"`
	Lock       holdfast.ID `bson:"lockId"`
	Internal   struct {
		Seq   int64 `bson:"seq"`
		Epoch int64 `bson:"epoch"`
	} `bson:"internal"`
}

// apply applies a change of the event's document.
func (e *listEvent) apply(change changeEvent) error {
	from := change.Update.Fields
	if change.Operation != "update" {
		e.fields, from = nil, change.FullDocument
		if list := from.Lookup("internal", "list"); list.Type == bson.TypeEmbeddedDocument {
			if err := e.set("internal.list", list); err != nil {
				return err
			}
		}
	}
	for _, name := range change.Update.Removed {
		if isListField(name) {
			e.fields = withField(e.fields, strings.Split(name, "."), nil)
		}
	}
	elements, err := from.Elements()
	for i := 0; i < len(elements) && err == nil; i++ {
		if name := elements[i].Key(); isListField(name) {
			err = e.set(name, elements[i].Value())
		}
	}
	if err != nil {
		return err
	}
	raw, err := bson.Marshal(append(bson.D{}, e.fields...))
	e.listDocument = listDocument{}
	if err == nil {
		err = bson.Unmarshal(raw, &e.listDocument)
	}
	return err
}

func isListField(path string) bool {
	name, _, _ := strings.Cut(path, ".")
	return slices.Contains(listFields, name) || path == "internal.list" || strings.HasPrefix(path, "internal.list.")
}

func (e *listEvent) set(path string, raw bson.RawValue) error {
	var value any
	if err := raw.Unmarshal(&value); err != nil {
		return err
	}
	e.fields = withField(e.fields, strings.Split(path, "."), value)
	return nil
}

// withField is a document of which one field is set; nil removes it.
func withField(d bson.D, path []string, value any) bson.D {
	i := slices.IndexFunc(d, func(f bson.E) bool { return f.Key == path[0] })
	switch {
	case i < 0 && value == nil:
		return d
	case i < 0:
		d, i = append(d, bson.E{Key: path[0], Value: bson.D{}}), len(d)
	case value == nil && len(path) == 1:
		return slices.Delete(d, i, i+1)
	}
	if len(path) == 1 {
		d[i].Value = value
		return d
	}
	switch inner := d[i].Value.(type) {
	case bson.A:
		if n, err := strconv.Atoi(path[1]); err == nil && n < len(inner) {
			if element, isDocument := inner[n].(bson.D); isDocument && len(path) > 2 {
				inner[n] = withField(element, path[2:], value)
			} else {
				inner[n] = value
			}
		}
	case bson.D:
		d[i].Value = withField(inner, path[1:], value)
	}
	return d
}

// makesOffers reports whether the list makes offers at a time.
func (d listDocument) makesOffers(at time.Time) bool {
	return d.Waitlist == "OPEN" && (d.Status == "" || d.Status == "ON_SALE") && !at.Before(d.StartsAt) &&
		(d.EndsAt.IsZero() || at.Before(d.EndsAt))
}

// offerTime is how long an offer lasts.
func (d listDocument) offerTime() time.Duration {
	if d.OfferSeconds == 0 {
		return time.Hour
	}
	return time.Duration(d.OfferSeconds) * time.Second
}

// hasMore reports whether the list has more offers to make than one transaction makes, and keeps all that is free until then.
func (d listDocument) hasMore() bool {
	l := d.Internal.List
	return l.Holds && !l.CheckAt.IsZero() && !l.CheckAt.After(d.UpdatedAt)
}

// hasRulesOf reports whether the list makes its offers by the same rules.
func (d listDocument) hasRulesOf(o listDocument) bool {
	return d.Total == o.Total && d.PerUser == o.PerUser && d.Status == o.Status && d.Waitlist == o.Waitlist && d.Fit == o.Fit &&
		d.Plan == o.Plan && slices.Equal(d.Sections, o.Sections) && d.Internal.List.Epoch == o.Internal.List.Epoch &&
		d.StartsAt.Equal(o.StartsAt) && d.EndsAt.Equal(o.EndsAt)
}

func (l listLock) takesSeats() bool {
	return l.Status == "ACTIVE" || l.Status == "CONSUMED" || l.Status == "BLOCKED"
}

// waits reports whether an entry waits, and the list was not closed since it was made.
func (e listEntry) waits(list listState) bool {
	return e.Status == "WAITING" && e.Internal.Epoch == list.Epoch
}

// wish is what the entry waits for in a hall.
func (e listEntry) wish() wish {
	if e.Section == standing {
		return wish{section: standing, seats: e.Seats}
	}
	return wish{best: true, seats: e.Seats, categories: strings.Join(e.Categories, " "), section: e.Section, accessible: e.Accessible,
		required: e.Adjacent == "REQUIRED"}
}

// waiting are the entries that wait, in the order of the list.
func (e *listEvent) waiting() (ids []holdfast.ID) {
	for id, entry := range e.entries {
		if entry.waits(e.Internal.List) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b holdfast.ID) int { return int(e.entries[a].Internal.Seq - e.entries[b].Internal.Seq) })
	return ids
}

// held is how many seats a customer has.
func (e *listEvent) held(user holdfast.ID) (seats int64) {
	for _, l := range e.locks {
		if l.User == user && l.Status != "BLOCKED" {
			seats += l.Seats
		}
	}
	return seats
}

// room is seats that may be taken: their number and, in a hall, which ones.
type room struct {
	seats    int64 // of an event without numbered seats
	named    seatSet
	standing int64
}

// roomOf is what a lock takes.
func roomOf(l listLock) room {
	switch {
	case !l.takesSeats():
		return room{}
	case len(l.SeatIDs) > 0:
		return room{named: seatsOf(l.SeatIDs...)}
	case l.Section != "":
		return room{standing: l.Seats}
	default:
		return room{seats: l.Seats}
	}
}

func (r room) plus(o room) room {
	return room{r.seats + o.seats, r.named | o.named, r.standing + o.standing}
}

// without leaves out what the other one has.
func (r room) without(o room) room {
	return room{r.seats - o.seats, r.named &^ o.named, r.standing - o.standing}
}

// beyond is what is more than the other one, and nothing where it is less.
func (r room) beyond(o room) room {
	return room{max(0, r.seats-o.seats), r.named &^ o.named, max(0, r.standing-o.standing)}
}

func (r room) isEmpty() bool { return r == room{} }

// fits reports whether the room has what an entry waits for. h is nil for an event without numbered seats.
func (r room) fits(h *hall, e listEntry) bool {
	switch {
	case h == nil:
		return e.Seats <= r.seats
	case e.Section == standing:
		return e.Seats <= r.standing
	default:
		pick := h.pick(e.wish(), r.named)
		return pick.first != 0 || pick.last != 0
	}
}

// free is what no lock takes.
func (e *listEvent) free(h *hall) (free room) {
	free.seats = e.Total
	if h != nil {
		free = room{named: h.all}
		for _, s := range e.Sections {
			free.standing += s.Capacity
		}
	}
	for _, l := range e.locks {
		free = free.without(roomOf(l))
	}
	return free
}
