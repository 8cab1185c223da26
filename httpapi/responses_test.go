package httpapi

import (
	"math/rand/v2"
	"testing"
	"time"
)

// Times are written as Go writes the layout with milliseconds, over all years that a date may have.
func TestFormatTime_IsTheLayoutWithMilliseconds(t *testing.T) {
	t.Parallel()
	first, last := time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	times := []time.Time{first, last, time.Date(2026, 6, 15, 10, 0, 0, 5_999_999, time.FixedZone("", 2*3600))}
	for range 1000 {
		seconds := first.Unix() + rand.Int64N(last.Unix()-first.Unix())
		times = append(times, time.Unix(seconds, rand.Int64N(int64(time.Second))))
	}
	for _, at := range times {
		if got, want := formatTime(at), at.UTC().Format("2006-01-02T15:04:05.000Z"); got != want {
			t.Errorf("%v is written %s, not %s", at, got, want)
		}
	}
	if got := formatTime(time.Time{}); got != "" {
		t.Errorf("the zero time is written %q", got)
	}
}
