package webhooks

import "github.com/holdfast-dev/holdfast/internal/changes"

// track keeps the changes of one endpoint that were taken from the feed, in their order, until they are settled:
// delivered, or stored as documents. Of a subject at most one is in flight. It knows neither time nor servers.
type track struct {
	scanned   changes.Position // behind the last change that was taken, or does not concern the endpoint
	items     []*item          // taken and perhaps not settled, in order
	ready     []*item          // whose subject has nothing in flight
	bySubject map[string][]*item
	unsettled int
}

// item is a change on its way to an endpoint.
type item struct {
	entry   *entry // nil: it is settled
	at      changes.Position
	subject string
}

func newTrack(at changes.Position) *track {
	return &track{scanned: at, bySubject: map[string][]*item{}}
}

// add takes a change. The position moves behind it when it is settled.
func (t *track) add(e *entry) {
	i := &item{entry: e, at: e.at, subject: e.subject}
	t.items = append(t.items, i)
	t.unsettled++
	waiting := t.bySubject[e.subject]
	t.bySubject[e.subject] = append(waiting, i)
	if len(waiting) == 0 {
		t.ready = append(t.ready, i)
	}
}

// addStored takes a change that becomes a document at once.
func (t *track) addStored(e *entry) {
	t.items = append(t.items, &item{at: e.at, subject: e.subject})
}

// next is the first change that can be sent; nil: there is none.
func (t *track) next() *item {
	if len(t.ready) == 0 {
		return nil
	}
	i := t.ready[0]
	t.ready[0] = nil
	t.ready = t.ready[1:]
	return i
}

// again puts a change back that could not be sent.
func (t *track) again(i *item) { t.ready = append(t.ready, i) }

// delivered settles a change, and makes the next one of its subject ready.
func (t *track) delivered(i *item) {
	t.settle(i)
	waiting := t.bySubject[i.subject][1:]
	if len(waiting) == 0 {
		delete(t.bySubject, i.subject)
		return
	}
	t.bySubject[i.subject] = waiting
	t.ready = append(t.ready, waiting[0])
}

// failed settles a change and those that wait behind it, which it returns: all of them become documents.
func (t *track) failed(i *item) (behind []*entry) {
	for _, w := range t.bySubject[i.subject] {
		if w != i {
			behind = append(behind, w.entry)
		}
		t.settle(w)
	}
	delete(t.bySubject, i.subject)
	return behind
}

// settle keeps of a change no more than its place: thousands may wait for an earlier one whose try hangs.
func (t *track) settle(i *item) {
	i.entry = nil
	t.unsettled--
}

// isBusy reports whether a change of a subject waits or is in flight.
func (t *track) isBusy(subject string) bool { return len(t.bySubject[subject]) > 0 }

// position is in front of the first change that is not settled.
func (t *track) position() changes.Position {
	settled := 0
	for settled < len(t.items) && t.items[settled].entry == nil {
		t.items[settled] = nil
		settled++
	}
	t.items = t.items[settled:]
	if len(t.items) > 0 {
		return t.items[0].at
	}
	return t.scanned
}
