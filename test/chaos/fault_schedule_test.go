package chaos_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// faultSchedule says which faults run in which round: some at a time, and each one once before
// any runs again.
type faultSchedule struct {
	faults []clusterFault
	rng    *rand.Rand
	each   int // faults of one round
	queue  []clusterFault
}

// newRareSchedule schedules rareFaults, one for each round.
func newRareSchedule(rng *rand.Rand) *faultSchedule {
	return &faultSchedule{faults: rareFaults, rng: rng, each: 1}
}

// newFaultSchedule schedules all faults, or those named in only, separated by commas.
func newFaultSchedule(t *testing.T, rng *rand.Rand, only string) *faultSchedule {
	t.Helper()
	s := &faultSchedule{faults: clusterFaults, rng: rng, each: 2}
	if only == "" {
		return s
	}
	s.faults = nil
	for _, name := range strings.Split(only, ",") {
		f, known := faultNamed(name)
		if !known {
			t.Fatalf("CHAOS_ONLY: there is no fault %q", name)
		}
		s.faults = append(s.faults, f)
	}
	return s
}

func faultNamed(name string) (clusterFault, bool) {
	all := slices.Concat(clusterFaults, rareFaults)
	i := slices.IndexFunc(all, func(f clusterFault) bool { return f.name == name })
	if i < 0 {
		return clusterFault{}, false
	}
	return all[i], true
}

// next returns the faults of the next round.
func (s *faultSchedule) next() (chosen []clusterFault) {
	for len(chosen) < min(s.each, len(s.faults)) {
		if len(s.queue) == 0 {
			s.queue = slices.Clone(s.faults)
			s.rng.Shuffle(len(s.queue), func(i, j int) { s.queue[i], s.queue[j] = s.queue[j], s.queue[i] })
		}
		first := s.queue[0]
		if !slices.ContainsFunc(chosen, func(f clusterFault) bool { return f.name == first.name }) {
			chosen = append(chosen, first)
		}
		s.queue = s.queue[1:]
	}
	return chosen
}
