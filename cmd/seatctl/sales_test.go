package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/client"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// importSales runs seatctl sales import over an API.
func importSales(api string, event holdfast.ID, file string, args ...string) (code int, out, errs string) {
	return offline("", append([]string{"sales", "import", event.String(), file, "--url", api, "--key", "sesame"}, args...)...)
}

// through starts a proxy of an API, and returns its address.
func through(t *testing.T, api string, proxy func(w http.ResponseWriter, r *http.Request, next http.Handler)) string {
	t.Helper()
	target, err := url.Parse(api)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: salesAtOnce}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxy(w, r, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			request, err := http.NewRequestWithContext(context.WithoutCancel(r.Context()), r.Method, target.JoinPath(r.URL.Path).String()+
				"?"+r.URL.RawQuery, r.Body)
			if err != nil {
				t.Error(err)
				return
			}
			request.Header = r.Header.Clone()
			response, err := transport.RoundTrip(request)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = response.Body.Close() }() // it was read
			for name, values := range response.Header {
				w.Header()[name] = values
			}
			w.WriteHeader(response.StatusCode)
			_, _ = io.Copy(w, response.Body) // the client may be gone
		}))
	}))
	t.Cleanup(func() {
		server.Close()
		transport.CloseIdleConnections()
	})
	return server.URL
}

// soldOf are the bookings of an event, by their reference.
func soldOf(t *testing.T, env *testenv.Env, event holdfast.ID) map[string][]holdfast.Booking {
	t.Helper()
	sold := map[string][]holdfast.Booking{}
	for page := (holdfast.Page{Size: holdfast.MaxPageSize}); ; {
		list, next, err := env.Bookings.ListBookings(env.Ctx(), holdfast.BookingFilter{EventID: &event}, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range list {
			sold[b.Reference] = append(sold[b.Reference], b)
		}
		if page.Token = next; next == "" {
			return sold
		}
	}
}

func user(t *testing.T, env *testenv.Env, email string) holdfast.ID {
	t.Helper()
	u, err := env.Users.CreateUser(env.Ctx(), "A", email)
	if err != nil {
		t.Fatal(err)
	}
	return u.ID
}

// Every form of a row, and every column.
func TestSalesImport_SellsEachRow(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	event := newSeatedIn(t, env)
	ada := user(t, env, "ada@example.com")
	path := file(t, "sales.csv", "\ufeffseat,section,seats,holder,email,"+
		"reference,paymentReference,paymentPart,provider,amount,currency,accessibleSeats\r\n"+
		"A-1-1,,,guest 1,,one,ch_1,a,acme,1250,EUR,0\r\n"+
		"A-1-2 A-1-3,,,,ADA@example.com,two,,,,,,\r\n"+
		",,,,,,,,,,,\r\n"+
		",pit,3,\"guest, 2\",,three,,,,,,\r\n"+
		",pit,3,\"guest, 2\",,three,,,,,,\r\n")
	api := serve(t, env)
	code, out, errs := importSales(api, event, path)
	if code != exitOK || out != "4 of 4 rows: 4 sold, 0 sold before, 0 refused\n" {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	sold := soldOf(t, env, event)
	one, two, three := sold["one"], sold["two"], sold["three"]
	if len(one) != 1 || len(two) != 1 || len(three) != 2 {
		t.Fatalf("sold %v", sold)
	}
	if one[0].Holder != "guest 1" || one[0].PaymentReference != "ch_1" || len(one[0].Payments) != 1 || *one[0].Payments[0].Amount != 1250 {
		t.Errorf("row 1: %+v", one[0])
	}
	p, err := env.Bookings.GetPayment(env.Ctx(), holdfast.Charge{Provider: "acme", Reference: "ch_1", Part: "a"}.PaymentID())
	if err != nil || p.Currency != "EUR" || p.BookingID != one[0].ID {
		t.Errorf("its payment: %+v, %v", p, err)
	}
	if two[0].UserID != ada || two[0].Holder != "" || len(two[0].SeatIDs) != 2 {
		t.Errorf("row 2: %+v", two[0])
	}
	if three[0].Holder != "guest, 2" || three[0].Section != "pit" || three[1].Seats != 3 {
		t.Errorf("rows 3 and 4: %+v", three)
	}
	code, out, errs = importSales(api, event, path, "--json")
	var result struct{ Rows, Sold, SoldBefore int }
	if err := json.Unmarshal([]byte(out), &result); err != nil || code != exitOK || result.Rows != 4 || result.Sold != 0 ||
		result.SoldBefore != 4 {
		t.Errorf("again: exit code %d: %s%s", code, out, errs)
	}
	if again := soldOf(t, env, event); len(again["three"]) != 2 || len(again["one"]) != 1 {
		t.Errorf("sold again: %v", again)
	}
	testenv.CheckInvariants(t, env.DB.Database)
}

// The same file in another order of columns, with another separator, is the same import; a corrected one sells what is new.
func TestSalesImport_SellsOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	event := env.Event(20)
	api := serve(t, env)
	folder := t.TempDir()
	run := func(name, text, want string, wantCode int) {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, out, errs := importSales(api, event, path); code != wantCode || out != want {
			t.Errorf("exit code %d: %q %s, want %q", code, out, errs, want)
		}
	}
	run("a.csv", "seats,holder\n2,x\n21,y\n2,x\n", "3 of 3 rows: 2 sold, 0 sold before, 1 refused\nline 3: SEATS_UNAVAILABLE\n", exitFailed)
	run("a.csv", "holder;seats\nx;2\ny;3\nx;2\n", "3 of 3 rows: 1 sold, 2 sold before, 0 refused\n", exitOK)
	run("a.csv", "seats,holder,reference\n2,x,\n3,y,\n2,x,\n2,x,\n", "4 of 4 rows: 1 sold, 3 sold before, 0 refused\n", exitOK)
	run("b.csv", "seats,holder\n2,x\n", "1 of 1 rows: 1 sold, 0 sold before, 0 refused\n", exitOK)
	if available, _ := env.Available(event); available != 20-2-2-3-2-2 {
		t.Errorf("%d seats are available", available)
	}
	if _, err := env.Seats.UpdateEvent(env.Ctx(), event, holdfast.EventChange{Status: new(holdfast.Closed)}); err != nil {
		t.Fatal(err)
	}
	run("c.csv", "seats,holder\n1,x\n", "1 of 1 rows: 1 sold, 0 sold before, 0 refused\n", exitOK)
}

// Each row that is refused is told, in the order of the lines, and the others are sold.
func TestSalesImport_TellsWhatIsRefused(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	event := newSeatedIn(t, env)
	take(t, env, event, testenv.Soon(), 0, named("A-1-1"))
	text := `seat,section,seats,holder,email,reference,paymentReference,amount,currency
A-1-1,,,x,,,,,
A-1-2,,,x,,,pi_1,100,EUR
A-1-3,,,x,,,pi_1,100,EUR
"A-2-1
A-2-1",,,x,,,,,
A-9-9,,,x,,,,,
A-2-2,,,,nobody@example.com,,,,
A-2-2,,,,nobody,,,,
A-2-2,,,x,ada@example.com,,,,
A-2-2,,,,,,,,
A-2-2,,1,x,,,,,
,pit,,x,,,,,
,pit,1.5,x,,,,,
,pit,0,x,,,,,
,pit,11,x,,,,,
,nowhere,1,x,,,,,
,,1,x,,,,,
A-2-2,,,x,,TOO LONG,,,
A-2-2,,,x,,,pi_2,-1,
A-2-2,,,x,,,pi_2,1,eur
A-2-2,,,x,,,,1,EUR
A-2-2,,,erased-x,,,,,
A-2-2,x
,pit,10,x,,,,,
`
	path := file(t, "sales.csv", strings.Replace(text, "TOO LONG", strings.Repeat("r", 129), 1))
	code, out, errs := importSales(serve(t, env), event, path)
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	const invalid = "VALIDATION_FAILED"
	want := []string{"23 of 23 rows: 2 sold, 0 sold before, 21 refused", "line 2: SEATS_UNAVAILABLE", "", "line 5: " + invalid,
		"line 7: " + invalid, "line 8: USER_NOT_FOUND"}
	for n := 9; n <= 24; n++ {
		want = append(want, fmt.Sprintf("line %d: %s", n, map[bool]string{false: invalid, true: "SEATS_UNAVAILABLE"}[n == 16]))
	}
	if code != exitFailed || len(lines) != len(want) {
		t.Fatalf("exit code %d:\n%s%s", code, out, errs)
	}
	// One of the two rows with the same payment is sold.
	if lines[2] != "line 3: PAYMENT_REFERENCE_USED" && lines[2] != "line 4: PAYMENT_REFERENCE_USED" {
		t.Errorf("lines 3 and 4: %s", lines[2])
	}
	for n, line := range want {
		if line != "" && lines[n] != line {
			t.Errorf("printed %q, want %q", lines[n], line)
		}
	}
	for _, says := range []string{
		"line 10: give holder or email", "line 14: seats: \"1.5\" is not a whole number", "line 15: seats: ", "line 24: the row has 2 cells",
		"line 20: amount: ", "line 21: currency: ",
	} {
		if !strings.Contains(errs, says) {
			t.Errorf("does not say %q: %s", says, errs)
		}
	}
	testenv.CheckInvariants(t, env.DB.Database)
}

func TestSalesImport_RefusesFilesThatItCantUse(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	event := env.Event(10)
	api := serve(t, env)
	for text, says := range map[string]string{
		"":                                        "the file is empty",
		"\n\n":                                    "the file is empty",
		"seats\n1\n":                              "the customers are missing",
		"holder\nx\n":                             "the seats are missing",
		"section,holder\npit,x\n":                 "the column section needs the column seats",
		"seats,holder,price\n1,x,3\n":             `there is no column "price"`,
		"Seats,holder\n1,x\n":                     `there is no column "Seats"`,
		"seats,holder,seats\n1,x,1\n":             "the column seats is there twice",
		"seats,holder,\n1,x,\n":                   `there is no column ""`,
		"seats,holder,accessibleSeats\n1,x,1\n":   "the column accessibleSeats needs the column seat",
		"seats,holder,amount\n1,x,1\n":            "the column amount needs the column paymentReference",
		"seats,holder\n1,x\n1,\"x\n":              "line 3",
		"seats,holder\n1,x\n1,a\"b\n":             "line 3",
		"seats,holder\n1,x\n1,\xff\n":             "UTF-8",
		strings.Repeat("seats,holder\n", 5200000): "has more than 67108864 bytes",
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			code, out, errs := importSales(api, event, file(t, "sales.csv", text))
			if code != exitUsage || out != "" || !strings.Contains(errs, says) || !strings.Contains(errs, "nothing was sold") {
				t.Errorf("exit code %d: %.200s%.200s, want %s", code, out, errs, says)
			}
		})
	}
	good := file(t, "sales.csv", "seats,holder\n1,x\n")
	for args, want := range map[string]int{
		event.String() + " -": exitUsage, event.String() + " /nowhere": exitFailed, "x " + good: exitUsage,
		"66a1f0c2e4b0a1b2c3d4e5f6 " + good: exitFailed, event.String() + " " + good + " --key wrong": exitFailed,
	} {
		line := append([]string{"sales", "import", "--url", api, "--key", "sesame"}, strings.Fields(args)...)
		if code, out, errs := offline("", line...); code != want || out != "" || errs == "" {
			t.Errorf("%s: exit code %d: %s%s", args, code, out, errs)
		}
	}
	if available, _ := env.Available(event); available != 10 {
		t.Errorf("%d seats are available", available)
	}
}

// Answers that are lost, or don't say what happened, are asked for again with the same key; each email is asked for once.
func TestSalesImport_AsksAgain(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	event := env.Event(1000)
	user(t, env, "ada@example.com")
	var requests, searches atomic.Int64
	var mu sync.Mutex
	inFlight, most := 0, 0
	api := through(t, serve(t, env), func(w http.ResponseWriter, r *http.Request, api http.Handler) {
		if strings.HasPrefix(r.URL.Path, "/api/users") {
			searches.Add(1)
		}
		if r.Method != http.MethodPost {
			api.ServeHTTP(w, r)
			return
		}
		mu.Lock()
		inFlight++
		most = max(most, inFlight)
		mu.Unlock()
		defer func() {
			mu.Lock()
			inFlight--
			mu.Unlock()
		}()
		answer := func(status int, code string) {
			w.Header().Set("Retry-After", "1")
			refuse(w, status, code)
		}
		switch requests.Add(1) % 10 {
		case 1:
			api.ServeHTTP(httptest.NewRecorder(), r)
			answer(http.StatusServiceUnavailable, "OUTCOME_UNKNOWN")
		case 3:
			answer(http.StatusServiceUnavailable, "UNAVAILABLE")
		case 5:
			answer(http.StatusTooManyRequests, "TOO_MANY_REQUESTS")
		case 7:
			api.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		case 9:
			http.Error(w, "<html>", http.StatusBadGateway)
		default:
			api.ServeHTTP(w, r)
		}
	})
	text := "seats,email,holder,reference\n" + strings.Repeat("1,ada@example.com,,a\n", 100) + strings.Repeat("1,,x,b\n", 100)
	code, out, errs := importSales(api, event, file(t, "sales.csv", text))
	if code != exitOK || !strings.HasPrefix(out, "200 of 200 rows: ") || !strings.HasSuffix(out, ", 0 refused\n") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	if sold := soldOf(t, env, event); len(sold["a"]) != 100 || len(sold["b"]) != 100 {
		t.Errorf("sold %d and %d", len(sold["a"]), len(sold["b"]))
	}
	if searches.Load() != 1 || most > salesAtOnce || most < salesAtOnce/4 {
		t.Errorf("%d searches for a user, at most %d requests at once", searches.Load(), most)
	}
	if !strings.Contains(errs, " of 200 rows: ") {
		t.Errorf("no progress: %s", errs)
	}
	testenv.CheckInvariants(t, env.DB.Database)
}

// A key that may not sell ends the import, and is not taken for refused rows.
func TestSalesImport_StopsWhenNoRowCanBeSold(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	event := env.Event(10)
	var sales atomic.Int64
	api := through(t, serve(t, env), func(w http.ResponseWriter, r *http.Request, api http.Handler) {
		if r.Method == http.MethodPost && sales.Add(1) > 1 {
			refuse(w, http.StatusForbidden, "FORBIDDEN")
			return
		}
		api.ServeHTTP(w, r)
	})
	code, out, errs := importSales(api, event, file(t, "sales.csv", "seats,holder\n"+strings.Repeat("1,x\n", 1000)))
	if code != exitFailed || strings.Contains(out, "line ") || !strings.Contains(errs, "the same command goes on") ||
		sales.Load() > 2*salesAtOnce {
		t.Errorf("exit code %d after %d requests: %s%s", code, sales.Load(), out, errs)
	}
}

// A process that is killed leaves rows that were sold, and some whose outcome it never knew. The next run sells the rest.
func TestSalesImport_GoesOnAfterItWasKilled(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	event := newSeatedHall(t, env, 20, 20)
	direct := serve(t, env)
	var sales atomic.Int64
	reached := make(chan struct{})
	api := through(t, direct, func(w http.ResponseWriter, r *http.Request, api http.Handler) {
		api.ServeHTTP(w, r)
		if r.Method == http.MethodPost && sales.Add(1) == 150 {
			close(reached)
		}
	})
	var text strings.Builder
	text.WriteString("seat,section,seats,holder,reference\n")
	for row := 1; row <= 20; row++ {
		for seat := 1; seat <= 20; seat++ {
			fmt.Fprintf(&text, "A-%d-%d,,,guest %d,named\n", row, seat, row)
		}
	}
	text.WriteString(strings.Repeat(",pit,1,guest,standing\n", 200))
	path := file(t, "sales.csv", text.String())
	command := exec.CommandContext(t.Context(), os.Args[0], "sales", "import", event.String(), path, "--url", api, "--key", "sesame")
	command.Env = append(os.Environ(), runAsSeatctl+"=1")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	select {
	case <-reached:
	case err := <-ended:
		t.Fatalf("the import ended before it was killed: %v", err)
	}
	if err := command.Process.Kill(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil {
		t.Fatal("the import ended before it was killed")
	}
	before := soldOf(t, env, event)
	if n := len(before["named"]) + len(before["standing"]); n < 140 || n >= 600 {
		t.Errorf("%d rows were sold when the import was killed", n)
	}
	code, out, errs := importSales(direct, event, path)
	if code != exitOK || !strings.HasPrefix(out, "600 of 600 rows: ") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	sold := soldOf(t, env, event)
	seats := map[string]int{}
	for _, b := range sold["named"] {
		for _, id := range b.SeatIDs {
			seats[id]++
		}
	}
	if len(sold["named"]) != 400 || len(seats) != 400 || len(sold["standing"]) != 200 {
		t.Errorf("sold %d rows with %d seats, and %d without", len(sold["named"]), len(seats), len(sold["standing"]))
	}
	testenv.CheckInvariants(t, env.DB.Database)
}

// An import does not keep customers from locking seats of the same event, nor they the import.
func TestSalesImport_BesideCustomers(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	event := env.Event(10_000)
	api := serve(t, env)
	shop := client.New(api, client.WithKey("sesame"))
	ctx, stop := context.WithCancel(env.Ctx())
	defer stop()
	var customers sync.WaitGroup
	var locked atomic.Int64
	for n := range 8 {
		customers.Go(func() {
			for ctx.Err() == nil {
				lock, err := shop.AcquireLock(env.Ctx(), client.LockRequest{EventID: event.String(), Holder: fmt.Sprint("customer ", n), Seats: 1})
				if err == nil && locked.Add(1)%2 == 0 {
					_, err = shop.ReleaseLock(env.Ctx(), lock.ID)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	var text strings.Builder
	text.WriteString("seats,holder,reference,paymentReference,amount\n")
	for n := range 2000 {
		fmt.Fprintf(&text, "1,guest %d,imported,ch_%d,100\n", n%100, n)
	}
	code, out, errs := importSales(api, event, file(t, "sales.csv", text.String()))
	stop()
	customers.Wait()
	if code != exitOK || out != "2000 of 2000 rows: 2000 sold, 0 sold before, 0 refused\n" {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	if sold := soldOf(t, env, event); len(sold["imported"]) != 2000 || locked.Load() == 0 {
		t.Errorf("%d rows are sold, and customers got %d locks", len(sold["imported"]), locked.Load())
	}
	if n, err := env.DB.Collection("payments").CountDocuments(env.Ctx(), bson.D{{Key: "status", Value: "ACCEPTED"}}); err != nil || n != 2000 {
		t.Errorf("%d payments, %v", n, err)
	}
	testenv.CheckInvariants(t, env.DB.Database)
}

// newSeatedHall creates an event with rows of seats, and standing for 1000.
func newSeatedHall(t *testing.T, env *testenv.Env, rows int, seats int64) holdfast.ID {
	t.Helper()
	hall := holdfast.Section{Key: "A", Name: "A", Category: "c"}
	for n := range rows {
		hall.Rows = append(hall.Rows, holdfast.Row{Key: fmt.Sprint(n + 1), Count: seats})
	}
	plan := holdfast.SeatingPlan{
		Name: "Hall", Categories: []holdfast.Category{{Key: "c", Name: "C"}},
		Sections: []holdfast.Section{hall, {Key: "pit", Name: "Pit", Category: "c", Capacity: 1000}},
	}
	of, _, err := env.Plans.Create(env.Ctx(), plan, holdfast.CreationKey{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := env.Seats.CreateEvent(env.Ctx(), holdfast.NewEvent{
		Name: "E", EventDate: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), Seating: holdfast.Seating{PlanID: of.ID},
	})
	if err != nil {
		t.Fatal(err)
	}
	return e.ID
}

// An operator who interrupts an import is told how far it is, and that it can go on.
func TestSalesImport_IsInterrupted(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	event := env.Event(3000)
	direct := serve(t, env)
	var sales atomic.Int64
	reached := make(chan struct{})
	api := through(t, direct, func(w http.ResponseWriter, r *http.Request, api http.Handler) {
		api.ServeHTTP(w, r)
		if r.Method == http.MethodPost && sales.Add(1) == 100 {
			close(reached)
		}
	})
	path := file(t, "sales.csv", "seats,holder,reference\n"+strings.Repeat("1,x,a\n", 2000))
	var out, errs strings.Builder
	command := exec.CommandContext(t.Context(), os.Args[0], "sales", "import", event.String(), path, "--url", api, "--key", "sesame")
	command.Env, command.Stdout, command.Stderr = append(os.Environ(), runAsSeatctl+"=1"), &out, &errs
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	<-reached
	if err := command.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	_ = command.Wait() // the exit code is looked at
	if code := command.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(errs.String(), "the import was interrupted") ||
		!strings.Contains(out.String(), " of 2000 rows: ") || strings.Contains(out.String(), "line ") {
		t.Errorf("exit code %d: %s%s", code, &out, &errs)
	}
	if code, out, errs := importSales(direct, event, path); code != exitOK || len(soldOf(t, env, event)["a"]) != 2000 {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	testenv.CheckInvariants(t, env.DB.Database)
}

// refuse answers as the API does.
func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(`{"code":"` + code + `","detail":"?"}`))
}
