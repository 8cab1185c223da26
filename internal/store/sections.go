package store

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
)

// sectionsField contains the capacities of general admission in a seated event. It lists all such sections.
const sectionsField = "sections"

// newSections encodes the capacities for the event's document.
func newSections(sections []holdfast.SectionCapacity) bson.A {
	list := make(bson.A, 0, len(sections))
	for _, s := range sections {
		list = append(list, bson.D{{Key: "key", Value: s.Key}, {Key: "capacity", Value: s.Capacity}})
	}
	return list
}

// setSections replaces the capacities of general admission.
func setSections(set, unset bson.D, sections []holdfast.SectionCapacity) (bson.D, bson.D) {
	if len(sections) == 0 {
		return set, append(unset, bson.E{Key: sectionsField, Value: ""})
	}
	return append(set, bson.E{Key: sectionsField, Value: newSections(sections)}), unset
}
