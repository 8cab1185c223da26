package webhooks

import (
	"testing"
	"time"
)

var noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

func TestRetryAt_FollowsTheScheduleAndThenGivesUp(t *testing.T) {
	t.Parallel()
	want := []string{"5s", "5m0s", "30m0s", "2h0m0s", "5h0m0s", "10h0m0s", "14h0m0s", "20h0m0s", "24h0m0s"}
	for step, delay := range want {
		at, isDead := retryAt(noon, step, 0, 0)
		if isDead || at.Sub(noon).String() != delay {
			t.Errorf("step %d: %v, %v", step, at.Sub(noon), isDead)
		}
		late, _ := retryAt(noon, step, 0, 0.999)
		if !late.After(at) || late.Sub(noon) > at.Sub(noon)*12/10 {
			t.Errorf("step %d with jitter: %v", step, late.Sub(noon))
		}
	}
	if _, isDead := retryAt(noon, len(want), 0, 0); !isDead {
		t.Error("a tenth failure is not the last one")
	}
	if at, _ := retryAt(noon, 0, time.Hour, 0); at.Sub(noon) != time.Hour {
		t.Errorf("Retry-After is longer: %v", at.Sub(noon))
	}
	if at, _ := retryAt(noon, 1, time.Second, 0); at.Sub(noon) != 5*time.Minute {
		t.Errorf("Retry-After is shorter: %v", at.Sub(noon))
	}
}

func TestParseRetryAfter(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-7": 0, "soon": 0, "99999999999999999999": 0, "9223372036854775807": 24 * time.Hour,
		"Wed, 02 Jan 2030 12:00:30 GMT": 30 * time.Second, "Wed, 02 Jan 2030 11:00:00 GMT": 0, "Tue, 01 Jan 2050 12:00:00 GMT": 24 * time.Hour,
	} {
		if got := parseRetryAfter(value, noon); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

func TestEarlyAt_DoublesItsDelay(t *testing.T) {
	t.Parallel()
	for attempts, want := range map[int64]time.Duration{
		0: time.Second, 1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 9: 256 * time.Second,
		10: 5 * time.Minute, 1 << 40: 5 * time.Minute,
	} {
		if got := earlyAt(noon, attempts, 0).Sub(noon); got != want {
			t.Errorf("after %d tries: %v, want %v", attempts, got, want)
		}
	}
	if got := earlyAt(noon, 1, time.Hour).Sub(noon); got != time.Hour {
		t.Errorf("Retry-After: %v", got)
	}
}

func TestHealth_ProbesByOneUntilTheFirstSuccess(t *testing.T) {
	t.Parallel()
	var h health
	want := func(name string, at time.Time, inFlight, wantTries int, mayProbe bool) {
		t.Helper()
		if tries, may := h.room(at, inFlight); tries != wantTries || may != mayProbe {
			t.Errorf("%s: %d, %v; want %d, %v", name, tries, may, wantTries, mayProbe)
		}
	}
	want("at first", noon, 0, maxInFlight, true)
	want("some are in flight", noon, maxInFlight-1, 1, true)
	h.failed(noon, 0, true)
	want("others are in flight", noon, 1, 0, false)
	want("the first probe", noon, 0, 1, true)
	h.failed(noon.Add(time.Millisecond), 0, true)
	want("too soon", noon.Add(minProbeDelay), 0, 1, false)
	want("the second probe", noon.Add(time.Millisecond+minProbeDelay), 0, 1, true)
	h.failed(noon.Add(time.Minute), 0, true)
	want("too soon", noon.Add(2*time.Minute-1), 0, 1, false)
	h.failed(noon.Add(2*time.Minute-1), 0, false)
	want("as long as it has been failing, whatever documents do", noon.Add(2*time.Minute), 0, 1, true)
	h.failed(noon.Add(24*time.Hour), 0, true)
	want("not longer", noon.Add(24*time.Hour+maxProbeDelay), 0, 1, true)
	h.failed(noon.Add(25*time.Hour), time.Hour, false)
	want("Retry-After", noon.Add(26*time.Hour-1), 0, 1, false)
	h.failed(noon.Add(25*time.Hour), 0, true)
	want("no other answer shortens it", noon.Add(26*time.Hour-1), 0, 1, false)
	h.succeeded(noon.Add(27 * time.Hour))
	want("healthy", noon.Add(27*time.Hour), 0, maxInFlight, true)
	if !h.recoveredAt.Equal(noon.Add(27 * time.Hour)) {
		t.Errorf("%+v", h)
	}
	h.succeeded(noon.Add(28 * time.Hour))
	if !h.recoveredAt.Equal(noon.Add(27 * time.Hour)) {
		t.Errorf("a second success is a recovery: %+v", h)
	}
}

func TestHealth_DocumentsBeforeTheirTimeWaitForAProbe(t *testing.T) {
	t.Parallel()
	h := health{recoveredAt: noon}
	if at := h.earlyBefore(noon.Add(time.Hour)); !at.Equal(noon) {
		t.Errorf("healthy: %v", at)
	}
	h.failed(noon.Add(time.Hour), time.Minute, true)
	if at := h.earlyBefore(noon.Add(time.Hour)); !at.IsZero() {
		t.Errorf("failing: %v", at)
	}
	if at := h.earlyBefore(noon.Add(time.Hour + time.Minute)); !at.Equal(noon) {
		t.Errorf("at the next probe: %v", at)
	}
}

func TestHealth_DisablesAfterFiveDaysOfFailuresAlone(t *testing.T) {
	t.Parallel()
	var h health
	h.failed(noon, 0, true)
	h.failed(noon.Add(119*time.Hour), 0, true)
	if h.disables(noon.Add(120*time.Hour - 1)) {
		t.Error("too soon")
	}
	if !h.disables(noon.Add(120 * time.Hour)) {
		t.Error("not after five days")
	}
	h.succeeded(noon.Add(119 * time.Hour))
	h.failed(noon.Add(121*time.Hour), 0, true)
	if h.disables(noon.Add(125 * time.Hour)) {
		t.Error("although it succeeded")
	}
}
