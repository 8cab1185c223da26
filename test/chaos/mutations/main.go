// Command mutations checks the tests: it removes one guard after the other from a copy of Holdfast, by the patches of
// testdata/mutations, and reports whether the test that a patch names fails. Its arguments are the names of patches;
// without any it runs all of them. The tests need the servers of internal/devserver: scripts/chaos mutations starts them.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

const (
	root    = "../.." // of the repository, from the module's folder
	patches = "testdata/mutations"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutations:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, names []string) error {
	all, err := readPatches(patches)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(p patch) bool { return p.name == name }) {
			return fmt.Errorf("there is no patch %s", name)
		}
	}
	if len(names) > 0 {
		all = slices.DeleteFunc(all, func(p patch) bool { return !slices.Contains(names, p.name) })
	}
	// The copy is always in the same folder, so that packages that did not change are not compiled again.
	dir, err := filepath.Abs(root + "/.build/mutations")
	if err != nil {
		return err
	}
	const script = `rm -rf "$0" && mkdir -p "$0" && git ls-files -z -co --exclude-standard | tar --null -T - -cf - | tar -xf - -C "$0"`
	copying := exec.CommandContext(ctx, "bash", "-c", script, dir)
	copying.Dir = root
	if output, err := copying.CombinedOutput(); err != nil {
		return fmt.Errorf("copying: %w: %s", err, output)
	}
	broken := control(ctx, dir, all)
	failed := 0
	fmt.Print("\n| patch | claim | found by |\n|---|---|---|\n")
	for _, p := range all {
		tests, err := "", broken[p.pkg]
		if err == nil {
			tests, err = p.try(ctx, dir)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err != nil {
			tests, failed = "**"+err.Error()+"**", failed+1
		}
		fmt.Printf("| %s | %s | %s |\n", p.name, p.claim, tests)
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d mutations were not found", failed, len(all))
	}
	return nil
}

// control runs the tests of all patches on the copy as it is, and returns the packages in which one fails.
func control(ctx context.Context, dir string, all []patch) (broken map[string]error) {
	together := map[string]patch{}
	for _, p := range all {
		if q, ok := together[p.pkg]; ok {
			p.run = q.run + "|" + p.run
		}
		together[p.pkg] = p
	}
	broken = map[string]error{}
	for _, p := range together {
		fmt.Fprintln(os.Stderr, "without a patch:", p.pkg)
		if output, err := p.test(ctx, dir); err != nil {
			fmt.Fprintln(os.Stderr, output)
			broken[p.pkg] = fmt.Errorf("the tests fail without a patch: %w", err)
		}
	}
	return broken
}

var (
	errNotFound = errors.New("not found")
	failure     = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)
	crash       = regexp.MustCompile(`(?m)^(panic|fatal error): `)
	noTests     = regexp.MustCompile(`\[(no tests to run|no test files)\]`)
)

// try applies the patch to the copy, runs its test, and takes the patch back. It returns the tests that failed.
func (p patch) try(ctx context.Context, dir string) (tests string, err error) {
	if output, err := p.apply(ctx, dir); err != nil {
		return "", fmt.Errorf("does not apply: %s", strings.ReplaceAll(strings.TrimSpace(output), "\n", "; "))
	}
	defer func() {
		if output, reverseErr := p.apply(context.WithoutCancel(ctx), dir, "-R"); reverseErr != nil {
			err = errors.Join(err, fmt.Errorf("it can't be taken back: %s", output))
		}
	}()
	output, err := p.test(ctx, dir)
	var names []string
	for _, found := range failure.FindAllStringSubmatch(output, -1) {
		names = append(names, found[1])
	}
	switch {
	case noTests.MatchString(output):
		return "", fmt.Errorf("%s has no test that matches %s", p.pkg, p.run)
	case err == nil:
		return "", errNotFound
	case len(names) > 0:
		return strings.Join(names, ", "), nil
	case crash.MatchString(output):
		return "the tests, which end early", nil
	default:
		return "", fmt.Errorf("no test failed, but the command did: %w: %s", err, strings.ReplaceAll(strings.TrimSpace(output), "\n", "; "))
	}
}

// apply runs git apply in a folder. It does not look for a repository above that, which would have other paths.
func (p patch) apply(ctx context.Context, dir string, flags ...string) (output string, err error) {
	command := exec.CommandContext(ctx, "git", slices.Concat([]string{"apply"}, flags, []string{p.path})...)
	command.Dir, command.Env = dir, append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	raw, err := command.CombinedOutput()
	return string(raw), err
}

// test runs the patch's test in the copy.
func (p patch) test(ctx context.Context, dir string) (output string, err error) {
	module, pkg := p.module(dir)
	command := exec.CommandContext(ctx, "go", "test", "-vet=off", "-count=1", "-timeout", "6m", "-run", p.run, pkg)
	command.Dir = filepath.Join(dir, module)
	raw, err := command.CombinedOutput()
	return string(raw), err
}
