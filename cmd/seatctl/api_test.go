package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// callAPI runs seatctl api on an API.
func callAPI(api, in string, args ...string) (code int, out, errs string) {
	return offline(in, append([]string{"api", "--url", api, "--key", "sesame"}, args...)...)
}

// Each call of the table in docs/operations.md does what the table says.
func TestAPI_CallsOfTheDocumentWork(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "### Any route\n")
	section, _, _ = strings.Cut(section, "\n### ")
	calls := regexp.MustCompile("(?m)^\\| (.*) \\| `((?:GET|POST|PATCH|DELETE) /api/.*)` \\|$").FindAllStringSubmatch(section, -1)
	answers := map[string]string{
		"create an event": `"name": "Gala"`, "close its sale": `"status": "CLOSED"`, "take seats out of sale": `"blocked": 1`,
		"release a lock": `"status": "RELEASED"`, "cancel a booking": `"status": "CANCELLED"`, "note a refund": `"status": "REFUNDED"`,
		"show a user": `"email": "ada@example.com"`, "[cancel an event](#cancel-an-event)": `"job": "event-cancel"`,
	}
	env := testenv.New(t)
	event := newSeatedIn(t, env)
	lock, booked, paid := take(t, env, event, testenv.Soon(), 1, named("A-1-2")), env.Event(9), holdfast.Charge{Reference: "pi_1"}
	sale := env.Book(env.Acquire(booked, 1, testenv.Soon()), testenv.Soon())
	if _, err := env.Bookings.ConfirmBooking(env.Ctx(), sale.ID, paid); err != nil {
		t.Fatal(err)
	}
	payments, _, err := env.Bookings.ListPayments(env.Ctx(), holdfast.PaymentFilter{BookingID: &sale.ID}, holdfast.Page{Size: 1})
	if err != nil || len(payments) != 1 {
		t.Fatal(payments, err)
	}
	if _, err := env.Users.CreateUser(env.Ctx(), "Ada", "ada@example.com"); err != nil {
		t.Fatal(err)
	}
	arguments := strings.NewReplacer("'", "", "$EVENT", event.String(), "$LOCK", lock.ID.String(), "$BOOKING", sale.ID.String(),
		"$PAYMENT", payments[0].ID.String())
	api := serve(t, env)
	for _, call := range calls {
		want, isKnown := answers[call[1]]
		delete(answers, call[1])
		code, out, errs := callAPI(api, "", strings.Fields(arguments.Replace(call[2]))...)
		if !isKnown || code != exitOK || errs != "" || !strings.Contains(out, want) {
			t.Errorf("%s: %d %s%s", call[2], code, out, errs)
		}
	}
	if len(answers) > 0 {
		t.Errorf("the document does not say how to %v", slices.Collect(maps.Keys(answers)))
	}
}

func TestAPI_BodiesQueriesAndHeaders(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	api := serve(t, env)
	file := filepath.Join(t.TempDir(), "event.json")
	const body = `{"name": "Q&A <1>", "totalSeats": 5, "eventDate": "2027-01-01T00:00:00Z"}`
	if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	create := func(in string, args ...string) (id string) {
		t.Helper()
		code, out, errs := callAPI(api, in, append([]string{"post", "/api/events"}, args...)...)
		var e struct{ ID, Name string }
		if err := json.Unmarshal([]byte(out), &e); err != nil || code != 0 || !strings.Contains(out, `"name": "Q&A <1>"`) {
			t.Fatalf("%v: %d %s%s", args, code, out, errs)
		}
		return e.ID
	}
	first := create("", "--input", file, "--idempotency-key", "k")
	if again := create(body, "--input", "-", "--header", "Idempotency-Key: k"); again != first {
		t.Error("the same key created a second event")
	}
	if other := create("", "name=Q&A <1>", "totalSeats:=5", "eventDate=2027-01-01T00:00:00Z"); other == first {
		t.Error("a request without a key was not executed")
	}
	for _, list := range [][]string{{"GET", "/api/events", "pageSize=1"}, {"GET", "/api/events?pageSize=1"}} {
		if code, out, errs := callAPI(api, "", list...); code != 0 || strings.Count(out, `"totalSeats"`) != 1 {
			t.Errorf("%v: %d %s%s", list, code, out, errs)
		}
	}
}

func TestAPI_SaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	api := serve(t, testenv.New(t))
	for args, want := range map[string]struct {
		code int
		says string
	}{
		"GET /api/events/66a1f0c2e4b0a1b2c3d4e5f6":    {1, "EVENT_NOT_FOUND: "},
		"POST /api/events name=Gala totalSeats=5":     {2, "body.totalSeats"},
		"POST /api/events name=Gala totalSeats:=five": {2, "totalSeats is not valid JSON"},
		"GET /api/events --key wrong":                 {1, "set HOLDFAST_KEY"},
		"GET /api/events --url http://127.0.0.1:1":    {1, "set HOLDFAST_URL"},
		"GET /nowhere":                         {1, "NOT_FOUND: "},
		"HEAD /api/events":                     {2, "the method must be"},
		"GET api/events":                       {2, "must begin with a slash"},
		"GET //example.com/api/events":         {2, "must begin with a slash"},
		"GET /api/events#x":                    {2, "must begin with a slash"},
		"GET /api/events?pageSize=1;x=1":       {2, "query of the path"},
		"GET /api/events?pageSize=%zz":         {2, "query of the path"},
		"GET /api/events pageSize:=1":          {2, "write pageSize=text"},
		"DELETE /api/webhooks/x a:=1":          {2, "write a=text"},
		"GET /api/events pageSize":             {2, "is not a field"},
		"POST /api/events --input x name=Gala": {2, "--input is the whole body"},
		"POST /api/events --input /nowhere":    {1, "no such file"},
		"GET /api/events --header x":           {2, "NAME:VALUE"},
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			code, out, errs := callAPI(api, "", strings.Fields(args)...)
			if code != want.code || out != "" || !strings.Contains(errs, want.says) {
				t.Errorf("%d %s %s", code, out, errs)
			}
		})
	}
}
