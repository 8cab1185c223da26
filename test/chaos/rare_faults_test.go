package chaos_test

import "math/rand/v2"

// rareFaults are faults that are slow, need the rights of root, or keep Holdfast from selling for
// some seconds. With CHAOS_RARE=1, as scripts/chaos sets it, each round of the nemesis has one of them.
var rareFaults = []clusterFault{
	{"Redis read-only", refuseByRedis(redisRefusals[0])},
	{"Redis out of memory", refuseByRedis(redisRefusals[1])},
	{"Redis loading", refuseByRedis(redisRefusals[2])},
	{"primary's disk full", faultOfDisk("primary's disk full")},
	{"primary's disk slow", faultOfDisk("primary's disk slow")},
	{"secondary resyncs", faultOfDisk("secondary resyncs")},
}

// faultOfDisk injects one of diskFaults.
func faultOfDisk(name string) func(*cluster, *rand.Rand) {
	return func(c *cluster, rng *rand.Rand) { diskFaults[name](c.t, c.replicaSet, rng) }
}
