package app

import (
	"runtime"
	"runtime/metrics"
	"testing"
)

func TestReserveHeap_CollectsSeldomUnlessTheOperatorChose(t *testing.T) {
	for _, c := range []struct {
		name, gogc, limit string
		reserves          bool
	}{
		{"nothing is set", "", "", true},
		{"GOGC", "100", "", false},
		{"GOMEMLIMIT", "", "400MiB", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("GOGC", c.gogc)
			t.Setenv("GOMEMLIMIT", c.limit)
			reserve := ReserveHeap()
			runtime.GC()
			goal := []metrics.Sample{{Name: "/gc/heap/goal:bytes"}}
			metrics.Read(goal)
			runtime.KeepAlive(reserve)
			if got := goal[0].Value.Uint64(); got >= 2*heapReserve != c.reserves {
				t.Errorf("the next collection begins at %d MiB", got>>20)
			}
		})
	}
}
