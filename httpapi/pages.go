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

	"github.com/swaggest/swgui/v5emb"

	"github.com/holdfast-dev/holdfast/editor"
	"github.com/holdfast-dev/holdfast/picker"
	"github.com/holdfast-dev/holdfast/seats/planfile"
)

// pages are the files of the console and the demo shop: no build step, no other
// host, no inline script. They contain no data. They call the API with the key
// that the user enters.
//
//go:embed pages
var pages embed.FS

// pagePolicy lets a page load scripts from, and send requests to, this server only.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// docsPolicy is pagePolicy for Swagger UI, which makes markup of text, and has pictures in its styles.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const assetsPath = "/assets/"

// isPublic reports whether pages of other origins may load an asset: a part that shops put into their
// own pages, with its source map and the files that it loads.
func isPublic(name string) bool {
	return name == "holdfast-seats.js" || name == "holdfast-seats.js.map" || strings.HasPrefix(name, "holdfast-seats/")
}

// isPage reports whether a path is served before recovery has ended: operators
// need the console most then.
func isPage(path string) bool {
	return path == "/" || path == "/console" || path == "/demo" || path == "/demo/examples" || strings.HasPrefix(path, assetsPath)
}

func (a *api) registerPageRoutes(mux *http.ServeMux) {
	own := folder(pages, "pages")
	docs := withPolicy(docsPolicy, page(own, "docs.html"))
	mux.Handle("GET /docs", docs)
	mux.Handle("GET /docs/{$}", docs)
	mux.Handle("GET /docs/docs.js", page(own, "docs.js"))
	mux.Handle("GET /docs/", withPolicy(docsPolicy, v5emb.New("", "", "/docs/").ServeHTTP)) // the files of Swagger UI
	mux.Handle("GET /{$}", http.RedirectHandler("/console", http.StatusFound))              // other paths stay unknown
	mux.Handle("GET /console", page(own, "console.html"))
	if a.Demo {
		mux.Handle("GET /demo", page(own, "demo.html"))
		mux.Handle("GET /demo/examples", page(own, "examples.html"))
		registerFiles(mux, folder(planfile.Examples, "examples"), assetsPath+"plans/")
	}
	registerFiles(mux, folder(own, "assets"), assetsPath)
	registerFiles(mux, editor.Dist(), assetsPath)
	registerFiles(mux, picker.Dist(), assetsPath)
	// A page that names the version gets a 404 after an update, not a different script.
	mux.Handle("GET "+assetsPath+"holdfast-seats-"+picker.Version+".js", publicly(page(picker.Dist(), picker.Module)))
}

// registerFiles serves all files of a folder, and of the folders in it.
func registerFiles(mux *http.ServeMux, of fs.FS, at string) {
	err := fs.WalkDir(of, ".", func(name string, file fs.DirEntry, err error) error {
		if err != nil || file.IsDir() {
			return err
		}
		var asset http.Handler = page(of, name)
		if isPublic(name) {
			asset = publicly(asset)
		}
		mux.Handle("GET "+at+name, asset)
		return nil
	})
	if err != nil {
		panic(fmt.Sprintf("read the embedded pages: %v", err)) // a programming error
	}
}

// publicly lets pages of every origin load a file, as a script or a module too, also if they load
// other origins' files only with permission (Cross-Origin-Embedder-Policy).
func publicly(file http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
		file.ServeHTTP(w, r)
	})
}

func folder(of fs.FS, name string) fs.FS {
	files, err := fs.Sub(of, name)
	if err != nil {
		panic(fmt.Sprintf("read the embedded pages: %v", err)) // a programming error
	}
	return files
}

// contentTypeOf is by the name of a file. Not every system knows source maps.
func contentTypeOf(name string) string {
	if path.Ext(name) == ".map" {
		return "application/json"
	}
	return mime.TypeByExtension(path.Ext(name))
}

// withPolicy adds the headers that a page has. A policy that an outer handler has set stays.
func withPolicy(policy string, file http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		if h.Get("Content-Security-Policy") == "" {
			h.Set("Content-Security-Policy", policy)
		}
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		file(w, r)
	}
}

// page serves one file. A browser asks before each use whether the file has changed.
func page(files fs.FS, name string) http.HandlerFunc {
	body, err := fs.ReadFile(files, name)
	if err != nil {
		panic(fmt.Sprintf("read the embedded page %s: %v", name, err)) // a programming error
	}
	hash := sha256.Sum256(body)
	etag, contentType := `"`+hex.EncodeToString(hash[:8])+`"`, contentTypeOf(name)
	return withPolicy(pagePolicy, func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", etag)
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		h.Set("Content-Type", contentType)
		writeBody(w, body)
	})
}
