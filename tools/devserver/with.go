package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/internal/devserver"
)

// stopTimeout is how long the command may run on after a signal.
const stopTimeout = 10 * time.Second

// with runs a command with a MongoDB and a Redis, and stops them when it ends.
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
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTimeout
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "HOLDFAST_TEST_MONGODB_URI="+mongod.URI+"&serverSelectionTimeoutMS=30000", // a busy machine
		"HOLDFAST_TEST_REDIS_URL="+redis.URL)
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-ended:
		case <-mongod.Done():
			fmt.Fprintf(os.Stderr, "devserver: MongoDB has ended during the command: %v\n", mongod.Err())
		}
	}()
	return cmd.Run()
}

// execCommand replaces this process by a command that uses the MongoDB of a running
// devserver run.
func execCommand(args []string) error {
	env := os.Environ()
	if os.Getenv("MONGODB_URI") == "" {
		state, err := devserver.ReadState()
		if err != nil {
			return errors.New("scripts/run is not running here: start it, or set MONGODB_URI")
		}
		env = append(env, "MONGODB_URI="+state.MongoDBURI, "MONGODB_DATABASE="+state.Database)
	}
	return syscall.Exec(args[0], args, env)
}
