package seats_test

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// listed is an event as the test has stored it.
type listed struct {
	id        holdfast.ID
	status    string // "" is absent
	reference string
	date      time.Time
}

// matches is the contract of the list, literally.
func (e listed) matches(f holdfast.EventFilter) bool {
	hasDate := !e.date.IsZero()
	isOnSale := e.status == "" && f.Status == holdfast.OnSale
	switch {
	case f.Status != "" && e.status != string(f.Status) && !isOnSale, f.Reference != "" && e.reference != f.Reference,
		!f.From.IsZero() && (!hasDate || e.date.Before(f.From)), !f.To.IsZero() && (!hasDate || !e.date.Before(f.To)):
		return false
	default:
		return true
	}
}

// Every filter lists the events that it describes, in its order, whatever the size of its pages.
func TestListEvents_ByEveryFilter(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	rng := testenv.Random(t)
	day := time.Date(2030, 5, 6, 19, 0, 0, 0, time.UTC)
	statuses, references := []string{"", "ON_SALE", "CLOSED", "CANCELLED"}, []string{"", "", "tour-1", "tour-2"}
	dates := []time.Time{
		{}, day, day, day.Add(time.Millisecond), day.AddDate(0, 0, 1), day.AddDate(1, 0, 0), time.Time{}.Add(1), day.AddDate(-80, 0, 0),
	}
	var all []listed
	for range 60 {
		e := listed{mongodb.NewID(), statuses[rng.IntN(4)], references[rng.IntN(4)], dates[rng.IntN(len(dates))]}
		doc := bson.D{{Key: "_id", Value: e.id}, {Key: "totalSeats", Value: 5}, {Key: "availableSeats", Value: 5}}
		for name, value := range map[string]string{"status": e.status, "reference": e.reference} {
			if value != "" {
				doc = append(doc, bson.E{Key: name, Value: value})
			}
		}
		if !e.date.IsZero() {
			doc = append(doc, bson.E{Key: "eventDate", Value: e.date})
		}
		w.Insert("events", doc)
		all = append(all, e)
	}
	for _, id := range []any{5, "a", holdfast.ID{}, mongodb.NewID()} { // IDs of other software, and a corrupt event, are left out
		doc := bson.D{{Key: "_id", Value: id}, {Key: "availableSeats", Value: 1}, {Key: "eventDate", Value: day}}
		if _, isID := id.(holdfast.ID); !isID || id == (holdfast.ID{}) {
			doc = append(doc, bson.E{Key: "totalSeats", Value: 1})
		}
		w.Insert("events", doc)
	}
	bounds := append(slices.Clone(dates), day.Add(time.Microsecond), day.Add(-time.Microsecond))
	for _, status := range append(holdfast.EventStatuses(), "") {
		for _, reference := range references[1:] {
			for range 6 {
				f := holdfast.EventFilter{Status: status, Reference: reference, From: bounds[rng.IntN(len(bounds))], To: bounds[rng.IntN(len(bounds))]}
				checkEventList(w, all, f)
			}
			checkEventList(w, all, holdfast.EventFilter{Status: status, Reference: reference})
		}
	}
}

func checkEventList(w *testenv.Env, all []listed, f holdfast.EventFilter) {
	w.T.Helper()
	var want []holdfast.ID
	isByDate := !f.From.IsZero() || !f.To.IsZero()
	ordered := slices.SortedFunc(slices.Values(all), func(a, b listed) int {
		byID := bytes.Compare(a.id[:], b.id[:])
		if isByDate {
			return cmp.Or(a.date.Compare(b.date), byID)
		}
		return byID
	})
	for _, e := range ordered {
		if e.matches(f) {
			want = append(want, e.id)
		}
	}
	for _, size := range []int{1, 7, 500} {
		var got []holdfast.ID
		for page := (holdfast.Page{Size: size}); ; {
			events, next, err := w.Seats.ListEvents(w.Ctx(), f, page)
			if err != nil || len(events) > size {
				w.T.Fatalf("%+v: %d events, %v", f, len(events), err)
			}
			for _, e := range events {
				got = append(got, e.ID)
			}
			if page.Token = next; next == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			w.T.Errorf("%+v in pages of %d lists\n%v, want\n%v", f, size, got, want)
		}
	}
}

// A token of a list by date is of one filter, and none of the lists by ID.
func TestListEvents_TokensAreOfTheirFilter(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	now := time.Now().UTC()
	for n := range 3 {
		e := holdfast.NewEvent{Name: fmt.Sprint(n), TotalSeats: 1, EventDate: now}
		if _, err := w.Seats.CreateEvent(w.Ctx(), e); err != nil {
			t.Fatal(err)
		}
	}
	byDate, byID := holdfast.EventFilter{From: now.Add(-time.Hour)}, holdfast.EventFilter{}
	tokenOf := func(f holdfast.EventFilter) string {
		_, token, err := w.Seats.ListEvents(w.Ctx(), f, holdfast.Page{Size: 1})
		if err != nil || token == "" || len(token) > 64 {
			t.Fatalf("%q %v", token, err)
		}
		return token
	}
	dated, plain := tokenOf(byDate), tokenOf(byID)
	for name, c := range map[string]struct {
		filter holdfast.EventFilter
		token  string
	}{
		"of another time": {holdfast.EventFilter{From: now.Add(-2 * time.Hour)}, dated},
		"by ID":           {byID, dated}, "of a list by ID": {byDate, plain},
		"with a status": {holdfast.EventFilter{From: byDate.From, Status: holdfast.OnSale}, dated}, "cut": {byDate, dated[:len(dated)-2]},
		"longer": {byDate, dated + "AAAA"}, "empty bytes": {byDate, "AAAA"}, "no text of it": {byDate, "%"},
	} {
		_, _, err := w.Seats.ListEvents(w.Ctx(), c.filter, holdfast.Page{Token: c.token})
		if invalid, _ := holdfast.DetailsOf[holdfast.Invalid](err); len(invalid) != 1 || invalid[0].Where != "query.pageToken" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if events, next, err := w.Seats.ListEvents(w.Ctx(), byDate, holdfast.Page{Token: dated}); err != nil || len(events) != 2 || next != "" {
		t.Errorf("%d events, then %q: %v", len(events), next, err)
	}
	_, _, err := w.Seats.ListEvents(w.Ctx(), holdfast.EventFilter{Status: "PLANNED"}, holdfast.Page{})
	wantCode(t, err, holdfast.CodeInvalid)
}
