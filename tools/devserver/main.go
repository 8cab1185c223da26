// Command devserver runs Holdfast for development, or a command with a real
// MongoDB and a real Redis. scripts/run and scripts/test call it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

const usage = `usage:
  devserver run [flags of api and worker]   start MongoDB, the API and a worker, until Ctrl-C
  devserver with COMMAND [ARGUMENTS]        run COMMAND with a MongoDB and a Redis for it; their
                                            addresses are in HOLDFAST_TEST_MONGODB_URI and HOLDFAST_TEST_REDIS_URL
  devserver exec COMMAND [ARGUMENTS]        run COMMAND with the MongoDB of a running "devserver run",
                                            or with MONGODB_URI if that is set
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	var err error
	switch {
	case len(os.Args) >= 2 && os.Args[1] == "run":
		err = run(ctx, os.Args[2:])
	case len(os.Args) >= 3 && os.Args[1] == "with":
		err = with(ctx, os.Args[2], os.Args[3:])
	case len(os.Args) >= 3 && os.Args[1] == "exec":
		err = execCommand(os.Args[2:])
	default:
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	var exit *exec.ExitError
	switch {
	case os.Args[1] == "with" && errors.As(err, &exit): // the command has printed its error
		os.Exit(exit.ExitCode())
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
