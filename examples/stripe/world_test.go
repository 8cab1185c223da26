package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/client"
)

const (
	startTimeout = 60 * time.Second
	quietTimeout = 2 * time.Minute // until all orders of a round are settled
	pollInterval = 10 * time.Millisecond

	mongoVariable = "HOLDFAST_TEST_MONGODB_URI"
	shopSecret    = "secretofthebookingkey"
	adminSecret   = "secretoftheadminkey"
)

// programs has the folder of the shop and the API, and holdfast the address of an API that runs.
var programs, holdfast string

// TestMain starts a MongoDB, unless scripts/test has done so, and an API.
func TestMain(m *testing.M) {
	status, err := withHoldfast(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

func withHoldfast(m *testing.M) (status int, err error) {
	if programs, err = os.MkdirTemp("", "holdfast-shop-"); err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(programs) }()
	if os.Getenv(mongoVariable) == "" {
		if err := build("../../tools/devserver", "."); err != nil {
			return 0, err
		}
		again := exec.Command(filepath.Join(programs, "devserver"), append([]string{"with"}, os.Args...)...)
		again.Stdout, again.Stderr = os.Stdout, os.Stderr
		if err := again.Run(); err != nil {
			return 1, nil //nolint:nilerr // the tests have said what failed
		}
		return 0, nil
	}
	for folder, packages := range map[string][]string{"../..": {"./cmd/api"}, ".": {"-o", programs + "/shop", "."}} {
		if err := build(folder, packages...); err != nil {
			return 0, err
		}
	}
	if err := build("../../tools", "github.com/stripe/stripe-mock"); err != nil {
		return 0, err
	}
	address := freeAddress()
	holdfast = "http://" + address
	api, log := command("api",
		"MONGODB_URI="+os.Getenv(mongoVariable), fmt.Sprintf("MONGODB_DATABASE=shop%d", time.Now().UnixNano()), "HTTP_ADDR="+address,
		"API_KEYS=shop:booking:"+shopSecret+",operator:admin:"+adminSecret, "RUN_JOBS=true", "SHUTDOWN_DELAY=0s")
	if err := api.Start(); err != nil {
		return 0, err
	}
	defer func() { _ = api.Process.Kill(); _ = api.Wait() }()
	if !poll(startTimeout, func() bool { return get(holdfast+"/readyz") == http.StatusOK }) {
		return 0, fmt.Errorf("the API is not ready: %s", log)
	}
	return m.Run(), nil
}

func build(folder string, arguments ...string) error {
	command := exec.Command("go", append([]string{"build", "-o", programs + "/"}, arguments...)...)
	command.Dir = folder
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, output)
	}
	return nil
}

// command is a program that ends with the tests.
func command(name string, env ...string) (*exec.Cmd, *logBuffer) {
	c, log := exec.Command(filepath.Join(programs, name)), &logBuffer{}
	c.Env, c.Stderr, c.Stdout = append(os.Environ(), env...), log, log
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c, log
}

type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(text)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

var lastPort = 20000 + os.Getpid()%10000

// freeAddress returns an address on loopback that no connection takes by itself: its port is below the ephemeral ones. So a
// shop gets it again after it was killed.
func freeAddress() string {
	for {
		lastPort++
		address := "127.0.0.1:" + strconv.Itoa(lastPort)
		if l, err := net.Listen("tcp", address); err == nil {
			_ = l.Close() // the program listens there now
			return address
		}
	}
}

// poll calls done until it is true, and reports whether it became so in time.
func poll(timeout time.Duration, done func() bool) bool {
	for end := time.Now().Add(timeout); !done(); {
		if time.Now().After(end) {
			return false
		}
		<-time.After(pollInterval)
	}
	return true
}

func get(url string) int {
	response, err := http.Get(url)
	if err != nil {
		return 0
	}
	_ = response.Body.Close() // only the status counts
	return response.StatusCode
}

// world is a shop, with the Stripe and the Holdfast that it calls.
type world struct {
	*testing.T
	fake     *fakeStripe
	gate     *gate
	operator *client.Client
	url, dir string
	settings []string

	mu      sync.Mutex
	process *exec.Cmd
	ended   chan struct{} // closed when the process has ended
	log     *logBuffer
}

// newWorld makes a world, whose shop is not started.
func newWorld(t *testing.T, settings ...string) *world {
	t.Helper()
	w := &world{T: t, fake: newFakeStripe(), operator: client.New(holdfast, client.WithKey(adminSecret)), dir: t.TempDir()}
	w.gate = newGate(w.fake, holdfast)
	w.gate.kill = w.kill
	address := freeAddress()
	w.url = "http://" + address
	w.settings = append([]string{
		"SHOP_ADDR=" + address, "SHOP_URL=" + w.url, "SHOP_ORDERS=" + w.dir, "SHOP_INTERVAL=100ms",
		"STRIPE_KEY=" + stripeKey, "STRIPE_WEBHOOK_SECRET=" + webhookSecret, "STRIPE_URL=" + w.gate.listen(t, "stripe"),
		"HOLDFAST_KEY=" + shopSecret, "HOLDFAST_URL=" + w.gate.listen(t, "holdfast"),
	}, settings...)
	t.Cleanup(func() {
		w.kill()
		w.gate.late.Wait()
		for _, secret := range []string{stripeKey, webhookSecret, shopSecret, "_secret_"} {
			if strings.Contains(w.log.String(), secret) {
				t.Errorf("the log contains a secret: %s", w.log)
			}
		}
		if t.Failed() {
			t.Logf("the shop's log:\n%s", w.log)
		}
	})
	return w
}

// start starts the shop; point is where it is killed, nil means nowhere.
func (w *world) start(point *killPoint) {
	w.Helper()
	w.gate.arm(point)
	w.mu.Lock()
	previous := w.log
	w.process, w.log = command("shop", w.settings...)
	if previous != nil {
		_, _ = w.log.Write([]byte(previous.String())) // a buffer takes everything
	}
	err := w.process.Start()
	ended := make(chan struct{})
	w.ended = ended
	process := w.process
	w.mu.Unlock()
	if err != nil {
		w.Fatal(err)
	}
	go func() {
		_ = process.Wait() // it was killed
		close(ended)
	}()
}

// kill kills the shop, and waits until it has ended.
func (w *world) kill() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.process != nil {
		_ = w.process.Process.Kill() // it may have ended
		<-w.ended
	}
}

// buy sends the form until the shop takes it, or has saved the order and dies: then the customer leaves, and the shop has to settle
// the order alone. The cart is the order's ID.
func (w *world) buy(cart, event, email, card string, seats int) {
	w.send("/orders", cart, fmt.Sprintf("cart=%s&event=%s&name=Ada&email=%s&seats=%d&payment_method=%s", cart, event, email, seats, card))
}

// change sends the form that changes a sold order, as buy does.
func (w *world) change(cart string, c *change) {
	w.send("/orders/"+cart+"/changes", c.cart, fmt.Sprintf("change=%s&seats=%d&payment_method=%s", c.cart, c.seats, c.card))
}

func (w *world) send(to, cart, form string) {
	customer := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	taken := poll(quietTimeout, func() bool {
		response, err := customer.Post(w.url+to, "application/x-www-form-urlencoded", strings.NewReader(form))
		if err != nil {
			_, saved := w.order(cart)
			return saved
		}
		_ = response.Body.Close() // only the status counts
		return response.StatusCode == http.StatusSeeOther
	})
	if !taken {
		w.Errorf("the shop does not take the order %s", form)
	}
}

// order reads an order from the disk. found is false before it was saved.
func (w *world) order(cart string) (o order, found bool) {
	for _, dir := range []string{"done", open} {
		text, err := os.ReadFile(filepath.Join(w.dir, dir, cart+".json"))
		if os.IsNotExist(err) {
			continue
		}
		if err == nil {
			err = json.Unmarshal(text, &o)
		}
		if err != nil {
			w.Errorf("the order %s can't be read: %v", cart, err)
		}
		return o, true
	}
	return o, false
}

// hasOpenOrders reports whether the reconciler has something left to do.
func (w *world) hasOpenOrders() bool {
	files, err := fs.Glob(os.DirFS(w.dir), open+"/*.json")
	if err != nil {
		w.Error(err)
	}
	return len(files) > 0
}

// createEvent creates an event on sale.
func (w *world) createEvent(seats int64, latePayments string) string {
	w.Helper()
	e, err := w.operator.CreateEvent(w.Context(), client.NewEvent{
		Name: "Gala", TotalSeats: seats, EventDate: time.Now().Add(240 * time.Hour), LatePayments: latePayments,
	})
	if err != nil {
		w.Fatal(err)
	}
	return e.ID
}

// cancelEvent cancels an event as its operator.
func (w *world) cancelEvent(event string) {
	if _, err := w.operator.CancelEvent(w.Context(), event); err != nil {
		w.Error(err)
	}
}

// payments lists payments of an event.
func (w *world) payments(f client.PaymentFilter) (all []client.Payment) {
	for p, err := range w.operator.ListPayments(w.Context(), f) {
		if err != nil {
			w.Error(err)
			break
		}
		all = append(all, p)
	}
	return all
}
