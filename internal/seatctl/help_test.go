package seatctl_test

import (
	"bytes"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/seatctl"
)

var (
	variablePattern = regexp.MustCompile(`\$([A-Z_]+)`)
	commandPattern  = regexp.MustCompile(`(?m)^  ([a-z-]+(?: [a-z]+)*)(?: [<[].*)?$`) // in the list of all commands
)

func help(t *testing.T, command ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := seatctl.Main(append(command, "--help"), strings.NewReader(""), &out, &errs); code != 0 || errs.Len() > 0 {
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
	upgrade := with(database, "LOG_LEVEL", "LOG_FORMAT")
	sweep := with(run, "SWEEP_BATCH", "LOCK_EXPIRY_MAX_DURATION", "BOOKING_EXPIRY_MAX_DURATION")
	table := map[string][]string{
		"":         database,
		"events":   database,
		"locks":    database,
		"bookings": database,
		"payments": database,
		"export":   database,
		// A check uses no database.
		"plans":        database,
		"plans check":  {},
		"plans import": database,
		"plans export": database,
		"plans list":   database,
		"import":       database,
		"seats":        database,
		"seat-index":   database,
		"jobs": with(leases, "LOCK_EXPIRY_INTERVAL", "BOOKING_EXPIRY_INTERVAL", "RECONCILE_INTERVAL",
			"ENDED_RETENTION"),
		"doctor": with(leases, "LOCK_EXPIRY_INTERVAL", "LOCK_EXPIRY_MAX_DURATION", "BOOKING_EXPIRY_MAX_DURATION",
			"RECONCILE_MAX_DURATION", "RECOVERY_MAX_DURATION", "ENDED_RETENTION"),
		"leases":         leases,
		"leases free":    leases,
		"recover":        with(run, "SWEEP_BATCH", "RECOVERY_MAX_DURATION"),
		"sweep":          sweep,
		"sweep all":      sweep,
		"sweep locks":    sweep,
		"sweep bookings": sweep,
		"retention":      with(run, "SWEEP_BATCH", "ENDED_RETENTION", "SEAL_AFTER"),
		"upgrade":        upgrade,
		"upgrade status": upgrade,
		"upgrade finish": upgrade,
	}
	for name := range strings.SplitSeq(", list, show, create, change, enable, disable, delete, rotate, test, deliveries, replay", ",") {
		table["webhooks"+name] = with(database, "WEBHOOK_ALLOW_PRIVATE")
	}
	commands := commandPattern.FindAllStringSubmatch(help(t), -1)
	if len(commands) < 14 {
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
		"":                {"Commands:", "doctor", "Flags of every command:", "--help", "--version", "--output", "Settings:", "--mongodb-uri"},
		"locks":           {"Flags:", "--event", "--user", "--status", "--limit", "Flags of every command:", "Settings:", "--mongodb-uri"},
		"recover":         {"Flags:", "--dry-run", "Flags of every command:", "--help", "Settings:", "--mongodb-uri"},
		"plans check":     {"-o FILE.svg", "Arguments:", "<file>", "Flags:", "--format", "--name", "--as-listed", "Flags of every command:"},
		"seats":           {"Arguments:", "<event>", "Flags:", "--section", "Flags of every command:", "Settings:", "--mongodb-uri"},
		"seat-index":      {"Arguments:", "<on|off>", "Flags of every command:", "Settings:", "--mongodb-uri"},
		"webhooks create": {"Arguments:", "<url>", "Flags:", "--type", "--event", "Settings:", "--webhook-allow-private"},
		"leases free":     {"Arguments:", "<job>", "Flags:", "--yes", "Flags of every command:", "Settings:", "--job-leases"},
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
	code := seatctl.Main([]string{"--version"}, strings.NewReader(""), &out, &errs)
	if code != 0 || !strings.HasPrefix(out.String(), "devel") || errs.Len() > 0 {
		t.Errorf("exit code %d: %s %s", code, &out, &errs)
	}
}

// An unknown status would list nothing, as if nothing had it.
func TestLists_RefuseAnUnknownStatus(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"events":   "use ON_SALE, CLOSED or CANCELLED",
		"locks":    "use ACTIVE, CONSUMED, EXPIRED or RELEASED",
		"bookings": "use INITIATED, PAYMENT_PENDING, CONFIRMED, EXPIRED or CANCELLED",
	} {
		for _, status := range []string{"ON_SAIL", "active", ""} {
			t.Run(command+" "+status, func(t *testing.T) {
				t.Parallel()
				var out, errs bytes.Buffer
				args := []string{"--mongodb-uri", "mongodb://127.0.0.1:1/?replicaSet=none", command, "--status", status}
				code := seatctl.Main(args, strings.NewReader(""), &out, &errs)
				if code != 2 || !strings.Contains(errs.String(), want) || out.Len() > 0 {
					t.Errorf("exit code %d: %s %s", code, &out, &errs)
				}
			})
		}
	}
}
