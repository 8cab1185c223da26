package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	commonutil "helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"
)

// secrets is all that an installation has to set.
const secrets = "mongodb: {existingSecret: holdfast}\napiKeys: {existingSecret: holdfast}\n"

// mongoURI refers to a server that does not exist.
const mongoURI = "mongodb://127.0.0.1:1/?replicaSet=rs0&serverSelectionTimeoutMS=100"

// sets are values that installations of each kind have.
var sets = map[string]string{
	"defaults": secrets,
	"values": "mongodb: {uri: '" + mongoURI + "'}\n" + `apiKeys: {value: 'shop:booking:0123456789abcdef0123,ops:admin:"quoted"\and-&-more'}
redis: {url: "redis://user:pass@127.0.0.1:2"}
jwt: {secret: "01234567890123456789012345678901"}
settings: {MAX_SEATS_PER_LOCK: 1000000, SWEEP_BATCH: 100, DEMO: true, LOCK_DEFAULT_TTL: 5m, CORS_ORIGINS: "https://shop.example"}
api: {shutdownDelaySeconds: 60}
`,
	"redis": secrets + "redis: {existingSecret: holdfast, existingSecretKey: url}\n",
	"ingress without a balancer": secrets + `balancer: {enabled: false}
ingress: {enabled: true, host: tickets.example.com, className: nginx, tlsSecret: tickets-tls}
networkPolicy: {enabled: true}
`,
	"cronjobs": secrets + `worker: {mode: cronjobs}
monitoring: {enabled: true, labels: {release: prometheus}}
networkPolicy: {enabled: true}
`,
	"monitoring": secrets + "monitoring: {enabled: true}\n",
	"production": secrets + `ingress: {enabled: true, host: tickets.example.com, tlsSecret: tickets-tls}
networkPolicy: {enabled: true, monitoringNamespace: observability}
`,
	"load balancer": secrets + "service: {type: LoadBalancer, port: 8000, annotations: {a: b}}\nnetworkPolicy: {enabled: true}\n",
	"digest": secrets + `image: {digest: "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", pullPolicy: Always}
imagePullSecrets: [{name: registry}]
`,
	"everything else": secrets + `fullnameOverride: tickets
clusterDomain: cluster.example
extraEnv: [{name: OTEL_EXPORTER_OTLP_ENDPOINT, value: "http://otel:4318"}]
settings: {JWKS_FILE: /keys/jwks.json}
extraVolumes: [{name: keys, configMap: {name: keys}}]
extraVolumeMounts: [{name: keys, mountPath: /keys}]
podAnnotations: {sidecar.example/inject: "true"}
podLabels: {team: tickets}
serviceAccount: {annotations: {iam.example/role: tickets}}
api:
  autoscaling: {enabled: false}
  nodeSelector: {disk: fast}
  tolerations: [{key: sale, operator: Exists}]
  affinity:
    nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}
balancer: {nodeSelector: {disk: fast}}
`,
	"an account that exists": secrets + "serviceAccount: {create: false, name: tickets}\n",
}

// release is the installation that tests render. Neither its name nor its namespace is what the values or rules would guess.
var release = common.ReleaseOptions{Name: "autumn", Namespace: "tickets", IsInstall: true, Revision: 1}

const fullname = "autumn-holdfast"

func TestMain(m *testing.M) {
	slog.SetLogLoggerLevel(slog.LevelWarn) // Helm logs each link that it follows
	os.Exit(m.Run())
}

func loadChart(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.LoadDir(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// renderWith renders the chart's files with values, as helm template does.
func renderWith(ctx context.Context, c *chart.Chart, values string, options common.ReleaseOptions) (map[string]string, error) {
	given := map[string]any{}
	if err := yaml.Unmarshal([]byte(values), &given); err != nil {
		return nil, err
	}
	all, err := commonutil.ToRenderValues(c, given, options, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Engine{Strict: true}.RenderWithContext(ctx, c, all)
}

// render returns the chart's objects for values.
func render(t *testing.T, values string) (all objects) {
	t.Helper()
	return renderAs(t, values, release)
}

func renderAs(t *testing.T, values string, options common.ReleaseOptions) (all objects) {
	t.Helper()
	files, err := renderWith(t.Context(), loadChart(t), values, options)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(name, ".yaml") {
			all = append(all, decode(t, name, files[name])...)
		}
	}
	return all
}

// Every object has only fields of its type: the API server would ignore others, such as those that are misspelt.
func TestChart_ObjectsMatchTheirTypes(t *testing.T) {
	t.Parallel()
	base := []string{"ConfigMap 2", "Deployment 3", "HorizontalPodAutoscaler 1", "Pod 1", "PodDisruptionBudget 3", "Service 3",
		"ServiceAccount 1"}
	for set, changes := range map[string][]string{
		"defaults":                   nil,
		"values":                     {"Secret 1"},
		"redis":                      nil,
		"ingress without a balancer": {"ConfigMap 1", "Deployment 2", "Ingress 1", "NetworkPolicy 3", "PodDisruptionBudget 2", "Service 1"},
		"cronjobs": {"CronJob 3", "Deployment 2", "NetworkPolicy 4", "PodDisruptionBudget 2", "PodMonitor 1",
			"PrometheusRule 1"},
		"monitoring":             {"PodMonitor 1", "PrometheusRule 1"},
		"production":             {"Ingress 1", "NetworkPolicy 4"},
		"load balancer":          {"NetworkPolicy 4"},
		"digest":                 nil,
		"everything else":        {"HorizontalPodAutoscaler 0"},
		"an account that exists": {"ServiceAccount 0"},
	} {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			want := map[string]int{}
			for _, entry := range append(slices.Clone(base), changes...) {
				var kind string
				var n int
				if _, err := fmt.Sscan(entry, &kind, &n); err != nil {
					t.Fatal(err)
				}
				if want[kind] = n; n == 0 {
					delete(want, kind)
				}
			}
			got, names := map[string]int{}, map[string]bool{}
			for _, o := range render(t, sets[set]) {
				got[o.kind]++
				if name := o.kind + " " + o.meta.Name; names[name] {
					t.Errorf("two objects are %s", name)
				} else {
					names[name] = true
				}
				if !strings.HasPrefix(o.meta.Name, fullname) && set != "everything else" {
					t.Errorf("%s %s would collide with that of another release", o.kind, o.meta.Name)
				}
			}
			if !maps.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
	for set := range sets {
		if len(render(t, sets[set])) == 0 {
			t.Errorf("%s renders nothing", set)
		}
	}
}

// helm lint --strict, for each set of values.
func TestChart_IsCleanForTheLinter(t *testing.T) {
	t.Parallel()
	sets := maps.Clone(sets)
	sets["no values"] = ""
	for name, text := range sets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, m := range lintChart(t, chartDir, text) {
				if m.Severity >= support.WarningSev {
					t.Error(m)
				}
			}
		})
	}
}

func lintChart(t *testing.T, folder, text string) []support.Message {
	t.Helper()
	values := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	return lint.RunAll(folder, values, release.Namespace).Messages
}

// What these tests would notice: a template that names a value that does not exist, and a field that no object has.
func TestChart_WrongTemplatesFail(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ file, text, instead, want string }{
		"a missing value": {"api.yaml", ".Values.api.resources", ".Values.api.resource", `no entry for key "resource"`},
		"a missing part":  {"_helpers.tpl", `define "holdfast.spread"`, `define "holdfast.spreads"`, `no template "holdfast.spread"`},
		"a wrong field":   {"worker.yaml", "replicas: {{", "replica: {{", `unknown field "replica"`},
		"no YAML":         {"ingress.yaml", "kind: Ingress", "kind: [Ingress", "yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := loadChart(t)
			for _, template := range c.Templates {
				if template.Name == "templates/"+row.file {
					changed := strings.ReplaceAll(string(template.Data), row.text, row.instead)
					if changed == string(template.Data) {
						t.Fatalf("%s has no %s", row.file, row.text)
					}
					template.Data = []byte(changed)
				}
			}
			files, err := renderWith(t.Context(), c, sets["production"], release)
			for name, text := range files {
				for _, manifest := range manifests(text) {
					if _, wrong := decodeOne(manifest); wrong != nil && strings.HasSuffix(name, ".yaml") {
						err = wrong
					}
				}
			}
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}

// A null removes a default that a template reads. The schema refuses it in words.
func TestChart_RequiresEachDefault(t *testing.T) {
	t.Parallel()
	schema, values := map[string]any{}, map[string]any{}
	if err := yaml.Unmarshal(loadChart(t).Schema, &schema); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(readFile(t, "deploy/helm/holdfast/values.yaml")), &values); err != nil {
		t.Fatal(err)
	}
	checkRequired(t, "", values, schema)
}

func checkRequired(t *testing.T, path string, values, schema map[string]any) {
	t.Helper()
	properties, isKnown := schema["properties"].(map[string]any)
	if !isKnown { // any names are allowed, and none is read
		return
	}
	required, _ := schema["required"].([]any)
	for name, value := range values {
		if !slices.Contains(required, any(name)) {
			t.Errorf("the schema does not require %s.%s", path, name)
		}
		inner, _ := value.(map[string]any)
		of, _ := properties[name].(map[string]any)
		checkRequired(t, path+"."+name, inner, of)
	}
}

// Wrong values are refused before anything is installed. The message says what to do, and shows no secret.
func TestChart_RefusesWrongValues(t *testing.T) {
	t.Parallel()
	const secret = "c0rrect-h0rse-battery"
	for _, row := range []struct{ values, want string }{
		{"", "no MongoDB is given: set mongodb.existingSecret"},
		{"mongodb: {existingSecret: holdfast}", "no API keys are given: set apiKeys.existingSecret"},
		{
			secrets + "mongodb: {existingSecret: h, uri: mongodb://" + secret + "}",
			"mongodb.uri and mongodb.existingSecret are both set: unset one",
		},
		{"mongodb: {uri: 'http://" + secret + "'}", "mongodb.uri is not a connection string"},
		{"apiKeys: {value: 'shop:boss:" + secret + "'}", "apiKeys.value, entry 1: use the form name:scope:secret"},
		{"apiKeys: {value: 'shop:admin:" + secret + ",ops:admin:short'}", "apiKeys.value, entry 2"},
		{"redis: {url: 'http://" + secret + "'}", "redis.url is not an address of Redis"},
		{"jwt: {secret: " + secret + "}", "jwt.secret has less than 32 bytes"},
		{secrets + "settings: {LOCK_TTL: 5m}", "settings.LOCK_TTL is not a setting of Holdfast 0.1.0: /api --help lists them"},
		{secrets + "settings: {API_KEYS: 'a:admin:" + secret + "'}", "settings.API_KEYS: set apiKeys.existingSecret or apiKeys.value"},
		{secrets + "settings: {SHUTDOWN_DELAY: 1m}", "set api.shutdownDelaySeconds"},
		{
			secrets + "api: {autoscaling: {maxReplicas: 16}}",
			"api.autoscaling.maxReplicas is 16, but the balancer knows at most 16 pods",
		},
		{secrets + "api: {replicas: 40, autoscaling: {enabled: false}}", "api.replicas is 40"},
		{secrets + "api: {autoscaling: {minReplicas: 9}}", "api.autoscaling.minReplicas is greater"},
		{secrets + "ingress: {enabled: true}", "ingress.host is empty: set the host name"},
		{secrets + "service: {type: LoadBalancer}\nbalancer: {enabled: false}", "the routes of operators would be public"},
		{
			secrets + "service: {type: NodePort}\ningress: {enabled: true, host: a.example}",
			"set service.type=ClusterIP, or ingress.enabled=false",
		},

		{secrets + "worker: {mode: cron}", "at '/worker/mode': value must be one of 'deployment', 'cronjobs'"},
		{secrets + "worker: {replicas: 0}", "at '/worker/replicas': minimum: got 0, want 1"},
		{secrets + "replicas: 3", "additional properties 'replicas' not allowed"},
		{secrets + "settings:\n", "at '': missing property 'settings'"}, // Helm takes it for null, and removes the default
		{secrets + "api:\n  autoscaling:\n", "at '/api': missing property 'autoscaling'"},
		{secrets + "service: {port: null}", "at '/service': missing property 'port'"},
		{"mongodb: {existingSecret: holdfast, uri: null}\napiKeys: {existingSecret: holdfast}", "at '/mongodb': missing property 'uri'"},
		{secrets + "image: {digest: latest}", "at '/image/digest': 'latest' does not match pattern '^(sha256:[0-9a-f]{64})?$'"},
		{secrets + "settings: {LOCK_DEFAULT_TTL: 1.5}", "at '/settings/LOCK_DEFAULT_TTL'"},
		{secrets + "api: {resources: {requests: {cpu: 1}}}", ""},
		{secrets + "api: {resources: {limits: null}}", "at '/api/resources'"},
		{secrets + "monitoring: {enabled: 'yes'}", "at '/monitoring/enabled': got string, want boolean"},
		{secrets + "api: {shutdownDelaySeconds: 1}", "at '/api/shutdownDelaySeconds': minimum: got 1, want 2"},
		{secrets + "podLabels: {app.kubernetes.io/name: x}", "podLabels.app.kubernetes.io/name: the chart finds its pods"},
		{secrets + "extraEnv: [{value: x}]", "at '/extraEnv/0': missing property 'name'"},
	} {
		t.Run(row.want, func(t *testing.T) {
			t.Parallel()
			values, want := row.values, row.want
			_, err := renderWith(t.Context(), loadChart(t), values, release)
			switch {
			case want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
				t.Errorf("%s\ngot %v, want %q", values, err, want)
			case err != nil && strings.Contains(err.Error(), secret):
				t.Errorf("the message shows a secret: %v", err)
			}
		})
	}
}

// A package has everything in it: it renders as the folder does, whose files are partly links.
func TestChart_PackageRendersAsTheFolder(t *testing.T) {
	t.Parallel()
	archive, err := pack(chartDir, root+"/.build/helm")
	if err != nil {
		t.Fatal(err)
	}
	if name := filepath.Base(archive); name != "holdfast-0.1.0.tgz" {
		t.Errorf("the package is %s", name)
	}
	info, err := os.Stat(archive)
	if err != nil {
		t.Fatal(err)
	}
	const maxSize = 64 << 10
	if t.Logf("%s has %d bytes", archive, info.Size()); info.Size() > maxSize {
		t.Errorf("%s has %d bytes, more than %d: is something in it that is not needed?", archive, info.Size(), maxSize)
	}
	packed, err := loader.LoadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	for set, values := range sets {
		got, err := renderWith(t.Context(), packed, values, release)
		if err != nil {
			t.Fatal(err)
		}
		want, err := renderWith(t.Context(), loadChart(t), values, release)
		if err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: the package renders other objects", set)
		}
	}
}
