package devserver

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// Redis is a running redis-server without persistence.
type Redis struct {
	*Process
	URL string
}

// RedisOptions configures a redis-server.
type RedisOptions struct {
	Port     *Port     // nil for any
	Progress io.Writer // reports a fetch
}

// StartRedis finds or fetches a redis-server, starts it and waits until it
// answers.
func StartRedis(ctx context.Context, o RedisOptions) (*Redis, error) {
	binary, libraries, err := redisBundle.find(ctx, o.Progress)
	if err != nil {
		return nil, err
	}
	port := o.Port
	if port == nil {
		if port, err = ReservePort(); err != nil {
			return nil, err
		}
		defer port.Close()
	}
	dir, err := os.MkdirTemp("", "redis-")
	if err != nil {
		return nil, err
	}
	args := []string{binary, "--bind", "127.0.0.1", "--port", strconv.Itoa(port.Number), "--save", "", "--appendonly", "no", "--dir", dir}
	if refusesDebug(ctx, binary, libraries) {
		args = append(args, "--enable-debug-command", "local")
	}
	var output bytes.Buffer
	p, err := Start(Command{
		Args:    args,
		Env:     libraryPath(libraries),
		TempDir: dir,
		Output:  &output,
	})
	if err != nil {
		return nil, err
	}
	client := redis.NewClient(&redis.Options{Addr: port.Addr(), MaxRetries: -1})
	defer client.Close() //nolint:errcheck // nothing depends on this connection any more
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := p.Await(ctx, "redis-server", func(ctx context.Context) error { return client.Ping(ctx).Err() }); err != nil {
		p.Stop()
		return nil, fmt.Errorf("%w\n%s", err, lastLines(output.Bytes()))
	}
	return &Redis{Process: p, URL: "redis://" + port.Addr()}, nil
}

var redisVersion = regexp.MustCompile(`\bv=(\d+)\.`)

// refusesDebug reports whether the command DEBUG, which tests use, has to be enabled: from version 7 on. Earlier ones don't
// know the setting.
func refusesDebug(ctx context.Context, binary, libraries string) bool {
	const since = 7
	cmd := exec.CommandContext(ctx, binary, "--version")
	cmd.Env = append(os.Environ(), libraryPath(libraries)...)
	out, err := cmd.Output()
	match := redisVersion.FindSubmatch(out)
	if err != nil || match == nil {
		return false
	}
	major, err := strconv.Atoi(string(match[1]))
	return err == nil && major >= since
}
