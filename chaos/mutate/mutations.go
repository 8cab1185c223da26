package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mutation removes a guard: it replaces a text that occurs once in a file.
type mutation struct {
	name, file, from, to string
	// also is a second guard that it removes, where one of two is enough.
	also edit
	// tests is a pattern of the tests that find the mutation; "": only the nemesis finds it.
	// pkg is their package, if it is not the file's own.
	pkg, tests string
	// faults of the nemesis that need this guard, separated by commas; "" for all.
	faults string
}

// edit replaces a text in a file.
type edit struct{ file, from, to string }

func (m mutation) edits() []edit {
	all := []edit{{m.file, m.from, m.to}}
	if m.also.file != "" {
		all = append(all, m.also)
	}
	return all
}

// check returns an error unless the mutation fits its files.
func (m mutation) check(root string) error {
	for _, e := range m.edits() {
		if _, err := e.apply(root); err != nil {
			return fmt.Errorf("mutation %q: %w", m.name, err)
		}
	}
	return nil
}

// apply returns the file without the guard. The guard's text must occur exactly once.
func (e edit) apply(root string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, e.file))
	if err != nil {
		return nil, err
	}
	if n := strings.Count(string(text), e.from); n != 1 {
		return nil, fmt.Errorf("its text occurs %d times in %s, want once", n, e.file)
	}
	return []byte(strings.Replace(string(text), e.from, e.to, 1)), nil
}

// mutations remove the guards that the invariants depend on.
var mutations = slices.Concat(
	transactionMutations, pipelineMutations,
	eventMutations, lockMutations,
	acquireMutations, releaseMutations, bookingMutations, repairMutations,
	jobMutations, streamMutations,
	requestMutations, unreadMutations,
	admissionMutations, originMutations, planMutations, truthMutations, proofMutations, scaleMutations,
	fleetMutations, sealMutations, foreignMutations, setupMutations, falseAlarmMutations,
	saleMutations,
	outcomeMutations, stormMutations,
	upgradeMutations,
	sweepMutations, pageMutations, dueMutations, applyMutations,
	runnerMutations, runTxMutations, queueMutations, laneMutations, edgeMutations,
	exactMutations, mapMutations, hallMutations, changeMutations, webhookMutations, peerMutations,
)
