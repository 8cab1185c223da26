// Package release_test builds a release of a small program for this machine's target, and
// checks what it has.
package release_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

func command(t *testing.T, folder, name string, args ...string) (string, error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir = folder
	out, err := c.CombinedOutput()
	return string(out), err
}

func TestRelease_HasProgramsOfTheVersionWithChecksumsAndBills(t *testing.T) {
	t.Setenv("PROGRAMS", "./internal/telemetry/testdata/program")
	const version = "v0.0.0-test"
	if out, err := command(t, root, "bash", "scripts/release", version, runtime.GOOS+"/"+runtime.GOARCH); err != nil {
		t.Fatal(err, out)
	}
	folder := filepath.Join(root, ".build/release", version)
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	name := "holdfast_" + version + "_" + runtime.GOOS + "_" + runtime.GOARCH
	archive, err := os.ReadFile(filepath.Join(folder, name+".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(folder, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256(archive)
	if want := hex.EncodeToString(hash[:]) + "  ./" + name + ".tar.gz\n"; string(sums) != want {
		t.Errorf("SHA256SUMS is %q, want %q", sums, want)
	}
	unpacked := t.TempDir()
	if out, err := command(t, folder, "tar", "-xzf", name+".tar.gz", "-C", unpacked); err != nil {
		t.Fatal(err, out)
	}
	out, err := command(t, unpacked, filepath.Join(unpacked, name, "program"))
	if err != nil || strings.TrimSpace(out) != version {
		t.Errorf("the program's version: %v %q", err, out)
	}
	raw, err := os.ReadFile(filepath.Join(unpacked, name, "program.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var bill struct {
		Metadata   struct{ Component struct{ Version string } }
		Components []struct{ Name, Version string }
	}
	if err := json.Unmarshal(raw, &bill); err != nil {
		t.Fatal(err)
	}
	if bill.Metadata.Component.Version != version || len(bill.Components) == 0 || bill.Components[0].Version != runtime.Version() {
		t.Errorf("the bill of materials is of %q, with %v", bill.Metadata.Component.Version, bill.Components)
	}
}

// Without a target, a release has those that the project supports.
func TestRelease_HasAllTargets(t *testing.T) {
	t.Setenv("PROGRAMS", "./internal/telemetry/testdata/empty")
	const version = "v0.0.0-targets"
	if out, err := command(t, root, "bash", "scripts/release", version); err != nil {
		t.Fatal(err, out)
	}
	folder := filepath.Join(root, ".build/release", version)
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	sums, err := os.ReadFile(filepath.Join(folder, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(sums)) {
		_, file, _ := strings.Cut(strings.TrimSpace(line), "  ./")
		got = append(got, file)
	}
	slices.Sort(got)
	var want []string
	for _, target := range []string{"darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64"} {
		want = append(want, "holdfast_"+version+"_"+target+".tar.gz")
	}
	if !slices.Equal(got, want) {
		t.Errorf("the release has %v, want %v", got, want)
	}
}

func TestRelease_HasAllPrograms(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile(filepath.Join(root, "scripts/release"))
	if err != nil {
		t.Fatal(err)
	}
	programs, err := filepath.Glob(filepath.Join(root, "cmd/*"))
	if err != nil || len(programs) != 3 {
		t.Fatal(programs, err)
	}
	for _, program := range programs {
		if name := "./cmd/" + filepath.Base(program); !strings.Contains(string(script), name) {
			t.Errorf("%s is not in a release", name)
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
			out, err := command(t, root, "bash", "scripts/release", version, "linux/amd64")
			if err == nil || !strings.Contains(out, want) {
				t.Errorf("%v %s", err, out)
			}
		})
	}
}
