package main

// scaleMutations remove what makes sums of many locks exact, and queries of one shard.
var scaleMutations = []mutation{
	{name: "only the first range of an event's locks is added up", file: "internal/store/sums.go",
		from: "isWhole := read < int64(s.maxSummed); {", to: "isWhole := read > 0; {",
		tests: "TestMeasure_CountsEveryLockOnceInRanges"},
	{name: "a part of an event's locks is added up twice", file: "internal/store/sums.go",
		from: "\treturn found[:last], []lockRange", to: "\treturn found, []lockRange",
		tests: "TestMeasure_CountsEveryLockOnceInRanges"},
	{name: "locks behind the ObjectIDs are not added up", file: "internal/store/sums.go",
		from: "\tif onlyOIDs {\n", to: "\tif true {\n",
		tests: "TestMeasure_CountsEveryLockOnceInRanges"},
	{name: "a measurement without its history does not begin again", file: "internal/mongodb/snapshot.go",
		from: "case !isBeyondHistory(err):", to: "case !isBeyondHistory(err) || attempt > 0:",
		pkg: "./internal/store", tests: "TestMeasure_BeginsAgainIfItsSnapshotIsTooOld"},
	{name: "locks are looked for on all shards", file: "internal/store/shards.go",
		from: `return mongodb.In("eventId", eventIDs)` + "\n", to: "return nil\n",
		pkg: "./httpapi", tests: "TestShards_RequestsGoToTheShardOfTheirEvent"},
	{name: "a sale that names no event is not found", file: "internal/store/shards.go",
		from: `bson.A{mongodb.In("eventId", eventIDs), noEventID}`, to: `bson.A{mongodb.In("eventId", eventIDs)}`,
		pkg: "./expiry", tests: "TestSweep_KeepsWhatABookingWithoutAnEventSold"},
	{name: "the barrier asks one shard only", file: "internal/mongodb/confirm.go",
		from: "if !db.sharded {", to: "if true {",
		tests: "TestBarrier_AsksThePrimaryOfTheDocuments"},
}
