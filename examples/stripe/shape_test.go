package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
)

// The shop's calls have the shape that Stripe documents, and so have the answers of the fake: stripe-mock, which Stripe makes from
// its OpenAPI document, takes the calls, and answers with the same fields.
func TestCalls_HaveStripesShape(t *testing.T) {
	address := freeAddress()
	mock, log := command("stripe-mock")
	mock.Args = append(mock.Args, "-http-addr", address)
	if err := mock.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = mock.Process.Kill(); _ = mock.Wait() })
	if !poll(startTimeout, func() bool { return get("http://"+address) != 0 }) {
		t.Fatalf("stripe-mock does not answer: %s", log)
	}
	ask := func(r recorded, body string) (int, []byte) {
		request, err := http.NewRequest(r.method, "http://"+address+r.path+"?"+r.query, bytes.NewReader([]byte(body)))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+stripeKey)
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		_ = response.Body.Close() // it was read
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, text
	}
	r := newRound(t, newRand(2))
	r.run(nil)
	calls := map[string]bool{}
	for _, sent := range r.gate.requests {
		if sent.status != http.StatusOK {
			continue // stripe-mock knows no refusals
		}
		calls[sent.call] = true
		status, text := ask(sent, string(sent.body))
		if status != http.StatusOK {
			t.Fatalf("%s %s: %d %s", sent.call, sent.body, status, text)
		}
		var got, want any
		if err := json.Unmarshal(sent.answer, &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		compareShapes(t, sent.call, got, want)
		if sent.method == http.MethodPost {
			if status, _ := ask(sent, string(sent.body)+"&no_such_parameter=1"); status != http.StatusBadRequest {
				t.Errorf("stripe-mock checks nothing: %s with an unknown parameter is answered %d", sent.call, status)
			}
		}
	}
	if len(calls) != 7 {
		t.Errorf("%d kinds of calls: %v", len(calls), calls)
	}
}

// compareShapes checks that each field of the fake's answer is one of Stripe's, with the same type. Fields that are null in either
// are not compared, and lists by their first items.
func compareShapes(t *testing.T, where string, fake, stripes any) {
	t.Helper()
	if fake == nil || stripes == nil {
		return
	}
	if fmt.Sprintf("%T", fake) != fmt.Sprintf("%T", stripes) {
		t.Errorf("%s is %T in the fake, %T at Stripe", where, fake, stripes)
		return
	}
	switch fake := fake.(type) {
	case map[string]any:
		for name, value := range fake {
			field, known := stripes.(map[string]any)[name]
			if !known {
				t.Errorf("%s.%s: Stripe has no such field", where, name)
			}
			if name != "metadata" && name != "next_action" { // whose fields depend on the kind of action
				compareShapes(t, where+"."+name, value, field)
			}
		}
	case []any:
		if items := stripes.([]any); len(fake) > 0 && len(items) > 0 {
			compareShapes(t, where+"[0]", fake[0], items[0])
		}
	}
}
