package devserver_test

import (
	"context"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast/internal/devserver"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// pidFile is the environment variable with the file for the child's process ID.
const pidFile = "DEVSERVER_TEST_PID_FILE"

// If pidFile is set, the test binary is a parent process in a test: it starts a child
// that does not end by itself, and waits until it is killed.
func TestMain(m *testing.M) {
	if file := os.Getenv(pidFile); file != "" {
		_, err := devserver.Start(devserver.Command{
			Args: []string{"/bin/sh", "-c", `echo $$ > "` + file + `"; exec sleep 1000`}, TempDir: filepath.Dir(file),
		})
		if err != nil {
			os.Exit(1)
		}
		select {}
	}
	os.Exit(m.Run())
}

func TestStart_ChildEndsWhenItsParentIsKilled(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "child", "pid")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), pidFile+"="+file)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	testenv.WaitFor(t, func() bool {
		text, err := os.ReadFile(file)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil && pid > 0
	})
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed
	testenv.WaitFor(t, func() bool { return syscall.Kill(pid, 0) != nil })
	testenv.WaitFor(t, func() bool { // the temporary folder is removed
		_, err := os.Stat(filepath.Dir(file))
		return os.IsNotExist(err)
	})
}

func TestStartMongod_KeepsItsDataOnAnotherPort(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	uris := map[string]bool{}
	for start := range int64(2) {
		server, err := devserver.StartMongod(t.Context(), devserver.MongodOptions{DataDir: dir, Progress: os.Stderr})
		if err != nil {
			t.Fatal(err)
		}
		uris[server.URI] = true
		client, err := mongo.Connect(options.Client().ApplyURI(server.URI))
		if err != nil {
			t.Fatal(err)
		}
		documents := client.Database("test").Collection("things")
		if n, err := documents.CountDocuments(t.Context(), bson.D{}); err != nil || n != start {
			t.Errorf("start %d: %d documents, %v", start, n, err)
		}
		if _, err := documents.InsertOne(t.Context(), bson.D{}); err != nil {
			t.Error(err)
		}
		if err := client.Disconnect(context.Background()); err != nil {
			t.Error(err)
		}
		server.Stop()
	}
	if len(uris) != 2 {
		t.Logf("both starts had the same port: %v", uris)
	}
}

// A server that listens on every address answers on this one too, on Linux.
func TestStart_ListensOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	mongod, err := devserver.StartMongod(t.Context(), devserver.MongodOptions{Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(mongod.Stop)
	redis, err := devserver.StartRedis(t.Context(), devserver.RedisOptions{Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(redis.Stop)
	for _, address := range []string{mongod.URI, redis.URL} {
		parsed, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		var dialer net.Dialer
		for host, answers := range map[string]bool{"127.0.0.1": true, "127.0.0.2": false} {
			conn, err := dialer.DialContext(t.Context(), "tcp", net.JoinHostPort(host, parsed.Port()))
			if (err == nil) != answers {
				t.Errorf("%s at %s: %v", address, host, err)
			}
			if err == nil {
				_ = conn.Close()
			}
		}
	}
}

func TestStartRedis_Answers(t *testing.T) {
	t.Parallel()
	server, err := devserver.StartRedis(t.Context(), devserver.RedisOptions{Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	server.Stop()
}
