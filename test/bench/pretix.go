package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/devserver"
)

// pretixSite is a pretix with its database, its cache and its worker, as pretix's guide to installing it sets them up.
type pretixSite struct {
	address  string
	env      []string
	db       *pgx.Conn
	programs []*devserver.Process // the web processes and the worker, each with its children
	stops    []func()
}

// pretixData is the organizer, and a token for pretix's API. The events are created through that API.
//
//go:embed pretix/organizer.json
var pretixData []byte

const (
	pretixToken  = "bench-token-of-a-server-that-only-this-machine-reaches"
	pretixEvents = "/api/v1/organizers/bench/events/"
	pretixWarmUp = 15 * time.Second
)

// startPretix starts a new site of the pretix in a virtual environment, with a database of a PostgreSQL. It takes two minutes.
func startPretix(ctx context.Context, venv, postgresURL string) (site *pretixSite, err error) {
	site = &pretixSite{}
	defer func() {
		if err != nil {
			site.stop()
		}
	}()
	dir, err := os.MkdirTemp("", "pretix-")
	if err != nil {
		return site, err
	}
	site.stops = append(site.stops, func() { _ = os.RemoveAll(dir) })
	port, err := devserver.ReservePort()
	if err != nil {
		return site, err
	}
	defer port.Close()
	site.address = port.Addr()
	if err := site.startStores(ctx, dir, postgresURL); err != nil {
		return site, err
	}
	data := filepath.Join(dir, "organizer.json")
	if err := os.WriteFile(data, pretixData, 0o600); err != nil {
		return site, err
	}
	python := filepath.Join(venv, "bin", "python")
	for _, args := range [][]string{{"migrate"}, {"loaddata", data}} {
		fmt.Fprintf(os.Stderr, "\r\033[Kpretix: %s ...", args[0])
		command := exec.CommandContext(ctx, python, append([]string{"-m", "pretix"}, args...)...)
		command.Env = append(os.Environ(), site.env...)
		if output, err := command.CombinedOutput(); err != nil {
			return site, fmt.Errorf("pretix %s: %w\n%s", args[0], err, output)
		}
	}
	return site, site.startPrograms(ctx, venv)
}

// startStores creates the database, starts a Redis, and writes pretix's settings.
func (p *pretixSite) startStores(ctx context.Context, dir, postgresURL string) error {
	config, err := pgx.ParseConfig(postgresURL)
	if err != nil {
		return err
	}
	if p.db, err = pgx.ConnectConfig(ctx, config); err != nil {
		return err
	}
	if _, err = p.db.Exec(ctx, "CREATE DATABASE pretix"); err != nil {
		return err
	}
	if err := p.db.Close(ctx); err != nil {
		return err
	}
	config.Database = "pretix"
	if p.db, err = pgx.ConnectConfig(ctx, config); err != nil {
		return err
	}
	redis, err := devserver.StartRedis(ctx, devserver.RedisOptions{Progress: os.Stderr})
	if err != nil {
		return err
	}
	p.stops = append(p.stops, redis.Stop)
	cache := strings.TrimSuffix(redis.URL, "/0")
	file := filepath.Join(dir, "pretix.cfg")
	p.env = []string{"PRETIX_CONFIG_FILE=" + file}
	return os.WriteFile(file, fmt.Appendf(nil, `[pretix]
url=http://%s
datadir=%s
[database]
backend=postgresql
name=pretix
user=%s
host=%s
port=%d
[redis]
location=%s/0
sessions=true
[celery]
backend=%s/1
broker=%s/2
`, p.address, filepath.Join(dir, "data"), config.User, config.Host, config.Port, cache, cache, cache), 0o600)
}

// startPrograms starts the web processes, two for each core, and the worker, with the options of pretix's guides.
func (p *pretixSite) startPrograms(ctx context.Context, venv string) error {
	bin := func(name string) string { return filepath.Join(venv, "bin", name) }
	const processesPerCore = 2
	web, err := p.start(bin("gunicorn"), "pretix.wsgi", "--workers", fmt.Sprint(processesPerCore*runtime.NumCPU()),
		"--max-requests", "1200", "--max-requests-jitter", "50", "--bind", p.address)
	if err != nil {
		return err
	}
	if _, err := p.start(bin("celery"), "-A", "pretix.celery_app", "worker", "-l", "info"); err != nil {
		return err
	}
	const timeout = time.Minute
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return web.Await(ctx, "pretix", func(ctx context.Context) error {
		return devserver.GetOK(ctx, "http://"+p.address+"/healthcheck/")
	})
}

func (p *pretixSite) start(args ...string) (*devserver.Process, error) {
	process, err := devserver.Start(devserver.Command{Args: args, Env: p.env})
	if err == nil {
		p.programs, p.stops = append(p.programs, process), append(p.stops, process.Stop)
	}
	return process, err
}

// stop stops what was started, the last one first.
func (p *pretixSite) stop() {
	if p.db != nil {
		_ = p.db.Close(context.Background())
	}
	for i := len(p.stops) - 1; i >= 0; i-- {
		p.stops[i]()
	}
}

// createEvent creates an event that is on sale: one free product, with a quota, and for numbered seats with a plan.
func (p *pretixSite) createEvent(ctx context.Context, slug string, load cartLoad) (item int64, err error) {
	name := map[string]string{"en": "Event"}
	event := map[string]any{"name": name, "slug": slug, "currency": "EUR", "date_from": "2030-06-15T19:00:00Z", "timezone": "UTC"}
	if _, err := p.call(ctx, http.MethodPost, pretixEvents, event); err != nil {
		return 0, err
	}
	path := pretixEvents + slug + "/"
	if item, err = p.call(ctx, http.MethodPost, path+"items/", map[string]any{"name": name, "default_price": "0.00"}); err != nil {
		return 0, err
	}
	quota := map[string]any{"name": "places", "size": load.places, "items": []int64{item}}
	if _, err := p.call(ctx, http.MethodPost, path+"quotas/", quota); err != nil {
		return 0, err
	}
	onSale := map[string]any{"live": true}
	if load.isNumbered {
		plan, err := p.call(ctx, http.MethodPost, "/api/v1/organizers/bench/seatingplans/", smallPretixHall(slug))
		if err != nil {
			return 0, err
		}
		onSale["seating_plan"], onSale["seat_category_mapping"] = plan, map[string]int64{"seats": item}
	}
	_, err = p.call(ctx, http.MethodPatch, path, onSale)
	return item, err
}

// smallPretixHall is the same hall as createSmallHall's.
func smallPretixHall(name string) map[string]any {
	type object = map[string]any
	var rows []object
	for r := range smallHallRows {
		var seats []object
		for i := range smallHallRow {
			seats = append(seats, object{
				"seat_guid": seatID(r, i), "seat_number": fmt.Sprint(i), "category": "seats", "position": object{"x": i, "y": 0},
			})
		}
		rows = append(rows, object{"row_number": fmt.Sprint(r), "position": object{"x": 0, "y": r}, "seats": seats})
	}
	return object{"name": name, "layout": object{
		"name": name, "size": object{"width": smallHallRow, "height": smallHallRows},
		"categories": []object{{"name": "seats", "color": "#888888"}},
		"zones":      []object{{"name": "Hall", "position": object{"x": 0, "y": 0}, "rows": rows}},
	}}
}

// call sends a request to pretix's API, and returns the id of the answer, if it has one.
func (p *pretixSite) call(ctx context.Context, method, path string, body map[string]any) (id int64, err error) {
	text, err := json.Marshal(body)
	if err != nil {
		return 0, err
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+p.address+path, bytes.NewReader(text))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "Token "+pretixToken)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	if text, err = io.ReadAll(response.Body); err != nil {
		return 0, err
	}
	if response.StatusCode >= http.StatusBadRequest {
		return 0, fmt.Errorf("pretix, %s %s: status %d: %s", method, path, response.StatusCode, text)
	}
	var answer struct {
		ID int64 `json:"id"`
	}
	return answer.ID, json.Unmarshal(text, &answer)
}

// processorTime returns how long pretix's programs have used a core, without the database and the cache.
func (p *pretixSite) processorTime() (total time.Duration, err error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // the process has ended
		}
		var group int
		var ticks [4]int64 // user and kernel mode, of the process and of its children that have ended
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		const groupField, ticksField, perSecond = 2, 11, 100
		if _, err := fmt.Sscan(fields[groupField], &group); err != nil {
			return 0, err
		}
		if !slices.ContainsFunc(p.programs, func(program *devserver.Process) bool { return program.Pid() == group }) {
			continue
		}
		for i := range ticks {
			if _, err := fmt.Sscan(fields[ticksField+i], &ticks[i]); err != nil {
				return 0, err
			}
			total += time.Duration(ticks[i]) * time.Second / perSecond
		}
	}
	return total, nil
}

// inCarts returns how many tickets of an event are in how many carts, and how many different seats they have, by pretix's
// database.
func (p *pretixSite) inCarts(ctx context.Context, slug string) (tickets, carts, seats int64, err error) {
	err = p.db.QueryRow(ctx, `SELECT count(*), count(DISTINCT cart_id), count(DISTINCT seat_id) FROM pretixbase_cartposition
		WHERE event_id = (SELECT id FROM pretixbase_event WHERE slug = $1)`, slug).Scan(&tickets, &carts, &seats)
	return tickets, carts, seats, err
}
