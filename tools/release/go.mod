module github.com/holdfast-dev/holdfast/tools/release

go 1.26
