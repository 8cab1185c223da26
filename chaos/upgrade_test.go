package chaos_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// formerCommit is the last commit of the former version.
const formerCommit = "e1a7a374da67ed0caa5355b833fb6bff92ac368f"

// buildFormer builds the API of the former version from the history, and returns its folder.
func buildFormer(t *testing.T) string {
	t.Helper()
	source, dir := t.TempDir(), t.TempDir()
	archive, unpack := exec.Command("git", "-C", "..", "archive", "--format=tar", formerCommit), exec.Command("tar", "-x", "-C", source)
	var failure strings.Builder
	reader, writer := io.Pipe()
	archive.Stdout, archive.Stderr, unpack.Stdin, unpack.Stderr = writer, &failure, reader, &failure
	if err := unpack.Start(); err != nil {
		t.Fatal(err)
	}
	err := archive.Run()
	if closeErr := writer.Close(); closeErr != nil {
		t.Fatal(closeErr)
	}
	if unpackErr := unpack.Wait(); err != nil || unpackErr != nil {
		t.Fatalf("the former version is not in the history of this clone (git fetch --unshallow): %v, %v: %s", err, unpackErr, &failure)
	}
	build := exec.Command("go", "build", "-o", dir+"/", "./cmd/api")
	build.Dir = source
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return dir
}

// upgrade is one database under traffic of two versions.
type upgrade struct {
	t      *testing.T
	env    *testenv.Env
	former string // the folder of its API
	users  []string
	events []string // the last one has a limit per user

	// unguarded: a process of the former version has put its validators back, and ours are not yet
	// restored. It does not see what this version changes meanwhile (docs/upgrades.md).
	unguarded atomic.Bool

	mu       sync.Mutex
	apis     map[string]*apiCaller // that take requests
	granted  map[string]int        // locks, by API
	confirms map[string]string     // the expected status of bookings
	releases map[string]bool       // locks whose release was acknowledged
}

const (
	limitedSeats = 6 // of a user, in the last event
	upgradeUsers = 4
)

func (u *upgrade) start(dir, name string) *process {
	u.t.Helper()
	addr := address(u.t)
	p := startFrom(u.t, dir, "api", append(apiSettings(u.env, addr), "RUN_JOBS=true", "LOCK_EXPIRY_INTERVAL=1s",
		"BOOKING_EXPIRY_INTERVAL=1s", "RECONCILE_INTERVAL=2s")...)
	u.t.Cleanup(p.kill)
	c := newAPICaller(u.t, addr, 8, 20*time.Second)
	awaitReady(u.t, c, p)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.apis[name] = c
	return p
}

func (u *upgrade) stop(p *process, name string) {
	u.t.Helper()
	u.mu.Lock()
	delete(u.apis, name)
	u.mu.Unlock()
	if err := p.stop(u.t); err != nil {
		u.t.Errorf("%s: %v", name, err)
	}
}

// any is an API that takes requests now.
func (u *upgrade) any(random *rand.Rand) (name string, c *apiCaller) {
	u.mu.Lock()
	defer u.mu.Unlock()
	skip := random.IntN(len(u.apis))
	for name, c = range u.apis {
		if skip--; skip < 0 {
			break
		}
	}
	return name, c
}

func (u *upgrade) count(name string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.granted[name]
}

// post sends a request and returns the ID in the answer; "" if it was not done.
func (u *upgrade) post(ctx context.Context, c *apiCaller, method, path string, body any) string {
	status, fields, err := c.call(ctx, method, path, body)
	if err != nil || status >= http.StatusMultipleChoices {
		return ""
	}
	id, _ := fields["id"].(string)
	return id
}

// customer locks seats, and books, pays, cancels, releases or forgets them, each step at any API.
func (u *upgrade) customer(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		user, event := u.users[random.IntN(len(u.users))], u.events[random.IntN(len(u.events))]
		name, c := u.any(random)
		lock := u.post(ctx, c, http.MethodPost, "/api/locks", map[string]any{"eventId": event, "userId": user,
			"seats": 1 + random.IntN(3), "ttlSeconds": 1 + random.IntN(4)})
		if lock == "" {
			delay(ctx, 2*time.Millisecond)
			continue
		}
		u.mu.Lock()
		u.granted[name]++
		u.mu.Unlock()
		choice := random.IntN(6)
		if choice == 0 {
			continue // it expires
		}
		_, c = u.any(random)
		if choice == 1 {
			u.release(ctx, c, lock)
			continue
		}
		u.post(ctx, c, http.MethodPost, "/api/locks/"+lock+"/extend", map[string]any{"ttlSeconds": 5})
		booking := u.bookTwice(ctx, random, map[string]any{
			"eventId": event, "userId": user, "lockId": lock, "paymentTtlSeconds": 1 + random.IntN(4),
		})
		if booking == "" || choice == 2 {
			continue
		}
		u.end(ctx, random, booking, choice)
	}
}

// bookTwice books a lock at two APIs at the same time. Both have to answer the same booking: neither
// writes the event, so nothing but the lock's revisions tells one of the other.
func (u *upgrade) bookTwice(ctx context.Context, random *rand.Rand, request map[string]any) (booking string) {
	_, one := u.any(random)
	_, two := u.any(random)
	if u.unguarded.Load() {
		two = one
	}
	var other string
	both(func() { booking = u.post(ctx, one, http.MethodPost, "/api/bookings", request) },
		func() { other = u.post(ctx, two, http.MethodPost, "/api/bookings", request) })
	if booking != "" && other != "" && booking != other {
		u.t.Errorf("lock %v has two bookings, %s and %s", request["lockId"], booking, other)
	}
	return cmp.Or(booking, other)
}

func (u *upgrade) release(ctx context.Context, c *apiCaller, lock string) {
	if u.post(ctx, c, http.MethodDelete, "/api/locks/"+lock, nil) != "" {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.releases[lock] = true
	}
}

// end confirms a booking and, mostly, cancels it: the seats have to last.
func (u *upgrade) end(ctx context.Context, random *rand.Rand, booking string, choice int) {
	_, c := u.any(random)
	confirmed := u.post(ctx, c, http.MethodPost, "/api/bookings/"+booking+"/confirm", map[string]any{}) != ""
	expected := ""
	if confirmed {
		expected = "CONFIRMED"
	}
	if choice < 5 {
		_, c = u.any(random)
		status, _, _, err := c.send(ctx, http.MethodPost, "/api/bookings/"+booking+"/cancel", map[string]any{})
		switch {
		case err == nil && status == http.StatusOK:
			expected = "CANCELLED"
		case err != nil || status >= http.StatusInternalServerError:
			expected = "" // perhaps
		}
	}
	if expected != "" {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.confirms[booking] = expected
	}
}

// checkAcknowledged compares what was acknowledged, and the limit per user, with the documents.
func (u *upgrade) checkAcknowledged() {
	u.t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, want := range u.confirms {
		if got := string(u.env.Booking(parseID(u.t, id)).Status); got != want {
			u.t.Errorf("booking %s is %s, acknowledged as %s", id, got, want)
		}
	}
	for id := range u.releases {
		if got := string(u.env.Lock(parseID(u.t, id)).Status); got != "RELEASED" {
			u.t.Errorf("lock %s is %s, acknowledged as RELEASED", id, got)
		}
	}
	u.t.Logf("locks by API: %v; %d bookings and %d releases were acknowledged", u.granted, len(u.confirms), len(u.releases))
}

// checkLimit looks for users who hold more seats of the limited event than they may.
func (u *upgrade) checkLimit() {
	event := parseID(u.t, u.events[len(u.events)-1])
	held, err := mongodb.All[struct {
		User  string `bson:"_id"`
		Seats int64  `bson:"seats"`
	}](context.Background(), u.env.DB.Collection("seatlocks"), []bson.D{
		mongodb.Match(mongodb.Is("eventId", event), bson.D{{Key: "$or", Value: bson.A{
			mongodb.Is("status", "CONSUMED"), mongodb.And(mongodb.Is("status", "ACTIVE"), mongodb.Ahead("expiresAt")),
		}}}),
		mongodb.Group(bson.D{{Key: "$toString", Value: "$userId"}}, bson.E{Key: "seats", Value: mongodb.Sum("$seats")}),
	})
	if err != nil {
		u.t.Error(err)
	}
	for _, h := range held {
		if h.Seats > limitedSeats {
			u.t.Errorf("user %s holds %d seats of at most %d", h.User, h.Seats, limitedSeats)
		}
	}
}

// begin starts the customers and the checker of invariants. end stops them.
func (u *upgrade) begin(customers int) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for i := range customers {
		all.Go(func() { u.customer(ctx, rand.New(rand.NewPCG(uint64(i), 77))) })
	}
	all.Go(func() {
		for ctx.Err() == nil {
			for _, violation := range testenv.Violations(u.t, u.env.DB.Database) {
				u.t.Error(violation)
			}
			u.checkLimit()
			delay(ctx, 300*time.Millisecond)
		}
	})
	var once sync.Once
	return func() {
		once.Do(func() {
			cancel()
			all.Wait()
		})
	}
}

// await waits until an API has granted some more locks.
func (u *upgrade) await(name string, more int) {
	u.t.Helper()
	want := u.count(name) + more
	if !poll(time.Minute, 20*time.Millisecond, func() bool { return u.count(name) >= want }) {
		u.t.Fatalf("%s granted %d locks, want %d", name, u.count(name), want)
	}
}

func (u *upgrade) createEvents(c *apiCaller) {
	for i := range upgradeUsers {
		u.users = append(u.users, mustCreate(u.t, c, "/api/users", map[string]any{"name": "A", "email": fmt.Sprintf("a%d@example.com", i)}))
	}
	for _, seats := range []int{1_000_000, 40} {
		u.events = append(u.events, createEvent(u.t, c, seats))
	}
	u.events = append(u.events, mustCreate(u.t, c, "/api/events", map[string]any{"name": "E", "totalSeats": 1000,
		"eventDate": "2036-06-15T10:00:00Z", "maxSeatsPerUser": limitedSeats}))
}

// finish runs seatctl upgrade finish, kills it while it moves fields, and runs it again.
func (u *upgrade) finish() {
	u.t.Helper()
	path := filepath.Join(u.t.TempDir(), "seatctl")
	if output, err := exec.Command("go", "build", "-o", path, "../cmd/seatctl").CombinedOutput(); err != nil {
		u.t.Fatalf("%v: %s", err, output)
	}
	command := func() *exec.Cmd {
		c := exec.Command(path, "upgrade", "finish", "--yes")
		c.Env = append(os.Environ(), "MONGODB_URI="+u.env.URI, "MONGODB_DATABASE="+u.env.DB.Name(), "JOB_LEASES=none")
		return c
	}
	first := startCommand(u.t, command())
	if !poll(time.Minute, time.Millisecond, func() bool {
		position, _, err := u.env.DB.UpgradePosition(context.Background())
		return first.hasExited() || err == nil && position.Collection != ""
	}) {
		u.t.Fatalf("nothing is moved: %s", first.log)
	}
	first.kill()
	output, err := command().CombinedOutput()
	if err != nil || !strings.Contains(string(output), "finished") {
		u.t.Fatalf("%v: %s", err, output)
	}
}

// The former version and this one serve one database under traffic, with their sweeps and audits.
// The upgrade is finished after the former processes have stopped, while customers go on. A process
// of the former version that is started afterwards does no harm, and MongoDB soon refuses it.
func TestUpgrade_BothVersionsServeOneDatabase(t *testing.T) {
	t.Parallel()
	dir, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	u := &upgrade{t: t, env: testenv.NewShared(t), former: buildFormer(t), apis: map[string]*apiCaller{}, granted: map[string]int{},
		confirms: map[string]string{}, releases: map[string]bool{}}
	if err := u.env.DB.Drop(t.Context()); err != nil { // the former version makes the database
		t.Fatal(err)
	}
	former := u.start(u.former, "former")
	u.createEvents(u.apis["former"])
	end := u.begin(8)
	defer end()
	u.await("former", 60)

	u.start(dir, "new")
	u.await("former", 100)
	u.await("new", 100)
	u.start(dir, "second")
	u.await("former", 60)
	u.await("second", 60)
	if state, err := u.env.UpgradeState(t.Context()); err != nil || state != mongodb.UpgradeRunning {
		t.Fatalf("the upgrade is %q, %v", state, err)
	}
	u.stop(former, "former")
	u.finish()
	u.await("new", 60)
	u.await("second", 60)
	u.checkNothingLeft()

	var refused atomic.Bool
	u.unguarded.Store(true)
	again := u.start(u.former, "former again")
	if !poll(time.Minute, 100*time.Millisecond, func() bool {
		before := u.count("former again")
		u.await("new", 30)
		refused.Store(u.count("former again") == before)
		return refused.Load()
	}) {
		t.Error("the former version still locks seats")
	}
	u.unguarded.Store(false)
	u.await("new", 60)
	u.stop(again, "former again")
	u.await("second", 60)
	end()
	u.checkAcknowledged()
	u.checkNothingLeft()
	testenv.CheckInvariants(t, u.env.DB.Database)
}

// checkNothingLeft looks for fields of the former version where they could matter.
func (u *upgrade) checkNothingLeft() {
	u.t.Helper()
	for collection, filter := range map[string]bson.D{
		"events": {{Key: "rev", Value: bson.D{{Key: "$type", Value: "long"}}}},
		"seatlocks": {{Key: "rev", Value: bson.D{{Key: "$type", Value: "long"}}},
			{Key: "status", Value: bson.D{{Key: "$in", Value: bson.A{"ACTIVE", "CONSUMED"}}}}},
	} {
		n, err := u.env.DB.Collection(collection).CountDocuments(u.t.Context(), filter)
		if err != nil || n > 0 {
			u.t.Errorf("%d documents of %s have fields of the former version, %v", n, collection, err)
		}
	}
}
