package main

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/strvals"
	"sigs.k8s.io/yaml"
)

// The table of README.md has each value with its default, and none that does not exist.
func TestReadme_HasEveryValue(t *testing.T) {
	t.Parallel()
	described := map[string]any{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-zA-Z.]+)` \\| `([^`]*)` \\|.*\\|$").FindAllStringSubmatch(readme(t), -1) {
		var value any
		if err := yaml.Unmarshal([]byte(row[2]), &value); err != nil {
			t.Fatalf("%s: %v", row[1], err)
		}
		described[row[1]] = value
	}
	schema := struct {
		Properties map[string]any `json:"properties"`
	}{}
	if err := json.Unmarshal(loadChart(t).Schema, &schema); err != nil {
		t.Fatal(err)
	}
	values := map[string]any{}
	if err := yaml.Unmarshal([]byte(readFile(t, "deploy/helm/holdfast/values.yaml")), &values); err != nil {
		t.Fatal(err)
	}
	for name, value := range leaves("", values, schema.Properties) {
		if text, exists := described[name]; !exists {
			t.Errorf("README.md does not have %s", name)
		} else if !reflect.DeepEqual(text, value) {
			t.Errorf("README.md says that %s is %v; it is %v", name, text, value)
		}
		delete(described, name)
	}
	for name := range described {
		t.Errorf("README.md has %s, which does not exist", name)
	}
}

// leaves returns the values by their paths. A value that the schema leaves open, such as resources, is one.
func leaves(prefix string, values, properties map[string]any) map[string]any {
	found := map[string]any{}
	for name, value := range values {
		property, _ := properties[name].(map[string]any)
		inner, isObject := property["properties"].(map[string]any)
		if !isObject {
			found[prefix+name] = value
			continue
		}
		for path, leaf := range leaves(prefix+name+".", value.(map[string]any), inner) {
			found[path] = leaf
		}
	}
	return found
}

func readme(t *testing.T) string {
	t.Helper()
	return readFile(t, "deploy/helm/holdfast/README.md")
}

var (
	yamlPattern    = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")
	installPattern = regexp.MustCompile(`(?m)^helm install (\S+) \S+( (?:.*\\\n)*.*)$`)
	setPattern     = regexp.MustCompile(`--set '?([^' ]+?)'?(?:\s|$)`)
)

// Each helm install of README.md, and each file of values in it, is accepted.
func TestReadme_ExamplesInstall(t *testing.T) {
	t.Parallel()
	text := readme(t)
	files, installs := yamlPattern.FindAllStringSubmatch(text, -1), installPattern.FindAllStringSubmatch(text, -1)
	for _, file := range files {
		if _, err := renderWith(t.Context(), loadChart(t), file[1], release); err != nil {
			t.Errorf("%v\n%s", err, file[1])
		}
	}
	for _, install := range installs {
		values := map[string]any{}
		if strings.Contains(install[2], "-f values.yaml") {
			if err := yaml.Unmarshal([]byte(files[0][1]), &values); err != nil {
				t.Fatal(err)
			}
		}
		for _, set := range setPattern.FindAllStringSubmatch(install[2], -1) {
			if err := strvals.ParseInto(set[1], values); err != nil {
				t.Fatal(err)
			}
		}
		given, err := yaml.Marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		options := release
		options.Name, options.Namespace = install[1], "holdfast"
		if len(renderAs(t, string(given), options)) == 0 {
			t.Errorf("nothing is installed by %s", install[0])
		}
	}
	if len(files) < 2 || len(installs) < 2 {
		t.Errorf("%d files of values and %d commands were found", len(files), len(installs))
	}
}

// The notes say how to reach what was installed.
func TestNotes_NameWhatExists(t *testing.T) {
	t.Parallel()
	for set, want := range map[string][]string{
		"defaults": {"http://autumn-holdfast-balancer.tickets:80", "service/autumn-holdfast-api 8080:80", "Leases of the jobs are in MongoDB",
			"networkPolicy.enabled=true", "helm -n tickets test autumn"},
		"production":                 {"https://tickets.example.com"},
		"load balancer":              {"shows the public address", "8080:8000"},
		"cronjobs":                   {"webhooks are not sent"},
		"ingress without a balancer": {"https://tickets.example.com"},
	} {
		files, err := renderWith(t.Context(), loadChart(t), sets[set], release)
		if err != nil {
			t.Fatal(err)
		}
		notes := files["holdfast/templates/NOTES.txt"]
		if i := slices.IndexFunc(want, func(w string) bool { return !strings.Contains(notes, w) }); i >= 0 {
			t.Errorf("%s: the notes lack %q\n%s", set, want[i], notes)
		}
	}
}
