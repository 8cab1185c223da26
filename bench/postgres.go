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

	"github.com/holdfast-dev/holdfast/internal/devserver"
	"github.com/holdfast-dev/holdfast/internal/ids"
)

// rowLock is the usual way on PostgreSQL: a transaction each that locks the
// event's row. It keeps the same locks in the same indexes.
type rowLock struct{ pool *pgxpool.Pool }

const postgresSchema = `
DROP TABLE IF EXISTS seatlocks; DROP TABLE IF EXISTS events;
CREATE TABLE events (id bytea PRIMARY KEY, total bigint NOT NULL, available bigint NOT NULL CHECK (available BETWEEN 0 AND total));
CREATE TABLE seatlocks (id bytea PRIMARY KEY, event bytea NOT NULL, "user" bytea NOT NULL, seats bigint NOT NULL, status text NOT NULL,
	expires timestamptz NOT NULL, hash text NOT NULL, rev bigint NOT NULL, created timestamptz NOT NULL, updated timestamptz NOT NULL, key text);
CREATE INDEX ON seatlocks (event, status, id, seats);
CREATE INDEX ON seatlocks ("user", event, status, id);
CREATE UNIQUE INDEX ON seatlocks (event, "user", key) WHERE key IS NOT NULL;
CREATE INDEX ON seatlocks (expires, id) WHERE status = 'ACTIVE';
CREATE INDEX ON seatlocks (event, expires, id) WHERE status = 'ACTIVE';`

// open makes the tables anew, with the events of the world.
func openRowLock(ctx context.Context, url string, events []ids.ID, seats int64) (*rowLock, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = 64 // more do not make it faster
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

func (r *rowLock) lock(ctx context.Context, event, user ids.ID, n int64, key string) (bool, error) {
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

// prove fails unless counters and locks say what was granted.
func (r *rowLock) prove(ctx context.Context, granted int64) error {
	var taken, held int64
	err := r.pool.QueryRow(ctx, "SELECT (SELECT sum(total - available) FROM events), (SELECT coalesce(sum(seats), 0) FROM seatlocks WHERE status = 'ACTIVE')").Scan(&taken, &held)
	if err == nil && (taken != granted || held != granted) {
		err = fmt.Errorf("%d were granted, the counters say %d, the locks %d", granted, taken, held)
	}
	r.pool.Close()
	return err
}

// startPostgres starts a PostgreSQL, with its default settings, where its
// programs are at hand; found is false where they are not.
func startPostgres(ctx context.Context) (stop func(), url string, found bool, err error) {
	bin, found := postgresPrograms()
	if !found {
		return nil, "", false, nil
	}
	dir, err := os.MkdirTemp("", "postgres-")
	if err != nil {
		return nil, "", true, err
	}
	as, err := unprivileged(dir)
	if err != nil {
		return nil, "", true, err
	}
	data := filepath.Join(dir, "data")
	initdb := append(slices.Clone(as), filepath.Join(bin, "initdb"), "-D", data, "-A", "trust", "-U", "bench", "-E", "UTF8", "--no-sync")
	if out, err := exec.CommandContext(ctx, initdb[0], initdb[1:]...).CombinedOutput(); err != nil { //nolint:gosec // PostgreSQL's own
		return nil, "", true, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	port, err := devserver.KeepPort()
	if err != nil {
		return nil, "", true, err
	}
	defer port.Close() //nolint:errcheck // nothing was written
	p, err := devserver.Start(devserver.Command{
		Args: append(slices.Clone(as), filepath.Join(bin, "postgres"), "-D", data, "-p", strconv.Itoa(port.Number), "-k", dir,
			"-c", "listen_addresses=127.0.0.1", "-c", "logging_collector=off"),
		Scratch: dir,
	})
	if err != nil {
		return nil, "", true, err
	}
	url = fmt.Sprintf("postgres://bench@%s/postgres?sslmode=disable", port.Addr())
	const tries, between = 100, 100 * time.Millisecond
	for range tries {
		conn, connectErr := pgx.Connect(ctx, url)
		if connectErr == nil {
			return p.Stop, url, true, conn.Close(ctx)
		}
		err = connectErr
		<-time.After(between)
	}
	p.Stop()
	return nil, "", true, err
}

// postgresPrograms looks on the path, and where Debian puts them.
func postgresPrograms() (folder string, found bool) {
	if at, err := exec.LookPath("postgres"); err == nil {
		return filepath.Dir(at), true
	}
	all, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(all) == 0 {
		return "", false
	}
	return filepath.Dir(all[len(all)-1]), true
}

// unprivileged is how to start PostgreSQL where this runs as root, which it
// refuses to be: as its own user, who gets the folder.
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
