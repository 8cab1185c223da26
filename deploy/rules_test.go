// Package deploy_test checks the files that operators deploy.
package deploy_test

import (
	"encoding/json"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/jobs"
	"github.com/holdfast-dev/holdfast/jobs/lease"
)

// metrics are the names of all that a process tells.
func metrics(t *testing.T) (names []string) {
	t.Helper()
	m := telemetry.NewMetrics()
	m.RegisterListeners(func() int { return 0 })
	jobs.New(jobs.Options{Log: slog.New(slog.DiscardHandler), Clock: clock.System, Leases: lease.NewLocal(), Metrics: jobs.NewMetrics(m.Registry)},
		jobs.Job{Name: "lock-expiry"})
	descriptions := make(chan *prometheus.Desc)
	go func() {
		m.Registry.Describe(descriptions)
		close(descriptions)
	}()
	name := regexp.MustCompile(`fqName: "([^"]+)"`)
	for d := range descriptions {
		names = append(names, name.FindStringSubmatch(d.String())[1])
	}
	return names
}

// The rules are such that Prometheus takes them, and ask for metrics that there
// are.
func TestRules_AskForWhatThereIs(t *testing.T) {
	t.Parallel()
	groups, errs := rulefmt.ParseFile("prometheus/holdfast.rules.yml", false)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	have, rules := metrics(t), 0
	for _, g := range groups.Groups {
		for _, rule := range g.Rules {
			rules++
			if rule.Record != "" {
				have = append(have, rule.Record)
			}
			expr, err := parser.ParseExpr(rule.Expr)
			if err != nil {
				t.Fatal(err)
			}
			if rule.Alert != "" && (rule.Annotations["summary"] == "" || rule.Labels["severity"] == "") {
				t.Errorf("%s says not what is wrong, or how bad", rule.Alert)
			}
			asksForWhatThereIs(t, rule.Alert, expr, have)
		}
	}
	if rules < 10 {
		t.Errorf("only %d rules", rules)
	}
}

// asksForWhatThereIs fails where an expression names a metric that nobody tells.
func asksForWhatThereIs(t *testing.T, who string, expr parser.Expr, have []string) {
	t.Helper()
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if s, ok := n.(*parser.VectorSelector); ok && !slices.Contains(have, strings.TrimSuffix(s.Name, "_bucket")) {
			t.Errorf("%s asks for %s, which no process tells", who, s.Name)
		}
		return nil
	})
}

// The dashboard asks for metrics and records that there are, in expressions that
// Prometheus takes.
func TestDashboard_AsksForWhatThereIs(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("grafana/holdfast.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(raw, &dashboard); err != nil {
		t.Fatal(err)
	}
	have := append(metrics(t), "holdfast:lock_abandonment:ratio")
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			expr, err := parser.ParseExpr(target.Expr)
			if err != nil {
				t.Fatalf("%s: %v", panel.Title, err)
			}
			asksForWhatThereIs(t, panel.Title, expr, have)
		}
	}
	if len(dashboard.Panels) < 12 {
		t.Errorf("only %d panels", len(dashboard.Panels))
	}
}
