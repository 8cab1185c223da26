// Package deploy_test checks the files that operators deploy, and the project's documents.
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

var metricPattern = regexp.MustCompile(`fqName: "([^"]+)"`)

// processMetrics returns the names of all metrics that a process exports.
func processMetrics(t *testing.T) (names []string) {
	t.Helper()
	m := telemetry.NewMetrics()
	m.RegisterListeners(func() int { return 0 })
	jobs.New(jobs.Options{
		Log:     slog.New(slog.DiscardHandler),
		Clock:   clock.System,
		Leases:  lease.NewLocal(),
		Metrics: jobs.NewMetrics(m.Registry),
	}, jobs.Job{Name: "lock-expiry"})
	descriptions := make(chan *prometheus.Desc)
	go func() {
		m.Registry.Describe(descriptions)
		close(descriptions)
	}()
	for description := range descriptions {
		names = append(names, metricPattern.FindStringSubmatch(description.String())[1])
	}
	return names
}

func TestRules_AreValidAndUseExistingMetrics(t *testing.T) {
	t.Parallel()
	groups, errs := rulefmt.ParseFile("prometheus/holdfast.rules.yml", false)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	known, rules := processMetrics(t), 0
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			rules++
			if rule.Record != "" {
				known = append(known, rule.Record)
			}
			if rule.Alert != "" && (rule.Annotations["summary"] == "" || rule.Labels["severity"] == "") {
				t.Errorf("the alert %s has no summary or no severity", rule.Alert)
			}
			checkMetrics(t, rule.Alert+rule.Record, rule.Expr, known)
		}
	}
	if rules < 10 {
		t.Errorf("only %d rules", rules)
	}
}

// checkMetrics fails the test if the expression is invalid, or uses a metric that is not known.
func checkMetrics(t *testing.T, rule, expression string, known []string) {
	t.Helper()
	parsed, err := parser.ParseExpr(expression)
	if err != nil {
		t.Fatalf("%s: %v", rule, err)
	}
	parser.Inspect(parsed, func(n parser.Node, _ []parser.Node) error {
		if s, ok := n.(*parser.VectorSelector); ok && !slices.Contains(known, strings.TrimSuffix(s.Name, "_bucket")) {
			t.Errorf("%s uses the metric %s, which no process exports", rule, s.Name)
		}
		return nil
	})
}

func TestDashboard_IsValidAndUsesExistingMetrics(t *testing.T) {
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
	known := append(processMetrics(t), "holdfast:lock_abandonment:ratio")
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			checkMetrics(t, panel.Title, target.Expr, known)
		}
	}
	if len(dashboard.Panels) < 12 {
		t.Errorf("only %d panels", len(dashboard.Panels))
	}
}
