package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A check draws the plan: to a file in addition to the report, or alone to the standard output.
func TestPlansCheck_DrawsThePlan(t *testing.T) {
	t.Parallel()
	path := file(t, "hall.svg", strings.Repeat("an older picture", 1000))
	code, out, errs := offline(smallPlan, "plans", "check", "-", "-o", path)
	if code != 0 || errs != "" || !strings.Contains(strings.Join(strings.Fields(out), " "), smallPlanCells) {
		t.Errorf("%d %s %s", code, out, errs)
	}
	drawn, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(drawn), "<svg") || !strings.HasSuffix(string(drawn), "</svg>\n") ||
		strings.Count(string(drawn), "<circle cx") != 5 || strings.Contains(string(drawn), "older") {
		t.Errorf("%s %v", drawn, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o044 != 0o044 {
		t.Errorf("others can't read it: %v %v", info, err)
	}
	for _, args := range [][]string{{"-o", "-"}, {"--output=-"}} {
		code, out, errs := offline(smallPlan, append([]string{"plans", "check", "-"}, args...)...)
		if code != 0 || out != string(drawn) || errs != "" {
			t.Errorf("%q: %d %s %s", args, code, out, errs)
		}
	}
	table := filepath.Join(t.TempDir(), "HALL.SVG")
	if code, _, errs := offline(smallTable, "plans", "check", "-", "-o", table); code != 0 {
		t.Errorf("%d %s", code, errs)
	}
	if drawn, err := os.ReadFile(table); err != nil || strings.Count(string(drawn), "<circle cx") != 2 {
		t.Errorf("%s %v", drawn, err)
	}
}

// A plan with problems is not drawn, and a file that can't be written leaves nothing.
func TestPlansCheck_LeavesNoHalfPicture(t *testing.T) {
	t.Parallel()
	wrong := strings.Replace(smallPlan, `"y"`, `"x"`, 1)
	path := file(t, "hall.svg", "an older picture")
	entries := func() (names []string) {
		files, err := os.ReadDir(filepath.Dir(path))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			names = append(names, f.Name())
		}
		return names
	}
	code, out, errs := offline(wrong, "plans", "check", "-", "-o", path)
	if drawn, err := os.ReadFile(path); code != 1 || err != nil || string(drawn) != "an older picture" ||
		!strings.Contains(out, "sections[0].rows[0].seats[2].id") || !strings.Contains(errs, "1 problem\n") {
		t.Errorf("%d %s %s %s %v", code, out, errs, drawn, err)
	}
	code, out, errs = offline(wrong, "plans", "check", "-", "-o", "-")
	if code != 1 || out != "" || !strings.Contains(errs, "sections[0].rows[0].seats[2].id") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(path, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, filepath.Join(path, "none", "hall.svg")} {
		if code, out, errs := offline(smallPlan, "plans", "check", "-", "-o", name); code != 1 || out != "" ||
			!strings.Contains(errs, name+" is not written") {
			t.Errorf("%d %s %s", code, out, errs)
		}
	}
	if names := entries(); len(names) != 1 {
		t.Errorf("left behind: %q", names)
	}
}

func TestOutput_IsAFormatOrAPicture(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"jsn", "", "hall.png", "svg"} {
		if code, out, errs := offline(smallPlan, "plans", "check", "-", "-o", name); code != 2 || out != "" || !strings.Contains(errs, ".svg") {
			t.Errorf("%q: %d %s %s", name, code, out, errs)
		}
	}
	for _, name := range []string{"yaml", "-", "hall.svg"} {
		args := []string{"--mongodb-uri", "mongodb://127.0.0.1:1/?replicaSet=none", "jobs", "-o", name}
		if code, out, errs := offline("", args...); code != 2 || out != "" || !strings.Contains(errs, "table or json") {
			t.Errorf("%q: %d %s %s", name, code, out, errs)
		}
	}
}
