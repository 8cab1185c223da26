package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// types has the type of each kind. A field that the type lacks is an error.
var types = map[string]func() metav1.Object{
	"apps/v1 Deployment":                     func() metav1.Object { return &appsv1.Deployment{} },
	"v1 Service":                             func() metav1.Object { return &corev1.Service{} },
	"v1 ConfigMap":                           func() metav1.Object { return &corev1.ConfigMap{} },
	"v1 Secret":                              func() metav1.Object { return &corev1.Secret{} },
	"v1 ServiceAccount":                      func() metav1.Object { return &corev1.ServiceAccount{} },
	"v1 Pod":                                 func() metav1.Object { return &corev1.Pod{} },
	"autoscaling/v2 HorizontalPodAutoscaler": func() metav1.Object { return &autoscalingv2.HorizontalPodAutoscaler{} },
	"policy/v1 PodDisruptionBudget":          func() metav1.Object { return &policyv1.PodDisruptionBudget{} },
	"networking.k8s.io/v1 Ingress":           func() metav1.Object { return &networkingv1.Ingress{} },
	"networking.k8s.io/v1 NetworkPolicy":     func() metav1.Object { return &networkingv1.NetworkPolicy{} },
	"batch/v1 CronJob":                       func() metav1.Object { return &batchv1.CronJob{} },

	"monitoring.coreos.com/v1 PodMonitor":     func() metav1.Object { return &monitoringv1.PodMonitor{} },
	"monitoring.coreos.com/v1 PrometheusRule": func() metav1.Object { return &monitoringv1.PrometheusRule{} },
}

// object is a manifest, and what it is decoded into.
type object struct {
	kind  string
	meta  metav1.ObjectMeta
	typed metav1.Object
}

type objects []object

// of returns the objects of a type by name.
func of[T metav1.Object](all objects) map[string]T {
	found := map[string]T{}
	for _, o := range all {
		if typed, isOne := o.typed.(T); isOne {
			found[o.meta.Name] = typed
		}
	}
	return found
}

var separator = regexp.MustCompile(`(?m)^---\s*$`)

// manifests splits a rendered file.
func manifests(text string) (all []string) {
	for _, manifest := range separator.Split(text, -1) {
		if strings.TrimSpace(manifest) != "" {
			all = append(all, manifest)
		}
	}
	return all
}

func decode(t *testing.T, file, text string) (all objects) {
	t.Helper()
	for _, manifest := range manifests(text) {
		o, err := decodeOne(manifest)
		if err != nil {
			t.Errorf("%s: %v\n%s", file, err, manifest)
			continue
		}
		if o.kind != "" {
			all = append(all, o)
		}
	}
	return all
}

// decodeOne decodes a manifest into the type of its kind. One of comments alone has no kind.
func decodeOne(manifest string) (object, error) {
	var head struct {
		metav1.TypeMeta `json:",inline"`

		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	if err := yaml.Unmarshal([]byte(manifest), &head); err != nil {
		return object{}, err
	}
	if head.Kind == "" {
		if strings.Contains(manifest, "metadata:") {
			return object{}, errors.New("it has no kind")
		}
		return object{}, nil
	}
	newObject, known := types[head.APIVersion+" "+head.Kind]
	if !known {
		return object{}, fmt.Errorf("no type for %s %s", head.APIVersion, head.Kind)
	}
	o := object{kind: head.Kind, meta: head.Metadata, typed: newObject()}
	return o, yaml.UnmarshalStrict([]byte(manifest), o.typed)
}

// pods returns the templates of all pods, by their component.
func pods(all objects) map[string]corev1.PodTemplateSpec {
	found := map[string]corev1.PodTemplateSpec{}
	add := func(p corev1.PodTemplateSpec) { found[p.Labels["app.kubernetes.io/component"]] = p }
	for _, d := range of[*appsv1.Deployment](all) {
		add(d.Spec.Template)
	}
	for _, c := range of[*batchv1.CronJob](all) {
		add(c.Spec.JobTemplate.Spec.Template)
	}
	for _, p := range of[*corev1.Pod](all) {
		add(corev1.PodTemplateSpec{ObjectMeta: p.ObjectMeta, Spec: p.Spec})
	}
	return found
}

func selects(selector, labels map[string]string) bool {
	for name, value := range selector {
		if labels[name] != value {
			return false
		}
	}
	return len(selector) > 0
}
