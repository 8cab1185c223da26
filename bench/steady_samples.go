package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

const (
	// minSteadyTime has enough intervals for the lines.
	minSteadyTime = time.Minute
	// steadyIntervals are the fewest of a measurement, each of at most maxSteadyInterval.
	steadyIntervals   = 12
	maxSteadyInterval = time.Minute
)

// steadyRow is the figures of one interval. Those of the API are the sums of its processes.
type steadyRow struct {
	Minutes float64 `json:"minutes"` // from the beginning to the end of the interval

	PerSecond float64 `json:"requestsPerSecond"`
	P50       float64 `json:"p50ms"`
	P99       float64 `json:"p99ms"`
	Errors    int64   `json:"errors"` // requests that failed, and customers that were turned away

	APIMemory        float64 `json:"apiMiB"`
	APIHeap          float64 `json:"apiHeapMiB"`
	APIGoroutines    float64 `json:"apiGoroutines"`
	APICPU           float64 `json:"apiCores"` // CPU seconds a second
	WorkerMemory     float64 `json:"workerMiB"`
	WorkerHeap       float64 `json:"workerHeapMiB"`
	WorkerGoroutines float64 `json:"workerGoroutines"`
	WorkerCPU        float64 `json:"workerCores"`

	Connections  float64 `json:"mongodConnections"`
	MongodMemory float64 `json:"mongodMiB"`
	MongodCPU    float64 `json:"mongodCores"`

	DueLocks int64 `json:"dueLocks"`
	Untold   int64 `json:"untoldChanges"` // of bookings, which the endpoint is not told of yet
	Locks    int64 `json:"locks"`         // in the collection, ended ones too
}

// sampler takes the figures of one interval after the other.
type sampler struct {
	*steady
	started, last time.Time
	before        usage
	failed        int64
}

// usage is what grows: CPU seconds of the API, the worker and mongod.
type usage struct{ api, worker, mongod float64 }

func newSampler(st *steady) *sampler {
	now := wallClock()
	return &sampler{steady: st, started: now, last: now, failed: st.world.failed.Load() + st.world.dropped.Load()}
}

// run takes a row at the end of each interval, and prints it.
func (s *sampler) run(ctx context.Context) (rows []steadyRow) {
	interval := min(maxSteadyInterval, s.steadyTime/steadyIntervals)
	if _, err := s.sample(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "the figures of the beginning are missing:", err)
	}
	for n := range int(s.steadyTime / interval) {
		sleep(ctx, s.started.Add(time.Duration(n+1)*interval).Sub(wallClock()))
		row, err := s.sample(ctx)
		switch {
		case ctx.Err() != nil:
			return rows
		case err != nil:
			fmt.Fprintln(os.Stderr, "the figures of an interval are missing:", err)
		default:
			rows = append(rows, row)
			fmt.Fprintln(os.Stderr, row.progress())
		}
	}
	return rows
}

// sample takes the figures since the last call.
func (s *sampler) sample(ctx context.Context) (row steadyRow, err error) {
	const timeout = 20 * time.Second
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	latencies := s.world.recorder.take()
	now := wallClock()
	seconds := now.Sub(s.last).Seconds()
	m := measurement{latencies: latencies}
	failed := s.world.failed.Load() + s.world.dropped.Load()
	row = steadyRow{
		Minutes: now.Sub(s.started).Minutes(), PerSecond: float64(len(latencies)) / seconds,
		P50: inMilliseconds(m.quantile(.5)), P99: inMilliseconds(m.quantile(.99)), Errors: failed - s.failed,
	}
	s.last, s.failed = now, failed
	var used usage
	for _, api := range s.apis {
		p, err := readProcess(api.address)
		if err != nil {
			return row, err
		}
		row.APIMemory, row.APIHeap, row.APIGoroutines = row.APIMemory+p.memory, row.APIHeap+p.heap, row.APIGoroutines+p.goroutines
		used.api += p.cpu
	}
	p, err := readProcess(s.worker.address)
	if err != nil {
		return row, err
	}
	row.WorkerMemory, row.WorkerHeap, row.WorkerGoroutines, used.worker = p.memory, p.heap, p.goroutines, p.cpu
	if err := s.sampleMongod(ctx, &row, &used); err != nil {
		return row, err
	}
	row.APICPU = (used.api - s.before.api) / seconds
	row.WorkerCPU = (used.worker - s.before.worker) / seconds
	row.MongodCPU = (used.mongod - s.before.mongod) / seconds
	s.before = used
	row.Untold = max(0, s.world.bookingChanges.Load()-int64(s.receiver.count()))
	return row, nil
}

// sampleMongod takes the figures of the database.
func (s *sampler) sampleMongod(ctx context.Context, row *steadyRow, used *usage) (err error) {
	status, err := mongodStatusOf(ctx, s.env)
	if err != nil {
		return err
	}
	row.Connections, row.MongodMemory, used.mongod = status.Connections.Current, status.Memory.Resident, status.cpuSeconds()
	locks := s.env.DB.Collection("seatlocks")
	if row.DueLocks, err = locks.CountDocuments(ctx, dueLocksFilter()); err != nil {
		return err
	}
	row.Locks, err = locks.EstimatedDocumentCount(ctx)
	return err
}

// mongodStatus is a part of what serverStatus answers.
type mongodStatus struct {
	Connections struct {
		Current float64 `bson:"current"`
	} `bson:"connections"`
	Memory struct {
		Resident float64 `bson:"resident"` // MiB
	} `bson:"mem"`
	Extra struct {
		UserMicros   float64 `bson:"user_time_us"`
		SystemMicros float64 `bson:"system_time_us"`
	} `bson:"extra_info"`
}

// cpuSeconds is the CPU time that mongod has used.
func (m mongodStatus) cpuSeconds() float64 {
	return (m.Extra.UserMicros + m.Extra.SystemMicros) / float64(time.Second/time.Microsecond)
}

func mongodStatusOf(ctx context.Context, e *env) (status mongodStatus, err error) {
	err = e.DB.Client().Database("admin").RunCommand(ctx, bson.D{{Key: "serverStatus", Value: 1}}).Decode(&status)
	return status, err
}
