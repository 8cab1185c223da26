package kubernetes_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"
)

// admits reports whether the Ingress sends a path to the API.
func admits(ingress networkingv1.Ingress, path string) bool {
	for _, rule := range ingress.Spec.Rules {
		for _, p := range rule.HTTP.Paths {
			isPrefix := *p.PathType == networkingv1.PathTypePrefix && strings.HasPrefix(path+"/", strings.TrimSuffix(p.Path, "/")+"/")
			if p.Path == path || isPrefix {
				return true
			}
		}
	}
	return false
}

var pathPattern = regexp.MustCompile(`Path: "(/api/[^"]+)"`)

// The Ingress has every route of shops and customers, and none of operators.
func TestIngress_HidesWhatIsForOperators(t *testing.T) {
	t.Parallel()
	ingress := objects[networkingv1.Ingress](t, "base", "Ingress")[0]
	sources, err := filepath.Glob("../../httpapi/*.go")
	if err != nil {
		t.Fatal(err)
	}
	routes := 0
	for _, file := range sources {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range pathPattern.FindAllStringSubmatch(string(source), -1) {
			path := match[1]
			routes++
			forOperators := strings.HasPrefix(path, "/api/admin/") || path == "/api/changes" || strings.HasPrefix(path, "/api/webhooks")
			if admits(ingress, path) == forOperators {
				t.Errorf("the Ingress admits %s: %v", path, !forOperators)
			}
		}
	}
	if routes < 15 {
		t.Errorf("only %d routes were found", routes)
	}
	for _, path := range []string{"/", "/console", "/assets/console.js", "/demo", "/metrics", "/readyz", "/livez", "/api", "/api/admin"} {
		if admits(ingress, path) {
			t.Errorf("the Ingress admits %s", path)
		}
	}
	for _, path := range []string{"/docs", "/docs/", "/openapi.json", "/assets/holdfast-seats.js", "/assets/holdfast-seats.js.map",
		"/assets/holdfast-seats-" + pickerVersion(t) + ".js"} {
		if !admits(ingress, path) {
			t.Errorf("the Ingress does not admit %s", path)
		}
	}
}

// pickerVersion is the version in the path of the seat map.
func pickerVersion(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../picker/package.json")
	if err != nil {
		t.Fatal(err)
	}
	var pack struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(text, &pack); err != nil || pack.Version == "" {
		t.Fatalf("the seat map has no version: %v", err)
	}
	return pack.Version
}

// Requests go from the Ingress to the balancer, and from there to the API's pods, whose names it asks DNS for.
func TestBalancer_IsBetweenTheIngressAndTheAPI(t *testing.T) {
	t.Parallel()
	services := map[string]corev1.Service{}
	for _, s := range objects[corev1.Service](t, "base", "Service") {
		services[s.Name] = s
	}
	for _, rule := range objects[networkingv1.Ingress](t, "base", "Ingress")[0].Spec.Rules {
		for _, p := range rule.HTTP.Paths {
			if p.Backend.Service.Name != balancer {
				t.Errorf("the Ingress sends %s to %s", p.Path, p.Backend.Service.Name)
			}
		}
	}
	all := pods(t, "base")
	for service, pod := range map[string]string{balancer: balancer, "api-pods": "api", "api": "api"} {
		if !selects(services[service].Spec.Selector, all[pod].Labels) {
			t.Errorf("the service %s does not select the pods of %s", service, pod)
		}
	}
	proxy, pods := all[balancer].Spec.Containers[0], services["api-pods"]
	want := fmt.Sprintf("%s.%s.svc.cluster.local:%d", pods.Name, pods.Namespace, pods.Spec.Ports[0].Port)
	env := []corev1.EnvVar{{Name: "API_DNS", Value: want}, {Name: "FRONT", Value: "yes"}}
	if !slices.Equal(proxy.Env, env) || pods.Spec.ClusterIP != corev1.ClusterIPNone {
		t.Errorf("the balancer looks for %+v, the pods are %s", proxy.Env, want)
	}
	if port := all["api"].Spec.Containers[0].Ports[0]; port.ContainerPort != pods.Spec.Ports[0].Port {
		t.Errorf("the API listens on %d, DNS says nothing of ports: they are asked on %d", port.ContainerPort, pods.Spec.Ports[0].Port)
	}
	file := "haproxy.cfg"
	config, err := os.ReadFile("../../deploy/haproxy/" + file)
	if err != nil {
		t.Fatal(err)
	}
	mounted := all[balancer].Spec.Volumes[0].ConfigMap.Name
	for _, m := range objects[corev1.ConfigMap](t, "base", "ConfigMap") {
		if m.Name == mounted && m.Data[file] == string(config) {
			return
		}
	}
	t.Errorf("no ConfigMap %s has deploy/haproxy/%s", mounted, file)
}

// pods returns the templates of all pods by name.
func pods(t *testing.T, folder string) map[string]corev1.PodTemplateSpec {
	t.Helper()
	all := map[string]corev1.PodTemplateSpec{}
	for _, d := range objects[appsv1.Deployment](t, folder, "Deployment") {
		all[d.Name] = d.Spec.Template
	}
	for _, c := range objects[batchv1.CronJob](t, folder, "CronJob") {
		all[c.Name] = c.Spec.JobTemplate.Spec.Template
	}
	return all
}

// Every pod is under a policy of both directions. Requests reach only the API, from named
// places; Prometheus reaches the port of the metrics.
func TestNetworkPolicy_CoversEveryPod(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"base", "cronjobs"} {
		policies := objects[networkingv1.NetworkPolicy](t, folder, "NetworkPolicy")
		for name, pod := range pods(t, folder) {
			covered, ports := map[networkingv1.PolicyType]bool{}, map[string]bool{}
			for _, policy := range policies {
				if !selects(policy.Spec.PodSelector.MatchLabels, pod.Labels) {
					continue
				}
				for _, direction := range policy.Spec.PolicyTypes {
					covered[direction] = true
				}
				for _, rule := range policy.Spec.Ingress {
					if len(rule.From) == 0 || len(rule.Ports) == 0 {
						t.Errorf("%s: the policy %s admits everything", folder, policy.Name)
					}
					for _, port := range rule.Ports {
						ports[port.Port.String()] = true
					}
				}
			}
			if !covered[networkingv1.PolicyTypeIngress] || !covered[networkingv1.PolicyTypeEgress] || !ports["8081"] {
				t.Errorf("%s: %s has the directions %v and the ports %v", folder, name, covered, ports)
			}
			if ports["http"] != (name == "api" || name == balancer) {
				t.Errorf("%s: requests reach %s: %v", folder, name, ports["http"])
			}
		}
	}
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
	raw, err := os.ReadFile("../../deploy/prometheus/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(raw, &c); err != nil {
		t.Fatal(err)
	}
	for _, file := range c.Rules {
		if _, err := os.Stat("../../deploy/prometheus/" + file); err != nil {
			t.Error(err)
		}
	}
	return c
}

// Each variant has the alerts for the processes that run the jobs there, and the metrics that they need.
func TestPrometheus_HasTheAlertsOfItsVariant(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"kubernetes.yml":          {"holdfast.rules.yml", "holdfast-workers.rules.yml"},
		"kubernetes-cronjobs.yml": {"holdfast.rules.yml", "holdfast-cronjobs.rules.yml"},
	} {
		if c := readPrometheus(t, name); !slices.Equal(c.Rules, want) {
			t.Errorf("%s has %v, want %v", name, c.Rules, want)
		}
	}
	workers, jobs := readPrometheus(t, "kubernetes.yml"), readPrometheus(t, "kubernetes-cronjobs.yml")
	if len(workers.Scrapes) != 1 || len(jobs.Scrapes) != 2 || !reflect.DeepEqual(workers.Scrapes[0], jobs.Scrapes[0]) {
		t.Fatalf("the pods are scraped in two ways: %+v, %+v", workers.Scrapes, jobs.Scrapes)
	}
	// Without honor_labels, the label namespace of a CronJob would be renamed.
	if state := jobs.Scrapes[1]; !state.HonorLabels || len(state.Static) != 1 || len(state.Static[0].Targets) != 1 {
		t.Errorf("kube-state-metrics: %+v", state)
	}
}

// Prometheus finds each long-running pod by its annotations, at the port that it listens on,
// and its job has the name that the alerts use.
func TestPrometheus_ScrapesThePods(t *testing.T) {
	t.Parallel()
	for folder, file := range map[string]string{"base": "kubernetes.yml", "cronjobs": "kubernetes-cronjobs.yml"} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			checkScrape(t, folder, readPrometheus(t, file).Scrapes[0])
		})
	}
}

func checkScrape(t *testing.T, folder string, s scrape) {
	t.Helper()
	if s.Job != "holdfast" || s.Pods[0].Role != "pod" || s.Pods[0].Namespaces.Names[0] != "holdfast" {
		t.Errorf("%+v", s)
	}
	used := ""
	for _, rule := range s.Relabel {
		used += " " + strings.Join(rule.Source, " ")
	}
	for _, d := range objects[appsv1.Deployment](t, folder, "Deployment") {
		if d.Namespace != "holdfast" {
			t.Errorf("%s is in the namespace %s", d.Name, d.Namespace)
		}
		if d.Name == balancer {
			continue // it has no metrics of Holdfast
		}
		annotations := d.Spec.Template.Annotations
		listening := false
		for _, port := range d.Spec.Template.Spec.Containers[0].Ports {
			listening = listening || (port.Name == "metrics" && port.ContainerPort == 8081)
		}
		if annotations["prometheus.io/scrape"] != "true" || annotations["prometheus.io/port"] != "8081" || !listening {
			t.Errorf("%s has the annotations %v", d.Name, annotations)
		}
		for name := range annotations {
			label := "__meta_kubernetes_pod_annotation_" + strings.NewReplacer(".", "_", "/", "_").Replace(name)
			if !strings.Contains(used, label) {
				t.Errorf("Prometheus does not use the annotation %s", name)
			}
		}
	}
}

// The CronJobs run all jobs that a worker would schedule, and the alerts name each CronJob.
func TestCronJobs_RunEveryJobAndHaveAlerts(t *testing.T) {
	t.Parallel()
	rules, err := os.ReadFile("../../deploy/prometheus/holdfast-cronjobs.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	commands := map[string]string{}
	for _, c := range objects[batchv1.CronJob](t, "cronjobs", "CronJob") {
		commands[c.Name] = strings.Join(c.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Command, " ")
		if !strings.Contains(string(rules), `status_last_successful_time{namespace="holdfast", cronjob="`+c.Name+`"}`) {
			t.Errorf("no alert says that %s is stale", c.Name)
		}
	}
	for name, want := range map[string]string{"sweep": "/seatctl sweep", "recover": "/seatctl recover", "retention": "/seatctl retention"} {
		if commands[name] != want {
			t.Errorf("%s runs %q, want %q", name, commands[name], want)
		}
	}
}
