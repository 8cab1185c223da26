// Package compose_test loads docker-compose.yml with Docker's own parser, and checks that
// the images, files, settings and ports that it names exist. It is a separate module, so the
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

func load(t *testing.T) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{root + "/docker-compose.yml"}, cli.WithName("holdfast"))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return project
}

func TestCompose_HasAllServicesOnLoopback(t *testing.T) {
	t.Parallel()
	project := load(t)
	names := slices.Sorted(maps.Keys(project.Services))
	if want := []string{"api", "balancer", "grafana", "mongo", "prometheus", "redis", "worker"}; !slices.Equal(names, want) {
		t.Errorf("services %v, want %v", names, want)
	}
	for name, s := range project.Services {
		if s.Image != "" && !strings.Contains(s.Image, ":") {
			t.Errorf("%s: the image %s has no version", name, s.Image)
		}
		if s.Restart != "unless-stopped" {
			t.Errorf("%s: restart is %q", name, s.Restart)
		}
		for _, p := range s.Ports {
			if p.HostIP != "127.0.0.1" {
				t.Errorf("%s: port %s is open to the network", name, p.Published)
			}
		}
		for _, v := range s.Volumes {
			if v.Type == types.VolumeTypeBind {
				if _, err := os.Stat(v.Source); err != nil {
					t.Errorf("%s: %v", name, err)
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
	project := load(t)
	for _, name := range []string{"api", "worker"} {
		s := project.Services[name]
		for setting := range s.Environment {
			if !bytes.Contains(help, []byte("$"+setting)) && !strings.HasPrefix(setting, "OTEL_") {
				t.Errorf("%s: the setting %s is not in --help", name, setting)
			}
		}
		const stopTime = 15 * time.Second // SHUTDOWN_DELAY, then the end of requests and runs
		if s.StopGracePeriod == nil || time.Duration(*s.StopGracePeriod) < stopTime {
			t.Errorf("%s: has less than %v to stop", name, stopTime)
		}
		if !bytes.Contains(image, []byte("/out"+s.Command[0]+" ")) {
			t.Errorf("%s: the image does not contain %s", name, s.Command[0])
		}
	}
}

// The load balancer finds the processes of the API by their service's name, at the port that they listen on.
func TestCompose_BalancerReachesTheAPI(t *testing.T) {
	t.Parallel()
	project := load(t)
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
	project := load(t)
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
