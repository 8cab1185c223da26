package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/devserver"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// postgres has the usual ways to sell seats on PostgreSQL. It stores the same locks in the same indexes.
type postgres struct{ pool *pgxpool.Pool }

const postgresSchema = `
DROP TABLE IF EXISTS seatlocks, events, seats;
CREATE TABLE events (id bytea PRIMARY KEY, total bigint NOT NULL, available bigint NOT NULL CHECK (available BETWEEN 0 AND total));
CREATE TABLE seats (event bytea, seat int, "row" int NOT NULL, lock bytea, PRIMARY KEY (event, seat));
CREATE INDEX ON seats (event, "row", seat) WHERE lock IS NULL;
CREATE TABLE seatlocks (id bytea PRIMARY KEY, event bytea NOT NULL, "user" bytea NOT NULL, seats bigint NOT NULL, status text NOT NULL,
	expires timestamptz NOT NULL, hash text NOT NULL, rev bigint NOT NULL, created timestamptz NOT NULL, updated timestamptz NOT NULL,
	key text, seat_numbers int[]);
CREATE INDEX ON seatlocks (event, status, id, seats);
CREATE INDEX ON seatlocks ("user", event, status, id);
CREATE UNIQUE INDEX ON seatlocks (event, "user", key) WHERE key IS NOT NULL;
CREATE INDEX ON seatlocks (expires, id) WHERE status = 'ACTIVE';
CREATE INDEX ON seatlocks (event, expires, id) WHERE status = 'ACTIVE';`

const (
	requestHash = "0123456789abcdef0123456789abcdef"
	insertLock  = "INSERT INTO seatlocks VALUES ($1, $2, $3, $4, 'ACTIVE', now() + interval '10 minutes', $5, 0, now(), now(), $6, $7)"
)

// openPostgres drops and creates the tables.
func openPostgres(ctx context.Context, url string) (*postgres, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = 64 // more connections do not make it faster
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	_, err = pool.Exec(ctx, postgresSchema)
	return &postgres{pool}, err
}

func (p *postgres) createEvents(ctx context.Context, events []holdfast.ID, seats int64) error {
	for _, id := range events {
		if _, err := p.pool.Exec(ctx, "INSERT INTO events VALUES ($1, $2, $2)", id[:], seats); err != nil {
			return err
		}
	}
	return nil
}

// lock runs a transaction for each request, which locks the event's row.
func (p *postgres) lock(ctx context.Context, event, user holdfast.ID, n int64, key string) (bool, error) {
	return isGranted(pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
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
		id := mongodb.NewID()
		_, err := tx.Exec(ctx, insertLock, id[:], event[:], user[:], n, requestHash, key, nil)
		return err
	}))
}

// check returns an error if counters, seats or locks contradict the granted seats. It
// closes the pool.
func (p *postgres) check(ctx context.Context, granted int64) error {
	defer p.pool.Close()
	var taken, held int64
	err := p.pool.QueryRow(ctx, `SELECT (SELECT coalesce(sum(total - available), 0) FROM events)
		+ (SELECT count(*) FROM seats WHERE lock IS NOT NULL), (SELECT coalesce(sum(seats), 0) FROM seatlocks WHERE status = 'ACTIVE')`,
	).Scan(&taken, &held)
	if err == nil && (taken != granted || held != granted) {
		err = fmt.Errorf("%d seats were granted; by counters and rows, %d are taken; the locks hold %d", granted, taken, held)
	}
	return err
}

// postgresScript makes a new PostgreSQL in a folder and runs it, with its default settings. It refuses to run as root.
const postgresScript = `bin=$1 dir=$2 port=$3 as=
if [ "$(id -u)" = 0 ]; then
	chown postgres "$dir"
	as="setpriv --reuid=postgres --regid=postgres --clear-groups"
fi
$as "$bin/initdb" -D "$dir/data" -A trust -U bench -E UTF8 --no-sync
exec $as "$bin/postgres" -D "$dir/data" -p "$port" -k "$dir" -c listen_addresses=127.0.0.1 -c logging_collector=off`

// startPostgres starts a PostgreSQL.
func startPostgres(ctx context.Context) (server *devserver.Process, url string, err error) {
	binDir, err := findPostgres()
	if err != nil {
		return nil, "", err
	}
	dir, err := os.MkdirTemp("", "postgres-")
	if err != nil {
		return nil, "", err
	}
	port, err := devserver.ReservePort()
	if err != nil {
		return nil, "", err
	}
	var output bytes.Buffer
	server, err = devserver.Start(devserver.Command{
		Args:    []string{"/bin/sh", "-ec", postgresScript, "postgres", binDir, dir, strconv.Itoa(port.Number)},
		TempDir: dir, Output: &output,
	})
	if err != nil {
		return nil, "", errors.Join(err, port.Close())
	}
	url = fmt.Sprintf("postgres://bench@%s/postgres?sslmode=disable", port.Addr())
	const timeout = 30 * time.Second
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err = server.Await(ctx, "PostgreSQL", func(ctx context.Context) error {
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	})
	if err = errors.Join(err, port.Close()); err != nil {
		server.Stop()
		return nil, "", fmt.Errorf("%w\n%s", err, &output)
	}
	return server, url, nil
}

// findPostgres returns the folder of PostgreSQL's programs: where Debian puts them, or on the path.
func findPostgres() (binDir string, err error) {
	if files, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres"); len(files) > 0 { // the pattern is correct
		return filepath.Dir(files[len(files)-1]), nil
	}
	file, err := exec.LookPath("postgres")
	if err != nil {
		return "", fmt.Errorf("it is not installed (Debian's package is postgresql): %w", err)
	}
	return filepath.Dir(file), nil
}
