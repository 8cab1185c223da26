package chaos_test

import (
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// hallChecker is the part of streamChecker that knows which seats are taken: no seat is in two locks
// that take seats, and the event's map is their union, in the plan and with the capacities that the event has then.
type hallChecker struct {
	plans  testenv.PlanSeats
	events map[holdfast.ID]*mirroredHall
}

// mirroredHall is a seated event as it is committed.
type mirroredHall struct {
	plan    holdfast.ID
	general []capacityDocument
	stored  map[string]bson.RawValue // the map, by the number of a section
	blocked int64
	locks   map[holdfast.ID]testenv.HeldSeats // that take seats
	isBlock map[holdfast.ID]bool              // of these: the venue's
	wrong   []string                          // that was reported
}

// withoutFields is a lock of which some fields were removed. A decoder does not write into its IDs.
func (d trackedDocument) withoutFields(removed []string) trackedDocument {
	if slices.Contains(removed, "seatIds") {
		d.SeatIDs = nil
	}
	if slices.Contains(removed, "section") {
		d.Section = ""
	}
	d.SeatIDs = slices.Clone(d.SeatIDs)
	return d
}

func newHallChecker() *hallChecker {
	return &hallChecker{plans: testenv.PlanSeats{}, events: map[holdfast.ID]*mirroredHall{}}
}

// addPart learns a part of a seating plan.
func (c *hallChecker) addPart(change changeEvent) {
	var part testenv.PlanPart
	if change.Operation == "insert" && bson.Unmarshal(change.FullDocument, &part) == nil {
		c.plans.Add(part)
	}
}

func (c *hallChecker) forget(event holdfast.ID) { delete(c.events, event) }

// event is a seated event; it is made when one of its documents is seen first.
func (c *hallChecker) event(id holdfast.ID) *mirroredHall {
	if c.events[id] == nil {
		c.events[id] = &mirroredHall{
			stored: map[string]bson.RawValue{}, locks: map[holdfast.ID]testenv.HeldSeats{}, isBlock: map[holdfast.ID]bool{},
		}
	}
	return c.events[id]
}

// changeEvent applies a change of an event: the fields of the map that it has set.
func (c *hallChecker) changeEvent(id holdfast.ID, change changeEvent) {
	e := c.event(id)
	const mapName = "internal.map"
	set := func(name string, value bson.RawValue) {
		value.Value = slices.Clone(value.Value)
		e.stored[name] = value
	}
	setAll := func(value bson.RawValue) {
		clear(e.stored)
		fields, _ := value.Document().Elements()
		for _, f := range fields {
			set(f.Key(), f.Value())
		}
	}
	fields := change.Update.Fields
	if change.Operation != "update" {
		fields = change.FullDocument
		if all := fields.Lookup(strings.Split(mapName, ".")...); all.Type == bson.TypeEmbeddedDocument {
			setAll(all)
		}
	}
	for _, name := range change.Update.Removed {
		delete(e.stored, strings.TrimPrefix(name, mapName+"."))
	}
	elements, _ := fields.Elements()
	for _, f := range elements {
		switch name := f.Key(); {
		case name == "seatingPlanId":
			_ = f.Value().Unmarshal(&e.plan)
		case name == "sections":
			e.general = nil
			_ = f.Value().Unmarshal(&e.general)
		case name == "blockedSeats":
			e.blocked, _ = f.Value().AsInt64OK()
		case name == mapName:
			setAll(f.Value())
		case strings.HasPrefix(name, mapName+"."):
			set(strings.TrimPrefix(name, mapName+"."), f.Value())
		}
	}
}

// changeLock applies a change of a lock.
func (c *hallChecker) changeLock(id holdfast.ID, lock trackedDocument, takes bool) {
	e := c.event(lock.Event)
	delete(e.locks, id)
	delete(e.isBlock, id)
	if takes {
		e.locks[id] = testenv.HeldSeats{Seats: lock.Seats, SeatIDs: lock.SeatIDs, Section: lock.Section}
		e.isBlock[id] = lock.Status == "BLOCKED"
	}
}

// check compares the state that a transaction has left. What is wrong for long is reported once.
func (c *hallChecker) check(id holdfast.ID, counters availability) (violations []string) {
	e := c.event(id)
	if e.plan.IsZero() {
		return nil
	}
	var locks []testenv.HeldSeats
	taken, blocked := int64(0), int64(0)
	for id, l := range e.locks {
		locks, taken = append(locks, l), taken+l.Seats
		if int64(len(l.SeatIDs)) != l.Seats && l.Section == "" {
			violations = append(violations, fmt.Sprintf("lock %s has %d seats and the IDs %v", id, l.Seats, l.SeatIDs))
		}
		if e.isBlock[id] {
			blocked += l.Seats
		}
	}
	violations = append(violations, testenv.SeatViolations(c.plans[e.plan], e.stored, locks)...)
	violations = append(violations, e.planViolations(c.plans[e.plan], locks, counters.Total)...)
	if free := counters.Total - taken; counters.Available != free || c.plans[e.plan] == nil {
		violations = append(violations, fmt.Sprintf("%d seats are available, want %d", counters.Available, free))
	}
	if e.blocked != blocked {
		violations = append(violations, fmt.Sprintf("%d seats are said to be blocked, not %d", e.blocked, blocked))
	}
	slices.Sort(violations) // locks come in any order
	wrong := violations
	if slices.Equal(wrong, e.wrong) {
		violations = nil
	}
	e.wrong = wrong
	return violations
}

// planViolations compares the event with its plan: it has the plan's sections and its seats, and room for the locks.
func (e *mirroredHall) planViolations(plan []testenv.PlanSection, locks []testenv.HeldSeats, total int64) (violations []string) {
	seats, room, want := map[string]bool{}, map[string]int64{}, int64(0)
	for _, s := range plan {
		for _, id := range s.SeatIDs {
			seats[id] = true
		}
		want += int64(len(s.SeatIDs))
	}
	for _, s := range e.general {
		room[s.Key], want = s.Capacity, want+s.Capacity
	}
	for _, l := range locks {
		for _, id := range l.SeatIDs {
			if !seats[id] {
				violations = append(violations, fmt.Sprintf("a lock has the seat %s, which the plan lacks", id))
			}
		}
		if l.Section != "" {
			room[l.Section] -= l.Seats
		}
	}
	for key, left := range room {
		if left < 0 {
			violations = append(violations, fmt.Sprintf("section %s has %d seats too few", key, -left))
		}
	}
	if len(e.stored) != len(plan) || total != want {
		violations = append(violations, fmt.Sprintf("it has %d seats and the map of %d sections, its plan and capacities %d and %d",
			total, len(e.stored), want, len(plan)))
	}
	return violations
}
