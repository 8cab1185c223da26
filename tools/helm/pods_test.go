package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// eachSet runs a test for the objects of every set of values.
func eachSet(t *testing.T, test func(t *testing.T, all objects)) {
	t.Helper()
	for name, values := range sets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, render(t, values))
		})
	}
}

// No pod runs as root, writes to its image, has a token of Kubernetes, or takes all memory of its machine.
func TestPods_HaveFewRights(t *testing.T) {
	t.Parallel()
	eachSet(t, func(t *testing.T, all objects) {
		for _, account := range of[*corev1.ServiceAccount](all) {
			if account.AutomountServiceAccountToken == nil || *account.AutomountServiceAccountToken {
				t.Errorf("the account %s has a token", account.Name)
			}
		}
		for name, pod := range pods(all) {
			if s := pod.Spec.SecurityContext; s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.RunAsUser == nil || *s.RunAsUser == 0 ||
				s.SeccompProfile == nil || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
				t.Errorf("%s may run as root: %+v", name, s)
			}
			if token := pod.Spec.AutomountServiceAccountToken; token == nil || *token {
				t.Errorf("%s has a token", name)
			}
			if links := pod.Spec.EnableServiceLinks; links == nil || *links {
				t.Errorf("%s gets settings from the names of services", name)
			}
			for _, c := range pod.Spec.Containers {
				s := c.SecurityContext
				if s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || s.ReadOnlyRootFilesystem == nil ||
					!*s.ReadOnlyRootFilesystem || s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) {
					t.Errorf("%s/%s has the security context %+v", name, c.Name, s)
				}
				if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
					t.Errorf("%s/%s has the resources %+v", name, c.Name, c.Resources)
				}
			}
		}
	})
}

// seconds reads a number of seconds from a file of the programs, which this module does not import.
func seconds(t *testing.T, file, pattern string) int64 {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
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

// Every server has probes at ports that it has, and time to stop: load balancers learn of it, then requests in progress end.
func TestPods_HaveProbesAndTimeToStop(t *testing.T) {
	t.Parallel()
	const process = "internal/app/process.go"
	stop := seconds(t, process, `stopTimeout = (\d+) \* time\.Second`) + seconds(t, process, `sendTimeout = (\d+) \* time\.Second`)
	hardStop := seconds(t, "deploy/haproxy/haproxy.cfg", `hard-stop-after (\d+)s`)
	eachSet(t, func(t *testing.T, all objects) {
		delay, err := strconv.ParseInt(strings.TrimSuffix(settings(t, all)["SHUTDOWN_DELAY"], "s"), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range of[*appsv1.Deployment](all) {
			component, pod := d.Spec.Template.Labels["app.kubernetes.io/component"], d.Spec.Template.Spec
			c, before := pod.Containers[0], int64(0)
			if c.Lifecycle != nil {
				before = c.Lifecycle.PreStop.Sleep.Seconds
			}
			want := map[string]int64{"api": before + delay + stop, "worker": before + delay + stop, "balancer": before + hardStop}[component]
			if grace := pod.TerminationGracePeriodSeconds; want == 0 || grace == nil || *grace < want {
				t.Errorf("%s has %v s to stop, and needs %d", component, grace, want)
			}
			if component != "worker" && before < 5 {
				t.Errorf("%s has a preStop of %d s: it is sent requests while it stops", component, before)
			}
			if c.LivenessProbe == nil || c.ReadinessProbe == nil || c.ReadinessProbe.HTTPGet.Path != "/readyz" ||
				(component == "api") != (c.StartupProbe != nil) {
				t.Errorf("%s lacks a probe", component)
			}
			spread := pod.TopologySpreadConstraints
			if len(spread) != 1 || !selects(spread[0].LabelSelector.MatchLabels, d.Spec.Template.Labels) {
				t.Errorf("the pods of %s may all be on one machine: %+v", component, spread)
			}
		}
		for _, j := range of[*batchv1.CronJob](all) {
			if j.Spec.ConcurrencyPolicy != batchv1.ForbidConcurrent {
				t.Errorf("two runs of %s may overlap", j.Name)
			}
		}
	})
}

// settings are those of the release's ConfigMap.
func settings(t *testing.T, all objects) map[string]string {
	t.Helper()
	for _, m := range of[*corev1.ConfigMap](all) {
		if m.Data["SHUTDOWN_DELAY"] != "" {
			return m.Data
		}
	}
	t.Fatal("no ConfigMap has the settings")
	return nil
}

// What an object names exists: ports, volumes, accounts, services, workloads, and what the release itself creates.
func TestChart_ReferencesResolve(t *testing.T) {
	t.Parallel()
	eachSet(t, func(t *testing.T, all objects) {
		for name, pod := range pods(all) {
			checkPodReferences(t, all, name, pod.Spec)
		}
		for name, s := range of[*corev1.Service](all) {
			if target := podOf(all, s.Spec.Selector); target == nil || !hasPort(*target, s.Spec.Ports[0].TargetPort) {
				t.Errorf("the service %s leads to no port of a pod: %+v", name, s.Spec)
			}
		}
		for name, d := range of[*appsv1.Deployment](all) {
			if !selects(d.Spec.Selector.MatchLabels, d.Spec.Template.Labels) {
				t.Errorf("%s does not select its pods", name)
			}
			if len(podsOf(all, d.Spec.Selector.MatchLabels)) != 1 {
				t.Errorf("%s selects the pods of others", name)
			}
		}
		for name, b := range of[*policyv1.PodDisruptionBudget](all) {
			if podOf(all, b.Spec.Selector.MatchLabels) == nil || b.Spec.MaxUnavailable.IntValue() != 1 {
				t.Errorf("the budget %s guards no pods", name)
			}
		}
		for name, h := range of[*autoscalingv2.HorizontalPodAutoscaler](all) {
			if d := of[*appsv1.Deployment](all)[h.Spec.ScaleTargetRef.Name]; d == nil || d.Spec.Replicas != nil {
				t.Errorf("the autoscaler %s has no target whose replicas it alone sets", name)
			}
		}
		for _, i := range of[*networkingv1.Ingress](all) {
			for _, p := range i.Spec.Rules[0].HTTP.Paths {
				s := of[*corev1.Service](all)[p.Backend.Service.Name]
				if s == nil || s.Spec.Ports[0].Name != p.Backend.Service.Port.Name {
					t.Errorf("the Ingress leads %s to %+v", p.Path, p.Backend.Service)
				}
			}
		}
	})
}

func checkPodReferences(t *testing.T, all objects, name string, pod corev1.PodSpec) {
	t.Helper()
	if of[*corev1.ServiceAccount](all)[pod.ServiceAccountName] == nil && pod.ServiceAccountName != "tickets" {
		t.Errorf("%s has the account %q", name, pod.ServiceAccountName)
	}
	volumes := map[string]bool{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
		if v.ConfigMap != nil && v.Name != "keys" && of[*corev1.ConfigMap](all)[v.ConfigMap.Name] == nil {
			t.Errorf("%s: no ConfigMap %s", name, v.ConfigMap.Name)
		}
	}
	for _, c := range pod.Containers {
		for _, m := range c.VolumeMounts {
			if !volumes[m.Name] {
				t.Errorf("%s: no volume %s", name, m.Name)
			}
		}
		for _, from := range c.EnvFrom {
			if of[*corev1.ConfigMap](all)[from.ConfigMapRef.Name] == nil {
				t.Errorf("%s: no ConfigMap %s", name, from.ConfigMapRef.Name)
			}
		}
		for _, e := range c.Env {
			if e.ValueFrom == nil || e.ValueFrom.SecretKeyRef == nil || e.ValueFrom.SecretKeyRef.Name == "holdfast" {
				continue
			}
			ref := e.ValueFrom.SecretKeyRef
			if s := of[*corev1.Secret](all)[ref.Name]; s == nil || s.StringData[ref.Key] == "" {
				t.Errorf("%s: no key %s in a Secret %s", name, ref.Key, ref.Name)
			}
		}
		for _, probe := range []*corev1.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
			if probe != nil && (probe.HTTPGet != nil && !hasPort(pod, probe.HTTPGet.Port) ||
				probe.TCPSocket != nil && !hasPort(pod, probe.TCPSocket.Port)) {
				t.Errorf("%s: a probe has no port: %+v", name, probe)
			}
		}
	}
}

// podsOf returns the pods that a selector selects.
func podsOf(all objects, selector map[string]string) (found []corev1.PodSpec) {
	for _, pod := range pods(all) {
		if selects(selector, pod.Labels) {
			found = append(found, pod.Spec)
		}
	}
	return found
}

func podOf(all objects, selector map[string]string) *corev1.PodSpec {
	if found := podsOf(all, selector); len(found) == 1 {
		return &found[0]
	}
	return nil
}

func hasPort(pod corev1.PodSpec, port intstr.IntOrString) bool {
	return slices.ContainsFunc(pod.Containers[0].Ports, func(p corev1.ContainerPort) bool {
		return p.Name == port.StrVal && port.Type == intstr.String || p.ContainerPort == port.IntVal && port.Type == intstr.Int
	})
}

// buildPrograms builds the programs of the image.
func buildPrograms(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	command := exec.CommandContext(t.Context(), "go", "build", "-o", folder+"/", "./cmd/api", "./cmd/worker", "./cmd/seatctl")
	command.Dir = root
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return folder
}

// environment is what a container gets, with a value for each secret that is not of the release.
func environment(t *testing.T, all objects, c corev1.Container) map[string]string {
	t.Helper()
	env := map[string]string{}
	for _, from := range c.EnvFrom {
		maps.Copy(env, of[*corev1.ConfigMap](all)[from.ConfigMapRef.Name].Data)
	}
	for _, e := range c.Env {
		switch {
		case e.ValueFrom == nil:
			env[e.Name] = e.Value
		case e.ValueFrom.FieldRef != nil:
			env[e.Name] = "pod-1"
		case of[*corev1.Secret](all)[e.ValueFrom.SecretKeyRef.Name] != nil:
			env[e.Name] = of[*corev1.Secret](all)[e.ValueFrom.SecretKeyRef.Name].StringData[e.ValueFrom.SecretKeyRef.Key]
		default:
			env[e.Name] = map[string]string{
				"MONGODB_URI": mongoURI, "API_KEYS": "shop:admin:0123456789abcdef0123", "REDIS_URL": "redis://127.0.0.1:2",
			}[e.Name]
		}
	}
	return env
}

// The programs of the image take what the chart sets: each variable is in their help, and they start with all of them, up to the
// database, which is not there. A setting that is not valid would end them with the status 2.
func TestPods_ProgramsTakeTheirSettings(t *testing.T) {
	t.Parallel()
	programs := buildPrograms(t)
	image, err := os.ReadFile(root + "/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	help := map[string]string{}
	for _, arguments := range []string{
		"/api", "/worker", "/seatctl doctor", "/seatctl sweep", "/seatctl recover", "/seatctl retention", "/seatctl api",
	} {
		fields := strings.Fields(arguments)
		out, err := exec.CommandContext(t.Context(), programs+fields[0], append(fields[1:], "--help")...).Output()
		if err != nil {
			t.Fatal(err)
		}
		help[arguments] = string(out)
	}
	starts := map[string]start{} // many sets of values give the same
	for _, values := range sets {
		all := render(t, values)
		for name, pod := range pods(all) {
			if name == "balancer" {
				continue
			}
			for _, c := range pod.Spec.Containers {
				command := strings.Join(c.Command[:min(2, len(c.Command))], " ")
				if help[command] == "" || !strings.Contains(string(image), "/out"+c.Command[0]+" ") {
					t.Errorf("%s: the image does not have %q", name, command)
				}
				env := environment(t, all, c)
				for variable := range env {
					if !strings.Contains(help[command]+help["/api"], "$"+variable) && !strings.HasPrefix(variable, "OTEL_") {
						t.Errorf("%s: %s is not a setting", name, variable)
					}
				}
				starts[fmt.Sprint(c.Command, env)] = start{c.Command, env}
			}
		}
	}
	if len(starts) < len(help) {
		t.Errorf("only %d commands were found", len(starts))
	}
	for _, s := range starts {
		t.Run(s.command[0][1:], func(t *testing.T) {
			t.Parallel()
			s.run(t, programs)
		})
	}
}

// start is a command of a container with its environment.
type start struct {
	command []string
	env     map[string]string
}

// run runs the command. Neither the database nor the API can be reached: the exit status is 1.
func (s start) run(t *testing.T, programs string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), programs+s.command[0], s.command[1:]...)
	for name, value := range s.env {
		switch name {
		case "JWKS_FILE": // a file of the pod
			value = filepath.Join(programs, "seatctl")
		case "HOLDFAST_URL":
			value = "http://127.0.0.1:1"
		}
		command.Env = append(command.Env, name+"="+value)
	}
	out, err := command.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("%v ends with %v, want the status 1\n%s", s.command, err, out)
	}
}

// The chart refuses what is not a setting: its list is that of the programs.
func TestChart_KnowsTheSettingsOfThePrograms(t *testing.T) {
	t.Parallel()
	owned := []string{
		"MONGODB_URI", "API_KEYS", "REDIS_URL", "JWT_SECRET", "REDIS_PASSWORD", "SHUTDOWN_DELAY", "HTTP_ADDR", "METRICS_ADDR", "POD_NAME",
	}
	var want []string
	sources, err := filepath.Glob(root + "/internal/config/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range sources {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(`env:"([A-Z_]+)"`).FindAllSubmatch(source, -1) {
			if name := string(match[1]); !slices.Contains(owned, name) {
				want = append(want, name)
			}
		}
	}
	text, err := os.ReadFile(chartDir + "/templates/_validate.tpl")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), `{{- define "holdfast.knownSettings" -}}`)
	list, _, _ = strings.Cut(list, "{{-")
	got := strings.Fields(list)
	slices.Sort(got)
	if slices.Sort(want); !slices.Equal(got, want) || len(want) < 30 {
		t.Errorf("the chart knows %v\nthe programs %v", got, want)
	}
}
