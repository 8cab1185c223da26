package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// build is a pair of binaries of one revision.
type build struct {
	name       string // oldBuild or newBuild
	revision   string
	bench, api string
}

const (
	oldBuild = "old"
	newBuild = "new"
)

// prepareBuilds returns the old build, made from the checkout that -against names,
// and the new build, which is this program.
func prepareBuilds(ctx context.Context, s settings) ([]build, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	binDir, err := filepath.Abs(s.binDir)
	if err != nil {
		return nil, err
	}
	against, err := filepath.Abs(s.against)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(against)
	if err != nil {
		return nil, fmt.Errorf("-against: %w", err)
	}
	old := build{name: oldBuild, bench: against, api: filepath.Join(filepath.Dir(against), "api"), revision: s.against}
	if info.IsDir() {
		if old, err = buildOld(ctx, against, filepath.Join(s.outDir, "old-build")); err != nil {
			return nil, err
		}
	}
	builds := []build{old, {name: newBuild, bench: self, api: filepath.Join(binDir, "api"), revision: revision(ctx, ".")}}
	for _, b := range builds {
		if _, err := os.Stat(b.api); err != nil {
			return nil, fmt.Errorf("%s build: %w", b.name, err)
		}
	}
	return builds, nil
}

// buildOld builds the binaries of a checkout into binDir. The checkout itself is
// not changed.
func buildOld(ctx context.Context, checkout, binDir string) (build, error) {
	fmt.Fprintf(os.Stderr, "Building %s ...\n", checkout)
	if err := os.MkdirAll(binDir, 0o750); err != nil {
		return build{}, err
	}
	command := []string{"go", "build", "-C", checkout, "-o", binDir + string(filepath.Separator)}
	overlay, err := keylessOverlay(checkout, binDir)
	if err != nil {
		return build{}, err
	}
	if overlay != "" {
		command = append(command, "-overlay", overlay)
	}
	if _, err := output(ctx, append(command, "./cmd/api", "./cmd/worker", "./bench")...); err != nil {
		return build{}, err
	}
	return build{
		name: oldBuild, revision: revision(ctx, checkout),
		bench: filepath.Join(binDir, "bench"), api: filepath.Join(binDir, "api"),
	}, nil
}

//go:embed testdata/before_keyless/keyless.go
var keylessSource []byte

// keylessOverlay is for revisions without the rows without idempotency keys: it
// returns an overlay for the go command that adds them to the benchmark. It
// returns "" if the checkout has the rows.
func keylessOverlay(checkout, dir string) (overlay string, err error) {
	sources, err := filepath.Glob(filepath.Join(checkout, "bench", "*.go"))
	if err != nil {
		return "", err
	}
	if len(sources) == 0 {
		return "", errors.New("-against: the checkout has no package bench")
	}
	for _, file := range sources {
		source, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		if bytes.Contains(source, []byte(`"`+keylessName+`"`)) {
			return "", nil
		}
	}
	added, overlay := filepath.Join(dir, "keyless.go"), filepath.Join(dir, "overlay.json")
	replace := map[string]any{"Replace": map[string]string{filepath.Join(checkout, "bench", "keyless.go"): added}}
	content, err := json.Marshal(replace)
	if err != nil {
		return "", err
	}
	return overlay, errors.Join(os.WriteFile(added, keylessSource, 0o600), os.WriteFile(overlay, content, 0o600))
}

// revision names a checkout's revision; without git, its folder.
func revision(ctx context.Context, checkout string) string {
	stdout, err := output(ctx, "git", "-C", checkout, "describe", "--always", "--dirty")
	if err != nil {
		return checkout
	}
	return strings.TrimSpace(string(stdout))
}
