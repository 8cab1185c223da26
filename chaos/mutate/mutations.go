package main

import "slices"

// mutation removes a guard: it replaces a text that occurs once in a file.
type mutation struct {
	name, file, from, to string
	// tests is a pattern of the tests that find the mutation; "": only the nemesis finds it.
	// pkg is their package, if it is not the file's own.
	pkg, tests string
	// faults of the nemesis that need this guard, separated by commas; "" for all.
	faults string
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
	runnerMutations, runTxMutations, queueMutations, edgeMutations,
	exactMutations, mapMutations, hallMutations, changeMutations,
)
