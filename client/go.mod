module github.com/holdfast-dev/holdfast/client

go 1.26.0

toolchain go1.26.8

require github.com/cenkalti/backoff/v5 v5.0.3
