package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// copyFiles copies the repository's files to a folder.
func copyFiles(ctx context.Context, root, dir string) error {
	const script = `git ls-files -z -co --exclude-standard | tar --null -T - -cf - | tar -xf - -C "$0"`
	copying := exec.CommandContext(ctx, "bash", "-c", script, dir)
	copying.Dir = root
	if output, err := copying.CombinedOutput(); err != nil {
		return fmt.Errorf("copying: %w: %s", err, output)
	}
	return nil
}

// applyTo applies the mutation to a copy, which must compile afterwards.
func (m mutation) applyTo(ctx context.Context, dir string) error {
	for _, e := range m.edits() {
		if err := e.applyTo(ctx, dir); err != nil {
			return err
		}
	}
	return nil
}

func (e edit) applyTo(ctx context.Context, dir string) error {
	text, err := e.apply(dir)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, e.file), text, 0o600); err != nil {
		return err
	}
	if strings.Contains(e.to, "clock.System") {
		text = bytes.Replace(text, []byte("import (\n"), []byte("import (\n\t\"github.com/holdfast-dev/holdfast/internal/clock\"\n"), 1)
		if err := os.WriteFile(filepath.Join(dir, e.file), text, 0o600); err != nil {
			return err
		}
	}
	return removeUnusedImports(ctx, dir, e.file)
}

var importedAndNotUsed = regexp.MustCompile(`"([^"]+)" imported and not used`)

// removeUnusedImports removes the imports that only the guard used: the compiler names them.
func removeUnusedImports(ctx context.Context, dir, file string) error {
	for range 3 {
		build := exec.CommandContext(ctx, "go", "build", "./"+filepath.Dir(file))
		build.Dir, build.Env = dir, goEnvironment()
		output, err := build.CombinedOutput()
		if err == nil {
			return nil
		}
		found := importedAndNotUsed.FindSubmatch(output)
		if found == nil {
			return fmt.Errorf("the mutation does not compile: %s", output)
		}
		path := filepath.Join(dir, file)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text = bytes.Replace(text, fmt.Appendf(nil, "\t%q\n", found[1]), nil, 1)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return err
		}
	}
	return errors.New("the mutation does not compile")
}

// goEnvironment lets the copies share compiled packages, whatever their folders are.
func goEnvironment() []string { return append(os.Environ(), "GOFLAGS=-trimpath") }
