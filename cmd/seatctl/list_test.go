package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs"
	"github.com/holdfast-dev/holdfast/webhooks"
)

// serve starts an API on env's database, whose only key is sesame, and returns its address.
func serve(t *testing.T, env *testenv.Env) string {
	t.Helper()
	server := httptest.NewServer(httpapi.New(httpapi.Services{
		Users: env.Users, Plans: env.Plans, Seats: env.Seats, Bookings: env.Bookings, Changes: env.Changes, Webhooks: env.Webhooks,
		Log: slog.New(env.Log), Clock: mongodb.SystemTime, Metrics: telemetry.NewMetrics(),
		Keys: []config.Key{{Name: "ops", Scope: config.ScopeAdmin, Secret: "sesame"}},
		CancelEvent: func(ctx context.Context, id holdfast.ID) (jobs.Record, error) {
			_, err := env.Seats.UpdateEvent(ctx, id, holdfast.EventChange{Status: new(holdfast.Cancelled)})
			return jobs.Record{Job: "event-cancel"}, err
		},
		Serving: func() bool { return true }, Ready: func(context.Context) httpapi.Readiness { return httpapi.Readiness{} },
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// list runs seatctl list over an API.
func list(api string, args ...string) (code int, out, errs string) {
	return offline("", append([]string{"list", "--url", api, "--key", "sesame"}, args...)...)
}

func TestList_EachKindByItsFilters(t *testing.T) {
	t.Parallel()
	env, event := newHealthy(t)
	lock := env.Acquire(event, 7, testenv.Soon())
	other := env.Acquire(env.Event(10), 1, testenv.Soon())
	charge := holdfast.Charge{Reference: "pi_1", Provider: "acme", Amount: new(int64(1250)), Currency: "EUR"}
	paid := env.Book(env.Acquire(event, 1, testenv.Soon()), testenv.Soon())
	if _, err := env.Bookings.ConfirmBooking(env.Ctx(), paid.ID, charge); err != nil {
		t.Fatal(err)
	}
	if _, _, err := env.Bookings.RefundPart(env.Ctx(), charge.PaymentID(), 50, ""); err != nil {
		t.Fatal(err)
	}
	change := holdfast.ShopDataChange{Reference: new("A-17")}
	if _, err := env.Seats.UpdateLock(env.Ctx(), lock.ID, change); err != nil {
		t.Fatal(err)
	}
	if _, err := env.Bookings.UpdateBooking(env.Ctx(), paid.ID, change); err != nil {
		t.Fatal(err)
	}
	hook, _, _, err := env.Webhooks.Create(env.Ctx(), webhooks.NewEndpoint{URL: "https://example.com/",
		Types: []string{"holdfast.lock.*", "holdfast.booking.*"}},
		holdfast.CreationKey{})
	if err != nil {
		t.Fatal(err)
	}
	plan := importPlan(t, env, smallPlan, "-")
	api := serve(t, env)
	for _, c := range []struct {
		args    string
		want    string // in the output, with single blanks
		exclude string
	}{
		{args: "events", want: event.String() + " Event 100"},
		{args: "events --status CLOSED", exclude: event.String()},
		{args: "events --from 2001-01-01T00:00:00Z --to 2002-01-01T00:00:00Z", exclude: event.String()},
		{args: "locks --status ACTIVE", want: lock.ID.String(), exclude: "CONSUMED"},
		{args: "locks --user " + lock.UserID.String() + " --json", want: `"seats": 7`, exclude: `"seats": 1`},
		{args: "locks --limit 0", want: lock.ID.String()},
		{args: "locks --event " + event.String(), want: lock.ID.String(), exclude: other.ID.String()},
		{args: "bookings --status CONFIRMED", want: paid.ID.String(), exclude: "INITIATED"},
		{args: "bookings -o json", want: `"lockId": "` + paid.LockID.String()},
		{args: "bookings --json --event " + mongodb.NewID().String(), want: "[]"},
		{args: "locks --reference A-17", want: lock.ID.String(), exclude: other.ID.String()},
		{args: "bookings --reference A-17 --status CONFIRMED", want: "pi_1 A-17"},
		{args: "bookings --reference A-18 --json", want: "[]"},
		{args: "payments --reference pi_1", want: "acme pi_1"},
		{args: "payments --booking " + paid.ID.String() + " --provider acme", want: "1250 EUR ACCEPTED"},
		{args: "payments --refund-due", want: "1250 EUR ACCEPTED 50", exclude: "ref-"},
		{args: "payments --refund-due --json", want: `"amount": 50, "reason": "other", "status": "DUE"`},
		{args: "payments --status REFUND_DUE --event " + event.String(), exclude: "ACCEPTED"},
		{args: "webhooks", want: hook.ID.String() + " https://example.com/ holdfast.lock.*, holdfast.booking.* ENABLED"},
		{args: "plans", want: plan + " Hall 5"},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			code, out, errs := list(api, strings.Fields(c.args)...)
			if code != 0 || errs != "" || !strings.Contains(strings.Join(strings.Fields(out), " "), c.want) ||
				c.exclude != "" && strings.Contains(out, c.exclude) {
				t.Errorf("%d %s %s", code, out, errs)
			}
		})
	}
}

// The waiting list of an event is in its order, with the end of each offer.
func TestList_EntriesOfAnEvent(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	event := env.Event(2)
	if _, err := env.Seats.UpdateEvent(env.Ctx(), event, holdfast.EventChange{Waitlist: new(holdfast.WaitlistOpen)}); err != nil {
		t.Fatal(err)
	}
	first := env.Acquire(event, 1, testenv.Soon())
	env.Acquire(event, 1, testenv.Soon())
	join := func(holder string, seats int64) holdfast.WaitlistEntry {
		e, _, err := env.Seats.Join(env.Ctx(), holdfast.JoinRequest{
			EventID: event, Holder: holder, EntryWish: holdfast.EntryWish{Seats: seats}, ShopData: holdfast.ShopData{Reference: "R-" + holder},
		})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	waits, offered := join("a", 2), join("b", 1)
	if _, err := env.Seats.ReleaseLock(env.Ctx(), first.ID); err != nil {
		t.Fatal(err)
	}
	offered, err := env.Seats.Entry(env.Ctx(), offered.ID)
	if err != nil || offered.Status != holdfast.EntryOffered {
		t.Fatalf("the entry is %+v, %v", offered, err)
	}
	lock, err := env.Seats.GetLock(env.Ctx(), offered.LockID)
	if err != nil {
		t.Fatal(err)
	}
	api := serve(t, env)
	line := offered.ID.String() + " b 1 OFFERED " + offered.LockID.String() + " " + lock.ExpiresAt.UTC().Format("2006-01-02T15:04:05.000Z")
	for _, c := range []struct{ args, want, exclude string }{
		{args: "", want: "1 " + waits.ID.String() + " a 2 WAITING"},
		{args: "", want: line},
		{args: "--status WAITING", want: "R-a", exclude: "R-b"},
		{args: "--holder b", want: "R-b", exclude: "R-a"},
		{args: "--user " + mongodb.NewID().String(), exclude: "R-"},
		{args: "--status OFFERED --json", want: `"status": "OFFERED"`, exclude: "xpires"},
	} {
		code, out, errs := list(api, append([]string{"entries", event.String()}, strings.Fields(c.args)...)...)
		if code != 0 || errs != "" || !strings.Contains(strings.Join(strings.Fields(out), " "), c.want) ||
			c.exclude != "" && strings.Contains(out, c.exclude) {
			t.Errorf("%s: %d %s %s", c.args, code, out, errs)
		}
	}
	code, out, errs := list(api, "entries", mongodb.NewID().String())
	if code != exitFailed || out != "" || !strings.Contains(errs, "EVENT_NOT_FOUND") {
		t.Errorf("another event: %d %s %s", code, out, errs)
	}
	if _, out, _ := list(api, "events"); !strings.Contains(strings.Join(strings.Fields(out), " "), "OPEN 1") {
		t.Errorf("the events are %s", out)
	}
}

// JSON has the items as the API has them, and a list that is cut says so.
func TestList_IsReadPageByPageUpToTheLimit(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	for range 501 {
		env.Event(1)
	}
	api := serve(t, env)
	for limit, want := range map[string]int{"0": 501, "1": 1, "499": 499, "500": 500, "501": 501, "502": 501} {
		code, out, errs := list(api, "events", "--json", "--limit", limit)
		var items []struct {
			ID, CreatedAt string
		}
		if err := json.Unmarshal([]byte(out), &items); err != nil || code != 0 || len(items) != want || items[want-1].CreatedAt == "" {
			t.Errorf("%s: %d items, %v, %d %s", limit, len(items), err, code, errs)
		}
		if isCut := strings.Contains(errs, "There are more than "+limit); isCut != (want < 501) {
			t.Errorf("%s: %s", limit, errs)
		}
	}
}

func TestList_SaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	api := serve(t, testenv.New(t))
	for args, want := range map[string]struct {
		code int
		says string
	}{
		"dance":                            {2, "must be one of"},
		"events --status SOLD":             {2, "query.status"},
		"plans --status CLOSED":            {2, "--status does not apply to plans, which have no filters"},
		"locks --provider acme":            {2, "--provider does not apply to locks: use --event, --user, --holder, --status, --reference"},
		"entries":                          {2, "seatctl list entries EVENT"},
		"entries x":                        {2, "path.id"},
		"entries x --event y":              {2, "--event does not apply to entries: use --user, --holder, --status"},
		"locks x":                          {2, "unexpected argument x"},
		"locks --refund-due":               {2, "--refund-due does not apply to locks"},
		"locks --event x":                  {2, "query.eventId"},
		"locks --user=":                    {2, "query.userId"},
		"bookings --status active":         {2, "query.status"},
		"locks --limit many":               {2, "--limit"},
		"locks --limit=-1":                 {2, "--limit"},
		"bookings --limit 1000000001":      {2, "--limit"},
		"events --key wrong":               {1, "set HOLDFAST_KEY"},
		"events --url http://127.0.0.1:1 ": {1, "set HOLDFAST_URL"},
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			code, out, errs := list(api, strings.Fields(args)...)
			if code != want.code || out != "" || !strings.Contains(errs, want.says) {
				t.Errorf("%d %s %s", code, out, errs)
			}
		})
	}
}

// The document for operators lists the filters of each kind.
func TestList_IsDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string][]string{}
	_, rows, _ := strings.Cut(string(text), "| kind | filters |\n|---|---|\n")
	for line := range strings.Lines(rows) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(line, "|")
		for _, kind := range quoted.FindAllStringSubmatch(cells[1], -1) {
			documented[kind[1]] = []string{}
			for _, filter := range quoted.FindAllStringSubmatch(cells[2], -1) {
				documented[kind[1]] = append(documented[kind[1]], strings.TrimPrefix(filter[1], "--"))
			}
		}
	}
	for name, k := range kinds {
		if filters, has := documented[name]; !has || !slices.Equal(filters, k.filters) {
			t.Errorf("%s: documented with %v, has %v", name, filters, k.filters)
		}
	}
	if len(documented) != len(kinds) {
		t.Errorf("documented are %v", documented)
	}
}

var quoted = regexp.MustCompile("`([^`]+)`")
