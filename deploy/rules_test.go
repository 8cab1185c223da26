// Package deploy_test checks the files that operators deploy, and the project's documents.
package deploy_test

import (
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/jobs"
)

var metricPattern = regexp.MustCompile(`fqName: "([^"]+)"`)

// processMetrics returns the names of all metrics that a process exports.
func processMetrics(t *testing.T) (names []string) {
	t.Helper()
	m := telemetry.NewMetrics()
	m.RegisterListeners(func() int { return 0 })
	m.RegisterBodies(func() int { return 0 })
	m.RegisterMongoDB(func() bool { return true })
	jobs.New(jobs.Options{
		Log:     slog.New(slog.DiscardHandler),
		Clock:   mongodb.SystemTime,
		Leases:  jobs.NewLocalLeases(),
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

// foreignMetrics are those of Prometheus and of kube-state-metrics.
var foreignMetrics = []string{
	"up", "kube_cronjob_info", "kube_cronjob_spec_suspend", "kube_cronjob_status_last_successful_time", "kube_job_status_failed",
}

const runbook = "https://github.com/holdfast-dev/holdfast/blob/main/docs/runbook.md#"

// alerts returns the alerts of a file of deploy/prometheus by name, and checks all its rules.
func alerts(t *testing.T, file string) map[string]rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.ParseFile("prometheus/"+file, false)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	known, byName := append(processMetrics(t), foreignMetrics...), map[string]rulefmt.Rule{}
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			if rule.Record != "" {
				known = append(known, rule.Record)
			} else {
				byName[rule.Alert] = rule
			}
			checkMetrics(t, rule.Alert+rule.Record, rule.Expr, known)
		}
	}
	return byName
}

func TestRules_AreValidAndUseExistingMetrics(t *testing.T) {
	t.Parallel()
	for file, want := range map[string][]string{
		"holdfast.rules.yml": {"HoldfastDown", "HoldfastTargetDown", "HoldfastMongoDBUnavailable", "HoldfastServerErrors", "HoldfastSlow",
			"HoldfastOversold", "HoldfastCorrupt", "HoldfastRefundsDue", "HoldfastRefundsOverdue", "HoldfastManyRefundsDue",
			"HoldfastWebhookLag", "HoldfastWebhookBacklog", "HoldfastWebhookFailing", "HoldfastWebhookDead", "HoldfastWebhookDisabled",
			"HoldfastOffersMissed"},
		"holdfast-workers.rules.yml":  {"HoldfastJobStale", "HoldfastNoLeader"},
		"holdfast-cronjobs.rules.yml": {"HoldfastSweepStale", "HoldfastRecoverStale", "HoldfastRetentionStale"},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			found := alerts(t, file)
			for _, name := range want {
				if _, exists := found[name]; !exists {
					t.Errorf("no alert %s", name)
				}
			}
			for name, rule := range found {
				if rule.Annotations["summary"] == "" || (rule.Labels["severity"] != "page" && rule.Labels["severity"] != "ticket") {
					t.Errorf("the alert %s has no summary or no severity", name)
				}
				if rule.Annotations["runbook"] != runbook+strings.ToLower(name) {
					t.Errorf("the alert %s has the runbook %q", name, rule.Annotations["runbook"])
				}
			}
		})
	}
}

// Without workers, alerts on a leader or on runs in a process would never end.
func TestRules_OfEveryDeploymentNeedNoLeader(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"holdfast.rules.yml", "holdfast-cronjobs.rules.yml"} {
		for name, rule := range alerts(t, file) {
			if strings.Contains(rule.Expr, "holdfast_leader) or") || strings.Contains(rule.Expr, "holdfast_job_seconds_since_completed") {
				t.Errorf("%s: %s fires for ever where CronJobs run the jobs", file, name)
			}
		}
	}
}

// A late payment must not wake an operator.
func TestRules_OneRefundDueIsNoPage(t *testing.T) {
	t.Parallel()
	for name, rule := range alerts(t, "holdfast.rules.yml") {
		if strings.Contains(rule.Expr, "holdfast_refunds_due") && rule.Labels["severity"] == "page" &&
			strings.HasSuffix(rule.Expr, "> 0") {
			t.Errorf("%s is a page for a single refund", name)
		}
	}
}

// An endpoint that an operator has disabled must not raise a ticket.
func TestRules_EndpointsDisabledByOperatorsAreNotCounted(t *testing.T) {
	t.Parallel()
	parsed, err := parser.ParseExpr(alerts(t, "holdfast.rules.yml")["HoldfastWebhookDisabled"].Expr)
	if err != nil {
		t.Fatal(err)
	}
	counted := 0
	parser.Inspect(parsed, func(n parser.Node, _ []parser.Node) error {
		if s, ok := n.(*parser.VectorSelector); ok {
			counted++
			if !slices.ContainsFunc(s.LabelMatchers, func(m *labels.Matcher) bool { return m.Name == "reason" && !m.Matches("operator") }) {
				t.Errorf("%s counts endpoints that an operator has disabled", s)
			}
		}
		return nil
	})
	if counted == 0 {
		t.Error("the alert counts no endpoints")
	}
}

// Each alert has its part of the runbook, and each part its alert.
func TestRunbook_HasAPartForEachAlert(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	var described, alerting []string
	for _, heading := range regexp.MustCompile(`(?m)^### (Holdfast\w+)$`).FindAllStringSubmatch(string(raw), -1) {
		described = append(described, heading[1])
	}
	for _, file := range []string{"holdfast.rules.yml", "holdfast-workers.rules.yml", "holdfast-cronjobs.rules.yml"} {
		alerting = slices.AppendSeq(alerting, maps.Keys(alerts(t, file)))
	}
	slices.Sort(described)
	slices.Sort(alerting)
	if !slices.Equal(described, alerting) {
		t.Errorf("the runbook describes %v, the alerts are %v", described, alerting)
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
