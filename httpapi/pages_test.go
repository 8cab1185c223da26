package httpapi_test

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/seats"
)

// Pages run their own scripts only, and nobody frames them.
func TestPages_AreServedUnderAStrictPolicy(t *testing.T) {
	t.Parallel()
	s := openWith(t, func(services *httpapi.Services, _ *seats.Limits) { services.Demo = true })
	for path, kind := range map[string]string{
		"/console": "text/html", "/demo": "text/html", "/assets/console.js": "text/javascript", "/assets/style.css": "text/css", "/assets/icon.svg": "image/svg+xml",
	} {
		a := s.call("GET", path, nil)
		policy := a.header.Get("Content-Security-Policy")
		if a.status != 200 || !strings.HasPrefix(a.header.Get("Content-Type"), kind) || a.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v", path, a.status, a.header)
		}
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: the policy %q lacks %s", path, policy, part)
			}
		}
		if strings.Contains(policy, "unsafe") {
			t.Errorf("%s: the policy is %q", path, policy)
		}
		if again := s.call("GET", path, nil, "If-None-Match", a.header.Get("ETag")); again.status != 304 || again.raw != "" {
			t.Errorf("%s asked again: %d", path, again.status)
		}
	}
	for _, path := range []string{"/assets/", "/assets/nothing.js", "/assets/../console.html", "/console/x"} {
		s.want(s.call("GET", path, nil), 404, "NOT_FOUND")
	}
	s.want(s.call("POST", "/console", nil), 405, "METHOD_NOT_ALLOWED")
}

// The console opens while recovery runs: that is when people want to look.
func TestPages_OpenBeforeTheAPIServes(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.serving.Store(false)
	if a := s.call("GET", "/console", nil); a.status != 200 {
		t.Errorf("/console: %d", a.status)
	}
	s.want(s.call("GET", "/api/admin/overview", nil), 503, "UNAVAILABLE")
	s.want(s.call("GET", "/demo", nil), 404, "NOT_FOUND") // DEMO is not set
}

// A page names no other host, has no inline script or style, and each file that it
// names is there.
func TestPages_NeedNoOtherHost(t *testing.T) {
	t.Parallel()
	outside := regexp.MustCompile(`(?i)https?://|<script>|<style|\sstyle=|\son[a-z]+="|innerHTML|eval\(`)
	named := regexp.MustCompile(`(?:src|href)="(/assets/[^"]+)"|from "\./([^"]+)"`)
	err := fs.WalkDir(os.DirFS("pages"), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile("pages/" + name)
		if err != nil {
			return err
		}
		if found := outside.FindString(strings.ReplaceAll(string(text), "http://www.w3.org/2000/svg", "")); found != "" {
			t.Errorf("%s: %q", name, found)
		}
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			file := "pages" + m[1]
			if m[2] != "" {
				file = "pages/assets/" + m[2]
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s names %s: %v", name, file, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
