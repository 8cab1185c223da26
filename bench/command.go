package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// stopTimeout is how long a program may take to end after an interrupt.
const stopTimeout = 20 * time.Second

// output runs a program and returns its standard output. An error has what the
// program wrote to standard error. If ctx ends, the program is interrupted.
func output(ctx context.Context, command ...string) (stdout []byte, err error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopTimeout
	stdout, err = cmd.Output()
	if exit := (&exec.ExitError{}); errors.As(err, &exit) {
		return stdout, fmt.Errorf("%s: %w\n%s", command[0], err, exit.Stderr)
	}
	return stdout, err
}
