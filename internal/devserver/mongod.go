package devserver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	replicaSet   = "holdfast"
	startTimeout = 60 * time.Second
	fetchTimeout = 10 * time.Minute // a slow connection may take long to fetch
	// usualCacheGB is the default of MongodOptions.CacheGB. It is small, because tests start several servers.
	usualCacheGB = 0.5
)

// Mongod is a running replica set of one.
type Mongod struct {
	*Process
	URI string // with the name of the replica set
}

// ReplicaSet is a running replica set of several members.
type ReplicaSet struct {
	Members []*Member
	URI     string
}

// Member is a mongod of a replica set. Restart starts it with its data and on its port. A disk that FillDisk has filled
// has space again then.
type Member struct {
	Server

	Host   string
	port   *Port
	output *bytes.Buffer
	dir    string // of its data
	log    string
	disk   *Disk // nil if the data is in a folder
}

// FillDisk takes all space of the member's disk. Without a Disk of its own, every
// further write to its files fails by a limit of their size. The member ends with
// the first write that fails. It needs a data folder that is not temporary.
func (m *Member) FillDisk(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.disk != nil {
		return m.disk.fill()
	}
	shell := strconv.Itoa(m.process.Pid())
	children, err := os.ReadFile(filepath.Join("/proc", shell, "task", shell, "children"))
	if err != nil {
		return err
	}
	for _, pid := range strings.Fields(string(children)) {
		name, err := os.ReadFile(filepath.Join("/proc", pid, "comm"))
		if err != nil || strings.TrimSpace(string(name)) != "mongod" {
			continue
		}
		if output, err := exec.CommandContext(ctx, "prlimit", "--pid", pid, "--fsize=1").CombinedOutput(); err != nil {
			return fmt.Errorf("prlimit: %w: %s", err, output)
		}
	}
	return nil
}

// RemoveData removes the data of a member that was killed, so that it resyncs all
// of it after Restart.
func (m *Member) RemoveData() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.process.isRunning() {
		return nil
	}
	return errors.Join(os.RemoveAll(m.dir), os.MkdirAll(m.dir, 0o700))
}

// Stop stops all members.
func (r *ReplicaSet) Stop() {
	var all sync.WaitGroup
	for _, m := range r.Members {
		all.Go(m.Stop)
	}
	all.Wait()
	r.releasePorts()
}

// releasePorts ends the reservations; the members cannot be restarted after it.
func (r *ReplicaSet) releasePorts() {
	for _, m := range r.Members {
		m.port.Close()
	}
}

// MongodOptions configures a mongod.
type MongodOptions struct {
	DataDir  string    // "" for a temporary folder
	Test     bool      // enables fail points; a temporary folder is in memory, if there is room
	Progress io.Writer // reports a fetch
	CacheGB  float64   // of documents and indexes in memory, in GiB; 0 means 0.5
	// Proxy returns the address of a proxy to a member. Clients and the other
	// members then use that address. If it is nil, they connect directly.
	Proxy func(host string) (string, error)
	// Member configures the members one by one, by their number. It may be nil.
	Member func(member int) MemberOptions
}

// MemberOptions configures a member.
type MemberOptions struct {
	DataDir string   // "" for a temporary folder
	Disk    *Disk    // has the data folder, instead of DataDir
	Env     []string // added to this process's environment
}

// StartMongod finds or fetches a mongod, starts it and waits until it accepts
// writes. A data folder of an earlier start is reused, on a new port.
func StartMongod(ctx context.Context, o MongodOptions) (*Mongod, error) {
	set, err := startMembers(ctx, o, 1)
	if err != nil {
		return nil, err
	}
	set.releasePorts()
	return &Mongod{Process: set.Members[0].process, URI: set.URI}, nil
}

// StartReplicaSet starts a set of several members with temporary folders. They
// elect a new primary after two seconds without one.
func StartReplicaSet(ctx context.Context, o MongodOptions, members int) (*ReplicaSet, error) {
	o.DataDir = ""
	return startMembers(ctx, o, members)
}

func startMembers(ctx context.Context, o MongodOptions, members int) (set *ReplicaSet, err error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	binary, libraries, err := mongodBundle.find(ctx, o.Progress)
	if err != nil {
		return nil, err
	}
	set = &ReplicaSet{}
	defer func() {
		if err != nil {
			set.Stop()
		}
	}()
	var hosts []string
	for i := range members {
		own := MemberOptions{DataDir: o.DataDir}
		if o.Member != nil {
			own = o.Member(i)
		}
		m, err := startMember(o, own, binary, libraries)
		if err != nil {
			return set, err
		}
		set.Members = append(set.Members, m)
		host := m.Host
		if o.Proxy != nil {
			if host, err = o.Proxy(m.Host); err != nil {
				return set, err
			}
		}
		hosts = append(hosts, host)
	}
	ctx, cancel = context.WithTimeout(ctx, startTimeout)
	defer cancel()
	first := set.Members[0]
	if err := initiate(ctx, first.process, hosts); err != nil {
		first.Stop()
		return set, fmt.Errorf("%w\n%s\nSee its log %s. If another process uses the same data folder, stop that process first",
			err, lastLines(first.output.Bytes()), first.log)
	}
	set.URI = "mongodb://" + strings.Join(hosts, ",") + "/?replicaSet=" + replicaSet
	return set, nil
}

func startMember(o MongodOptions, own MemberOptions, binary, libraries string) (*Member, error) {
	dir, tempDir := own.DataDir, ""
	if own.Disk != nil {
		dir = filepath.Join(own.Disk.dir, "data") // RemoveData can't remove what is mounted
	} else if dir == "" {
		removeLeftovers()
		var err error
		if dir, err = os.MkdirTemp(tempParent(o.Test), "mongod-"); err != nil {
			return nil, err
		}
		tempDir = dir
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	port, err := ReservePort()
	if err != nil {
		return nil, err
	}
	output := &bytes.Buffer{}
	args, log := mongodArgs(binary, dir, port.Number, o), filepath.Join(dir, "mongod.log")
	if own.Disk != nil { // a journal has 300 MB otherwise, and a log that can't be written would end the member first
		log = filepath.Join(own.Disk.below, "mongod.log")
		args = append(args, "--wiredTigerEngineConfigString", "log=(prealloc=false,file_max=8MB)")
	} else if o.Test { // each test has a database of its own, whose files would stay open for ten minutes
		args = append(args, "--wiredTigerEngineConfigString", "file_manager=(close_idle_time=10,close_scan_interval=5,close_handle_minimum=250)")
	}
	m := &Member{Host: port.Addr(), port: port, output: output, dir: dir, disk: own.Disk, log: log}
	m.start = func() (*Process, error) {
		if m.disk != nil {
			if err := m.disk.free(); err != nil {
				return nil, err
			}
		}
		return Start(Command{
			Args:    append(args, "--logpath", log, "--logappend"),
			Env:     append(libraryPath(libraries), own.Env...),
			TempDir: tempDir,
			Output:  output,
		})
	}
	if err := m.Restart(); err != nil {
		return nil, errors.Join(err, port.Close())
	}
	return m, nil
}

func mongodArgs(binary, dir string, port int, o MongodOptions) []string {
	args := []string{
		binary, "--replSet", replicaSet, "--dbpath", dir,
		"--bind_ip", "127.0.0.1", "--port", strconv.Itoa(port), "--nounixsocket",
		"--networkMessageCompressors", "snappy,zstd", // zlib off: CVE-2025-14847
		"--wiredTigerCacheSizeGB", strconv.FormatFloat(cmp.Or(o.CacheGB, usualCacheGB), 'g', -1, 64), "--oplogSize", "256",
		// A process that dies in a transaction blocks its event for this long.
		"--setParameter", "transactionLifetimeLimitSeconds=10",
		"--setParameter", "diagnosticDataCollectionEnabled=false",
	}
	if o.Test {
		args = append(args, "--setParameter", "enableTestCommands=1")
	}
	return args
}

// initiate configures the servers as a replica set and waits until the first one
// is the primary. A set of one that was created on another port is moved to the
// present one.
func initiate(ctx context.Context, first *Process, hosts []string) error {
	client, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + hosts[0] + "/?directConnection=true").
		SetServerSelectionTimeout(2 * time.Second))
	if err != nil {
		return err
	}
	defer client.Disconnect(context.WithoutCancel(ctx)) //nolint:errcheck // nothing depends on this connection any more
	admin := client.Database("admin")
	configured := false
	return first.Await(ctx, "mongod", func(ctx context.Context) error {
		var hello struct {
			Primary bool   `bson:"isWritablePrimary"`
			Me      string `bson:"me"`
		}
		if err := admin.RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&hello); err != nil {
			return err
		}
		if hello.Primary && hello.Me == hosts[0] {
			return nil
		}
		if !configured {
			if err := configure(ctx, admin, hosts); err != nil {
				return err
			}
			configured = true
		}
		return errors.New("it is not yet primary")
	})
}

func configure(ctx context.Context, admin *mongo.Database, hosts []string) error {
	var got struct {
		Config struct {
			Version int32 `bson:"version"`
			Members []struct {
				Host string `bson:"host"`
			} `bson:"members"`
		} `bson:"config"`
	}
	members := bson.A{}
	for i, host := range hosts {
		members = append(members, bson.D{{Key: "_id", Value: i}, {Key: "host", Value: host}, {Key: "priority", Value: len(hosts) - i}})
	}
	// An election in a set of one does not wait for other members.
	settings := bson.D{{Key: "electionTimeoutMillis", Value: 1000 * min(len(hosts), 2)}}
	err := admin.RunCommand(ctx, bson.D{{Key: "replSetGetConfig", Value: 1}}).Decode(&got)
	const notYetInitialized = 94
	var failed mongo.CommandError
	if errors.As(err, &failed) && failed.Code == notYetInitialized {
		return admin.RunCommand(ctx, bson.D{{Key: "replSetInitiate", Value: bson.D{
			{Key: "_id", Value: replicaSet}, {Key: "members", Value: members}, {Key: "settings", Value: settings},
		}}}).Err()
	}
	if err != nil {
		return err
	}
	if len(got.Config.Members) == 1 && got.Config.Members[0].Host == hosts[0] {
		return nil
	}
	return admin.RunCommand(ctx, bson.D{
		{Key: "replSetReconfig", Value: bson.D{
			{Key: "_id", Value: replicaSet}, {Key: "version", Value: got.Config.Version + 1},
			{Key: "members", Value: members}, {Key: "settings", Value: settings},
		}},
		{Key: "force", Value: true},
	}).Err()
}

func libraryPath(dir string) []string {
	if dir == "" {
		return nil
	}
	return []string{"LD_LIBRARY_PATH=" + dir}
}

func lastLines(output []byte) []byte {
	const maxBytes = 2000
	if len(output) > maxBytes {
		return output[len(output)-maxBytes:]
	}
	return bytes.TrimSpace(output)
}
