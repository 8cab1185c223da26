package webhooks

import (
	"testing"
	"time"
)

var noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

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

func TestHealth_ProbesAreSpread(t *testing.T) {
	t.Parallel()
	var h health
	want := func(name string, at time.Time, mayProbe bool) {
		t.Helper()
		if may := h.mayProbe(at); may != mayProbe {
			t.Errorf("%s: %v, want %v", name, may, mayProbe)
		}
	}
	h.failed(noon, 0, true)
	want("the first probe", noon, true)
	h.failed(noon.Add(time.Millisecond), 0, true)
	want("too soon", noon.Add(minProbeDelay), false)
	want("the second probe", noon.Add(time.Millisecond+minProbeDelay), true)
	h.failed(noon.Add(time.Minute), 0, true)
	want("too soon", noon.Add(2*time.Minute-1), false)
	h.failed(noon.Add(2*time.Minute-1), 0, false)
	want("as long as it has been failing, whatever retries do", noon.Add(2*time.Minute), true)
	h.failed(noon.Add(24*time.Hour), 0, true)
	want("not longer", noon.Add(24*time.Hour+maxProbeDelay), true)
	h.failed(noon.Add(25*time.Hour), time.Hour, false)
	want("Retry-After", noon.Add(26*time.Hour-1), false)
	h.failed(noon.Add(25*time.Hour), 0, true)
	want("no other answer shortens it", noon.Add(26*time.Hour-1), false)
}

// A delivery goes through the schedule, and is DEAD after its last try. Tries before their time, at an endpoint that
// accepts other deliveries, do not bring the end closer.
func TestProgress_FollowsTheScheduleAndThenGivesUp(t *testing.T) {
	t.Parallel()
	refused := result{outcome: outcomeRefused, status: 500}
	p, now := Progress{State: Pending, NextAttemptAt: noon}, noon
	for step, want := range []string{"5s", "5m0s", "30m0s", "2h0m0s", "5h0m0s", "10h0m0s", "14h0m0s", "20h0m0s", "24h0m0s"} {
		late := p.after(refused, now, 0.999)
		asked := p.after(result{outcome: outcomeRefused, status: 429, retryAfter: 24 * time.Hour}, now, 0)
		p = p.after(refused, now, 0)
		delay := p.NextAttemptAt.Sub(now)
		if p.Step != step+1 || p.State != Pending || delay.String() != want || p.DueAt.After(p.NextAttemptAt) {
			t.Fatalf("step %d: %+v", step, p)
		}
		if jittered := late.NextAttemptAt.Sub(now); jittered <= delay || jittered > delay*12/10 {
			t.Errorf("step %d with jitter: %v", step, jittered)
		}
		if asked.NextAttemptAt.Sub(now) != 24*time.Hour || asked.DueAt.Sub(now) != 24*time.Hour {
			t.Errorf("step %d with Retry-After: %+v", step, asked)
		}
		if early := p.after(refused, p.NextAttemptAt.Add(-1), 0); early.Step != p.Step || !early.NextAttemptAt.Equal(p.NextAttemptAt) ||
			early.Attempts != p.Attempts+1 || early.State != Pending {
			t.Errorf("early, step %d: %+v", step, early)
		}
		now = p.NextAttemptAt
	}
	if last := p.after(refused, now, 0); last.State != Dead || last.Attempts != int64(len(retryDelays)+1) || last.LastStatus != 500 {
		t.Errorf("after the last try: %+v", last)
	}
	if end := p.after(result{outcome: outcomeDelivered, status: 204}, now, 0); end.State != Delivered || end.LastStatus != 204 {
		t.Errorf("accepted: %+v", end)
	}
	if lost := p.after(result{outcome: outcomeLost}, now, 0); lost.State != Dead || lost.Attempts != p.Attempts {
		t.Errorf("lost: %+v", lost)
	}
}

// A change that the endpoint refuses while it accepts others is retried after a delay that doubles with each try.
func TestProgress_EarlyTriesAreSpread(t *testing.T) {
	t.Parallel()
	for attempts, want := range map[int64]time.Duration{
		1: 2 * time.Second, 2: 4 * time.Second, 8: 256 * time.Second, 9: 5 * time.Minute, 1 << 40: 5 * time.Minute,
	} {
		p := Progress{Attempts: attempts, NextAttemptAt: noon.Add(time.Hour)}.after(result{outcome: outcomeRefused}, noon, 0)
		if got := p.DueAt.Sub(noon); got != want {
			t.Errorf("after %d tries: %v, want %v", attempts, got, want)
		}
	}
}
