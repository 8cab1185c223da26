// Command demo runs three acceptance tests and an on-sale against a running
// scripts/run, or one that it starts. It prints the expected and the actual result of
// each step, and fails if they differ.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := runAll(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "\nThe demo failed:", err)
		os.Exit(1)
	}
	fmt.Println("\nAll results are as expected.")
}

func runAll(ctx context.Context) error {
	s, err := findOrStart(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	for _, scenario := range []struct {
		title string
		run   func(context.Context, *setup) error
	}{
		{"Test 1: an expired lock returns its seats", lockExpiry},
		{"Test 2: an unpaid booking expires with its lock", bookingExpiry},
		{"Test 3: a restart recovers from partial failures", recoveryAtRestart},
		{"On-sale: 500 customers at once for 100 seats", onSale},
	} {
		fmt.Printf("\n%s\n", scenario.title)
		if err := scenario.run(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", scenario.title, err)
		}
	}
	return s.cancelEvents(ctx)
}
