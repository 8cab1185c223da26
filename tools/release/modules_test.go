package release_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// file is a tracked file of the repository, for a module's zip.
type file struct{ path, real string }

func (f file) Path() string                 { return f.path }
func (f file) Lstat() (os.FileInfo, error)  { return os.Lstat(f.real) }
func (f file) Open() (io.ReadCloser, error) { return os.Open(f.real) }

// stranger is a machine that has Go and a module proxy with this commit as the next version, and nothing of Holdfast. Modules of
// others come from this machine's cache, where that has them.
type stranger struct {
	version string
	env     []string
	bin     string
}

func newStranger(t *testing.T) stranger {
	t.Helper()
	s := stranger{version: nextVersion(t), bin: t.TempDir()}
	proxy, cache := t.TempDir(), t.TempDir()
	serve(t, proxy, holdfast, s.version, ".")
	serve(t, proxy, client, s.version, "client")
	settings := map[string]string{}
	if err := json.Unmarshal([]byte(must(t, root, "go", "env", "-json", "GOMODCACHE", "GOPROXY")), &settings); err != nil {
		t.Fatal(err)
	}
	s.env = append(os.Environ(), "GOBIN="+s.bin, "GOMODCACHE="+cache, "GOFLAGS=-modcacherw -trimpath", "GOWORK=", "GOSUMDB=off",
		"GOPROXY=file://"+proxy+",file://"+settings["GOMODCACHE"]+"/cache/download,"+settings["GOPROXY"])
	return s
}

// serve puts a version of a module, as it is in a folder of the repository, into a proxy of files.
func serve(t *testing.T, proxy, path, version, folder string) {
	t.Helper()
	dir := filepath.Join(root, folder)
	var files []zip.File
	for _, name := range tracked(t, dir) {
		files = append(files, file{name, filepath.Join(dir, name)})
	}
	var zipped bytes.Buffer
	if err := zip.Create(&zipped, module.Version{Path: path, Version: version}, files); err != nil {
		t.Fatal(err)
	}
	mod := read(t, filepath.Join(dir, "go.mod"))
	versions := filepath.Join(proxy, filepath.FromSlash(path), "@v")
	if err := os.MkdirAll(versions, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"list":            []byte(version + "\n"),
		version + ".info": []byte(`{"Version":"` + version + `","Time":"2026-01-01T00:00:00Z"}`),
		version + ".mod":  mod,
		version + ".zip":  zipped.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(versions, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// run runs a command in a folder. It returns its output and whether it succeeded.
func (s stranger) run(t *testing.T, folder, name string, args ...string) (string, bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Env = folder, s.env
	out, err := c.CombinedOutput()
	return string(out), err == nil
}

// must runs a command that succeeds.
func (s stranger) must(t *testing.T, folder, name string, args ...string) string {
	t.Helper()
	out, ok := s.run(t, folder, name, args...)
	if !ok {
		t.Fatalf("%s %s: %s", name, strings.Join(args, " "), out)
	}
	return out
}

func TestModules_CanBeInstalledByTheirVersion(t *testing.T) {
	s := newStranger(t)
	t.Run("seatctl", s.installSeatctl)
	t.Run("client", func(t *testing.T) {
		folder := s.build(t, client, clientProgram, "ECONNREFUSED")
		needed := strings.Fields(s.must(t, folder, "go", "list", "-m", "-f", "{{if not .Main}}{{.Path}}{{end}}", "all"))
		if want := []string{"github.com/cenkalti/backoff/v5", client}; !slices.Equal(needed, want) {
			t.Errorf("a program with the client needs %v, want %v", needed, want)
		}
	})
	t.Run("engine", func(t *testing.T) { s.build(t, holdfast+"/engine", engineProgram, "MONGODB_URI") })
}

func (s stranger) installSeatctl(t *testing.T) {
	folder := t.TempDir()
	s.must(t, folder, "go", "install", holdfast+"/cmd/seatctl@"+s.version)
	seatctl := filepath.Join(s.bin, "seatctl")
	if got := strings.TrimSpace(s.must(t, folder, seatctl, "--version")); got != s.version {
		t.Errorf("seatctl --version says %q, want %s", got, s.version)
	}
	const nothing = "mongodb://127.0.0.1:9/?replicaSet=rs0&serverSelectionTimeoutMS=500"
	if out, ok := s.run(t, folder, seatctl, "doctor", "--mongodb-uri", nothing); ok || !strings.Contains(out, "127.0.0.1:9") {
		t.Errorf("without MongoDB, seatctl doctor says: %s", out)
	}
}

// build makes a program that imports a package, in a module without anything else, and runs it. It returns the module's folder.
func (s stranger) build(t *testing.T, pkg, source, says string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	write(t, filepath.Join(folder, "main.go"), []byte(source), 0o600)
	s.must(t, folder, "go", "mod", "init", "shop.example/shop")
	s.must(t, folder, "go", "get", pkg+"@"+s.version)
	s.must(t, folder, "go", "build", "-o", "shop", ".")
	if out, _ := s.run(t, folder, filepath.Join(folder, "shop")); !strings.Contains(out, says) {
		t.Errorf("the program says %q, want %q", out, says)
	}
	return folder
}

const clientProgram = `package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/holdfast-dev/holdfast/client"
)

func main() {
	api := client.New("http://127.0.0.1:9", client.WithKey("0123456789abcdef"), client.WithRetryTimeout(0))
	_, err := api.GetEvent(context.Background(), "66a1f0c2e4b0a1b2c3d4e5f6")
	if errors.Is(err, syscall.ECONNREFUSED) {
		fmt.Println("ECONNREFUSED")
	}
}
`

const engineProgram = `package main

import (
	"context"
	"fmt"
	"os"

	"github.com/holdfast-dev/holdfast/engine"
)

func main() {
	_, err := engine.Open(context.Background(), engine.Options{URI: "not a connection string"})
	fmt.Println(err)
	if err == nil {
		os.Exit(1)
	}
}
`
