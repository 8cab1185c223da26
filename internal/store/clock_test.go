package store

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// The time of a state is the database's, whatever the process's clock says.
func TestLoad_UsesTheDatabasesClock(t *testing.T) {
	database := time.Date(2030, time.March, 4, 5, 6, 7, 0, time.UTC)
	event := eventDoc{EventDoc: changes.EventDoc{ID: mongodb.NewID()}, Now: mongodb.DatabaseNow{Time: database}}
	for name, read := range map[string]loaded{
		"an event": {Event: event},
		"an event by its lock": {
			Event: eventDoc{Now: event.Now}, Events: []eventDoc{{EventDoc: event.EventDoc}},
			Locks: []lockDoc{{Lock: holdfast.Lock{ID: mongodb.NewID()}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if s := read.state(inventory.Needs{}); !s.Now.Equal(database) || s.Event == nil {
				t.Errorf("it is %v in %+v, want %v", s.Now, s, database)
			}
		})
	}
}
