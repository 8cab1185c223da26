// Package kubernetes_test builds the manifests of deploy/kubernetes and checks
// them against the types of Kubernetes' API. It is a module of its own, so that
// nothing of Kubernetes is among what the programs need.
package kubernetes_test

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// kinds are the types that documents have to fit, field by field.
var kinds = map[string]func() any{
	"Deployment":              func() any { return &appsv1.Deployment{} },
	"Service":                 func() any { return &corev1.Service{} },
	"ConfigMap":               func() any { return &corev1.ConfigMap{} },
	"HorizontalPodAutoscaler": func() any { return &autoscalingv2.HorizontalPodAutoscaler{} },
	"PodDisruptionBudget":     func() any { return &policyv1.PodDisruptionBudget{} },
	"CronJob":                 func() any { return &batchv1.CronJob{} },
}

func TestManifests_FitTheirSchemas(t *testing.T) {
	t.Parallel()
	for folder, want := range map[string][]string{
		"base":     {"ConfigMap", "Deployment", "Deployment", "HorizontalPodAutoscaler", "PodDisruptionBudget", "PodDisruptionBudget", "Service"},
		"cronjobs": {"ConfigMap", "CronJob", "CronJob", "Deployment", "HorizontalPodAutoscaler", "PodDisruptionBudget", "Service"},
	} {
		built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), "../../deploy/kubernetes/"+folder)
		if err != nil {
			t.Fatalf("%s: %v", folder, err)
		}
		var found []string
		for _, resource := range built.Resources() {
			found = append(found, resource.GetKind())
			check(t, folder, resource.GetKind(), resource.MustYaml())
		}
		if slices.Sort(found); !slices.Equal(found, want) {
			t.Errorf("%s has %v, want %v", folder, found, want)
		}
	}
}

func check(t *testing.T, folder, kind, text string) {
	t.Helper()
	make, known := kinds[kind]
	if !known {
		t.Errorf("%s: a %s is not looked at", folder, kind)
		return
	}
	object := make()
	if err := yaml.UnmarshalStrict([]byte(text), object); err != nil {
		t.Errorf("%s: %s: %v", folder, kind, err)
		return
	}
	switch o := object.(type) {
	case *appsv1.Deployment:
		if !fits(o.Spec.Selector.MatchLabels, o.Spec.Template.Labels) {
			t.Errorf("%s: %s selects %v, its pods have %v", folder, o.Name, o.Spec.Selector.MatchLabels, o.Spec.Template.Labels)
		}
		checkPod(t, folder+" "+o.Name, o.Spec.Template.Spec, true)
	case *batchv1.CronJob:
		if o.Spec.ConcurrencyPolicy != batchv1.ForbidConcurrent {
			t.Errorf("%s: %s may run beside itself", folder, o.Name)
		}
		checkPod(t, folder+" "+o.Name, o.Spec.JobTemplate.Spec.Template.Spec, false)
	}
}

func fits(selector, labels map[string]string) bool {
	for name, value := range selector {
		if labels[name] != value {
			return false
		}
	}
	return len(selector) > 0
}

// checkPod looks for what a pod of Holdfast has to have.
func checkPod(t *testing.T, name string, pod corev1.PodSpec, serves bool) {
	t.Helper()
	for _, c := range pod.Containers {
		secure := c.SecurityContext != nil && c.SecurityContext.AllowPrivilegeEscalation != nil && !*c.SecurityContext.AllowPrivilegeEscalation
		if !secure || len(c.EnvFrom) != 2 || c.Resources.Limits.Memory().IsZero() || len(c.Command) == 0 {
			t.Errorf("%s: %+v", name, c)
		}
		if serves && (c.LivenessProbe == nil || c.ReadinessProbe == nil || c.ReadinessProbe.HTTPGet.Path != "/readyz") {
			t.Errorf("%s has no probes", name)
		}
	}
	if pod.SecurityContext == nil || pod.SecurityContext.RunAsNonRoot == nil || (serves && (pod.TerminationGracePeriodSeconds == nil || *pod.TerminationGracePeriodSeconds < 10)) {
		t.Errorf("%s: %+v", name, pod)
	}
}
