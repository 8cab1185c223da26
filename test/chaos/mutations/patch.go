package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// patch removes one guard behind a claim. Its file is a diff, with lines before it that git passes over:
//
//	Claim: what Holdfast promises
//	Test: ./internal/store -run TestApply_Writes
type patch struct {
	name  string // of the file, without .patch
	path  string // absolute
	claim string
	pkg   string // the folder of the test's package, such as ./internal/store
	run   string // the pattern of the tests of which one must fail
}

var header = regexp.MustCompile(`\AClaim: (\S.*)\nTest: (\./\S+) -run (\S+)\n\ndiff --git `)

// readPatches returns the patches of a folder, by name.
func readPatches(dir string) ([]patch, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.patch"))
	if err != nil {
		return nil, err
	}
	var patches []patch
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		found := header.FindStringSubmatch(string(text))
		if found == nil {
			return nil, fmt.Errorf("%s must begin with the lines Claim and Test, an empty line and the diff", file)
		}
		patches = append(patches, patch{
			name: strings.TrimSuffix(filepath.Base(file), ".patch"), path: file,
			claim: found[1], pkg: found[2], run: found[3],
		})
	}
	return patches, nil
}

// module returns the folder of the module that has the test, and the package's path within it. Both are relative.
func (p patch) module(root string) (dir, pkg string) {
	for dir = filepath.Clean(p.pkg); dir != "."; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(root, dir, "go.mod")); err == nil {
			break
		}
	}
	return dir, "./" + strings.TrimPrefix(strings.TrimPrefix(filepath.Clean(p.pkg), dir), "/")
}
