package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/devserver"
	"github.com/holdfast-dev/holdfast/internal/ids"
)

// rowLock is the usual way on PostgreSQL: a transaction for each request, which
// locks the event's row. It stores the same locks in the same indexes.
type rowLock struct{ pool *pgxpool.Pool }

const postgresSchema = `
DROP TABLE IF EXISTS seatlocks; DROP TABLE IF EXISTS events;
CREATE TABLE events (id bytea PRIMARY KEY, total bigint NOT NULL, available bigint NOT NULL CHECK (available BETWEEN 0 AND total));
CREATE TABLE seatlocks (id bytea PRIMARY KEY, event bytea NOT NULL, "user" bytea NOT NULL, seats bigint NOT NULL, status text NOT NULL,
	expires timestamptz NOT NULL, hash text NOT NULL, rev bigint NOT NULL, created timestamptz NOT NULL, updated timestamptz NOT NULL,
	key text);
CREATE INDEX ON seatlocks (event, status, id, seats);
CREATE INDEX ON seatlocks ("user", event, status, id);
CREATE UNIQUE INDEX ON seatlocks (event, "user", key) WHERE key IS NOT NULL;
CREATE INDEX ON seatlocks (expires, id) WHERE status = 'ACTIVE';
CREATE INDEX ON seatlocks (event, expires, id) WHERE status = 'ACTIVE';`

// openRowLock creates the tables anew, with the given events.
func openRowLock(ctx context.Context, url string, events []holdfast.ID, seats int64) (*rowLock, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = 64 // more connections do not make it faster
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if _, err := pool.Exec(ctx, postgresSchema); err != nil {
		return nil, err
	}
	for _, id := range events {
		if _, err := pool.Exec(ctx, "INSERT INTO events VALUES ($1, $2, $2)", id[:], seats); err != nil {
			return nil, err
		}
	}
	return &rowLock{pool}, nil
}

func (r *rowLock) lock(ctx context.Context, event, user holdfast.ID, n int64, key string) (bool, error) {
	err := pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) error {
		var available int64
		if err := tx.QueryRow(ctx, "SELECT available FROM events WHERE id = $1 FOR UPDATE", event[:]).Scan(&available); err != nil {
			return err
		}
		if available < n {
			return errSoldOut
		}
		if _, err := tx.Exec(ctx, "UPDATE events SET available = available - $2 WHERE id = $1", event[:], n); err != nil {
			return err
		}
		id := ids.New()
		_, err := tx.Exec(ctx, "INSERT INTO seatlocks VALUES ($1, $2, $3, $4, 'ACTIVE', now() + interval '10 minutes', $5, 0, now(), now(), $6)",
			id[:], event[:], user[:], n, "0123456789abcdef0123456789abcdef", key)
		return err
	})
	if errors.Is(err, errSoldOut) {
		return false, nil
	}
	return err == nil, err
}

// check returns an error if counters or locks contradict the granted seats. It
// closes the pool.
func (r *rowLock) check(ctx context.Context, granted int64) error {
	defer r.pool.Close()
	var taken, held int64
	err := r.pool.QueryRow(ctx, "SELECT (SELECT sum(total - available) FROM events),"+
		" (SELECT coalesce(sum(seats), 0) FROM seatlocks WHERE status = 'ACTIVE')").Scan(&taken, &held)
	if err != nil {
		return err
	}
	if taken != granted || held != granted {
		return fmt.Errorf("%d seats were granted; by the counters, %d are taken; the locks hold %d", granted, taken, held)
	}
	return nil
}

// postgresServer is a running PostgreSQL.
type postgresServer struct {
	*devserver.Process
	url string
}

// startPostgres starts a PostgreSQL with its default settings. It returns nil if
// PostgreSQL is not installed.
func startPostgres(ctx context.Context) (*postgresServer, error) {
	binDir := findPostgres()
	if binDir == "" {
		return nil, nil // not an error: the baseline is left out
	}
	dir, err := os.MkdirTemp("", "postgres-")
	if err != nil {
		return nil, err
	}
	prefix, err := unprivileged(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	data := filepath.Join(dir, "data")
	if _, err := output(ctx, append(slices.Clone(prefix),
		filepath.Join(binDir, "initdb"), "-D", data, "-A", "trust", "-U", "bench", "-E", "UTF8", "--no-sync")...); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	port, err := devserver.ReservePort()
	if err != nil {
		return nil, err
	}
	p, err := devserver.Start(devserver.Command{
		Args: append(prefix, filepath.Join(binDir, "postgres"), "-D", data, "-p", strconv.Itoa(port.Number), "-k", dir,
			"-c", "listen_addresses=127.0.0.1", "-c", "logging_collector=off"),
		TempDir: dir,
	})
	if err != nil {
		return nil, errors.Join(err, port.Close())
	}
	server := &postgresServer{Process: p, url: fmt.Sprintf("postgres://bench@%s/postgres?sslmode=disable", port.Addr())}
	if err := errors.Join(server.waitReady(ctx), port.Close()); err != nil {
		server.Stop()
		return nil, err
	}
	return server, nil
}

// waitReady polls until the server accepts connections.
func (p *postgresServer) waitReady(ctx context.Context) error {
	const timeout, interval = 10 * time.Second, 100 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	poll := time.NewTicker(interval)
	defer poll.Stop()
	for {
		conn, err := pgx.Connect(ctx, p.url)
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-ctx.Done():
			return err
		case <-poll.C:
		}
	}
}

// findPostgres returns the folder of PostgreSQL's programs: on the path, or where
// Debian puts them; "" if there is none.
func findPostgres() (binDir string) {
	if file, err := exec.LookPath("postgres"); err == nil {
		return filepath.Dir(file)
	}
	files, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(files) == 0 {
		return ""
	}
	return filepath.Dir(files[len(files)-1])
}

// unprivileged returns the command that starts PostgreSQL as its own user, which
// then owns the folder: PostgreSQL refuses to run as root.
func unprivileged(dir string) (prefix []string, err error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	owner, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL does not run as root: %w", err)
	}
	uid, err := strconv.Atoi(owner.Uid)
	if err != nil {
		return nil, err
	}
	return []string{"setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"}, os.Chown(dir, uid, -1)
}
