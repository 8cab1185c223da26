package testenv

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
)

// PlanPart is a document of seatingsections: a part of a section, or the whole of it.
type PlanPart struct {
	PlanID   holdfast.ID `bson:"planId"`
	Section  int         `bson:"number"` // in the plan, from 0
	Part     int         `bson:"part"`   // in the section, from 0
	Key      string      `bson:"key"`
	Capacity int64       `bson:"capacity"` // 0 if the section has rows
	Rows     []struct {
		Seats []*struct {
			ID string `bson:"id"`
		} `bson:"seats"`
	} `bson:"rows"`
}

// PlanSeats knows where the seats of plans are in the maps of events.
type PlanSeats map[holdfast.ID][]PlanSection

// PlanSection is a section with the seats of its map, in their order.
type PlanSection struct {
	Key     string
	General bool
	SeatIDs []string
}

// Add adds the next part of a plan. The parts of a section have to come in their order.
func (p PlanSeats) Add(part PlanPart) {
	sections := p[part.PlanID]
	for len(sections) <= part.Section {
		sections = append(sections, PlanSection{})
	}
	s := &sections[part.Section]
	s.Key, s.General = part.Key, s.General || part.Capacity > 0
	for _, row := range part.Rows {
		for _, seat := range row.Seats {
			if seat != nil {
				s.SeatIDs = append(s.SeatIDs, seat.ID)
			}
		}
	}
	p[part.PlanID] = sections
}

// HeldSeats are the seats of a lock that is ACTIVE, CONSUMED or BLOCKED.
type HeldSeats struct {
	Seats   int64
	SeatIDs []string
	Section string
}

// SeatViolations compares the map of an event, with the numbers of sections as names, and its locks: no seat is
// in two of them, and each section's map is their union. Seats that the plan does not have, and locks
// without a place, count nowhere.
func SeatViolations(plan []PlanSection, stored map[string]bson.RawValue, locks []HeldSeats) (violations []string) {
	holders, general := map[string]int{}, map[string]int64{}
	for _, l := range locks {
		for _, id := range l.SeatIDs {
			if holders[id]++; holders[id] == 2 {
				violations = append(violations, fmt.Sprintf("several locks have the seat %s", id))
			}
		}
		if len(l.SeatIDs) == 0 && l.Section != "" {
			general[l.Section] += l.Seats
		}
	}
	for n, section := range plan {
		value, found := stored[strconv.Itoa(n)]
		if !found {
			violations = append(violations, fmt.Sprintf("section %s has no map", section.Key))
			continue
		}
		if section.General {
			if taken, ok := value.AsInt64OK(); !ok || taken != general[section.Key] {
				violations = append(violations, fmt.Sprintf("the map has %s of section %s taken, its locks %d",
					value, section.Key, general[section.Key]))
			}
			continue
		}
		_, bits, _ := value.BinaryOK()
		const perByte = 8
		for i, id := range section.SeatIDs {
			inMap := i/perByte < len(bits) && bits[i/perByte]&(0x80>>(i%perByte)) != 0
			if inMap != (holders[id] > 0) {
				violations = append(violations, fmt.Sprintf("seat %s is in %d locks; taken in the map: %t", id, holders[id], inMap))
			}
		}
	}
	return violations
}

// findSeatViolations compares the maps of seated events with their locks.
func findSeatViolations(plans PlanSeats, events []eventDoc, locks []lockDoc, report func(string, ...any)) {
	held := map[holdfast.ID][]HeldSeats{}
	for _, l := range locks {
		if l.takes() {
			held[l.EventID] = append(held[l.EventID], HeldSeats{Seats: int64(l.Seats), SeatIDs: l.SeatIDs, Section: l.Section})
		}
	}
	for _, e := range events {
		var planID holdfast.ID
		if e.Plan.Type != bson.TypeObjectID || e.Plan.Unmarshal(&planID) != nil || plans[planID] == nil {
			continue
		}
		for _, v := range SeatViolations(plans[planID], e.Internal.Map, held[e.ID]) {
			report("event %s: %s", e.ID, v)
		}
	}
}

// readPlans reads all plans.
func readPlans(ctx context.Context, db *mongo.Database) (PlanSeats, error) {
	parts, err := readAll[PlanPart](ctx, db, "seatingsections")
	slices.SortFunc(parts, func(a, b PlanPart) int { return cmp.Compare(a.Part, b.Part) })
	plans := PlanSeats{}
	for _, part := range parts {
		plans.Add(part)
	}
	return plans, err
}
