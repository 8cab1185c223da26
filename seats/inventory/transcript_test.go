package inventory_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

var update = flag.Bool("update", false, "rewrite the outcomes of testdata/*.txt")

// transcript runs one case of testdata, whose form is in testdata/README.md.
type transcript struct {
	testing.TB

	store    *store
	pipeline *pipeline
	plans    []holdfast.SeatingPlan
	commands []inventory.Command
	given    []string // the lines that set the state before the first variant
	numbered int      // how many commands of the case have got an ID
	varies   bool     // a variant has begun
	extra    string   // a line that ends each state
}

func TestTranscripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %v: %v", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			written, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			cases := strings.Split(strings.TrimSpace(string(written)), "\n\n")
			for i, text := range cases {
				name, _, _ := strings.Cut(strings.TrimPrefix(text, "# "), "\n")
				t.Run(name, func(t *testing.T) { cases[i] = check(t, text) })
			}
			if *update {
				if err := os.WriteFile(file, []byte(strings.Join(cases, "\n\n")+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// check runs a case, and returns it as it is decided now. What a process remembers, or whether the transaction holds the event, makes no
// difference for what is visible.
func check(t *testing.T, text string) (got string) {
	t.Helper()
	if got = (&transcript{TB: t}).run(text); got != text && !*update {
		t.Errorf("differs (- as written, + as decided):\n%s", difference(text, got))
	}
	for _, extra := range []string{"remembered", "held"} {
		if extra == "held" && strings.Contains(text, "\nrepair") {
			continue // it replaces the counter of an event that is held, instead of subtracting a drift
		}
		other := (&transcript{TB: t, extra: extra}).run(text)
		if want, same := visible(got), visible(other); want != same {
			t.Errorf("differs if the event is %s:\n%s", extra, difference(want, same))
		}
	}
	return got
}

// hidden are the lines that depend on what the process remembers, and on whether the transaction holds the event.
var hidden = regexp.MustCompile(`(?m)^  (needs|write|only).*\n?`)

func visible(text string) string { return strings.TrimRight(hidden.ReplaceAllString(text, ""), "\n") }

// difference has the variants that differ, from the first line to the last one that does.
func difference(want, got string) (text string) {
	variants := strings.Split(got, "\n- ")
	for i, variant := range strings.Split(want, "\n- ") {
		a, b := strings.Split(variant, "\n"), strings.Split(variants[i], "\n")
		if variant == variants[i] {
			continue
		}
		text += "- " + a[0]
		for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
			a, b = a[1:], b[1:]
		}
		for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
			a, b = a[:len(a)-1], b[:len(b)-1]
		}
		text += "\n  - " + strings.Join(a, "\n  - ") + "\n  + " + strings.Join(b, "\n  + ") + "\n"
	}
	return text
}

func isOutcome(line string) bool {
	return strings.HasPrefix(line, "→") || strings.HasPrefix(line, " ")
}

// run carries out a case, and returns it with its outcomes. A batch ends at its outcome, or where the state is changed.
func (tr *transcript) run(text string) string {
	tr.Helper()
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		verb, rest, _ := strings.Cut(line, " ")
		switch {
		case isOutcome(line):
			out = append(out, tr.decide()...)
			continue
		case verb == "#":
		case verb == "-":
			out = append(out, tr.decide()...)
			tr.vary()
		case commandsByName[verb] != nil:
			if len(tr.commands) == 0 && tr.extra != "" && tr.store.event != nil {
				tr.setState(tr.extra, "")
			}
			tr.commands = append(tr.commands, tr.command(verb, rest))
		default:
			out = append(out, tr.decide()...)
			tr.setState(verb, rest)
			if !tr.varies {
				tr.given = append(tr.given, line)
			}
		}
		out = append(out, line)
	}
	return strings.Join(append(out, tr.decide()...), "\n")
}

// vary begins a variant, with the state that is given before the first one.
func (tr *transcript) vary() {
	tr.Helper()
	tr.store, tr.plans, tr.varies, tr.numbered = nil, nil, true, 0
	for _, line := range tr.given {
		verb, rest, _ := strings.Cut(line, " ")
		tr.setState(verb, rest)
	}
}

// commandsByName are the commands that a transcript can give.
var commandsByName = map[string]inventory.Command{
	"acquire": inventory.Acquire{}, "release": inventory.Release{}, "extend": inventory.Extend{}, "book": inventory.Book{},
	"pay": inventory.Pay{}, "confirm": inventory.Confirm{}, "cancel": inventory.Cancel{}, "cancel-sale": inventory.CancelSale{},
	"refund": inventory.Refund{}, "change-event": inventory.ChangeEvent{}, "change-seats": inventory.ChangeSeats{},
	"block": inventory.Block{}, "unblock": inventory.Unblock{}, "expire-locks": inventory.ExpireLocks{},
	"expire-bookings": inventory.ExpireBookings{}, "consume-sold": inventory.ConsumeSold{}, "repair": inventory.Repair{},
	"repair-seats": inventory.RepairSeats{}, "update-lock": inventory.UpdateLock{}, "update-booking": inventory.UpdateBooking{},
	"change-booking": inventory.ChangeBooking{}, "transfer": inventory.Transfer{}, "sell": inventory.Sell{},
	"refund-part": inventory.RefundPart{}, "refunded-part": inventory.RefundedPart{},
	"join": inventory.Join{}, "decline": inventory.Decline{}, "leave": inventory.Leave{}, "check-list": inventory.CheckList{},
}

func (tr *transcript) command(verb, rest string) inventory.Command {
	tr.Helper()
	c := reflect.New(reflect.TypeOf(commandsByName[verb])).Elem()
	if verb == "acquire" || verb == "book" || verb == "sell" || verb == "join" { // unless they are given
		c.FieldByName("EventID").Set(reflect.ValueOf(eventID))
		c.FieldByName("UserID").Set(reflect.ValueOf(alice))
	}
	tr.fill(c, rest)
	return tr.completed(c.Interface().(inventory.Command)) //nolint:forcetypeassert // of commandsByName
}

// completed is a command with what its service would fill in: the event, and the hash of the request. Commands get the IDs C1, C2
// and so on, and the parts that they make DUE R1, R2 and so on, unless they are given.
func (tr *transcript) completed(command inventory.Command) inventory.Command {
	tr.numbered++
	complete := func(of *inventory.OfBooking, hash string) {
		of.EventID, of.Request.Hash = eventID, hash
		if of.Request.ID.IsZero() {
			of.Request.ID = commandID(tr.numbered)
		}
	}
	switch c := command.(type) {
	case inventory.ChangeBooking:
		c.Seats = cmp.Or(c.Seats, int64(len(c.Wish.SeatIDs)))
		complete(&c.OfBooking, c.Hash())
		if c.Refund != nil && c.RefundID.IsZero() {
			c.RefundID = partID(tr.numbered)
		}
		return c
	case inventory.Transfer:
		if c.Holder != "" {
			c.UserID = holdfast.HolderID(c.Holder)
		}
		complete(&c.OfBooking, holdfast.BookingTransfer{UserID: c.UserID, Holder: c.Holder}.Hash())
		return c
	case inventory.Sell:
		c.Seats = cmp.Or(c.Seats, int64(len(c.Wish.SeatIDs)))
		if c.Holder != "" {
			c.UserID = holdfast.HolderID(c.Holder)
		}
		if c.Key != "" {
			c.RequestHash = holdfast.SaleRequest{LockRequest: c.LockRequest, Charge: c.Charge}.Hash()
		}
		return c
	default:
		return command
	}
}

// setState sets what a line says of the state.
func (tr *transcript) setState(verb, rest string) {
	tr.Helper()
	if tr.store == nil {
		tr.store = newStore(0)
		tr.pipeline = &pipeline{store: tr.store, rules: theRules}
	}
	var clock struct{ Now time.Time }
	switch s := tr.store; verb {
	case "clock":
		tr.fill(reflect.ValueOf(&clock).Elem(), "now="+rest)
		s.now = clock.Now
	case "event":
		tr.fill(reflect.ValueOf(s.event).Elem(), rest)
		if s.seats != nil {
			s.seats.model = s.seats.model.WithCapacities(s.event.Sections)
		}
		if w := &s.event.Waitlist; w.Status != "" {
			w.HasBegun, w.OfferSeconds = true, cmp.Or(w.OfferSeconds, holdfast.DefaultOfferSeconds)
		}
	case "no-event":
		s.event = nil
	case "hall", "plan":
		tr.setPlan(verb, rest)
	case "lock":
		tr.setLock(rest)
	case "booking":
		b := &holdfast.Booking{UserID: alice, EventID: eventID, Seats: 1, CreatedAt: begin.Add(-minutes(1))}
		tr.fill(reflect.ValueOf(b).Elem(), rest)
		s.bookings[b.ID] = b
	case "payment":
		p := &holdfast.Payment{EventID: eventID, UserID: alice, CreatedAt: begin, UpdatedAt: begin}
		tr.fill(reflect.ValueOf(p).Elem(), rest)
		p.ID = p.PaymentID()
		s.payments[p.ID] = p
		if b := s.bookings[p.BookingID]; b != nil {
			b.Payments = append(b.Payments, holdfast.ListedPayment{ID: p.ID, Status: p.Status, Amount: p.Amount})
		}
	case "entry":
		tr.setEntry(rest)
	case "map":
		tr.setMap(rest)
	case "rules":
		tr.fill(reflect.ValueOf(&tr.pipeline.rules).Elem(), rest)
	case "corrupt":
		if s.corrupt == nil {
			s.corrupt = map[ID]bool{}
		}
		s.corrupt[idNames[rest]] = true
	case "unknown":
		tr.pipeline.unknown = map[ID]*holdfast.Error{idNames[rest]: holdfast.NotFound(holdfast.CodeUserNotFound)}
	case "held":
		tr.pipeline.hold = true
	case "settling":
		tr.pipeline.hold, tr.pipeline.settling = true, true
	case "remembered":
		tr.remember(rest)
	default:
		tr.Fatalf("%q is not a word that a line of a transcript can begin with", verb)
	}
}

func (tr *transcript) remember(changes string) {
	tr.Helper()
	p := tr.pipeline
	if p.remember && changes == "" {
		return
	}
	p.remember, p.remembered = true, tr.store.seen()
	if tr.store.seats != nil && !strings.HasPrefix(changes, "without-map") {
		p.seats = tr.store.seats.occupancy()
	}
	if changes = strings.TrimPrefix(changes, "without-map"); changes != "" {
		tr.fill(reflect.ValueOf(p.remembered).Elem(), changes)
	}
}

// setLock puts a lock into the store.
func (tr *transcript) setLock(text string) {
	tr.Helper()
	s := tr.store
	l := &inventory.Lock{Lock: holdfast.Lock{UserID: alice, EventID: eventID, CreatedAt: begin.Add(-minutes(5))}}
	tr.fill(reflect.ValueOf(l).Elem(), text)
	if l.Status == holdfast.LockBlocked && !strings.Contains(text, "user=") {
		l.UserID = ID{}
	}
	switch {
	case l.RequestHash == "none":
		l.RequestHash = ""
	case l.RequestHash == "" && l.Key != "":
		l.RequestHash = hashOf(l.Lock)
	}
	if s.locks[l.ID] = l; s.seats != nil {
		s.seats.bits, s.seats.general = s.union(quiet{})
	}
}

// hashOf is the hash of the request for a lock, if it asked for no time.
func hashOf(l holdfast.Lock) string {
	request := holdfast.LockRequest{EventID: l.EventID, UserID: l.UserID, Seats: l.Seats, Key: l.Key}
	request.Wish.SeatIDs, request.Wish.Section = l.SeatIDs, l.Section
	return request.Hash()
}

// setEntry puts an entry on the event's waiting list, behind those that there are.
func (tr *transcript) setEntry(text string) {
	tr.Helper()
	list := &tr.store.event.List
	list.Seq++
	e := &inventory.Entry{Seq: list.Seq, Epoch: list.Epoch, WaitlistEntry: holdfast.WaitlistEntry{
		UserID: alice, EventID: eventID, EntryWish: holdfast.EntryWish{Seats: 1}, Status: holdfast.EntryWaiting,
		CreatedAt: begin.Add(-minutes(5)),
	}}
	tr.fill(reflect.ValueOf(&e.WaitlistEntry).Elem(), text)
	if e.Wish = e.Text(); e.Status == holdfast.EntryWaiting {
		list.Waiting++
	}
	tr.store.entries[e.ID] = e
}

// setPlan makes the event's hall, or another plan: "main:stalls A1 A2* | A3 / B1 ; pit:floor 4".
func (tr *transcript) setPlan(verb, text string) {
	tr.Helper()
	plan := holdfast.SeatingPlan{Name: "Hall"}
	known := map[string]bool{}
	for section := range strings.SplitSeq(text, ";") {
		words := strings.Fields(section)
		key, category, _ := strings.Cut(words[0], ":")
		made := holdfast.Section{Key: key, Name: key, Category: category}
		if !known[category] {
			known[category] = true
			plan.Categories = append(plan.Categories, holdfast.Category{Key: category, Name: category})
		}
		if _, err := fmt.Sscanf(words[1], "%d", &made.Capacity); err != nil {
			made.Rows = hallOf(strings.Split(strings.Join(words[1:], " "), "/")...).Sections[0].Rows
		}
		plan.Sections = append(plan.Sections, made)
	}
	if tr.plans = append(tr.plans, plan); verb == "plan" {
		tr.store.seats.plans[planNumber(len(tr.plans)-1)] = plan
		return
	}
	seated := newSeated(tr, plan)
	tr.store.event, tr.store.seats = seated.event, seated.seats
	tr.store.seats.bits, tr.store.seats.general = tr.store.union(quiet{})
}

// setMap sets what is taken in the map that is stored: "main=A1,A2 pit=3".
func (tr *transcript) setMap(text string) {
	tr.Helper()
	s := tr.store.seats
	for n := range s.bits {
		clear(s.bits[n])
	}
	for n := range s.general {
		s.general[n] = 0
	}
	for word := range strings.FieldsSeq(text) {
		if key, count, general := strings.Cut(word, "="); general {
			section := s.model.Section(key)
			taken := s.general[section.Number]
			if _, err := fmt.Sscanf(count, "%d", &taken); err != nil {
				tr.Fatal(err)
			}
			s.general[section.Number] = taken
			continue
		}
		seat := s.model.ByID[word]
		s.bits[seat.Section][seat.InSection/8] |= 0x80 >> (seat.InSection % 8)
	}
}
