package devserver_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast/internal/devserver"
)

// As a child, the test binary starts something that never ends by itself, says
// so, and waits to be killed.
func TestMain(m *testing.M) {
	if mark := os.Getenv("DEVSERVER_TEST_MARK"); mark != "" {
		_, err := devserver.Start(devserver.Command{
			Args: []string{"/bin/sh", "-c", `echo $$ > "` + mark + `"; exec sleep 1000`}, Scratch: filepath.Dir(mark),
		})
		if err != nil {
			os.Exit(1)
		}
		select {}
	}
	os.Exit(m.Run())
}

func waitUntil(t *testing.T, what string, ready func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for !ready() {
		select {
		case <-deadline:
			t.Fatal(what)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestStart_ChildEndsWithAParentThatIsKilled(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "scratch", "pid")
	if err := os.Mkdir(filepath.Dir(mark), 0o700); err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(os.Args[0]) //nolint:gosec // this very binary
	parent.Env = append(os.Environ(), "DEVSERVER_TEST_MARK="+mark)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	waitUntil(t, "the child did not start", func() bool {
		text, err := os.ReadFile(mark) //nolint:gosec // our own file
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil && pid > 0
	})
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	parent.Wait() //nolint:errcheck // it was killed
	waitUntil(t, "the child outlived its parent", func() bool { return syscall.Kill(pid, 0) != nil })
	waitUntil(t, "the scratch folder is still there", func() bool {
		_, err := os.Stat(filepath.Dir(mark))
		return os.IsNotExist(err)
	})
}

func TestStartMongod_KeepsItsDataOnAnotherPort(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	uris := map[string]bool{}
	for i := range int64(2) {
		server, err := devserver.StartMongod(t.Context(), devserver.MongodOptions{DataDir: dir, Progress: os.Stderr})
		if err != nil {
			t.Fatal(err)
		}
		uris[server.URI] = true
		client, err := mongo.Connect(options.Client().ApplyURI(server.URI))
		if err != nil {
			t.Fatal(err)
		}
		things := client.Database("test").Collection("things")
		if n, err := things.CountDocuments(t.Context(), bson.D{}); err != nil || n != i {
			t.Errorf("start %d: %d documents, %v", i, n, err)
		}
		if _, err := things.InsertOne(t.Context(), bson.D{}); err != nil {
			t.Error(err)
		}
		if err := client.Disconnect(context.Background()); err != nil {
			t.Error(err)
		}
		server.Stop()
	}
	if len(uris) != 2 {
		t.Logf("both starts had the port of %v", uris)
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
