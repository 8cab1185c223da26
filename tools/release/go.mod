module github.com/holdfast-dev/holdfast/tools/release

go 1.26.0

toolchain go1.26.8
