// Package compose_test loads docker-compose.yml and deploy/compose/holdfast.yml with Docker's own parser, and
// checks that the images, files, settings and ports that they name exist. It is a separate module, so the
// programs do not depend on Docker's packages.
package compose_test

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"gopkg.in/yaml.v3"
)

const root = "../.."

// The file for development builds the programs. The other one needs no clone.
const (
	development = "docker-compose.yml"
	released    = "deploy/compose/holdfast.yml"
)

var services = map[string][]string{
	development: {"api", "balancer", "grafana", "mongo", "prometheus", "redis", "worker"},
	released:    {"api", "mongo", "redis", "worker"},
}

func load(t *testing.T, file string, env ...string) *types.Project {
	t.Helper()
	project, err := parse(t, file, append(env, "API_KEYS=shop:admin:0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	return project
}

func parse(t *testing.T, file string, env []string) (*types.Project, error) {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{filepath.Join(root, file)}, cli.WithName("holdfast"), cli.WithEnv(env))
	if err != nil {
		t.Fatal(err)
	}
	return options.LoadProject(t.Context())
}

func TestCompose_HasAllServicesOnLoopback(t *testing.T) {
	t.Parallel()
	for file, want := range services {
		project := load(t, file)
		if names := slices.Sorted(maps.Keys(project.Services)); !slices.Equal(names, want) {
			t.Errorf("%s: services %v, want %v", file, names, want)
		}
		for name, s := range project.Services {
			if s.Image != "" && !strings.Contains(s.Image, ":") {
				t.Errorf("%s: %s: the image %s has no version", file, name, s.Image)
			}
			if s.Restart != "unless-stopped" {
				t.Errorf("%s: %s: restart is %q", file, name, s.Restart)
			}
			for _, p := range s.Ports {
				if p.HostIP != "127.0.0.1" {
					t.Errorf("%s: %s: port %s is open to the network", file, name, p.Published)
				}
			}
			for _, v := range s.Volumes {
				if v.Type == types.VolumeTypeBind {
					if _, err := os.Stat(v.Source); err != nil {
						t.Errorf("%s: %s: %v", file, name, err)
					}
				}
			}
		}
	}
}

// Each setting appears in the program's help, and each command is in the image.
func TestCompose_UsesExistingSettingsAndCommands(t *testing.T) {
	t.Parallel()
	command := exec.CommandContext(t.Context(), "go", "run", "./cmd/api", "--help")
	command.Dir = root
	help, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	image, err := os.ReadFile(root + "/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for file := range services {
		project := load(t, file)
		for _, name := range []string{"api", "worker"} {
			s := project.Services[name]
			for setting := range s.Environment {
				if !bytes.Contains(help, []byte("$"+setting)) && !strings.HasPrefix(setting, "OTEL_") {
					t.Errorf("%s: %s: the setting %s is not in --help", file, name, setting)
				}
			}
			const stopTime = 15 * time.Second // SHUTDOWN_DELAY, then the end of requests and runs
			if s.StopGracePeriod == nil || time.Duration(*s.StopGracePeriod) < stopTime {
				t.Errorf("%s: %s: has less than %v to stop", file, name, stopTime)
			}
			for _, folder := range []string{"/out", "$TARGETPLATFORM"} {
				if !bytes.Contains(image, []byte(folder+s.Command[0]+" ")) {
					t.Errorf("%s: %s: the image does not contain %s of %s", file, name, s.Command[0], folder)
				}
			}
		}
	}
}

// The file without a clone names no file, and the image of the version that CHANGELOG.md describes first.
func TestCompose_ReleaseNeedsNoClone(t *testing.T) {
	t.Parallel()
	changes, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^## ([0-9.]+)`).FindSubmatch(changes)
	if version == nil {
		t.Fatal("CHANGELOG.md has no version")
	}
	for name, s := range load(t, released).Services {
		if s.Build != nil {
			t.Errorf("%s is built", name)
		}
		for _, v := range s.Volumes {
			if v.Type == types.VolumeTypeBind {
				t.Errorf("%s mounts %s", name, v.Source)
			}
		}
		if isOurs := name == "api" || name == "worker"; isOurs && s.Image != "ghcr.io/holdfast-dev/holdfast:"+string(version[1]) {
			t.Errorf("%s has the image %s, want version %s", name, s.Image, version[1])
		}
	}
	if image := load(t, released, "HOLDFAST_VERSION=9.8.7").Services["api"].Image; !strings.HasSuffix(image, ":9.8.7") {
		t.Errorf("HOLDFAST_VERSION does not choose the image, which is %s", image)
	}
	if _, err := parse(t, released, nil); err == nil || !regexp.MustCompile(`API_KEYS.*name:scope:secret`).MatchString(err.Error()) {
		t.Errorf("without API_KEYS: %v", err)
	}
}

// The load balancer finds the processes of the API by their service's name, at the port that they listen on.
func TestCompose_BalancerReachesTheAPI(t *testing.T) {
	t.Parallel()
	project := load(t, development)
	api, balancer := project.Services["api"], project.Services["balancer"]
	_, port, _ := strings.Cut(*api.Environment["HTTP_ADDR"], ":")
	if dns := balancer.Environment["API_DNS"]; dns == nil || *dns != "api:"+port || len(api.Ports) != 0 {
		t.Errorf("the balancer looks for %v; the API listens on port %s", dns, port)
	}
	isMounted := func(v types.ServiceVolumeConfig) bool { return v.Target == balancer.Command[len(balancer.Command)-1] }
	if !slices.ContainsFunc(balancer.Volumes, isMounted) || len(balancer.Ports) != 1 || balancer.Ports[0].Target != 8080 {
		t.Errorf("the balancer has the ports %+v and the volumes %+v", balancer.Ports, balancer.Volumes)
	}
}

// Prometheus scrapes the addresses where the services listen, and its rule files exist.
// Grafana queries Prometheus, and its dashboard is mounted.
func TestCompose_MonitoringReachesTheServices(t *testing.T) {
	t.Parallel()
	project := load(t, development)
	var prometheus struct {
		Rules   []string `yaml:"rule_files"`
		Scrapes []struct {
			DNS []struct {
				Names []string
				Port  int
			} `yaml:"dns_sd_configs"`
		} `yaml:"scrape_configs"`
	}
	read(t, "deploy/prometheus/prometheus.yml", &prometheus)
	for _, file := range prometheus.Rules {
		if _, err := os.Stat(filepath.Join(root, "deploy/prometheus", file)); err != nil {
			t.Error(err)
		}
	}
	scraped := 0
	for _, scrape := range prometheus.Scrapes {
		for _, dns := range scrape.DNS {
			for _, name := range dns.Names {
				scraped++
				if address := project.Services[name].Environment["METRICS_ADDR"]; address == nil || *address != "0.0.0.0:8081" || dns.Port != 8081 {
					t.Errorf("Prometheus scrapes %s:%d, which listens on %v", name, dns.Port, address)
				}
			}
		}
	}
	if scraped != 2 {
		t.Errorf("Prometheus scrapes %d services, want 2", scraped)
	}
	var source struct{ Datasources []struct{ URL, Type string } }
	read(t, "deploy/grafana/provisioning/datasources/prometheus.yml", &source)
	if len(source.Datasources) != 1 || source.Datasources[0].URL != "http://prometheus:9090" {
		t.Errorf("Grafana queries %+v", source)
	}
	var boards struct {
		Providers []struct{ Options struct{ Path string } }
	}
	read(t, "deploy/grafana/provisioning/dashboards/holdfast.yml", &boards)
	mounted := regexp.MustCompile(`^` + regexp.QuoteMeta(boards.Providers[0].Options.Path) + `/[a-z]+\.json$`)
	isDashboard := func(v types.ServiceVolumeConfig) bool { return mounted.MatchString(v.Target) }
	if !slices.ContainsFunc(project.Services["grafana"].Volumes, isDashboard) {
		t.Errorf("no dashboard is mounted in %s", boards.Providers[0].Options.Path)
	}
}

func read(t *testing.T, file string, into any) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(raw, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
