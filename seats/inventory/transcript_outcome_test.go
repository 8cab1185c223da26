package inventory_test

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// decide carries out the commands as one batch, and returns its outcome: an answer for each command, what each round of the decision
// needed, the writes, the changes that are published, and what is left of the event.
func (tr *transcript) decide() (lines []string) {
	tr.Helper()
	if len(tr.commands) == 0 {
		return nil
	}
	add := func(what string, v any) {
		lines = append(lines, strings.TrimRight("  "+what+" "+strings.Join(tr.words(reflect.ValueOf(v)), " "), " "))
	}
	before := tr.eventWords()
	for _, r := range tr.pipeline.batch(tr, tr.commands...) {
		lines = append(lines, "→ "+strings.Join(tr.answer(r), " "))
	}
	tr.commands = nil
	var needs []string
	for _, n := range tr.pipeline.needs {
		needs = append(needs, strings.Join(tr.words(reflect.ValueOf(n)), " "))
	}
	if len(needs) > 0 {
		lines = append(lines, "  needs "+strings.Join(needs, ", then "))
	}
	p := tr.pipeline.plan
	if p.Event != nil {
		add("write event", *p.Event)
	}
	each(add, "write lock", p.Locks)
	each(add, "new lock", p.Acquired)
	each(add, "write booking", p.Bookings)
	each(add, "new booking", p.NewBookings)
	each(add, "write payment", p.Payments)
	each(add, "new payment", p.NewPayments)
	each(add, "write entry", p.Entries)
	each(add, "new entry", p.NewEntries)
	if !p.NotBefore.IsZero() || !p.Before.IsZero() {
		add("only", struct{ NotBefore, Before time.Time }{p.NotBefore, p.Before})
	}
	if published := tr.published(p); len(published) > 0 {
		lines = append(lines, "  publish "+strings.Join(published, " "))
	}
	if p.Event != nil {
		if changed := tr.changed(before); len(changed) > 0 {
			lines = append(lines, "  left event "+strings.Join(changed, " "))
		}
		if s := tr.store; s.seats != nil {
			lines = append(lines, strings.TrimRight("  left map "+s.mapText(), " "))
		}
	}
	return lines
}

func each[T any](add func(string, any), what string, writes []T) {
	for _, w := range writes {
		add(what, w)
	}
}

// published are the changes that a plan publishes, each with the number of its command.
func (tr *transcript) published(p inventory.Plan) (words []string) {
	add := func(by int, what holdfast.ChangeType) {
		words = append(words, fmt.Sprintf("%d:%s", 1+by, strings.TrimPrefix(string(what), "holdfast.")))
	}
	for _, c := range p.Changes {
		add(c.By, c.Type)
	}
	if p.Event == nil {
		return words
	}
	for _, what := range p.EventChanges(tr.store.event.Event) {
		if what == holdfast.ChangeEventSoldOut || what == holdfast.ChangeEventAvailable {
			add(p.CountedBy, what)
		} else {
			add(p.ToldBy, what)
		}
	}
	return words
}

func (tr *transcript) eventWords() []string {
	if tr.store.event == nil {
		return nil
	}
	return tr.words(reflect.ValueOf(*tr.store.event))
}

// changed are the words of the stored event that it did not have before. A number that is left out is 0.
func (tr *transcript) changed(before []string) (changed []string) {
	after := tr.eventWords()
	for _, word := range after {
		if !slices.Contains(before, word) {
			changed = append(changed, word)
		}
	}
	for _, word := range before {
		name, _, isNumber := strings.Cut(word, "=")
		if isNumber && !slices.ContainsFunc(after, func(w string) bool { return strings.HasPrefix(w, name+"=") }) {
			changed = append(changed, name+"=0")
		}
	}
	return changed
}

// mapText is what is taken in the stored map.
func (s *store) mapText() string {
	var taken []string
	for _, seat := range s.seats.model.Seats {
		if s.seats.bits[seat.Section][seat.InSection/8]&(0x80>>(seat.InSection%8)) != 0 {
			taken = append(taken, seat.ID)
		}
	}
	for n, section := range s.seats.model.Sections {
		if count := s.seats.general[n]; count > 0 {
			taken = append(taken, fmt.Sprintf("%s=%d", section.Key, count))
		}
	}
	return strings.Join(taken, " ")
}

// answer has the words for a result. A document that is as it is stored after the batch is named only.
func (tr *transcript) answer(r reply) (words []string) {
	if e, ok := r.Err.(*holdfast.Error); ok { //nolint:errorlint // refusals are not wrapped
		words = append(words, string(e.Code))
		if invalid, ok := e.Details.(holdfast.Invalid); ok {
			words = append(words, invalid[0].Where)
		} else if e.Details != nil {
			words = append(words, tr.words(reflect.ValueOf(e.Details))...)
		}
		if e.Code == holdfast.CodeSeatsUnavailable || e.Code == holdfast.CodeCapacityBelowTaken { // the message says more than the code
			words = append(words, strconv.Quote(e.Message))
		}
	}
	words = append(words, tr.words(reflect.ValueOf(struct {
		Replayed, Late, Undecided, Busy, WrongMap, WrongTotal bool
		Corrected                                             int64
		Correction                                            *inventory.Correction
		Ended                                                 []inventory.Ended
		MoreOffers                                            bool
	}{r.Replayed, r.IsLate, r.Undecided, r.Busy, r.WrongMap, r.WrongTotal, r.Corrected, r.Correction, r.Ended, r.MoreOffers}))...)
	var lock *holdfast.Lock
	if l := tr.store.locks[r.Lock.ID]; l != nil {
		lock = &l.Lock
	}
	var entry *holdfast.WaitlistEntry
	if e := tr.store.entries[r.Entry.ID]; e != nil {
		entry = &e.WaitlistEntry
		r.Entry.Position = 0
	}
	var event *holdfast.Event
	if e := tr.store.event; e != nil {
		event = &e.Event
	}
	payment := orZero(r.Payment)
	for _, d := range []struct{ answered, stored reflect.Value }{
		{reflect.ValueOf(r.Lock), reflect.ValueOf(lock)},
		{reflect.ValueOf(r.Booking), reflect.ValueOf(tr.store.bookings[r.Booking.ID])},
		{reflect.ValueOf(r.Event), reflect.ValueOf(event)},
		{reflect.ValueOf(payment), reflect.ValueOf(tr.store.payments[payment.ID])},
		{reflect.ValueOf(r.Entry), reflect.ValueOf(entry)},
	} {
		switch {
		case d.answered.IsZero():
		case !d.stored.IsNil() && reflect.DeepEqual(d.answered.Interface(), d.stored.Elem().Interface()):
			words = append(words, tr.text(d.answered.FieldByName("ID")), tr.text(d.answered.FieldByName("Status")))
		default:
			words = append(words, tr.words(d.answered)...)
		}
	}
	if len(words) == 0 {
		words = []string{"done"}
	}
	return words
}
