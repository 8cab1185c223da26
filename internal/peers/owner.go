package peers

import (
	"github.com/cespare/xxhash/v2"

	"github.com/holdfast-dev/holdfast"
)

// owner returns the name of the process that owns an event, of those given: rendezvous hashing. A process that joins or
// leaves moves only its own share of the events.
func owner(event holdfast.ID, names []string) (best string) {
	var highest uint64
	for _, name := range names {
		var d xxhash.Digest
		d.Reset()
		_, _ = d.WriteString(name) // never fails
		_, _ = d.Write(event[:])
		if weight := d.Sum64(); best == "" || weight > highest || weight == highest && name > best {
			best, highest = name, weight
		}
	}
	return best
}
