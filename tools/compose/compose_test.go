// Package compose_test loads docker-compose.yml as Docker does, and checks what it
// names. It is a module of its own, so that nothing of Docker is among what the
// programs need.
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

func TestCompose_BringsTheWhole(t *testing.T) {
	t.Parallel()
	project := load(t)
	names := slices.Sorted(maps.Keys(project.Services))
	if want := []string{"api", "grafana", "mongo", "prometheus", "redis", "worker"}; !slices.Equal(names, want) {
		t.Errorf("services %v, want %v", names, want)
	}
	for name, s := range project.Services {
		if s.Image != "" && !strings.Contains(s.Image, ":") {
			t.Errorf("%s: the image %s has no version", name, s.Image)
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

// The programs know each setting that they are given, and start of the image.
func TestCompose_GivesSettingsThatThereAre(t *testing.T) {
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
				t.Errorf("%s: --help knows no %s", name, setting)
			}
		}
		if !bytes.Contains(image, []byte("/out"+s.Command[0]+" ")) {
			t.Errorf("%s: the image has no %s", name, s.Command[0])
		}
	}
}

// Prometheus asks the services where they listen, and finds its rules; Grafana asks
// Prometheus, and finds its dashboard.
func TestCompose_WatchersAskWhatThereIs(t *testing.T) {
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
	asked := 0
	for _, scrape := range prometheus.Scrapes {
		for _, dns := range scrape.DNS {
			for _, name := range dns.Names {
				asked++
				if address := project.Services[name].Environment["METRICS_ADDR"]; address == nil || *address != "0.0.0.0:8081" || dns.Port != 8081 {
					t.Errorf("Prometheus asks %s:%d, which listens on %v", name, dns.Port, address)
				}
			}
		}
	}
	if asked != 2 {
		t.Errorf("Prometheus asks %d services", asked)
	}
	var source struct{ Datasources []struct{ URL, Type string } }
	read(t, "deploy/grafana/provisioning/datasources/prometheus.yml", &source)
	if len(source.Datasources) != 1 || source.Datasources[0].URL != "http://prometheus:9090" {
		t.Errorf("Grafana asks %+v", source)
	}
	var boards struct {
		Providers []struct{ Options struct{ Path string } }
	}
	read(t, "deploy/grafana/provisioning/dashboards/holdfast.yml", &boards)
	mounted := regexp.MustCompile(`^` + regexp.QuoteMeta(boards.Providers[0].Options.Path) + `/[a-z]+\.json$`)
	if !slices.ContainsFunc(project.Services["grafana"].Volumes, func(v types.ServiceVolumeConfig) bool { return mounted.MatchString(v.Target) }) {
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
