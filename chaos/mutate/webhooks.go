package main

// webhookMutations take out what makes deliveries complete, ordered and safe.
var webhookMutations = []mutation{
	{name: "a position passes changes that are in flight", file: "webhooks/track.go",
		from: "for settled < len(t.items) && t.items[settled].isSettled {", to: "for settled < len(t.items) {",
		pkg: "./webhooks", tests: "Track_KeepsTheOrder"},
	{name: "changes of a subject are sent at once", file: "webhooks/track.go",
		from: "if len(waiting) == 0 {\n\t\tt.ready", to: "if true {\n\t\tt.ready",
		pkg: "./webhooks", tests: "Track_KeepsTheOrder"},
	{name: "a runner that was replaced writes", file: "webhooks/deliveries.go",
		from: `mongodb.Is("internal.epoch", f.epoch)`, to: `mongodb.Is("state", Enabled)`,
		pkg: "./webhooks", tests: "Flush_OfARunner"},
	{name: "endpoints may be private", file: "webhooks/sender.go",
		from: "if !allowPrivate {", to: "if false {",
		pkg: "./webhooks", tests: "Sender_ChecksTheAddress"},
	{name: "redirects are followed", file: "webhooks/sender.go",
		from: "{ return http.ErrUseLastResponse }", to: "{ return nil }",
		pkg: "./webhooks", tests: "Sender_TellsOutcomes"},
	{name: "deliveries go through a proxy of the environment", file: "webhooks/sender.go",
		from: "Proxy: nil,", to: "Proxy: http.ProxyFromEnvironment,",
		pkg: "./webhooks", tests: "Sender_UsesNoProxy"},
	{name: "endpoints are not limited", file: "webhooks/service.go",
		from: "if slot >= MaxEndpoints {", to: "if slot >= 2*MaxEndpoints {",
		pkg: "./httpapi", tests: "Webhooks_LimitHolds"},
	{name: "an endpoint that fails gets all at once", file: "webhooks/schedule.go",
		from: "if !h.isFailing() {", to: "if true {",
		pkg: "./webhooks", tests: "Dispatcher_AfterASuccess"},
}
