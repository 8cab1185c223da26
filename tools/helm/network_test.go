package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// admits reports whether the Ingress sends a path to Holdfast.
func admits(ingress *networkingv1.Ingress, path string) bool {
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

// The Ingress has every route of shops and customers, and none of operators, with the balancer and without it.
func TestIngress_HidesWhatIsForOperators(t *testing.T) {
	t.Parallel()
	for _, set := range []string{"production", "ingress without a balancer"} {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			ingress := of[*networkingv1.Ingress](render(t, sets[set]))[fullname]
			if len(ingress.Spec.TLS) != 1 || ingress.Spec.TLS[0].Hosts[0] != ingress.Spec.Rules[0].Host {
				t.Errorf("TLS is for %+v", ingress.Spec.TLS)
			}
			checkRoutes(t, ingress)
		})
	}
}

func checkRoutes(t *testing.T, ingress *networkingv1.Ingress) {
	t.Helper()
	sources, err := filepath.Glob(root + "/httpapi/*.go")
	if err != nil {
		t.Fatal(err)
	}
	routes := 0
	for _, file := range sources {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
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
		"/assets/holdfast-seats-" + pickerVersion(t) + ".js", "/assets/holdfast-seats/decorations-" + pickerVersion(t) + ".js"} {
		if !admits(ingress, path) {
			t.Errorf("the Ingress does not admit %s", path)
		}
	}
}

// pickerVersion is the version in the path of the seat map.
func pickerVersion(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(root + "/picker/package.json")
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

// The prefixes of the Ingress are those of HAProxy's configuration.
func TestIngress_HasTheListOfHAProxy(t *testing.T) {
	t.Parallel()
	config := readFile(t, "deploy/haproxy/haproxy.cfg")
	var want []string
	for _, line := range regexp.MustCompile(`(?m)^\s+acl public path_beg (.*)$`).FindAllStringSubmatch(config, -1) {
		want = append(want, strings.Fields(line[1])...)
	}
	var got []string
	for _, p := range of[*networkingv1.Ingress](render(t, sets["production"]))[fullname].Spec.Rules[0].HTTP.Paths {
		path, _, _ := strings.Cut(p.Path, "seats")
		if path != p.Path {
			path += "seats"
		}
		got = append(got, path)
	}
	slices.Sort(got)
	got = slices.Compact(got)
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Errorf("the Ingress has %v, HAProxy %v", got, want)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Requests go from the Ingress to the balancer, and from there to the API's pods, whose names it asks DNS for. Its configuration is
// that of deploy/haproxy.
func TestBalancer_IsBetweenTheIngressAndTheAPI(t *testing.T) {
	t.Parallel()
	for set, row := range map[string]struct{ front, domain string }{
		"production": {"yes", "cluster.local"}, "load balancer": {"no", "cluster.local"}, "everything else": {"yes", "cluster.example"},
	} {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			all := render(t, sets[set])
			name := fullname
			if set == "everything else" {
				name = "tickets"
			}
			for _, i := range of[*networkingv1.Ingress](all) {
				for _, p := range i.Spec.Rules[0].HTTP.Paths {
					if p.Backend.Service.Name != name+"-balancer" {
						t.Errorf("the Ingress sends %s to %s", p.Path, p.Backend.Service.Name)
					}
				}
			}
			proxy, service := pods(all)["balancer"].Spec, of[*corev1.Service](all)[name+"-api-pods"]
			address := fmt.Sprintf("%s.%s.svc.%s:%d", service.Name, release.Namespace, row.domain, service.Spec.Ports[0].Port)
			env := []corev1.EnvVar{{Name: "API_DNS", Value: address}, {Name: "FRONT", Value: row.front}}
			if !slices.Equal(proxy.Containers[0].Env, env) || service.Spec.ClusterIP != corev1.ClusterIPNone {
				t.Errorf("the balancer has %+v, the pods are %s", proxy.Containers[0].Env, address)
			}
			if port := pods(all)["api"].Spec.Containers[0].Ports[0]; port.ContainerPort != service.Spec.Ports[0].Port {
				t.Errorf("the API listens on %d, DNS says nothing of ports: they are asked on %d", port.ContainerPort, service.Spec.Ports[0].Port)
			}
			config := of[*corev1.ConfigMap](all)[proxy.Volumes[0].ConfigMap.Name].Data["haproxy.cfg"]
			if config != readFile(t, "deploy/haproxy/haproxy.cfg") {
				t.Error("the configuration differs from deploy/haproxy/haproxy.cfg")
			}
		})
	}
	// The chart refuses more pods than the configuration has places for.
	places := regexp.MustCompile(`server-template api (\d+) `).FindAllStringSubmatch(readFile(t, "deploy/haproxy/haproxy.cfg"), -1)
	for _, p := range places {
		if p[1] != "16" {
			t.Errorf("the configuration has places for %s pods, the chart allows 16", p[1])
		}
	}
	if len(places) != 3 {
		t.Errorf("%d backends have places for pods", len(places))
	}
}

// A public balancer sees the addresses of its clients, and only it is public.
func TestService_KeepsAddressesOfClients(t *testing.T) {
	t.Parallel()
	for name, s := range of[*corev1.Service](render(t, sets["load balancer"])) {
		isFront := name == fullname+"-balancer"
		isPublic := s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
		if isFront != isPublic || isFront && (s.Spec.Ports[0].Port != 8000 || s.Annotations["a"] != "b") {
			t.Errorf("%s: %+v", name, s.Spec)
		}
	}
}

// reached is what policies let into a pod: the port of its metrics, and that of requests, from which places.
type reached struct {
	directions map[networkingv1.PolicyType]bool
	ports      map[string][]networkingv1.NetworkPolicyPeer
}

func reach(t *testing.T, all objects, pod corev1.PodTemplateSpec) reached {
	t.Helper()
	r := reached{map[networkingv1.PolicyType]bool{}, map[string][]networkingv1.NetworkPolicyPeer{}}
	for name, policy := range of[*networkingv1.NetworkPolicy](all) {
		if !selects(policy.Spec.PodSelector.MatchLabels, pod.Labels) {
			continue
		}
		for _, direction := range policy.Spec.PolicyTypes {
			r.directions[direction] = true
		}
		for _, rule := range policy.Spec.Ingress {
			if len(rule.From) == 0 || len(rule.Ports) == 0 {
				t.Errorf("the policy %s admits everything", name)
			}
			for _, port := range rule.Ports {
				r.ports[port.Port.String()] = append(r.ports[port.Port.String()], rule.From...)
			}
		}
	}
	return r
}

// Every pod is under a policy of both directions. Requests reach only the API and the balancer, from named places; Prometheus reaches the
// port of the metrics.
func TestNetworkPolicy_CoversEveryPod(t *testing.T) {
	t.Parallel()
	eachSet(t, func(t *testing.T, all objects) {
		if len(of[*networkingv1.NetworkPolicy](all)) == 0 {
			return
		}
		for name, pod := range pods(all) {
			r := reach(t, all, pod)
			if !r.directions[networkingv1.PolicyTypeIngress] || !r.directions[networkingv1.PolicyTypeEgress] || len(r.ports["8081"]) != 1 {
				t.Errorf("%s is under policies for %v, with the ports %v", name, r.directions, r.ports)
			}
			if isServer := name == "api" || name == "balancer"; isServer != (len(r.ports["http"]) > 0) {
				t.Errorf("requests reach %s from %v", name, r.ports["http"])
			}
		}
	})
}

// Requests come from the Ingress's namespace, from a shop's pods and, of a public balancer alone, from everywhere.
func TestNetworkPolicy_AdmitsTheFrontAlone(t *testing.T) {
	t.Parallel()
	for set, want := range map[string]map[string][]string{
		"production":                 {"api": {"client", "balancer"}, "balancer": {"client", "ingress-nginx"}},
		"load balancer":              {"api": {"client", "balancer"}, "balancer": {"client", "ingress-nginx", "everywhere"}},
		"ingress without a balancer": {"api": {"client", "ingress-nginx"}},
	} {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			all := render(t, sets[set])
			for component, places := range want {
				got := map[string]bool{}
				for _, from := range reach(t, all, pods(all)[component]).ports["http"] {
					got[place(from)] = true
				}
				for _, p := range places {
					if !got[p] {
						t.Errorf("%s does not admit %s", component, p)
					}
				}
				if len(got) != len(places) {
					t.Errorf("%s admits %v, want %v", component, got, places)
				}
			}
			if test := pods(all)["test"]; place(networkingv1.NetworkPolicyPeer{PodSelector: metaLabels(test.Labels)}) != "client" {
				t.Errorf("the pod of helm test may not call: it has the labels %v", test.Labels)
			}
		})
	}
}

// place names where a policy admits requests from.
func place(from networkingv1.NetworkPolicyPeer) string {
	switch {
	case from.IPBlock != nil:
		return "everywhere"
	case from.NamespaceSelector != nil && from.NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"] != "":
		return from.NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"]
	case from.NamespaceSelector != nil && from.NamespaceSelector.MatchLabels["holdfast.dev/client"] == "true":
		return "client"
	case from.PodSelector != nil && from.PodSelector.MatchLabels["holdfast.dev/client"] == "true":
		return "client"
	case from.PodSelector != nil:
		return from.PodSelector.MatchLabels["app.kubernetes.io/component"]
	default:
		return "unknown"
	}
}
