package seatctl_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/webhooks"
)

// hooks runs seatctl webhooks on a database.
type hooks struct {
	*testenv.Env

	t *testing.T
}

// run runs a command that has to end with a code, and returns what it prints.
func (h hooks) run(code int, args ...string) (out, errs string) {
	h.t.Helper()
	got, out, errs := ctl(h.Env, "", append([]string{"--webhook-allow-private", "webhooks"}, args...)...)
	if got != code {
		h.t.Fatalf("%q: exit code %d: %s%s", args, got, out, errs)
	}
	return out, errs
}

// rows are the items of a command that prints JSON.
func (h hooks) rows(code int, args ...string) (items []map[string]any) {
	h.t.Helper()
	out, _ := h.run(code, append([]string{"-o", "json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &items); err != nil {
		h.t.Fatalf("%v: %s", err, out)
	}
	return items
}

func (h hooks) row(code int, args ...string) map[string]any {
	h.t.Helper()
	items := h.rows(code, args...)
	if len(items) != 1 {
		h.t.Fatalf("%q prints %v", args, items)
	}
	return items[0]
}

func TestWebhooks_AreManaged(t *testing.T) {
	t.Parallel()
	var verifier atomic.Pointer[standardwebhooks.Webhook]
	h, server := hooks{testenv.New(t), t}, httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || verifier.Load().Verify(body, r.Header) != nil {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(server.Close)
	verifyWith := func(secret any) {
		v, err := standardwebhooks.NewWebhook(secret.(string))
		if err != nil {
			t.Fatal(err)
		}
		verifier.Store(v)
	}

	event := h.Event(10).String()
	made := h.row(0, "create", server.URL, "--event", event,
		"--type", "holdfast.lock.*,holdfast.event.created", "--type", "holdfast.booking.*")
	id := made["id"].(string)
	if types := made["types"].([]any); len(types) != 3 || made["eventId"] != event || made["state"] != "ENABLED" || made["url"] != server.URL {
		t.Errorf("%v", made)
	}
	verifyWith(made["secret"])
	if tested := h.row(0, "test", id); tested["status"] != 200.0 || tested["error"] != nil {
		t.Errorf("%v", tested)
	}
	rotated := h.row(0, "rotate", id, "--overlap", "1h")
	if h.row(0, "test", id); rotated["secret"] == made["secret"] {
		t.Error("the secret is the former one")
	}
	last := h.row(0, "rotate", id, "--overlap", "0s")
	if refused := h.row(3, "test", id); refused["status"] != 401.0 || refused["error"] == nil {
		t.Errorf("%v", refused)
	}
	verifyWith(last["secret"])
	h.run(0, "test", id)
	if disabled := h.row(0, "disable", id); disabled["state"] != "DISABLED" || disabled["reason"] != "operator" {
		t.Errorf("%v", disabled)
	}
	if shown := h.row(0, "show", id); shown["state"] != "DISABLED" || shown["secret"] != nil {
		t.Errorf("%v", shown)
	}
	if enabled := h.row(0, "enable", id); enabled["state"] != "ENABLED" || enabled["reason"] != nil {
		t.Errorf("%v", enabled)
	}
	table, _ := h.run(0, "list")
	for _, want := range []string{id, server.URL, "holdfast.lock.*, holdfast.event.created", event, "ENABLED"} {
		if !strings.Contains(table, want) {
			t.Errorf("%s lacks %s", table, want)
		}
	}
	if strings.Contains(table, "whsec_") {
		t.Error(table)
	}
	changed := h.row(0, "change", id, "--type", "holdfast.event.*,holdfast.lock.created")
	if types := changed["types"].([]any); len(types) != 2 || types[0] != "holdfast.event.*" || changed["url"] != server.URL {
		t.Errorf("%v", changed)
	}
	changed = h.row(0, "change", id, "--url", server.URL+"/hook")
	if types := changed["types"].([]any); len(types) != 2 || changed["url"] != server.URL+"/hook" || changed["eventId"] != event {
		t.Errorf("%v", changed)
	}
	server.Close()
	if out, _ := h.run(3, "test", id); !strings.Contains(out, "no answer") || !strings.Contains(out, "No connection to the endpoint") {
		t.Error(out)
	}
	h.run(0, "delete", id, "--yes")
	h.run(1, "show", id)
}

func TestWebhooks_AreDeletedAfterAQuestion(t *testing.T) {
	t.Parallel()
	h := hooks{testenv.New(t), t}
	for answer, code := range map[string]int{"no\n": 1, "": 1, "yes\n": 0} {
		second := h.row(0, "create", "https://shop.example/", "--type", "*")["id"].(string)
		got, out, errs := ctl(h.Env, answer, "webhooks", "delete", second)
		if got != code || !strings.Contains(errs, "https://shop.example/") || (code == 0) != strings.Contains(out, second) {
			t.Errorf("%q: exit code %d: %s%s", answer, got, out, errs)
		}
		if _, err := h.Webhooks.Get(t.Context(), parseHex(t, second)); holdfast.IsNotFound(err) != (code == 0) {
			t.Errorf("%q: %v", answer, err)
		}
	}
}

func TestWebhooks_DeliveriesAreListedAndReplayed(t *testing.T) {
	t.Parallel()
	h := hooks{testenv.New(t), t}
	began := time.Now().Add(-time.Hour).UTC()
	first, second := h.Event(10), h.Event(10)
	id := h.row(0, "create", "https://shop.example/", "--type", "holdfast.event.*")["id"].(string)
	at := func(d time.Duration) string { return began.Add(d).Format(time.RFC3339) }
	planned := func(args ...string) any {
		t.Helper()
		return h.row(0, append([]string{"replay", id}, args...)...)["deliveries"]
	}
	for _, c := range []struct {
		args []string
		want float64
	}{
		{[]string{"--since", at(2 * time.Hour)}, 0},
		{[]string{"--until", at(0)}, 0},
		{[]string{"--type", "holdfast.event.changed"}, 0},
		{[]string{"--state", "DEAD"}, 0},
		{[]string{"--since", at(0), "--until", at(2 * time.Hour), "--type", "holdfast.event.created"}, 2},
		{nil, 0}, // they are pending
	} {
		if got := planned(c.args...); got != c.want {
			t.Errorf("%q plans %v, want %v", c.args, got, c.want)
		}
	}
	changeID := "events-" + first.String() + "-0-event.created"
	h.Command(bson.D{{Key: "update", Value: "webhookdeliveries"}, {Key: "updates", Value: bson.A{bson.D{
		{Key: "q", Value: bson.D{{Key: "subject", Value: "events/" + first.String()}}},
		{Key: "u", Value: bson.D{{Key: "$set", Value: bson.D{
			{Key: "state", Value: webhooks.Dead}, {Key: "attempts", Value: 10}, {Key: "lastStatus", Value: 500},
		}}}},
	}}}})
	for state, want := range map[string][]string{
		"": {first.String(), second.String()}, "PENDING": {second.String()}, "DELIVERED": nil, "DEAD": {first.String()},
	} {
		args := []string{"deliveries", id}
		if state != "" {
			args = append(args, "--state", state)
		}
		items := h.rows(0, args...)
		if len(items) != len(want) {
			t.Errorf("%q lists %v", state, items)
		}
		for _, event := range want {
			out, _ := h.run(0, args...)
			if !strings.Contains(out, event) || !strings.Contains(out, "holdfast.event.created") {
				t.Errorf("%q lacks %s: %s", state, event, out)
			}
		}
	}
	dead := h.row(0, "deliveries", id, "--state", "DEAD", "--limit", "5")
	if dead["changeId"] != changeID || dead["attempts"] != 10.0 || dead["lastStatus"] != 500.0 || dead["nextAttemptAt"] != nil {
		t.Errorf("%v, want %s", dead, changeID)
	}
	if l := h.rows(0, "deliveries", id, "--limit", "1"); len(l) != 1 {
		t.Errorf("%v", l)
	}
	if shown := h.row(0, "show", id); shown["pending"] != 1.0 || shown["dead"] != 1.0 {
		t.Errorf("%v", shown)
	}
	if got := planned("--state", "DEAD"); got != 1.0 {
		t.Errorf("%v dead deliveries are replayed", got)
	}
	if shown := h.row(0, "show", id); shown["pending"] != 2.0 || shown["dead"] != 0.0 {
		t.Errorf("%v", shown)
	}
}

func TestWebhooks_WrongArgumentsAreRefused(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	const url = "https://shop.example/"
	id := ids.New().String()
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"create", url}, 2, "missing flags: --type"},
		{[]string{"create", url, "--type", "holdfast.lock.made"}, 2, "No change has one of the types"},
		{[]string{"create", "http://shop.example/", "--type", "*"}, 2, "https"},
		{[]string{"create", url, "--type", "*", "--event", "x"}, 2, `--event "x" is not a valid ID`},
		{[]string{"create", url, "--type", "*", "--event", id}, 1, "EVENT_NOT_FOUND"},
		{[]string{"show", "x"}, 2, `the endpoint "x" is not a valid ID`},
		{[]string{"show", id}, 1, "WEBHOOK_NOT_FOUND"},
		{[]string{"change", id, "--url", url}, 1, "WEBHOOK_NOT_FOUND"},
		{[]string{"change", "x", "--url", url}, 2, "is not a valid ID"},
		{[]string{"change", id}, 2, "use --url or --type"},
		{[]string{"change", id, "--url", "http://shop.example/"}, 2, "https"},
		{[]string{"change", id, "--type", "holdfast.lock.made"}, 2, "No change has one of the types"},
		{[]string{"enable", id}, 1, "WEBHOOK_NOT_FOUND"},
		{[]string{"disable", "x"}, 2, "is not a valid ID"},
		{[]string{"delete", id, "--yes"}, 1, "WEBHOOK_NOT_FOUND"},
		{[]string{"rotate", id}, 1, "WEBHOOK_NOT_FOUND"},
		{[]string{"rotate", id, "--overlap=-1s"}, 2, "--overlap -1s is out of range"},
		{[]string{"rotate", id, "--overlap", "721h"}, 2, "is out of range"},
		{[]string{"test", id}, 1, "WEBHOOK_NOT_FOUND"},
		{[]string{"deliveries", id}, 1, "WEBHOOK_NOT_FOUND"},
		{[]string{"deliveries", id, "--state", "LOST"}, 2, "use PENDING or DELIVERED or DEAD"},
		{[]string{"replay", id}, 1, "WEBHOOK_NOT_FOUND"},
		{[]string{"replay", id, "--state", "PENDING"}, 2, "use DELIVERED or DEAD"},
		{[]string{"replay", id, "--since", "yesterday"}, 2, "--since"},
		{[]string{"replay", id, "--since", "2026-01-02T00:00:00Z", "--until", "2026-01-02T00:00:00Z"}, 2, "--until is not after --since"},
		{[]string{"replay", id, "--type", "none"}, 2, "No change has one of the types"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			t.Parallel()
			code, out, errs := ctl(env, "", append([]string{"webhooks"}, c.args...)...)
			if code != c.code || !strings.Contains(errs, c.want) || out != "" {
				t.Errorf("exit code %d, want %d: %s%s", code, c.code, out, errs)
			}
		})
	}
}

func parseHex(t *testing.T, id string) holdfast.ID {
	t.Helper()
	parsed, err := holdfast.ParseID(id)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}
