package main

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

func metaLabels(labels map[string]string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: labels}
}

// prometheusConfig is the part of a configuration of Prometheus that the tests read.
type prometheusConfig struct {
	Rules   []string `json:"rule_files"`
	Scrapes []scrape `json:"scrape_configs"`
}

type scrape struct {
	Job         string `json:"job_name"`
	HonorLabels bool   `json:"honor_labels"`
	Pods        []struct {
		Role       string
		Namespaces struct{ Names []string }
	} `json:"kubernetes_sd_configs"`
	Relabel []struct {
		Source []string `json:"source_labels"`
	} `json:"relabel_configs"`
	Static []struct{ Targets []string } `json:"static_configs"`
}

// readPrometheus reads a configuration of deploy/prometheus, whose files of rules exist.
func readPrometheus(t *testing.T, name string) (c prometheusConfig) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(readFile(t, "deploy/prometheus/"+name)), &c); err != nil {
		t.Fatal(err)
	}
	for _, file := range c.Rules {
		if _, err := os.Stat(root + "/deploy/prometheus/" + file); err != nil {
			t.Error(err)
		}
	}
	return c
}

// Each configuration has the alerts for the processes that run the jobs there, and the metrics that they need. The label job of a
// metric names one of Holdfast's jobs: without honor_labels, Prometheus would rename it, and the alerts on jobs would never fire.
func TestPrometheus_HasTheAlertsOfItsVariant(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"prometheus.yml":          {"holdfast.rules.yml", "holdfast-workers.rules.yml"},
		"kubernetes.yml":          {"holdfast.rules.yml", "holdfast-workers.rules.yml"},
		"kubernetes-cronjobs.yml": {"holdfast.rules.yml", "holdfast-cronjobs.rules.yml"},
	} {
		c := readPrometheus(t, name)
		if !slices.Equal(c.Rules, want) {
			t.Errorf("%s has %v, want %v", name, c.Rules, want)
		}
		for _, s := range c.Scrapes {
			if !s.HonorLabels {
				t.Errorf("%s renames labels of %s", name, s.Job)
			}
		}
	}
	workers, jobs := readPrometheus(t, "kubernetes.yml"), readPrometheus(t, "kubernetes-cronjobs.yml")
	if len(workers.Scrapes) != 1 || len(jobs.Scrapes) != 2 || !reflect.DeepEqual(workers.Scrapes[0], jobs.Scrapes[0]) {
		t.Fatalf("the pods are scraped in two ways: %+v, %+v", workers.Scrapes, jobs.Scrapes)
	}
	if state := jobs.Scrapes[1]; len(state.Static) != 1 || len(state.Static[0].Targets) != 1 {
		t.Errorf("kube-state-metrics: %+v", state)
	}
}

// Prometheus finds each long-running pod by its annotations, at the port that it listens on, and its job has the name that the alerts
// use. Where a PodMonitor finds the pods they have no annotations, so that nothing is scraped twice.
func TestPrometheus_ScrapesThePods(t *testing.T) {
	t.Parallel()
	s := readPrometheus(t, "kubernetes.yml").Scrapes[0]
	if s.Job != "holdfast" || s.Pods[0].Role != "pod" || s.Pods[0].Namespaces.Names[0] != "holdfast" {
		t.Errorf("%+v", s)
	}
	used := ""
	for _, rule := range s.Relabel {
		used += " " + strings.Join(rule.Source, " ")
	}
	eachSet(t, func(t *testing.T, all objects) {
		monitors := of[*monitoringv1.PodMonitor](all)
		for _, d := range of[*appsv1.Deployment](all) {
			component := d.Spec.Template.Labels["app.kubernetes.io/component"]
			if component == "balancer" {
				continue // it has no metrics of Holdfast
			}
			annotations := d.Spec.Template.Annotations
			isAnnotated := annotations["prometheus.io/scrape"] == "true" && annotations["prometheus.io/port"] == "8081"
			if isAnnotated == (len(monitors) > 0) {
				t.Errorf("%s has the annotations %v, and there are %d monitors", component, annotations, len(monitors))
			}
			for _, port := range d.Spec.Template.Spec.Containers[0].Ports {
				if port.Name == "metrics" && port.ContainerPort != 8081 {
					t.Errorf("%s has its metrics at %d", component, port.ContainerPort)
				}
			}
			for name := range annotations {
				label := "__meta_kubernetes_pod_annotation_" + strings.NewReplacer(".", "_", "/", "_").Replace(name)
				if strings.HasPrefix(name, "prometheus.io/") && !strings.Contains(used, label) {
					t.Errorf("Prometheus does not use the annotation %s", name)
				}
			}
		}
	})
}

// The PodMonitor finds the API and the workers, and keeps the names of jobs.
func TestMonitoring_FindsThePods(t *testing.T) {
	t.Parallel()
	for _, set := range []string{"monitoring", "cronjobs"} {
		all := render(t, sets[set])
		monitor := of[*monitoringv1.PodMonitor](all)[fullname]
		endpoint := monitor.Spec.PodMetricsEndpoints[0]
		if monitor.Spec.JobLabel != "app.kubernetes.io/name" || !endpoint.HonorLabels || *endpoint.Port != "metrics" {
			t.Errorf("%+v", monitor.Spec)
		}
		selector, err := metav1.LabelSelectorAsSelector(&monitor.Spec.Selector)
		if err != nil {
			t.Fatal(err)
		}
		for component, pod := range pods(all) {
			isServer := component == "api" || component == "worker"
			if isServer != selector.Matches(labels.Set(pod.Labels)) {
				t.Errorf("the monitor finds %s: %v", component, !isServer)
			}
			if isServer && pod.Labels["app.kubernetes.io/name"] != "holdfast" {
				t.Errorf("the job of %s is %s", component, pod.Labels["app.kubernetes.io/name"])
			}
		}
		if monitor.Labels["release"] != of[*monitoringv1.PrometheusRule](all)[fullname].Labels["release"] {
			t.Error("the labels of the values are not on both objects")
		}
	}
}

// The alerts are those of deploy/prometheus, with the names of this release.
func TestMonitoring_HasTheAlertsOfItsVariant(t *testing.T) {
	t.Parallel()
	for set, file := range map[string]string{"monitoring": "holdfast-workers.rules.yml", "cronjobs": "holdfast-cronjobs.rules.yml"} {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			var want monitoringv1.PrometheusRuleSpec
			for _, name := range []string{"holdfast.rules.yml", file} {
				var part monitoringv1.PrometheusRuleSpec
				text := strings.NewReplacer(`namespace="holdfast"`, `namespace="tickets"`, `"holdfast-`, `"autumn-holdfast-`,
					"-n holdfast", "-n tickets").Replace(readFile(t, "deploy/prometheus/"+name))
				if err := yaml.UnmarshalStrict([]byte(text), &part); err != nil {
					t.Fatal(err)
				}
				want.Groups = append(want.Groups, part.Groups...)
			}
			got := of[*monitoringv1.PrometheusRule](render(t, sets[set]))[fullname].Spec
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v\nwant %+v", got, want)
			}
		})
	}
}

// The CronJobs run all jobs that a worker would schedule, and the alerts name each CronJob.
func TestCronJobs_RunEveryJobAndHaveAlerts(t *testing.T) {
	t.Parallel()
	all := render(t, sets["cronjobs"])
	var rules strings.Builder
	for _, group := range of[*monitoringv1.PrometheusRule](all)[fullname].Spec.Groups {
		for _, rule := range group.Rules {
			rules.WriteString(rule.Expr.String() + "\n")
		}
	}
	commands := map[string]string{}
	for name, c := range of[*batchv1.CronJob](all) {
		commands[name] = strings.Join(c.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Command, " ")
		if !strings.Contains(rules.String(), `status_last_successful_time{namespace="tickets", cronjob="`+name+`"}`) {
			t.Errorf("no alert says that %s is stale", name)
		}
	}
	for _, command := range []string{"sweep", "recover", "retention"} {
		if name := fullname + "-" + command; commands[name] != "/seatctl "+command {
			t.Errorf("%s runs %q", name, commands[name])
		}
	}
}
