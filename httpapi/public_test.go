package httpapi

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// Pages of other origins may load the parts that are made for them, and no other file.
func TestPages_OnlyPublicAssetsAreForOtherOrigins(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"holdfast-seats.js": true, "holdfast-seats.js.map": true, "holdfast-seats/decorations-1.0.0.js": true,
		"console.js": false, "api.js": false, "demo.js": false, "style.css": false, "icon.svg": false, "": false,
		"holdfast-seats.js.map.js": false, "x/holdfast-seats.js": false, "x/holdfast-seats/x.js": false,
		"holdfast-seats": false, "holdfast-seats.css": false, "holdfast-plan-editor.js": false,
	} {
		if isPublic(name) != want {
			t.Errorf("%q is public: %t", name, !want)
		}
	}
	for _, tag := range []string{"", `"another"`, "its own"} {
		for name, wrap := range map[string]func(http.Handler) http.Handler{
			"public": publicly, "own": func(h http.Handler) http.Handler { return h },
		} {
			t.Run(name+" "+tag, func(t *testing.T) {
				get := func(tag string) *httptest.ResponseRecorder {
					r := httptest.NewRequestWithContext(t.Context(), "GET", "/assets/icon.svg", http.NoBody)
					r.Header.Set("If-None-Match", tag)
					w := httptest.NewRecorder()
					wrap(page(pages, "pages/assets/icon.svg")).ServeHTTP(w, r)
					return w
				}
				w, status := get(tag), http.StatusOK
				if tag == "its own" {
					w, status = get(w.Header().Get("ETag")), http.StatusNotModified
				}
				allowed, policy := "", ""
				if name == "public" {
					allowed, policy = "*", "cross-origin"
				}
				h := w.Header()
				if w.Code != status || h.Get("Access-Control-Allow-Origin") != allowed || h.Get("Cross-Origin-Resource-Policy") != policy {
					t.Errorf("%d %v", w.Code, h)
				}
				if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Content-Security-Policy") != pagePolicy {
					t.Errorf("%v", h)
				}
			})
		}
	}
}
