package main

// falseAlarmMutations report what is no fault, and accept what can't be read.
var falseAlarmMutations = []mutation{
	{name: "an event that changes during the proof is reported", file: "internal/store/seal.go",
		from: "if err != nil || n == 0 {", to: "if err != nil || n < 0 {",
		pkg: "./expiry", tests: "TestSeal_RaceWithARival"},
	{name: "a rejected counter is a warning at every run", file: "internal/store/drifts.go",
		from: "level = slog.LevelDebug", to: "level = slog.LevelWarn",
		pkg: "./recovery", tests: "TestReconcile_ReportsARejectedCounterOnce"},
	{name: "an encoded body is read as it is", file: "httpapi/admission.go",
		from: "case body.Len() > 0 && isEncoded(r):", to: "case body.Len() < 0 && isEncoded(r):",
		tests: "TestAPI_InvalidInput"},
}
