package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast/internal/devserver"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// component is a process of a deployment.
type component struct {
	Name    string
	pid     int
	port    string // where it listens; "": nowhere
	metrics string // address of its metrics; "": it has none
}

// probe reads what a deployment has used. It needs Linux, for /proc.
type probe struct {
	d          *deployment
	components []component
	primary    *mongo.Client
	mostOpen   map[string]int // connections at one time, by "component → component"
}

// reading is what a deployment had used at one moment.
type reading struct {
	at      time.Time
	cpu     map[string]time.Duration // by component
	metrics map[string]processCounts // of the APIs
	server  serverStatus
	oplog   bson.Timestamp // of its last entry
	data    dbStats
}

// processCounts are sums of a process's metrics.
type processCounts struct{ locks, requests, conflicts, transactions float64 }

type serverStatus struct {
	Pid     int `bson:"pid"`
	Metrics struct {
		Operation struct {
			WriteConflicts int64 `bson:"writeConflicts"`
		} `bson:"operation"`
	} `bson:"metrics"`
	Operations struct {
		Insert  int64 `bson:"insert"`
		Query   int64 `bson:"query"`
		Update  int64 `bson:"update"`
		Command int64 `bson:"command"`
	} `bson:"opcounters"`
	Transactions struct {
		Committed int64 `bson:"totalCommitted"`
		Aborted   int64 `bson:"totalAborted"`
	} `bson:"transactions"`
	Wired struct {
		Log struct {
			Written int64 `bson:"log bytes written"`
		} `bson:"log"`
	} `bson:"wiredTiger"`
}

type dbStats struct {
	Data    float64 `bson:"dataSize"`
	Storage float64 `bson:"storageSize"`
	Indexes float64 `bson:"indexSize"`
}

func newProbe(ctx context.Context, d *deployment) (*probe, error) {
	p := &probe{d: d, mostOpen: map[string]int{}, components: []component{{Name: "load generator", pid: os.Getpid()}}}
	add := func(name string, s *server) error {
		pid, err := programOf(s.Process)
		p.components = append(p.components, component{Name: name, pid: pid, port: portOf(s.address), metrics: s.address})
		return err
	}
	err := add("HAProxy", d.proxy)
	for i, api := range d.apis {
		err = errors.Join(err, add(fmt.Sprint("API ", i+1), api))
	}
	for i, worker := range d.workers {
		err = errors.Join(err, add(fmt.Sprint("worker ", i+1), worker))
	}
	for i, member := range d.set.Members {
		err = errors.Join(err, p.addMember(ctx, i, member.Host))
	}
	return p, err
}

// addMember adds a mongod.
func (p *probe) addMember(ctx context.Context, number int, host string) error {
	client, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + host + "/?directConnection=true"))
	if err != nil {
		return err
	}
	var status serverStatus
	var hello struct {
		Primary bool `bson:"isWritablePrimary"`
	}
	err = errors.Join(
		client.Database("admin").RunCommand(ctx, bson.D{{Key: "serverStatus", Value: 1}}).Decode(&status),
		client.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&hello))
	name := fmt.Sprint("mongod ", number+1, ", secondary")
	if hello.Primary {
		name = "mongod, primary"
		p.primary = client
	} else {
		err = errors.Join(err, client.Disconnect(ctx))
	}
	p.components = append(p.components, component{Name: name, pid: status.Pid, port: portOf(host)})
	return err
}

func (p *probe) close() { _ = p.primary.Disconnect(context.Background()) } // nothing depends on this connection any more

func portOf(address string) string { return address[strings.LastIndex(address, ":")+1:] }

// programOf is the process ID of the program that a supervisor runs.
func programOf(p *devserver.Process) (pid int, err error) {
	shell := strconv.Itoa(p.Pid())
	children, err := os.ReadFile(filepath.Join("/proc", shell, "task", shell, "children"))
	if err != nil {
		return 0, fmt.Errorf("the scenario fleet needs /proc: %w", err)
	}
	for _, child := range strings.Fields(string(children)) {
		if name, err := os.ReadFile(filepath.Join("/proc", child, "comm")); err == nil && strings.TrimSpace(string(name)) != "sh" {
			return strconv.Atoi(child)
		}
	}
	return 0, fmt.Errorf("no program runs under process %s", shell)
}

// read reads everything.
func (p *probe) read(ctx context.Context) (r reading, err error) {
	r = reading{at: wallClock(), cpu: map[string]time.Duration{}, metrics: map[string]processCounts{}}
	for _, c := range p.components {
		used, cpuErr := cpuTime(c.pid)
		r.cpu[c.Name] = used
		err = errors.Join(err, cpuErr)
		if strings.HasPrefix(c.Name, "API") {
			counts, metricsErr := readMetrics(c.metrics)
			r.metrics[c.Name] = counts
			err = errors.Join(err, metricsErr)
		}
	}
	admin := p.primary.Database("admin")
	var last struct {
		At bson.Timestamp `bson:"ts"`
	}
	err = errors.Join(err,
		admin.RunCommand(ctx, bson.D{{Key: "serverStatus", Value: 1}}).Decode(&r.server),
		p.primary.Database("local").Collection("oplog.rs").
			FindOne(ctx, bson.D{}, options.FindOne().SetSort(bson.D{{Key: "$natural", Value: -1}})).Decode(&last),
		admin.RunCommand(ctx, bson.D{{Key: "fsync", Value: 1}}).Err(), // sizes of files are those of the last checkpoint
		p.primary.Database(p.d.env.DB.Name()).RunCommand(ctx, bson.D{{Key: "dbStats", Value: 1}}).Decode(&r.data))
	r.oplog = last.At
	return r, err
}

// cpuTime is what a process has used, in user and kernel mode.
func cpuTime(pid int) (time.Duration, error) {
	const (
		user, system = 11, 12                // fields after the name
		tick         = 10 * time.Millisecond // of every Linux that Go runs on
	)
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, fmt.Errorf("the scenario fleet needs /proc: %w", err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	inUser, errUser := strconv.Atoi(fields[user])
	inSystem, errSystem := strconv.Atoi(fields[system])
	return time.Duration(inUser+inSystem) * tick, errors.Join(errUser, errSystem)
}

// readMetrics reads the metrics of an API.
func readMetrics(address string) (sums processCounts, err error) {
	families, err := metricsOf(address)
	if err != nil {
		return sums, err
	}
	for _, m := range families["holdfast_http_requests_total"].GetMetric() {
		labels := map[string]string{}
		for _, label := range m.GetLabel() {
			labels[label.GetName()] = label.GetValue()
		}
		sums.requests += m.GetCounter().GetValue()
		if labels["method"] == "POST" && strings.HasSuffix(labels["route"], "/locks") && labels["status"] == "201" {
			sums.locks += m.GetCounter().GetValue()
		}
	}
	for _, m := range families["holdfast_transactions_total"].GetMetric() {
		sums.transactions += m.GetCounter().GetValue()
		for _, label := range m.GetLabel() {
			if label.GetValue() == "conflict" {
				sums.conflicts += m.GetCounter().GetValue()
			}
		}
	}
	return sums, nil
}

// oplogBytes is the size of all entries after one, or 0 if the oplog does not reach back so far.
func (p *probe) oplogBytes(ctx context.Context, after bson.Timestamp) (int64, error) {
	oplog := p.primary.Database("local").Collection("oplog.rs")
	switch err := oplog.FindOne(ctx, bson.D{{Key: "ts", Value: after}}).Err(); {
	case errors.Is(err, mongo.ErrNoDocuments):
		return 0, nil
	case err != nil:
		return 0, err
	}
	sums, err := mongodb.All[struct {
		Bytes int64 `bson:"bytes"`
	}](ctx, oplog, mongo.Pipeline{
		{{Key: "$match", Value: bson.D{{Key: "ts", Value: bson.D{{Key: "$gt", Value: after}}}}}},
		{{Key: "$group", Value: bson.D{{Key: "_id", Value: nil}, {Key: "bytes", Value: sum(bson.D{{Key: "$bsonSize", Value: "$$ROOT"}})}}}},
	})
	if err != nil || len(sums) == 0 {
		return 0, err
	}
	return sums[0].Bytes, nil
}

// watchConnections notes how many connections are open between the components.
func (p *probe) watchConnections() {
	listens := map[string]string{} // names by port
	for _, c := range p.components {
		if c.port != "" {
			listens[c.port] = c.Name
		}
	}
	remotes := establishedTo(listens)
	for _, c := range p.components {
		open := map[string]int{}
		for _, inode := range socketsOf(c.pid) {
			if to := remotes[inode]; to != "" {
				open[c.Name+" → "+mongodName(to)]++
			}
		}
		for between, n := range open {
			p.mostOpen[between] = max(p.mostOpen[between], n)
		}
	}
}

// mongodName is "mongod" for each of them.
func mongodName(component string) string {
	if strings.HasPrefix(component, "mongod") {
		return "mongod"
	}
	return component
}

// establishedTo are the sockets whose remote port is one of the ports: the names of those by the sockets' inodes.
func establishedTo(ports map[string]string) map[string]string {
	const (
		remote, state, inode = 2, 3, 9 // fields
		established          = "01"
		hexadecimal          = 16
	)
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return nil
	}
	found := map[string]string{}
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if len(fields) <= inode || fields[state] != established {
			continue
		}
		port, err := strconv.ParseUint(portOf(fields[remote]), hexadecimal, 16)
		if name := ports[strconv.FormatUint(port, 10)]; err == nil && name != "" {
			found[fields[inode]] = name
		}
	}
	return found
}

// socketsOf are the inodes of a process's sockets.
func socketsOf(pid int) (inodes []string) {
	dir := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, file := range files {
		target, err := os.Readlink(filepath.Join(dir, file.Name()))
		if inode, found := strings.CutPrefix(target, "socket:["); err == nil && found {
			inodes = append(inodes, strings.TrimSuffix(inode, "]"))
		}
	}
	return inodes
}
