package main

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

func TestReport_AsTableCSVAndJSON(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	event := newSeatedIn(t, env)
	take(t, env, event, testenv.Soon(), 0, named("A-1-1", "A-2-3"))
	api := serve(t, env)
	report := func(args ...string) (code int, out, errs string) {
		return offline("", append([]string{"report", "--url", api, "--key", "sesame"}, args...)...)
	}
	for args, want := range map[string]string{
		"": "ROW KEY CATEGORY TOTAL AVAILABLE HELD SOLD BLOCKED OVERSOLD OFFERED WAITING " +
			"event " + event.String() + " 16 14 2 0 0 0 0 0 section A c 6 4 2 0 0 0 section pit c 10 10 0 0 0 0 category c c 16 14 2 0 0 0 ",
		"--csv": "row,key,category,total,available,held,sold,blocked,oversold,offered,waiting event," + event.String() + ",,16,14,2,0,0,0,0,0 " +
			"section,A,c,6,4,2,0,0,0,, section,pit,c,10,10,0,0,0,0,, category,c,c,16,14,2,0,0,0,, ",
		"--json": `{ "eventId": "` + event.String() + `", "totalSeats": 16, "available": 14, "held": 2,`,
	} {
		t.Run(args, func(t *testing.T) {
			code, out, errs := report(append(strings.Fields(args), event.String())...)
			if got := strings.Join(strings.Fields(out), " ") + " "; code != 0 || errs != "" || !strings.HasPrefix(got, want) {
				t.Errorf("exit code %d, %s\n%s\nwant %s", code, errs, got, want)
			}
		})
	}
	for args, want := range map[string]int{"--csv --json " + event.String(): exitUsage, "x": exitUsage, mongodb.NewID().String(): exitFailed} {
		if code, out, errs := report(strings.Fields(args)...); code != want || out != "" || errs == "" {
			t.Errorf("%s: exit code %d, %s %s", args, code, out, errs)
		}
	}
}
