package httpapi_test

import (
	"io/fs"
	"net/http"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/picker"
)

// A page runs its own scripts only, and no other page can frame it.
func TestPages_HaveAStrictPolicy(t *testing.T) {
	t.Parallel()
	s := openWith(t, func(services *httpapi.Services, _ *core.Settings) { services.Demo = true })
	for path, contentType := range map[string]string{
		"/console":           "text/html",
		"/demo":              "text/html",
		"/assets/console.js": "text/javascript",
		"/assets/style.css":  "text/css",
		"/assets/icon.svg":   "image/svg+xml",
		"/demo/examples":     "text/html",

		"/assets/holdfast-seats.js":     "text/javascript",
		"/assets/holdfast-seats.js.map": "application/json",

		"/assets/holdfast-seats-" + picker.Version + ".js": "text/javascript",
		"/assets/plans/theatre.json":                       "application/json",

		"/assets/holdfast-seats/decorations-" + picker.Version + ".js": "text/javascript",

		"/assets/console/router.js": "text/javascript",

		"/assets/holdfast-plan-editor.js": "text/javascript",
	} {
		t.Run(path, func(t *testing.T) {
			s := s.in(t)
			a := s.call("GET", path, nil)
			policy := a.header.Get("Content-Security-Policy")
			if a.status != 200 || !strings.HasPrefix(a.header.Get("Content-Type"), contentType) {
				t.Errorf("%d %v", a.status, a.header)
			}
			if sniffing := a.header.Get("X-Content-Type-Options"); sniffing != "nosniff" {
				t.Errorf("X-Content-Type-Options is %q", sniffing)
			}
			for _, part := range []string{
				"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
			} {
				if !strings.Contains(policy, part) {
					t.Errorf("the policy %q lacks %s", policy, part)
				}
			}
			if strings.Contains(policy, "unsafe") {
				t.Errorf("the policy is %q", policy)
			}
			if cached := s.call("GET", path, nil, "If-None-Match", a.header.Get("ETag")); cached.status != 304 || cached.raw != "" {
				t.Errorf("with If-None-Match: %d %s", cached.status, cached.raw)
			}
		})
	}
	// Swagger UI makes markup of text. Its files have the headers too: one of them is a page.
	for _, path := range []string{"/docs", "/docs/", "/docs/docs.js", "/docs/swagger-ui-bundle.js", "/docs/oauth2-redirect.html"} {
		h := s.want(s.call("GET", path, nil), 200, "").header
		policy := h.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self';", "style-src 'self';", "frame-ancestors 'none'"} {
			if !strings.Contains(policy, part) || h.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: the policy %q lacks %s, or %v lacks nosniff", path, policy, part, h)
			}
		}
	}
	for _, path := range []string{"/assets/", "/assets/console/", "/assets/nothing.js", "/assets/../console.html", "/console/x"} {
		t.Run(path, func(t *testing.T) {
			s := s.in(t)
			s.want(s.call("GET", path, nil), 404, "NOT_FOUND")
		})
	}
	s.want(s.call("POST", "/console", nil), 405, "METHOD_NOT_ALLOWED")
}

// Operators can open the console while recovery runs.
// Only the root itself leads to the console: a route that does not exist is still a problem.
func TestPages_RootLeadsToTheConsole(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for _, serving := range []bool{true, false} {
		s.serving.Store(serving)
		if a := s.call("GET", "/", nil); a.status != http.StatusFound || a.header.Get("Location") != "/console" {
			t.Errorf("%d %v", a.status, a.header)
		}
	}
	s.serving.Store(true)
	for _, path := range []string{"/nothing", "/api", "/api/", "/consoles", "//"} {
		s.want(s.call("GET", path, nil), 404, "NOT_FOUND")
	}
}

func TestPages_AreServedDuringRecovery(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.serving.Store(false)
	if a := s.call("GET", "/console", nil); a.status != 200 {
		t.Errorf("/console: %d", a.status)
	}
	s.want(s.call("GET", "/api/admin/overview", nil), 503, "UNAVAILABLE")
	s.want(s.call("GET", "/demo", nil), 404, "NOT_FOUND") // Demo is false
}

// A page refers to no other host, has no inline script or style, and every file
// that it refers to exists.
func TestPages_NeedNoOtherHost(t *testing.T) {
	t.Parallel()
	forbidden := regexp.MustCompile(`(?i)https?://|<script>|<style|\sstyle=|\son[a-z]+="|innerHTML|eval\(`)
	reference := regexp.MustCompile(`(?:src|href)="(/assets/[^"]+)"|from "(\.\.?/[^"]+)"`)
	err := fs.WalkDir(os.DirFS("pages"), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile("pages/" + name)
		if err != nil {
			return err
		}
		if found := forbidden.FindString(strings.ReplaceAll(string(text), "http://www.w3.org/2000/svg", "")); found != "" {
			t.Errorf("%s: %q", name, found)
		}
		for _, m := range reference.FindAllStringSubmatch(string(text), -1) {
			file := "pages" + m[1]
			if m[1] == "/assets/"+picker.Module {
				file = "../picker/dist/" + picker.Module
			}
			if m[2] != "" {
				file = path.Join("pages", path.Dir(name), m[2])
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s refers to %s: %v", name, file, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
