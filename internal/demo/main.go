// Command demo plays, against a running scripts/run or one that it starts, the
// three tests that Holdfast was asked for with, and then an on-sale. It prints
// each step with what was expected and what was seen, and fails where they differ.
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
	if err := play(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "\nThe demo failed:", err)
		os.Exit(1)
	}
	fmt.Println("\nAll steps went as expected.")
}

func play(ctx context.Context) error {
	s, err := findOrStart(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	for _, act := range []struct {
		title string
		play  func(context.Context, *stage) error
	}{
		{"Test 1: an expired lock gives its seats back", lockExpiry},
		{"Test 2: an unpaid booking expires with its lock", bookingExpiry},
		{"Test 3: a restart recovers from partial failures", recoveryAtRestart},
		{"On-sale: 500 customers at once for 100 seats", onSale},
	} {
		fmt.Printf("\n%s\n", act.title)
		if err := act.play(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", act.title, err)
		}
	}
	return nil
}
