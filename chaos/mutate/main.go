package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
)

type settings struct {
	Only    string        `help:"Regular expression of the names of mutations to run."`
	By      []string      `help:"In this order: the tests of a mutation, the nemesis." default:"tests,nemesis" enum:"tests,nemesis"`
	Seeds   []uint64      `help:"Seeds of the nemesis, tried one after the other until a checker finds the mutation." default:"1,2"`
	Rounds  int           `help:"Rounds for each seed." default:"6"`
	Limit   time.Duration `help:"Timeout of one seed, and of a mutation's tests." default:"6m"`
	Workers int           `help:"Mutations to run at the same time; each starts about twelve processes." default:"2"`
	Check   bool          `help:"Only check that each mutation applies to its file and compiles."`
}

func main() {
	var s settings
	kong.Parse(&s, kong.Name("mutate"),
		kong.Description("Removes guards from copies of Holdfast, one at a time, and reports which checker finds that."))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings) error {
	only, err := regexp.Compile(s.Only)
	if err != nil {
		return fmt.Errorf("--only: %w", err)
	}
	for _, m := range mutations {
		if err := m.check("."); err != nil {
			return err
		}
	}
	if s.Check {
		return check(ctx, only)
	}
	var chosen []mutation
	for _, m := range mutations {
		if only.MatchString(m.name) && m.canBeFoundBy(s.By) {
			chosen = append(chosen, m)
		}
	}
	devserver := ""
	if os.Getenv("HOLDFAST_TEST_MONGODB_URI") == "" { // else the tests share the servers that are running
		if devserver, err = filepath.Abs(".build/devserver"); err != nil {
			return err
		}
	}
	results, err := newSearch(s, ".", devserver, chosen).run(ctx)
	fmt.Println(results.table())
	return errors.Join(err, results.err())
}

// check compiles each mutation.
func check(ctx context.Context, only *regexp.Regexp) error {
	var errs []error
	for _, m := range mutations {
		if !only.MatchString(m.name) {
			continue
		}
		dir, err := os.MkdirTemp("", "holdfast-mutation-")
		if err == nil {
			if err = copyFiles(ctx, ".", dir); err == nil {
				err = m.applyTo(ctx, dir)
			}
			err = errors.Join(err, os.RemoveAll(dir))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m.name, err))
		}
	}
	return errors.Join(errs...)
}
