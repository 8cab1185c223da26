package devserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	replicaSet   = "holdfast"
	startTimeout = 60 * time.Second
	// cacheGB bounds mongod's memory: tests start several beside each other.
	cacheGB = "0.5"
)

// Mongod is a running replica set of one.
type Mongod struct {
	*Process
	// URI connects to it, replica set named.
	URI string
}

// MongodOptions say how: DataDir "" means a throw-away folder; Test allows fail points.
type MongodOptions struct {
	DataDir  string
	Test     bool
	Progress io.Writer
}

// StartMongod finds or fetches a mongod, starts it and waits until it takes
// writes. A data folder of an earlier start is taken on, on a new port.
func StartMongod(ctx context.Context, o MongodOptions) (*Mongod, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute) // a slow line may take long to fetch
	defer cancel()
	binary, libraries, err := mongodBundle.find(ctx, o.Progress)
	if err != nil {
		return nil, err
	}
	dir, scratch := o.DataDir, ""
	if dir == "" {
		if dir, err = os.MkdirTemp("", "mongod-"); err != nil {
			return nil, err
		}
		scratch = dir
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	var output bytes.Buffer
	p, err := Start(Command{
		Args:    mongodArgs(binary, dir, port, o.Test),
		Env:     libraryPath(libraries),
		Scratch: scratch,
		Output:  &output,
	})
	if err != nil {
		return nil, err
	}
	host := "127.0.0.1:" + strconv.Itoa(port)
	ctx, cancel = context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := initiate(ctx, p, host); err != nil {
		p.Stop()
		return nil, fmt.Errorf("%w\n%s\nIts log is %s; if another process uses the same data folder, stop that first", err, lastLines(output.Bytes()), filepath.Join(dir, "mongod.log"))
	}
	return &Mongod{Process: p, URI: "mongodb://" + host + "/?replicaSet=" + replicaSet}, nil
}

func mongodArgs(binary, dir string, port int, test bool) []string {
	args := []string{
		binary, "--replSet", replicaSet, "--dbpath", dir, "--logpath", filepath.Join(dir, "mongod.log"), "--logappend",
		"--bind_ip", "127.0.0.1", "--port", strconv.Itoa(port), "--nounixsocket",
		"--networkMessageCompressors", "snappy,zstd", // zlib off: CVE-2025-14847
		"--wiredTigerCacheSizeGB", cacheGB, "--oplogSize", "256",
		// A process that dies in a transaction holds its event up for as long.
		"--setParameter", "transactionLifetimeLimitSeconds=10",
		"--setParameter", "diagnosticDataCollectionEnabled=false",
	}
	if test {
		args = append(args, "--setParameter", "enableTestCommands=1")
	}
	return args
}

// initiate makes the server a replica set of one at host and waits until it
// is its primary. A set that was made at another port moves to this one.
func initiate(ctx context.Context, p *Process, host string) error {
	client, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + host + "/?directConnection=true").
		SetServerSelectionTimeout(2 * time.Second))
	if err != nil {
		return err
	}
	defer client.Disconnect(context.WithoutCancel(ctx)) //nolint:errcheck // a helper connection
	admin := client.Database("admin")
	asked := false
	return p.await(ctx, "mongod", func(ctx context.Context) error {
		var hello struct {
			Primary bool   `bson:"isWritablePrimary"`
			Me      string `bson:"me"`
		}
		if err := admin.RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&hello); err != nil {
			return err
		}
		if hello.Primary && hello.Me == host {
			return nil
		}
		if !asked {
			if err := configure(ctx, admin, host); err != nil {
				return err
			}
			asked = true
		}
		return errors.New("not yet primary")
	})
}

func configure(ctx context.Context, admin *mongo.Database, host string) error {
	var got struct {
		Config struct {
			Version int32 `bson:"version"`
			Members []struct {
				Host string `bson:"host"`
			} `bson:"members"`
		} `bson:"config"`
	}
	members := bson.A{bson.D{{Key: "_id", Value: 0}, {Key: "host", Value: host}}}
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
	if len(got.Config.Members) == 1 && got.Config.Members[0].Host == host {
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

// settings: a set of one has nobody to wait for at an election.
var settings = bson.D{{Key: "electionTimeoutMillis", Value: 1000}}

func libraryPath(dir string) []string {
	if dir == "" {
		return nil
	}
	return []string{"LD_LIBRARY_PATH=" + dir}
}

func lastLines(output []byte) []byte {
	const enough = 2000
	if len(output) > enough {
		return output[len(output)-enough:]
	}
	return bytes.TrimSpace(output)
}
