// Package release_test makes releases of a small program, and checks what they have. It installs the programs and the
// packages of this commit as others do, from a module proxy.
package release_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

const (
	holdfast = "github.com/holdfast-dev/holdfast"
	client   = holdfast + "/client"
)

// nextVersion is the version that CHANGELOG.md describes first.
func nextVersion(t *testing.T) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^## ([0-9.]+)`).FindSubmatch(read(t, filepath.Join(root, "CHANGELOG.md")))
	if found == nil {
		t.Fatal("CHANGELOG.md has no version")
	}
	return "v" + string(found[1])
}

func command(t *testing.T, folder, name string, args ...string) (string, error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir = folder
	out, err := c.CombinedOutput()
	return string(out), err
}

func must(t *testing.T, folder, name string, args ...string) string {
	t.Helper()
	out, err := command(t, folder, name, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return out
}

// tracked are the files of the repository, also those that are not committed yet.
func tracked(t *testing.T, folder string) (names []string) {
	t.Helper()
	out := must(t, folder, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	for name := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		if _, err := os.Lstat(filepath.Join(folder, name)); err == nil { // else it is deleted
			names = append(names, name)
		}
	}
	return names
}

// buildGoreleaser builds the program as scripts/release does, which then has nothing to build.
func buildGoreleaser(t *testing.T) string {
	t.Helper()
	t.Setenv("CGO_ENABLED", "0")
	program, err := filepath.Abs(filepath.Join(root, ".build/goreleaser"))
	if err != nil {
		t.Fatal(err)
	}
	must(t, ".", "go", "build", "-trimpath", "-o", program, "github.com/goreleaser/goreleaser/v2")
	return program
}

// smallRepository is a repository with one commit: these files, but its programs are all the package main, and its targets are
// those given, or all.
func smallRepository(t *testing.T, main string, targets ...string) string {
	t.Helper()
	goreleaser := buildGoreleaser(t)
	repository := t.TempDir()
	for _, name := range tracked(t, root) {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if name == ".goreleaser.yaml" {
			content = smallConfiguration(t, content, main, targets)
		}
		write(t, filepath.Join(repository, name), content, info.Mode())
	}
	if err := os.Mkdir(filepath.Join(repository, ".build"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(goreleaser, filepath.Join(repository, ".build/goreleaser")); err != nil {
		if err := os.Symlink(goreleaser, filepath.Join(repository, ".build/goreleaser")); err != nil {
			t.Fatal(err)
		}
	}
	must(t, repository, "git", "init", "-q")
	must(t, repository, "git", "remote", "add", "origin", "https://"+holdfast+".git") // goreleaser reads it, and does not call it
	must(t, repository, "git", "add", "-A")
	must(t, repository, "git", "-c", "user.name=Release", "-c", "user.email=release@shop.example", "commit", "-qm", "A commit")
	return repository
}

func write(t *testing.T, name string, content []byte, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, content, mode); err != nil {
		t.Fatal(err)
	}
}

func smallConfiguration(t *testing.T, content []byte, main string, targets []string) []byte {
	t.Helper()
	text := string(content)
	replace := func(from, to string) {
		if !strings.Contains(text, from) {
			t.Fatalf(".goreleaser.yaml has no %q", from)
		}
		text = strings.Replace(text, from, to, 1)
	}
	for _, program := range programs {
		replace("main: ./cmd/"+program+"\n", "main: "+main+"\n")
	}
	if len(targets) == 2 {
		replace("goos: [linux, darwin, windows]", "goos: ["+targets[0]+"]")
		replace("goarch: [amd64, arm64]", "goarch: ["+targets[1]+"]")
	}
	return []byte(text)
}

var programs = []string{"api", "worker", "seatctl"}

func TestRelease_HasProgramsOfTheVersionWithChecksumsAndBills(t *testing.T) {
	repository := smallRepository(t, "./internal/telemetry/testdata/program", runtime.GOOS, runtime.GOARCH)
	release := filepath.Join(repository, ".build/release")
	version := nextVersion(t)

	must(t, repository, "bash", "scripts/release")
	checkArchive(t, release, version+"-snapshot")
	first := read(t, filepath.Join(release, "SHA256SUMS"))
	must(t, repository, "bash", "scripts/release")
	if again := read(t, filepath.Join(release, "SHA256SUMS")); !bytes.Equal(again, first) {
		t.Errorf("the same commit gives other archives:\n%s%s", first, again)
	}

	if out, err := command(t, repository, "bash", "scripts/release", version); err == nil {
		t.Errorf("a release without a tag: %s", out)
	}
	must(t, repository, "git", "tag", version)
	must(t, repository, "git", "tag", "client/"+version)
	out := must(t, repository, "bash", "scripts/release", version)
	name := checkArchive(t, release, version)
	if !strings.Contains(out, "  .build/release/"+name) || !strings.Contains(out, "  .build/release/SHA256SUMS") {
		t.Errorf("the release does not list what it made:\n%s", out)
	}
	write(t, filepath.Join(repository, "LICENSE"), []byte("Another one.\n"), 0o600)
	if out, err := command(t, repository, "bash", "scripts/release", version); err == nil || !strings.Contains(out, "dirty") {
		t.Errorf("a release of a changed file: %v %s", err, out)
	}
}

// checkArchive checks the only archive of a release, with its checksum and its bill, and returns its name.
func checkArchive(t *testing.T, release, version string) string {
	t.Helper()
	folder := "holdfast_" + version + "_" + runtime.GOOS + "_" + runtime.GOARCH
	name := folder + ".tar.gz"
	archive := read(t, filepath.Join(release, name))
	bill := read(t, filepath.Join(release, name+".cdx.json"))
	want := sum(archive) + "  " + name + "\n" + sum(bill) + "  " + name + ".cdx.json\n"
	if sums := string(read(t, filepath.Join(release, "SHA256SUMS"))); sums != want {
		t.Errorf("SHA256SUMS is %q, want %q", sums, want)
	}
	files := unpack(t, archive)
	var names []string
	for _, program := range append(programs, "LICENSE", "README.md", "CHANGELOG.md",
		"completion/seatctl.bash", "completion/seatctl.fish", "completion/seatctl.zsh") {
		names = append(names, folder+"/"+program)
	}
	slices.Sort(names)
	if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, names) {
		t.Errorf("the archive has %v, want %v", got, names)
	}
	program := filepath.Join(t.TempDir(), "program")
	write(t, program, files[folder+"/seatctl"], 0o700)
	if got := strings.TrimSpace(must(t, ".", program)); got != version {
		t.Errorf("the program's version is %q, want %q", got, version)
	}
	checkBill(t, bill, version)
	return name
}

func checkBill(t *testing.T, raw []byte, version string) {
	t.Helper()
	type component struct{ Type, Name, Version string }
	var bill struct {
		Metadata     struct{ Component component }
		Components   []component
		Dependencies []struct {
			Ref       string
			DependsOn []string
		}
	}
	if err := json.Unmarshal(raw, &bill); err != nil {
		t.Fatal(err)
	}
	if bill.Metadata.Component.Version != version {
		t.Errorf("the bill of materials is of %+v", bill.Metadata.Component)
	}
	for _, want := range []component{
		{"application", "seatctl", version},
		{"library", "std", runtime.Version()},
		{"library", "golang.org/x/sys", ""},
	} {
		if !slices.ContainsFunc(bill.Components, func(c component) bool {
			return c.Type == want.Type && c.Name == want.Name && (c.Version == want.Version || want.Version == "" && c.Version != "")
		}) {
			t.Errorf("the bill of materials lacks %+v: %+v", want, bill.Components)
		}
	}
	if len(bill.Dependencies) < 2 || len(bill.Dependencies[1].DependsOn) < 2 {
		t.Errorf("the bill of materials has the dependencies %+v", bill.Dependencies)
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func sum(content []byte) string {
	hash := sha256.Sum256(content)
	return hex.EncodeToString(hash[:])
}

func unpack(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	files, reader := map[string][]byte{}, tar.NewReader(unzipped)
	for {
		entry, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		files[entry.Name] = content
	}
}

// A release has an archive for each target that the project supports, of the form that is usual there.
func TestRelease_HasAllTargets(t *testing.T) {
	repository := smallRepository(t, "./internal/telemetry/testdata/empty")
	must(t, repository, "bash", "scripts/release")
	release := filepath.Join(repository, ".build/release")
	archives, err := filepath.Glob(filepath.Join(release, "holdfast_*"))
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, archive := range archives {
		got = append(got, filepath.Base(archive))
	}
	prefix := "holdfast_" + nextVersion(t) + "-snapshot_"
	for _, archive := range []string{
		"darwin_amd64.tar.gz", "darwin_arm64.tar.gz", "linux_amd64.tar.gz", "linux_arm64.tar.gz", "windows_amd64.zip", "windows_arm64.zip",
	} {
		want = append(want, prefix+archive, prefix+archive+".cdx.json")
	}
	if !slices.Equal(got, want) {
		t.Errorf("the release has %v, want %v", got, want)
	}
	windows, err := zip.OpenReader(filepath.Join(release, prefix+"windows_amd64.zip"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = windows.Close() })
	if !slices.ContainsFunc(windows.File, func(f *zip.File) bool { return f.Name == prefix+"windows_amd64/seatctl.exe" }) {
		t.Errorf("the archive for Windows has no seatctl.exe: %v", windows.File)
	}
}

// goreleaser accepts the whole configuration, with the images, and finds nothing deprecated in it.
func TestRelease_ConfigurationIsValid(t *testing.T) {
	out := must(t, root, buildGoreleaser(t), "check")
	if strings.Contains(strings.ToLower(out), "deprecat") {
		t.Error(out)
	}
}

func TestRelease_HasAllPrograms(t *testing.T) {
	t.Parallel()
	configuration, image := string(read(t, filepath.Join(root, ".goreleaser.yaml"))), string(read(t, filepath.Join(root, "Dockerfile")))
	folders, err := filepath.Glob(filepath.Join(root, "cmd/*"))
	if err != nil || len(folders) != len(programs) {
		t.Fatal(folders, err)
	}
	for _, folder := range folders {
		program := filepath.Base(folder)
		if !strings.Contains(configuration, "main: ./cmd/"+program+"\n") || !strings.Contains(image, "$TARGETPLATFORM/"+program+" ") {
			t.Errorf("%s is not in a release", program)
		}
	}
}

// The main module requires the client of its own version, and the page names this version.
func TestRelease_HasOneVersion(t *testing.T) {
	t.Parallel()
	version := nextVersion(t)
	if mod := read(t, filepath.Join(root, "go.mod")); !bytes.Contains(mod, []byte("\t"+client+" "+version+"\n")) {
		t.Errorf("go.mod does not require %s %s", client, version)
	}
	page := read(t, filepath.Join(root, "docs/install.md"))
	named := regexp.MustCompile(`holdfast\S*[:@_](v?[0-9]+\.[0-9]+\.[0-9]+)`).FindAllSubmatch(page, -1)
	if len(named) < 5 {
		t.Errorf("docs/install.md names %d versions", len(named))
	}
	for _, match := range named {
		if strings.TrimPrefix(string(match[1]), "v") != strings.TrimPrefix(version, "v") {
			t.Errorf("docs/install.md says %s, want %s", match[0], version)
		}
	}
}

func TestRelease_RefusesAWrongVersion(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"1.2.3":           "is not a valid version",
		"v1":              "is not a valid version",
		"v1.0.0; rm":      "is not a valid version",
		"v98765.4321.987": "CHANGELOG.md has no part",
	} {
		t.Run(version, func(t *testing.T) {
			out, err := command(t, root, "bash", "scripts/release", version)
			if err == nil || !strings.Contains(out, want) {
				t.Errorf("%v %s", err, out)
			}
		})
	}
}
