package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
)

// brokenSite returns the handler of an API without services: every handler panics.
func brokenSite() (http.Handler, *api) {
	return newAPI(Services{
		Log: slog.New(slog.DiscardHandler), Clock: mongodb.SystemTime, Metrics: telemetry.NewMetrics(),
		Serving: func() bool { return true },
	})
}

// ask sends a request, and returns the status and the code of its answer.
func ask(t *testing.T, h http.Handler, method, path, body string) (status int, code string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://127.0.0.1"+path, strings.NewReader(body))
	r.RemoteAddr = "127.0.0.1:1"
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var p Problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	return w.Code, string(p.Code)
}

// A request that writes may have written before its handler failed for an unknown reason.
func TestOutcomes_OfRoutesThatWriteAreUnknownUnlessProved(t *testing.T) {
	t.Parallel()
	handler, a := brokenSite()
	id := mongodb.NewID().String()
	bodies := map[string]string{
		"create-user": `{"name":"A","email":"a@example.com"}`,
		"create-seating-plan": `{"name":"P","categories":[{"key":"c","name":"C"}],` +
			`"sections":[{"key":"A","name":"A","category":"c","capacity":1}]}`,
		"create-event": `{"name":"E","totalSeats":1,"eventDate":"2026-06-15T10:00:00Z"}`,
		"update-event": `{"name":"E"}`,
		"acquire-lock": `{"eventId":"` + id + `","userId":"` + id + `","seats":1}`,
		"extend-lock":  `{"ttlSeconds":60}`,
		"update-user":  `{"name":"B"}`, "erase-user": "", "erase-holder": `{"holder":"a"}`,
		"update-lock": `{"reference":"A"}`, "update-booking": `{"reference":"A"}`,
		"create-booking": `{"eventId":"` + id + `","userId":"` + id + `","lockId":"` + id + `"}`,
		"pay-booking":    `{"paymentTtlSeconds":60}`,
		"refund-payment": `{"refundReference":"r"}`,
		"refund-part":    `{"amount":1}`, "note-part-refunded": `{"refundReference":"r"}`,
		"change-booking-seats": `{"seats":1}`, "transfer-booking": `{"holder":"a"}`, "sell-seats": `{"holder":"a","seats":1}`,
		"join-waitlist": `{"holder":"a","seats":1}`, "decline-offer": "", "leave-waitlist": "",
		"change-seats": `{"seatIds":["A-1-1"]}`,
		"block-seats":  `{"seatIds":["A-1-1"]}`, "unblock-seats": `{"seatIds":["A-1-1"]}`,
		"create-webhook": `{"url":"https://example.com","types":["*"]}`, "update-webhook": `{"state":"DISABLED"}`,
		"delete-webhook": "", "rotate-webhook-secret": "", "test-webhook": "", "replay-webhook": "",
		"release-lock": "", "confirm-booking": "", "cancel-booking": "", "run-job": "", "free-lease": "", "cancel-event": "",
		"delete-event": "",
	}
	for path, item := range a.huma.OpenAPI().Paths {
		for method, op := range map[string]*huma.Operation{
			"POST": item.Post, "PUT": item.Put, "PATCH": item.Patch, "DELETE": item.Delete,
		} {
			if op == nil || op.Metadata[metadataStoresNothing] == true {
				continue
			}
			t.Run(op.OperationID, func(t *testing.T) {
				body, listed := bodies[strings.TrimSuffix(op.OperationID, "-in-event")]
				if !listed {
					t.Fatal("the test has no request for this route")
				}
				path := strings.NewReplacer("{id}", id, "{eventId}", id, "{refundId}", id, "{job}", "lock-expiry").Replace(path)
				if status, code := ask(t, handler, method, path, body); status != 503 || code != "OUTCOME_UNKNOWN" {
					t.Errorf("got %d %s", status, code)
				}
			})
		}
	}
	if status, code := ask(t, handler, "GET", "/api/locks/"+id, ""); status != 503 || code != "UNAVAILABLE" {
		t.Errorf("a read: got %d %s", status, code)
	}
}

// The same is true of an error without a code.
func TestOutcomes_OfErrorsWithoutACode(t *testing.T) {
	t.Parallel()
	type answer struct{ Body string }
	handler, a := brokenSite()
	for name, handle := range map[string]func(context.Context, *struct{}) (*answer, error){
		"error":        func(context.Context, *struct{}) (*answer, error) { return nil, errors.New("no code") },
		"unknown-code": func(context.Context, *struct{}) (*answer, error) { return nil, holdfast.Refuse("NEW_CODE", "x") },
	} {
		for method, want := range map[string]string{"GET": "UNAVAILABLE", "POST": "OUTCOME_UNKNOWN", "DELETE": "OUTCOME_UNKNOWN"} {
			route(a, huma.Operation{OperationID: name + method, Method: method, Path: "/" + name}, config.ScopeAdmin, handle)
			t.Run(method+" "+name, func(t *testing.T) {
				if status, code := ask(t, handler, method, "/"+name, ""); status != 503 || code != want {
					t.Errorf("got %d %s, want %s", status, code, want)
				}
			})
		}
	}
}
