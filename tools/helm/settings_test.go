package main

import (
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// Secrets come from the Secret that the values name, or from that of the release. Redis and customers' tokens are optional. No secret
// is in a ConfigMap or in the pod itself.
func TestSecrets_ComeFromWhereTheValuesSay(t *testing.T) {
	t.Parallel()
	for set, want := range map[string]map[string]string{
		"defaults": {"MONGODB_URI": "holdfast/MONGODB_URI", "API_KEYS": "holdfast/API_KEYS"},
		"redis":    {"MONGODB_URI": "holdfast/MONGODB_URI", "API_KEYS": "holdfast/API_KEYS", "REDIS_URL": "holdfast/url"},
		"values": {
			"MONGODB_URI": fullname + "/MONGODB_URI", "API_KEYS": fullname + "/API_KEYS",
			"REDIS_URL": fullname + "/REDIS_URL", "JWT_SECRET": fullname + "/JWT_SECRET",
		},
	} {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			all := render(t, sets[set])
			for name, pod := range pods(all) {
				if name == "balancer" {
					continue
				}
				for _, c := range pod.Spec.Containers {
					got := map[string]string{}
					for _, e := range c.Env {
						if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
							got[e.Name] = e.ValueFrom.SecretKeyRef.Name + "/" + e.ValueFrom.SecretKeyRef.Key
						} else if want[e.Name] != "" {
							t.Errorf("%s has %s itself", name, e.Name)
						}
					}
					if !maps.Equal(got, want) {
						t.Errorf("%s has %v, want %v", name, got, want)
					}
				}
			}
			for secret := range want {
				if settings(t, all)[secret] != "" {
					t.Errorf("the ConfigMap has %s", secret)
				}
			}
		})
	}
	// What is in the values arrives as it is.
	keys := of[*corev1.Secret](render(t, sets["values"]))[fullname].StringData["API_KEYS"]
	if want := `shop:booking:0123456789abcdef0123,ops:admin:"quoted"\and-&-more`; keys != want {
		t.Errorf("the keys are %s, want %s", keys, want)
	}
}

// Settings arrive as they are: Helm 3 reads whole numbers as floating-point ones, which are written as 1e+06.
func TestSettings_ArriveAsTheyAre(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"SHUTDOWN_DELAY": "60s", "MAX_SEATS_PER_LOCK": "1000000", "SWEEP_BATCH": "100", "DEMO": "true", "LOCK_DEFAULT_TTL": "5m",
		"CORS_ORIGINS": "https://shop.example",
	}
	if got := settings(t, render(t, sets["values"])); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Pods start again when the settings or the secrets of the release change, and not otherwise.
func TestSettings_NewOnesStartNewPods(t *testing.T) {
	t.Parallel()
	checksum := func(values, component string) string {
		return pods(render(t, values))[component].Annotations["checksum/config"]
	}
	base := "mongodb: {uri: 'mongodb://a'}\napiKeys: {existingSecret: holdfast}\n"
	for _, component := range []string{"api", "worker"} {
		before := checksum(base, component)
		if before == "" || checksum(base+"worker: {replicas: 3}\n", component) != before {
			t.Errorf("%s starts again for a replica", component)
		}
		if checksum(base+"settings: {DEMO: true}\n", component) == before {
			t.Errorf("%s does not start again for a new setting", component)
		}
		if checksum(strings.Replace(base, "//a", "//b", 1), component) == before {
			t.Errorf("%s does not start again for a new secret", component)
		}
	}
}

// A digest counts more than a tag, and the tag of Holdfast's image is the chart's version of it.
func TestImages_HaveAVersionOrADigest(t *testing.T) {
	t.Parallel()
	const image, digest = "ghcr.io/holdfast-dev/holdfast", "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for set, want := range map[string]string{"defaults": image + ":0.1.0", "cronjobs": image + ":0.1.0", "digest": image + digest} {
		for name, pod := range pods(render(t, sets[set])) {
			for _, c := range pod.Spec.Containers {
				if name == "balancer" {
					if c.Image != "haproxy:2.6" {
						t.Errorf("the balancer's image is %s", c.Image)
					}
				} else if c.Image != want {
					t.Errorf("%s: the image of %s is %s, want %s", set, name, c.Image, want)
				}
			}
			if set == "digest" && (len(pod.Spec.ImagePullSecrets) != 1 || pod.Spec.Containers[0].ImagePullPolicy != corev1.PullAlways) {
				t.Errorf("%s is pulled with %+v", name, pod.Spec.ImagePullSecrets)
			}
		}
	}
}
