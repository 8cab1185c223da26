package main

import (
	"bytes"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	variablePattern = regexp.MustCompile(`\$([A-Z_]+)`)
	commandPattern  = regexp.MustCompile(`(?m)^  ([a-z-]+(?: [a-z]+)*)(?: [<[].*)?$`) // in the list of all commands
)

func help(t *testing.T, command ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := runCommandLine(append(command, "--help"), strings.NewReader(""), &out, &errs); code != 0 || errs.Len() > 0 {
		t.Fatalf("exit code %d: %s", code, &errs)
	}
	return out.String()
}

// A command's help lists the settings that the command uses, and no others.
func TestHelp_ListsOnlyTheSettingsOfTheCommand(t *testing.T) {
	t.Parallel()
	database := []string{"MONGODB_URI", "MONGODB_DATABASE"}
	leases := append([]string{"JOB_LEASES", "LEASE_TTL", "REDIS_ENABLED", "REDIS_URL", "REDIS_HOST", "REDIS_PORT",
		"REDIS_TLS", "REDIS_USERNAME", "REDIS_PASSWORD"}, database...)
	run := append([]string{"POD_NAME", "DISABLE_CRONS_ON_REDIS_DOWN", "LOG_LEVEL", "LOG_FORMAT"}, leases...)
	with := func(names []string, more ...string) []string { return slices.Concat(names, more) }
	sweep := with(run, "SWEEP_BATCH", "LOCK_EXPIRY_MAX_DURATION", "BOOKING_EXPIRY_MAX_DURATION")
	table := map[string][]string{
		"": database,
		// A list uses the API alone.
		"list":   {"HOLDFAST_URL", "HOLDFAST_KEY"},
		"report": {"HOLDFAST_URL", "HOLDFAST_KEY"},
		"api":    {"HOLDFAST_URL", "HOLDFAST_KEY"},
		// A group whose commands use the API alone has no settings.
		"sales":        {},
		"sales import": {"HOLDFAST_URL", "HOLDFAST_KEY"},
		"export":       database,
		// A check uses no database.
		"plans":        database,
		"plans check":  {},
		"plans import": database,
		"plans export": database,
		"import":       database,
		"completion":   {},
		"jobs": with(leases, "LOCK_EXPIRY_INTERVAL", "BOOKING_EXPIRY_INTERVAL", "RECONCILE_INTERVAL",
			"ENDED_RETENTION"),
		"doctor": with(leases, "LOCK_EXPIRY_INTERVAL", "LOCK_EXPIRY_MAX_DURATION", "BOOKING_EXPIRY_MAX_DURATION",
			"RECONCILE_MAX_DURATION", "RECOVERY_MAX_DURATION", "ENDED_RETENTION", "SEAT_INDEX"),
		"leases":         leases,
		"leases free":    leases,
		"recover":        with(run, "SWEEP_BATCH", "RECOVERY_MAX_DURATION"),
		"sweep":          sweep,
		"sweep all":      sweep,
		"sweep locks":    sweep,
		"sweep bookings": sweep,
		"retention":      with(run, "SWEEP_BATCH", "ENDED_RETENTION", "ARCHIVE_AFTER"),
	}
	commands := commandPattern.FindAllStringSubmatch(help(t), -1)
	if len(commands) < 13 {
		t.Errorf("the help lists %d commands: %q", len(commands), commands)
	}
	for _, command := range commands {
		if table[command[1]] == nil {
			t.Errorf("the table lacks the command %q", command[1])
		}
	}
	for command, want := range table {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			found := map[string]bool{}
			for _, match := range variablePattern.FindAllStringSubmatch(help(t, strings.Fields(command)...), -1) {
				found[match[1]] = true
			}
			slices.Sort(want)
			if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, want) {
				t.Errorf("got %v\nwant %v", got, want)
			}
		})
	}
}

// An operator who asks for help about a command reads first what only this command has.
func TestHelp_BeginsWithTheFlagsOfTheCommand(t *testing.T) {
	t.Parallel()
	for command, want := range map[string][]string{
		"":        {"Commands:", "doctor", "Flags of every command:", "--help", "--version", "--output", "Settings:", "--mongodb-uri"},
		"list":    {"Arguments:", "<kind>", "Flags:", "--event", "--status", "--limit", "--url", "--key", "Flags of every command:"},
		"recover": {"Flags:", "--dry-run", "Flags of every command:", "--help", "Settings:", "--mongodb-uri"},
		"plans check": {
			"-o FILE.svg", "Arguments:", "<file>", "Flags:", "--format", "--name", "--as-listed", "--adjacency", "--category", "--accessible",
			"Flags of every command:",
		},
		"leases free": {"Arguments:", "<job>", "Flags:", "--yes", "Flags of every command:", "Settings:", "--job-leases"},
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			rest := help(t, strings.Fields(command)...)
			for _, next := range want {
				_, after, found := strings.Cut(rest, next)
				if !found {
					t.Fatalf("%s is absent, or not in its place: %s", next, rest)
				}
				rest = after
			}
		})
	}
}

func TestVersion_IsPrintedWithoutSettings(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	code := runCommandLine([]string{"--version"}, strings.NewReader(""), &out, &errs)
	if code != 0 || !strings.HasPrefix(out.String(), "devel") || errs.Len() > 0 {
		t.Errorf("exit code %d: %s %s", code, &out, &errs)
	}
}
