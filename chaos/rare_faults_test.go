package chaos_test

// rareFaults are faults that are slow, need the rights of root, or keep Holdfast from selling for
// some seconds. With CHAOS_RARE=1 each round of the nemesis has one of them.
var rareFaults = []clusterFault{
	{"Redis read-only", refuseByRedis(redisRefusals[0])},
	{"Redis out of memory", refuseByRedis(redisRefusals[1])},
	{"Redis loading", refuseByRedis(redisRefusals[2])},
}
