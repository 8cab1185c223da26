package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/devserver"
)

// bootTime: a large database takes a while to prove.
const bootTime = 5 * time.Minute

// run starts a MongoDB unless one is named, the API and a worker, and ends
// them in the opposite order.
func run(ctx context.Context, args []string) (err error) {
	api := flagOr(args, "--http-addr", or(os.Getenv("HTTP_ADDR"), "127.0.0.1:8080"))
	if err := free(ctx, api); err != nil {
		return err
	}
	uri := flagOr(args, "--mongodb-uri", os.Getenv("MONGODB_URI"))
	if uri == "" {
		say("Starting MongoDB ...")
		mongod, err := devserver.StartMongod(ctx, devserver.MongodOptions{DataDir: filepath.Join(devserver.Home, "data"), Progress: os.Stderr})
		if err != nil {
			return err
		}
		defer func() {
			mongod.Stop()
			say("Stopped MongoDB")
		}()
		uri = mongod.URI
	}
	env := []string{"MONGODB_URI=" + uri, "DEMO=" + or(os.Getenv("DEMO"), "true")}
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
			if err := ready(ctx, p, "http://"+api+"/readyz"); err != nil {
				return err
			}
		}
	}
	state := devserver.State{MongoDBURI: uri,
		Database: flagOr(args, "--mongodb-database", or(os.Getenv("MONGODB_DATABASE"), "holdfast")), API: "http://" + api}
	if err := state.Tell(); err != nil {
		return err
	}
	defer state.Forget() //nolint:errcheck // overwritten by the next start
	sayWhere(state)
	select {
	case <-ctx.Done():
		say("Stopping ...")
		return nil
	case <-processes[0].Done():
		return fmt.Errorf("the API ended; its message is above (%v)", processes[0].Err()) //nolint:errorlint // its status is not ours
	case <-processes[1].Done():
		return fmt.Errorf("the worker ended; its message is above (%v)", processes[1].Err()) //nolint:errorlint // its status is not ours
	}
}

// free reports an address that somebody else listens on, before anything starts.
func free(ctx context.Context, address string) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("HTTP_ADDR: %w: choose another address, such as scripts/run --http-addr=127.0.0.1:8090", err)
	}
	return listener.Close()
}

func sayWhere(state devserver.State) {
	say("")
	say("Holdfast is running. Ctrl-C stops it; its data stays in %s/data.", devserver.Home)
	say("  Console   %s/console", state.API)
	say("  Demo shop %s/demo", state.API)
	say("  API       %s/api/events", state.API)
	say("  API docs  %s/docs", state.API)
	say("  MongoDB   %s (database %s)", state.MongoDBURI, state.Database)
	say("  Worker    /readyz and /metrics at 127.0.0.1:8081, or the next free port, which it logs")
	say("")
}

// ready polls until the API serves, however long recovery takes, or it ends.
func ready(ctx context.Context, p *devserver.Process, url string) error {
	ctx, cancel := context.WithTimeout(ctx, bootTime)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if answers(ctx, url) {
			return nil
		}
		select {
		case <-p.Done():
			return errors.New("the API could not start; its message is above")
		case <-ctx.Done():
			return fmt.Errorf("the API did not get ready: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

func answers(ctx context.Context, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil) //nolint:gosec // our own API
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request) //nolint:gosec // our own API
	if err != nil {
		return false
	}
	defer response.Body.Close()        //nolint:errcheck // read only
	io.Copy(io.Discard, response.Body) //nolint:errcheck // only the status counts
	return response.StatusCode == http.StatusOK
}

// flagOr finds --name value or --name=value among args.
func flagOr(args []string, name, otherwise string) string {
	for i, arg := range args {
		if value, found := strings.CutPrefix(arg, name+"="); found {
			return value
		}
		if arg == name && i+1 < len(args) {
			return args[i+1]
		}
	}
	return otherwise
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
