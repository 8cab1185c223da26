// Package kubernetes_test builds the manifests of deploy/kubernetes and checks them against
// the types of Kubernetes' API. It is a separate module, so the programs do not depend on
// Kubernetes' packages.
package kubernetes_test

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// balancer is the Deployment of HAProxy.
const balancer = "balancer"

// kinds has the type of each kind of manifest. A field that the type lacks is an error.
var kinds = map[string]func() any{
	"Deployment":              func() any { return &appsv1.Deployment{} },
	"Service":                 func() any { return &corev1.Service{} },
	"ConfigMap":               func() any { return &corev1.ConfigMap{} },
	"HorizontalPodAutoscaler": func() any { return &autoscalingv2.HorizontalPodAutoscaler{} },
	"PodDisruptionBudget":     func() any { return &policyv1.PodDisruptionBudget{} },
	"Ingress":                 func() any { return &networkingv1.Ingress{} },
	"NetworkPolicy":           func() any { return &networkingv1.NetworkPolicy{} },
	"CronJob":                 func() any { return &batchv1.CronJob{} },
}

func TestManifests_MatchTheirTypes(t *testing.T) {
	t.Parallel()
	for folder, want := range map[string][]string{
		"base": {"ConfigMap", "ConfigMap", "Deployment", "Deployment", "Deployment", "HorizontalPodAutoscaler", "Ingress",
			"NetworkPolicy", "NetworkPolicy", "NetworkPolicy", "PodDisruptionBudget", "PodDisruptionBudget", "PodDisruptionBudget",
			"Service", "Service", "Service"},
		"cronjobs": {"ConfigMap", "ConfigMap", "CronJob", "CronJob", "CronJob", "Deployment", "Deployment", "HorizontalPodAutoscaler",
			"Ingress", "NetworkPolicy", "NetworkPolicy", "NetworkPolicy", "PodDisruptionBudget", "PodDisruptionBudget",
			"Service", "Service", "Service"},
	} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			var found []string
			for _, resource := range build(t, folder).Resources() {
				found = append(found, resource.GetKind())
				check(t, resource.GetKind(), resource.MustYaml())
			}
			if slices.Sort(found); !slices.Equal(found, want) {
				t.Errorf("kinds %v, want %v", found, want)
			}
		})
	}
}

func build(t *testing.T, folder string) resmap.ResMap {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), "../../deploy/kubernetes/"+folder)
	if err != nil {
		t.Fatal(err)
	}
	return built
}

// objects decodes the manifests of one kind.
func objects[T any](t *testing.T, folder, kind string) (all []T) {
	t.Helper()
	for _, resource := range build(t, folder).Resources() {
		if resource.GetKind() != kind {
			continue
		}
		var object T
		if err := yaml.UnmarshalStrict([]byte(resource.MustYaml()), &object); err != nil {
			t.Fatal(err)
		}
		all = append(all, object)
	}
	return all
}

// check decodes a manifest into the type of its kind, and checks its fields.
func check(t *testing.T, kind, text string) {
	t.Helper()
	newObject, known := kinds[kind]
	if !known {
		t.Errorf("no type for the kind %s", kind)
		return
	}
	object := newObject()
	if err := yaml.UnmarshalStrict([]byte(text), object); err != nil {
		t.Errorf("%s: %v", kind, err)
		return
	}
	switch o := object.(type) {
	case *appsv1.Deployment:
		if !selects(o.Spec.Selector.MatchLabels, o.Spec.Template.Labels) {
			t.Errorf("%s selects the labels %v, its pods have %v", o.Name, o.Spec.Selector.MatchLabels, o.Spec.Template.Labels)
		}
		checkPod(t, o.Name, o.Spec.Template.Spec)
		checkServer(t, o.Name, o.Spec.Template.Spec)
	case *batchv1.CronJob:
		if o.Spec.ConcurrencyPolicy != batchv1.ForbidConcurrent {
			t.Errorf("two runs of %s may overlap", o.Name)
		}
		checkPod(t, o.Name, o.Spec.JobTemplate.Spec.Template.Spec)
	}
}

func selects(selector, labels map[string]string) bool {
	for name, value := range selector {
		if labels[name] != value {
			return false
		}
	}
	return len(selector) > 0
}

// checkPod checks the security settings and limits that every pod needs.
func checkPod(t *testing.T, name string, pod corev1.PodSpec) {
	t.Helper()
	for _, c := range pod.Containers {
		secure := c.SecurityContext != nil && c.SecurityContext.AllowPrivilegeEscalation != nil && !*c.SecurityContext.AllowPrivilegeEscalation
		sources := 2 // of settings
		if name == balancer {
			sources = 0 // it needs no secret
		}
		if !secure || len(c.EnvFrom) != sources || c.Resources.Limits.Memory().IsZero() || len(c.Command) == 0 {
			t.Errorf("%s: a container lacks its security context, settings, memory limit or command: %+v", name, c)
		}
	}
	if pod.SecurityContext == nil || pod.SecurityContext.RunAsNonRoot == nil {
		t.Errorf("%s may run as root: %+v", name, pod)
	}
}

// seconds reads a number of seconds from a file of the programs, which this module does not import.
func seconds(t *testing.T, file, pattern string) int64 {
	t.Helper()
	text, err := os.ReadFile("../../" + file)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(pattern).FindSubmatch(text)
	if found == nil {
		t.Fatalf("%s does not have %s", file, pattern)
	}
	n, err := strconv.ParseInt(string(found[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// checkServer checks the probes and the time to stop that a long-running pod needs.
func checkServer(t *testing.T, name string, pod corev1.PodSpec) {
	t.Helper()
	// The default of SHUTDOWN_DELAY, and the time that requests and runs in progress have then.
	delay := seconds(t, "internal/config/config.go", `env:"SHUTDOWN_DELAY" default:"(\d+)s"`)
	stop := seconds(t, "internal/app/process.go", `stopTimeout = (\d+) \* time\.Second`)
	before := int64(0)
	for _, c := range pod.Containers {
		if c.Lifecycle != nil {
			before = max(before, c.Lifecycle.PreStop.Sleep.Seconds)
		}
	}
	if name == "api" && before < delay {
		t.Errorf("%s has a preStop of %d s: load balancers send requests to pods that stop", name, before)
	}
	if grace := pod.TerminationGracePeriodSeconds; grace == nil || *grace < before+delay+stop {
		t.Errorf("%s has less than %d s to stop", name, before+delay+stop)
	}
	for _, c := range pod.Containers {
		if c.LivenessProbe == nil || c.ReadinessProbe == nil || c.ReadinessProbe.HTTPGet.Path != "/readyz" {
			t.Errorf("%s: a container has no liveness probe, or no readiness probe at /readyz", name)
		}
	}
}
