package store

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// sectionsField has the capacities of general admission in a seated event. An event of ours lists them all.
const sectionsField = "sections"

// sectionsDoc has the capacities of general admission in the event. What can't be read is left out: there the
// capacity is the plan's.
type sectionsDoc []holdfast.SectionCapacity

// UnmarshalBSONValue reads any value.
func (d *sectionsDoc) UnmarshalBSONValue(kind byte, data []byte) error {
	list, ok := bson.RawValue{Type: bson.Type(kind), Value: data}.ArrayOK()
	if !ok {
		return nil
	}
	values, err := list.Values()
	if err != nil {
		return nil //nolint:nilerr // a list of other software
	}
	for _, v := range values {
		var section struct {
			Key      mongodb.Text  `bson:"key"`
			Capacity mongodb.Whole `bson:"capacity"`
		}
		doc, isDoc := v.DocumentOK()
		if isDoc && mongodb.Unmarshal(doc, &section) == nil && section.Key != "" && section.Capacity.Valid && section.Capacity.N > 0 {
			*d = append(*d, holdfast.SectionCapacity{Key: string(section.Key), Capacity: section.Capacity.N})
		}
	}
	return nil
}

// newSections is the field of an event with these capacities.
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
