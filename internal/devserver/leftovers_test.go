package devserver

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

func TestRemoveLeftovers_OnlyFoldersOfServersThatAreGone(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	const noProcess = 1 << 30 // more than a process ID can be
	for name, c := range map[string]struct {
		lock string // "-": none
		age  time.Duration
		stay bool
	}{
		"mongod-runs":    {strconv.Itoa(os.Getpid()), 48 * time.Hour, true},
		"mongod-killed":  {strconv.Itoa(noProcess) + "\n", 48 * time.Hour, false},
		"mongod-stopped": {"", 48 * time.Hour, false},
		"mongod-empty":   {"-", 48 * time.Hour, false},
		"mongod-new":     {"-", time.Minute, true},
		"other":          {strconv.Itoa(noProcess), 48 * time.Hour, true},
	} {
		dir := filepath.Join(temp, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if c.lock != "-" {
			if err := os.WriteFile(filepath.Join(dir, "mongod.lock"), []byte(c.lock), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		changed := time.Now().Add(-c.age)
		if err := os.Chtimes(dir, changed, changed); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if _, err := os.Stat(dir); (err == nil) != c.stay {
				t.Errorf("%s: %v", name, err)
			}
		}()
	}
	removeLeftovers()
}
