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

// A seated event has its occupancy in the field internal.map, which only Load reads, and only if it is needed:
//
//	internal.map: {0: binary, 1: binary, 2: 17}
//
// The names are the numbers of the sections in the plan, because a key of the plan may contain dots. A section of
// rows has one bit for each seat (see package seating), and general admission the number of taken seats. The map is
// derived from the locks, and changes in their transactions. It has every section of the plan; a map in which a
// section is missing or can't be read is damaged.

// Halls finds the hall of a seating plan. It refuses with CodeSeatingPlanNotFound. It may be called with a context
// that has no transaction, and it must be safe for concurrent use.
type Halls func(ctx context.Context, planID ID) (*seating.Hall, error)

const mapName = internalName + ".map"

// mapOf returns the path of a section's map.
func mapOf(section int) string { return mapName + "." + strconv.Itoa(section) }

// withoutMap is part of every read of events that does not need the map.
var withoutMap = bson.D{{Key: "$project", Value: noMap}}

var noMap = bson.D{{Key: mapName, Value: 0}}

// withoutMaps is withoutMap for events that were joined.
var withoutMaps = bson.D{{Key: "$project", Value: bson.D{{Key: "events." + mapName, Value: 0}}}}

// unseated matches events without a seating plan.
var unseated = mongodb.Is(planField, nil)

const (
	planField    = "seatingPlanId" // of events
	seatIDsField = "seatIds"       // a field of locks
	sectionField = "section"
)

// samePlan matches an event with the same plan, or without one.
func samePlan(planID ID) bson.D {
	if planID.IsZero() {
		return unseated
	}
	return mongodb.Is(planField, planID)
}

// sameRules matches a seated event with the same rules. Any value other than the one that is not the default counts
// as the default.
func sameRules(s holdfast.Seating) bson.D {
	if s.PlanID.IsZero() {
		return nil
	}
	return mongodb.And(
		sameChoice("orphanRule", string(holdfast.OrphansRefused), s.OrphanRule == holdfast.OrphansRefused),
		sameChoice("accessiblePolicy", string(holdfast.AccessibleOpen), s.AccessiblePolicy == holdfast.AccessibleOpen),
	)
}

// sameChoice matches a field that is a text or, if is is false, one that is not.
func sameChoice(field, text string, is bool) bson.D {
	if is {
		return mongodb.Is(field, text)
	}
	return mongodb.Is(field, bson.D{{Key: "$ne", Value: text}})
}

// setSeats replaces the seats of a lock or a booking.
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

// The venue's blocks are not locks of customers, and neither are blocks that were lifted: liftedBlock distinguishes
// them from released locks. The date of its end is also the expiry of a lifted block, so that retention removes it.
const liftedBlock = internalName + ".block"

var (
	notBlocked = bson.D{{Key: "status", Value: bson.D{{Key: "$ne", Value: string(holdfast.LockBlocked)}}}}
	notLifted  = bson.D{{Key: liftedBlock, Value: bson.D{{Key: "$ne", Value: true}}}}
	endDate    = bson.E{Key: "$currentDate", Value: bson.D{{Key: "updatedAt", Value: true}, {Key: "expiresAt", Value: true}}}
)

// seatsDoc has the fields of a seated event that only a decision on seats needs.
type seatsDoc struct {
	Map      bson.Raw // nil: it was left out, or is damaged
	Sections []holdfast.SectionCapacity
}

func readSeats(doc bson.Raw, event eventDoc) seatsDoc {
	stored, _ := doc.Lookup(internalName, "map").DocumentOK()
	return seatsDoc{Map: stored, Sections: event.CapacitySections()}
}

// ErrMap says that an event's map can't be read, because it was changed by hand. A validator can't check how a
// plan's sections are stored.
var ErrMap = errors.New("the event's map of seats is damaged")

// empty returns an occupancy of the event in which all seats are free.
func (d seatsDoc) empty(hall *seating.Hall) *seating.Occupancy {
	occupancy := seating.NewOccupancy(hall)
	for _, s := range d.Sections {
		if n, found := hall.FindSection(s.Key); found && hall.Sections()[n].GeneralAdmission() {
			occupancy.SetGeneral(n, s.Capacity, 0)
		}
	}
	return occupancy
}

// occupancy decodes the map.
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
			return fmt.Errorf("%w: section %d is not a binary", ErrMap, section)
		}
		if err := o.SetBytes(section, bits); err != nil {
			return fmt.Errorf("%w: section %d: %w", ErrMap, section, err)
		}
		return nil
	}
	taken, isWhole := mongodb.WholeOf(stored)
	if !isWhole || taken < 0 {
		return fmt.Errorf("%w: section %d is not a number of seats", ErrMap, section)
	}
	o.SetGeneral(section, o.Capacity(section), taken)
	return nil
}

// orWrong decodes the map. If a section can't be read, all of its seats are set to the opposite of what is right.
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

// hall finds the hall of a seated event. If the plan is missing or damaged, no seat of the event can be moved.
func (s *Store) hall(ctx context.Context, planID ID) (*seating.Hall, error) {
	hall, err := s.halls(mongodb.WithoutTx(ctx), planID)
	if holdfast.HasCode(err, holdfast.CodeSeatingPlanNotFound) {
		return nil, unusable("The event's seating plan is missing. Restore it, or set the event's seatingPlanId to the plan that it was "+
			"sold with; until then no seat can be moved.", err)
	}
	if errors.Is(err, seating.ErrDamaged) {
		return nil, unusable("The event's seating plan is damaged. Restore it; until then no seat can be moved.", err)
	}
	return hall, err
}

// Known is a seated event as the caller has cached it, with its occupancy.
type Known struct {
	Event *inventory.Event
	Seats *seating.Occupancy // of the same revision as the event
	Due   []inventory.Lock   // due locks that were read, soonest expiry first
}

// matches reports whether the event that was read is the cached one. Each change of the map raises the revision.
func (k Known) matches(event inventory.Event) bool {
	return k.Seats != nil && k.Event.ID == event.ID && k.Event.Revision == event.Revision &&
		k.Event.Seating.PlanID == event.Seating.PlanID
}

// seatsOf returns the occupancy of the event that was read, or the cached one if the event is the same. It is nil if
// the event is unseated.
func (s *Store) seatsOf(ctx context.Context, event inventory.Event, read seatsDoc, known Known) (*seating.Occupancy, error) {
	switch planID := event.Seating.PlanID; {
	case planID.IsZero():
		return nil, nil //nolint:nilnil // an unseated event has no map
	case known.matches(event):
		return known.Seats, nil
	default:
		hall, err := s.hall(ctx, planID)
		if err != nil {
			return nil, err
		}
		occupancy, err := read.occupancy(hall)
		if err != nil {
			return nil, unusable("The event's map of seats can't be read. Run seatctl recover; until then no seat can be moved.", err)
		}
		return occupancy, nil
	}
}

// mapUnless is part of the read of an event with its map. It leaves out the map if the event has the cached
// revision.
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

// seatedFields adds its rules to a new event. To a seated event it also adds the fields that an unseated one does
// not have, and returns those of its sub-document, with the map of the hall without locks. A capacity that the event
// does not name is the plan's. It refuses with CodeSeatingPlanNotFound.
func (s *Store) seatedFields(ctx context.Context, doc bson.D, e holdfast.Event) (_, own bson.D, err error) {
	if rule := e.Seating.OrphanRule; rule != "" {
		doc = append(doc, bson.E{Key: "orphanRule", Value: string(rule)})
	}
	if policy := e.Seating.AccessiblePolicy; policy != "" {
		doc = append(doc, bson.E{Key: "accessiblePolicy", Value: string(policy)})
	}
	if e.Seating.PlanID.IsZero() {
		return doc, nil, nil
	}
	hall, err := s.halls(mongodb.WithoutTx(ctx), e.Seating.PlanID)
	if err != nil {
		return nil, nil, err
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
	return doc, bson.D{{Key: "rev", Value: int64(0)}, {Key: "map", Value: mapDoc(free)}}, nil
}

// mapDoc returns the stored map of an occupancy.
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
		if w.AllMaps {
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

// sectionValue returns the stored map of a section.
func sectionValue(m inventory.SectionMap) any {
	if m.Bits == nil {
		return m.Taken
	}
	return bson.Binary{Data: m.Bits}
}
