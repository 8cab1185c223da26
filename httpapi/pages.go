package httpapi

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
)

// pages are the console and the demo. They are served as they are: no build, no
// other host, no inline script. They hold no data; what they show they ask the API
// for, with the key that a person gives them.
//
//go:embed pages
var pages embed.FS

// pagePolicy lets a page run and ask what this server serves, and nothing else.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

const assetsPath = "/assets/"

// isPage tells what people may look at while the API does not serve yet.
func isPage(path string) bool {
	return path == "/console" || path == "/demo" || strings.HasPrefix(path, assetsPath)
}

func (a *api) pageRoutes(mux *http.ServeMux) {
	mux.Handle("GET /console", page("console.html"))
	if a.Demo {
		mux.Handle("GET /demo", page("demo.html"))
	}
	assets, err := fs.ReadDir(pages, "pages/assets")
	if err != nil {
		panic(fmt.Sprintf("the pages: %v", err)) // wrong in the code, not in a request
	}
	for _, file := range assets {
		mux.Handle("GET "+assetsPath+file.Name(), page("assets/"+file.Name()))
	}
}

// page serves one file; a browser asks each time whether it has changed.
func page(name string) http.Handler {
	body, err := fs.ReadFile(pages, "pages/"+name)
	if err != nil {
		panic(fmt.Sprintf("the page %s: %v", name, err)) // wrong in the code, not in a request
	}
	hash := sha256.Sum256(body)
	tag, kind := `"`+hex.EncodeToString(hash[:8])+`"`, mime.TypeByExtension(path.Ext(name))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", pagePolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		h.Set("Content-Type", kind)
		w.Write(body) //nolint:errcheck,gosec // the client may be gone; a file of our own
	})
}
