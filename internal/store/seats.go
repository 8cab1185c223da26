package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// A seated event has its occupancy in the field internal.map, which only Load reads, and only if it is
// needed:
//
//	internal.map: {0: binary, 1: binary, 2: 17}
//
// The names are the numbers of the sections in the plan, because a key of the plan may have dots. A
// section of rows has one bit a seat (see package seating), general admission the number of seats taken.
// It is derived from the locks, and changes in their transactions. An event of ours has every section;
// one that is missing or can't be read is damage.

// Halls finds the hall of a seating plan. It refuses with CodeSeatingPlanNotFound. It may be called with a
// context that has no transaction, and by several goroutines.
type Halls func(ctx context.Context, planID ID) (*seating.Hall, error)

const mapName = internalName + ".map"

// mapOf is the path of a section's map.
func mapOf(section int) string { return mapName + "." + strconv.Itoa(section) }

// withoutMap is part of every read of events that does not need the map. An exclusion leaves an internal of
// other software that is no document as it is.
var withoutMap = bson.D{{Key: "$project", Value: noMap}}

var noMap = bson.D{{Key: mapName, Value: 0}}

// withoutMaps is withoutMap for events that were joined.
var withoutMaps = bson.D{{Key: "$project", Value: bson.D{{Key: "events." + mapName, Value: 0}}}}

// unseated matches events without a seating plan. A value that is no ObjectID names none.
var unseated = bson.D{{Key: planField, Value: bson.D{{Key: "$not", Value: bson.D{{Key: "$type", Value: "objectId"}}}}}}

const (
	planField    = "seatingPlanId" // of events
	seatIDsField = "seatIds"       // of locks
	sectionField = "section"
)

// samePlan matches an event with the same plan, or without one.
func samePlan(planID ID) bson.D {
	if planID.IsZero() {
		return unseated
	}
	return mongodb.Is(planField, planID)
}

// sameRules matches a seated event with the same rules. Any value but the one that is not the default counts as the default.
func sameRules(s holdfast.Seating) bson.D {
	if s.PlanID.IsZero() {
		return nil
	}
	return mongodb.And(
		sameChoice("orphanRule", string(holdfast.OrphansRefused), s.OrphanRule == holdfast.OrphansRefused),
		sameChoice("accessiblePolicy", string(holdfast.AccessibleOpen), s.AccessiblePolicy == holdfast.AccessibleOpen),
	)
}

// sameChoice matches a field that is a text, or is not. MongoDB takes a symbol for the text, and a decision does not.
func sameChoice(field, text string, is bool) bson.D {
	isText := bson.D{{Key: field, Value: bson.D{{Key: "$type", Value: "string"}}}}
	chosen := mongodb.And(mongodb.Is(field, text), isText, isNoList(field))
	if is {
		return chosen
	}
	return bson.D{{Key: "$nor", Value: bson.A{chosen}}}
}

// planDoc names a seating plan. Wrong: there is a value that names none, and conditions may take it for one.
type planDoc struct {
	ID    ID
	Wrong bool
}

// UnmarshalBSONValue reads any value.
func (d *planDoc) UnmarshalBSONValue(kind byte, data []byte) error {
	err := d.ID.UnmarshalBSONValue(kind, data)
	d.Wrong = d.ID.IsZero() && bson.Type(kind) != bson.TypeNull && bson.Type(kind) != bson.TypeUndefined
	return err
}

// seating has the rules, and what a seated event has beside an unseated one. A rule that is missing or unknown is the
// default, which an unseated event need not name.
func (d eventDoc) seating() (s holdfast.Seating) {
	if !d.SeatingPlanID.ID.IsZero() {
		s = holdfast.Seating{
			PlanID: d.SeatingPlanID.ID, BlockedSeats: max(0, d.BlockedSeats.Or(0)),
			OrphanRule: holdfast.OrphansAllowed, AccessiblePolicy: holdfast.AccessibleReserved,
		}
	}
	if rule := holdfast.OrphanRule(d.OrphanRule); rule == holdfast.OrphansRefused {
		s.OrphanRule = rule
	}
	if policy := holdfast.AccessiblePolicy(d.AccessiblePolicy); policy == holdfast.AccessibleOpen {
		s.AccessiblePolicy = policy
	}
	return s
}

// withSeats adds to a new lock or booking where its seats are.
func withSeats(doc bson.D, seatIDs []string, section string) bson.D {
	if len(seatIDs) > 0 {
		doc = append(doc, bson.E{Key: seatIDsField, Value: seatIDs})
	}
	if section != "" {
		doc = append(doc, bson.E{Key: sectionField, Value: section})
	}
	return doc
}

// setSeats replaces the seats of a lock.
func setSeats(set, unset bson.D, s inventory.LockSeats) (bson.D, bson.D) {
	set = append(set, bson.E{Key: "seats", Value: s.Seats})
	if len(s.SeatIDs) > 0 {
		set = append(set, bson.E{Key: seatIDsField, Value: s.SeatIDs})
	} else {
		unset = append(unset, bson.E{Key: seatIDsField, Value: ""})
	}
	if s.Section != "" {
		return append(set, bson.E{Key: sectionField, Value: s.Section}), unset
	}
	return set, append(unset, bson.E{Key: sectionField, Value: ""})
}

// The venue's blocks are no locks of customers, and neither are those that were lifted: liftedBlock tells them
// from released locks. The date of its end stands in for its expiry, by which retention removes it.
const liftedBlock = internalName + ".block"

var (
	notBlocked = bson.D{{Key: "status", Value: bson.D{{Key: "$ne", Value: string(holdfast.LockBlocked)}}}}
	notLifted  = bson.D{{Key: liftedBlock, Value: bson.D{{Key: "$ne", Value: true}}}}
	endDate    = bson.E{Key: "$currentDate", Value: bson.D{{Key: "updatedAt", Value: true}, {Key: "expiresAt", Value: true}}}
)

// seatsDoc has the fields of a seated event that only a decision on seats needs.
type seatsDoc struct {
	Map      bson.Raw // nil: it was left out, or is no document
	Sections sectionsDoc
}

func readSeats(doc bson.Raw) (d seatsDoc) {
	d.Map, _ = doc.Lookup(internalName, "map").DocumentOK()
	_ = mongodb.UnmarshalValue(doc.Lookup(sectionsField), &d.Sections) // it never fails
	return d
}

// ErrMap says that an event's map can't be read: other software has changed it.
var ErrMap = errors.New("the event's map of seats is damaged")

// empty is an occupancy of the event in which all seats are free.
func (d seatsDoc) empty(hall *seating.Hall) *seating.Occupancy {
	occupancy := seating.NewOccupancy(hall)
	for _, s := range d.Sections {
		if n, found := hall.FindSection(s.Key); found && hall.Sections()[n].GeneralAdmission() {
			occupancy.SetGeneral(n, s.Capacity, 0)
		}
	}
	return occupancy
}

// occupancy reads the map.
func (d seatsDoc) occupancy(hall *seating.Hall) (*seating.Occupancy, error) {
	occupancy := d.empty(hall)
	for n := range hall.Sections() {
		if err := d.readSection(occupancy, n); err != nil {
			return nil, err
		}
	}
	return occupancy, nil
}

func (d seatsDoc) readSection(o *seating.Occupancy, section int) error {
	stored := d.Map.Lookup(strconv.Itoa(section))
	if !o.Hall().Sections()[section].GeneralAdmission() {
		_, bits, ok := stored.BinaryOK()
		if !ok {
			return fmt.Errorf("%w: section %d is no binary", ErrMap, section)
		}
		if err := o.SetBytes(section, bits); err != nil {
			return fmt.Errorf("%w: section %d: %w", ErrMap, section, err)
		}
		return nil
	}
	var taken mongodb.Whole
	if !stored.IsZero() {
		_ = taken.UnmarshalBSONValue(byte(stored.Type), stored.Value) // it never fails
	}
	if !taken.Valid || taken.N < 0 {
		return fmt.Errorf("%w: section %d is no whole number", ErrMap, section)
	}
	o.SetGeneral(section, o.Capacity(section), taken.N)
	return nil
}

// orWrong reads the map. Of a section that can't be read it has the opposite of what is right.
func (d seatsDoc) orWrong(hall *seating.Hall, right *seating.Occupancy) *seating.Occupancy {
	occupancy := d.empty(hall)
	for n, section := range hall.Sections() {
		if d.readSection(occupancy, n) == nil {
			continue
		}
		if section.GeneralAdmission() {
			occupancy.SetGeneral(n, right.Capacity(n), right.TakenGeneral(n)+1)
		}
		for seat := range section.Seats {
			if at := (seating.Place{Section: n, Seat: seat}); !right.Taken(at) {
				occupancy.Take(at)
			}
		}
	}
	occupancy.Settle()
	return occupancy
}

// hall finds the hall of a seated event. An event of other software may name a plan that does not exist, or one whose
// sections it has damaged: no seat of it can be moved.
func (s *Store) hall(ctx context.Context, planID ID) (*seating.Hall, error) {
	hall, err := s.halls(mongodb.WithoutTx(ctx), planID)
	if holdfast.HasCode(err, holdfast.CodeSeatingPlanNotFound) {
		return nil, RejectedEventError{holdfast.Refuse(holdfast.CodeUnavailable,
			"The event's seating plan is missing. Restore it, or set the event's seatingPlanId to the plan that it was sold with; "+
				"until then no seat can be moved.").By(err)}
	}
	if errors.Is(err, seating.ErrDamaged) {
		return nil, RejectedEventError{err}
	}
	return hall, err
}

// Known is a seated event as it is remembered, with its occupancy.
type Known struct {
	Event *inventory.Event
	Seats *seating.Occupancy // of the same revision as the event
}

// is reports whether the event is as it was read. It is then as it is remembered: whatever changes the map
// raises the revision.
func (k Known) is(event inventory.Event) bool {
	return k.Seats != nil && k.Event.ID == event.ID && !event.Unguarded && k.Event.Revision == event.Revision &&
		k.Event.Seating.PlanID == event.Seating.PlanID
}

// errShared refuses what moves seats of a seated event while processes of the former version may serve the
// database too: they would change its locks without its map.
func errShared() error {
	return holdfast.Refuse(holdfast.CodeUnavailable,
		"Seating plans need a finished upgrade of the database. Stop all processes of the former version, and run: seatctl upgrade finish")
}

// seatsOf is the occupancy of the event that was read, or the remembered one if the event is the same; nil
// if the event is unseated.
func (s *Store) seatsOf(ctx context.Context, event inventory.Event, read seatsDoc, known Known) (*seating.Occupancy, error) {
	switch planID := event.Seating.PlanID; {
	case planID.IsZero():
		return nil, nil //nolint:nilnil // an unseated event has no map
	case s.shared():
		return nil, errShared()
	case known.is(event):
		return known.Seats, nil
	default:
		hall, err := s.hall(ctx, planID)
		if err != nil {
			return nil, err
		}
		occupancy, err := read.occupancy(hall)
		if err != nil {
			return nil, RejectedEventError{holdfast.Refuse(holdfast.CodeUnavailable,
				"The event's map of seats can't be read. Run seatctl recover; until then no seat can be moved.").By(err)}
		}
		return occupancy, nil
	}
}

// mapUnless is part of the read of an event with its map. It leaves the map out if the event has the
// revision of the remembered one.
func (k Known) mapUnless() []bson.D {
	if k.Seats == nil {
		return nil
	}
	isKnown := bson.D{{Key: "$eq", Value: bson.A{"$" + rev, k.Event.Revision}}}
	without := bson.D{{Key: "$unsetField", Value: bson.D{{Key: "field", Value: "map"}, {Key: "input", Value: "$" + internalName}}}}
	return []bson.D{{{Key: "$set", Value: bson.D{{Key: internalName, Value: bson.D{
		{Key: "$cond", Value: bson.A{isKnown, without, "$" + internalName}},
	}}}}}}
}

// seatedFields adds to a new event its rules, and what a seated one has beside an unseated one, with the map of the hall
// without a lock. Where the event names no capacity, it is the plan's. It refuses with CodeSeatingPlanNotFound.
func (s *Store) seatedFields(ctx context.Context, doc bson.D, e holdfast.Event) (bson.D, error) {
	if rule := e.Seating.OrphanRule; rule != "" {
		doc = append(doc, bson.E{Key: "orphanRule", Value: string(rule)})
	}
	if policy := e.Seating.AccessiblePolicy; policy != "" {
		doc = append(doc, bson.E{Key: "accessiblePolicy", Value: string(policy)})
	}
	if e.Seating.PlanID.IsZero() {
		return doc, nil
	}
	if s.shared() {
		return nil, errShared()
	}
	hall, err := s.halls(mongodb.WithoutTx(ctx), e.Seating.PlanID)
	if err != nil {
		return nil, err
	}
	free := seatsDoc{Sections: e.Sections}.empty(hall)
	for n := range doc {
		if name := doc[n].Key; name == "totalSeats" || name == "availableSeats" {
			doc[n].Value = free.Total()
		}
	}
	doc = append(doc, bson.E{Key: planField, Value: e.Seating.PlanID}, bson.E{Key: "blockedSeats", Value: int64(0)})
	if sections := free.Capacities(); len(sections) > 0 {
		doc = append(doc, bson.E{Key: sectionsField, Value: newSections(sections)})
	}
	own := bson.D{{Key: "rev", Value: int64(0)}, {Key: "map", Value: mapDoc(free)}}
	return append(doc, bson.E{Key: internalName, Value: own}), nil
}

// mapDoc is the map of an occupancy.
func mapDoc(o *seating.Occupancy) bson.D {
	sections := o.Hall().Sections()
	doc := make(bson.D, 0, len(sections))
	for n := range sections {
		m := inventory.SectionMap{Section: n}
		if sections[n].GeneralAdmission() {
			m.Taken = o.TakenGeneral(n)
		} else {
			m.Bits = o.Bytes(nil, n)
		}
		doc = append(doc, bson.E{Key: strconv.Itoa(n), Value: sectionValue(m)})
	}
	return doc
}

// setMaps replaces the maps of sections.
func setMaps(set bson.D, w inventory.EventWrite) bson.D {
	all := bson.D{}
	for _, m := range w.Maps {
		if w.AllMaps { // what is there may be no document
			all = append(all, bson.E{Key: strconv.Itoa(m.Section), Value: sectionValue(m)})
		} else {
			set = append(set, bson.E{Key: mapOf(m.Section), Value: sectionValue(m)})
		}
	}
	if w.AllMaps {
		set = append(set, bson.E{Key: mapName, Value: all})
	}
	return set
}

// sectionValue is a section's map as it is stored.
func sectionValue(m inventory.SectionMap) any {
	if m.Bits == nil {
		return m.Taken
	}
	return bson.Binary{Data: m.Bits}
}
