package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/devserver"
)

// readyTimeout is long, because recovery of a large database takes time.
const readyTimeout = 5 * time.Minute

// run starts a MongoDB unless the settings name one, then the API and a worker. It
// stops them in reverse order.
func run(ctx context.Context, args []string) (err error) {
	api := flagOr(args, "--http-addr", cmp.Or(os.Getenv("HTTP_ADDR"), "127.0.0.1:8080"))
	uri := flagOr(args, "--mongodb-uri", os.Getenv("MONGODB_URI"))
	if uri == "" {
		claim, err := devserver.ClaimData("http://" + api)
		if err != nil {
			return err
		}
		defer claim.Release() //nolint:errcheck // it ends with the process
	}
	if err := checkFree(ctx, api); err != nil {
		return err
	}
	if uri == "" {
		logf("Starting MongoDB ...")
		mongod, err := devserver.StartMongod(ctx, devserver.MongodOptions{DataDir: filepath.Join(devserver.Home, "data"), Progress: os.Stderr})
		if err != nil {
			return err
		}
		defer func() {
			mongod.Stop()
			logf("Stopped MongoDB")
		}()
		uri = mongod.URI
	}
	env := processEnv(uri)
	processes := make([]*devserver.Process, 0, 2)
	stop := func() {
		for _, p := range slices.Backward(processes) {
			p.Stop()
		}
		processes = nil
	}
	defer stop()
	for _, program := range []string{"api", "worker"} {
		if ctx.Err() != nil {
			return nil
		}
		p, err := devserver.Start(devserver.Command{
			Args: append([]string{filepath.Join(".build", program)}, args...), Env: env, Output: os.Stderr,
		})
		if err != nil {
			return err
		}
		processes = append(processes, p)
		if program == "api" {
			if err := awaitReady(ctx, p, "http://"+api); err != nil {
				return err
			}
		}
	}
	state := devserver.State{MongoDBURI: uri,
		Database: flagOr(args, "--mongodb-database", cmp.Or(os.Getenv("MONGODB_DATABASE"), "holdfast")), API: "http://" + api}
	if err := state.Save(); err != nil {
		return err
	}
	defer state.Remove() //nolint:errcheck // the next start overwrites it
	logAddresses(state)
	select {
	case <-ctx.Done():
		logf("Stopping ...")
		return nil
	case <-processes[0].Done():
		return endedError("API", processes[0])
	case <-processes[1].Done():
		return endedError("worker", processes[1])
	}
}

// processEnv is the environment of the API and the worker. No load balancer has to learn that
// they stop, so Ctrl-C does not wait for one; and seats come back within seconds, not within
// a minute, for a user who tries it.
func processEnv(uri string) []string {
	return []string{
		"MONGODB_URI=" + uri, "DEMO=" + cmp.Or(os.Getenv("DEMO"), "true"),
		"SHUTDOWN_DELAY=" + cmp.Or(os.Getenv("SHUTDOWN_DELAY"), "0s"),
		"LOCK_EXPIRY_INTERVAL=" + cmp.Or(os.Getenv("LOCK_EXPIRY_INTERVAL"), "5s"),
		"BOOKING_EXPIRY_INTERVAL=" + cmp.Or(os.Getenv("BOOKING_EXPIRY_INTERVAL"), "5s"),
	}
}

func endedError(name string, p *devserver.Process) error {
	if err := p.Err(); err != nil {
		return fmt.Errorf("the %s ended; its message is above: %w", name, err)
	}
	return fmt.Errorf("the %s ended; its message is above", name)
}

// checkFree returns an error if another process listens on the address.
func checkFree(ctx context.Context, address string) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("HTTP_ADDR: %w: choose another address, such as scripts/run --http-addr=127.0.0.1:8090", err)
	}
	return listener.Close()
}

func logAddresses(state devserver.State) {
	logf("")
	logf("Holdfast is running. Ctrl-C stops it; its data stays in %s/data.", devserver.Home)
	logf("  Console   %s/console", state.API)
	logf("  Demo shop %s/demo", state.API)
	logf("  API       %s/api/events", state.API)
	logf("  API docs  %s/docs", state.API)
	logf("  MongoDB   %s (database %s)", state.MongoDBURI, state.Database)
	logf("  Worker    /readyz and /metrics at 127.0.0.1:8081, or the next free port, which it logs")
	logf("")
}

// awaitReady polls until the API serves, which it does after recovery.
func awaitReady(ctx context.Context, p *devserver.Process, api string) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	err := p.Await(ctx, "the API", func(ctx context.Context) error { return devserver.GetOK(ctx, api+"/readyz") })
	if err != nil {
		return fmt.Errorf("%w; its messages are above", err)
	}
	return nil
}

// flagOr returns the value of --name value or --name=value in args.
func flagOr(args []string, name, fallback string) string {
	for i, arg := range args {
		if value, found := strings.CutPrefix(arg, name+"="); found {
			return value
		}
		if arg == name && i+1 < len(args) {
			return args[i+1]
		}
	}
	return fallback
}

func logf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
