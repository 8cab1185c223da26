// Command sbom writes a CycloneDX bill of materials of the Go programs in an archive (.tar.gz or .zip),
// from their build information: sbom ARCHIVE VERSION FILE.
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return errors.New("usage: sbom ARCHIVE VERSION FILE")
	}
	archive, version, file := args[0], args[1], args[2]
	programs, err := programsOf(archive)
	if err != nil {
		return err
	}
	if len(programs) == 0 {
		return fmt.Errorf("%s has no program of Go", archive)
	}
	var out bytes.Buffer
	bom := billOf(filepath.Base(archive), version, programs)
	if err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return err
	}
	return os.WriteFile(file, out.Bytes(), 0o600) //nolint:gosec // the caller names the file
}

// program is a program in an archive.
type program struct {
	name string
	info *debug.BuildInfo
}

// programsOf returns the programs of Go in an archive, by their names.
func programsOf(archive string) ([]program, error) {
	raw, err := os.ReadFile(archive) //nolint:gosec // the caller names the file
	if err != nil {
		return nil, err
	}
	var programs []program
	add := func(name string, file io.Reader) error {
		content, err := io.ReadAll(file)
		if err != nil {
			return err
		}
		info, err := buildinfo.Read(bytes.NewReader(content))
		if err == nil { // else it is another file
			programs = append(programs, program{strings.TrimSuffix(path.Base(name), ".exe"), info})
		}
		return nil
	}
	if strings.HasSuffix(archive, ".zip") {
		err = eachOfZip(raw, add)
	} else {
		err = eachOfTar(raw, add)
	}
	slices.SortFunc(programs, func(a, b program) int { return strings.Compare(a.name, b.name) })
	return programs, err
}

func eachOfZip(raw []byte, do func(name string, file io.Reader) error) error {
	archive, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return err
	}
	for _, entry := range archive.File {
		file, err := entry.Open()
		if err != nil {
			return err
		}
		if err := errors.Join(do(entry.Name, file), file.Close()); err != nil {
			return err
		}
	}
	return nil
}

func eachOfTar(raw []byte, do func(name string, file io.Reader) error) error {
	unzipped, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	archive := tar.NewReader(unzipped)
	for {
		entry, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := do(entry.Name, archive); err != nil {
			return err
		}
	}
}

// billOf returns the bill of an archive: its programs, and the modules that each depends on.
func billOf(name, version string, programs []program) *cdx.BOM {
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &cdx.Component{Type: cdx.ComponentTypeApplication, BOMRef: name, Name: name, Version: version}}
	var components []cdx.Component
	all := cdx.Dependency{Ref: name, Dependencies: &[]string{}}
	dependencies := []cdx.Dependency{}
	seen := map[string]bool{}
	for _, p := range programs {
		components = append(components, cdx.Component{
			Type: cdx.ComponentTypeApplication, BOMRef: p.info.Path, Name: p.name, Version: version,
			PackageURL: "pkg:golang/" + p.info.Main.Path + "@" + version + "#" + strings.TrimPrefix(p.info.Path, p.info.Main.Path+"/"),
		})
		*all.Dependencies = append(*all.Dependencies, p.info.Path)
		uses := []string{}
		for _, library := range librariesOf(p.info, version) {
			uses = append(uses, library.BOMRef)
			if !seen[library.BOMRef] {
				seen[library.BOMRef] = true
				components = append(components, library)
			}
		}
		dependencies = append(dependencies, cdx.Dependency{Ref: p.info.Path, Dependencies: &uses})
	}
	dependencies = append([]cdx.Dependency{all}, dependencies...)
	bom.Components, bom.Dependencies = &components, &dependencies
	return bom
}

// librariesOf returns Go's own library and the modules of a program. A module of the same commit has the release's version.
func librariesOf(info *debug.BuildInfo, version string) []cdx.Component {
	libraries := []cdx.Component{library("std", info.GoVersion)}
	for _, module := range info.Deps {
		if module.Replace != nil && module.Replace.Version != "" {
			module = module.Replace
		} else if module.Replace != nil { // by a folder
			module = &debug.Module{Path: module.Path, Version: version}
		}
		component := library(module.Path, module.Version)
		if module.Sum != "" {
			component.Properties = &[]cdx.Property{{Name: "go:sum", Value: module.Sum}}
		}
		libraries = append(libraries, component)
	}
	return libraries
}

func library(path, version string) cdx.Component {
	url := "pkg:golang/" + path + "@" + version
	return cdx.Component{Type: cdx.ComponentTypeLibrary, BOMRef: url, Name: path, Version: version, PackageURL: url}
}
