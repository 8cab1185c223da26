package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/internal/devserver"
)

// with runs a command with servers of its own, and ends them after it.
func with(ctx context.Context, name string, args []string) error {
	mongod, err := devserver.StartMongod(ctx, devserver.MongodOptions{Test: true, Progress: os.Stderr})
	if err != nil {
		return err
	}
	defer mongod.Stop()
	redis, err := devserver.StartRedis(ctx, devserver.RedisOptions{Progress: os.Stderr})
	if err != nil {
		return err
	}
	defer redis.Stop()
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // the caller's command
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "HOLDFAST_TEST_MONGODB_URI="+mongod.URI, "HOLDFAST_TEST_REDIS_URL="+redis.URL)
	return cmd.Run()
}

// beside becomes a command that finds MongoDB where a running devserver run has it.
func beside(args []string) error {
	env := os.Environ()
	if os.Getenv("MONGODB_URI") == "" {
		state, err := devserver.ReadState()
		if err != nil {
			return errors.New("no scripts/run is running here: start it, or set MONGODB_URI")
		}
		env = append(env, "MONGODB_URI="+state.MongoDBURI, "MONGODB_DATABASE="+state.Database)
	}
	return syscall.Exec(args[0], args, env) //nolint:gosec // the caller's command
}
