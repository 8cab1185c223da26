module github.com/holdfast-dev/holdfast/examples/stripe

go 1.26.0

toolchain go1.26.8

require (
	github.com/holdfast-dev/holdfast/client v0.1.0
	github.com/stripe/stripe-go/v85 v85.0.0
)

require github.com/cenkalti/backoff/v5 v5.0.3 // indirect

// A copy of this example requires a release of the client instead.
replace github.com/holdfast-dev/holdfast/client => ../../client
