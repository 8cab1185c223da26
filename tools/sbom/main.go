// Command sbom writes a CycloneDX bill of materials of a Go binary, from the
// binary's build information: sbom BINARY [VERSION] > FILE.
package main

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) != 1 && len(args) != 2 {
		return errors.New("usage: sbom BINARY [VERSION] > FILE")
	}
	info, err := buildinfo.ReadFile(args[0])
	if err != nil {
		return err
	}
	if len(args) == 2 { // a release's
		info.Main.Version = args[1]
	}
	components := []cdx.Component{{
		Type: cdx.ComponentTypeLibrary, Name: "std", Version: info.GoVersion, PackageURL: "pkg:golang/std@" + info.GoVersion,
	}}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		url := "pkg:golang/" + module.Path + "@" + module.Version
		component := cdx.Component{Type: cdx.ComponentTypeLibrary, BOMRef: url, Name: module.Path, Version: module.Version, PackageURL: url}
		if module.Sum != "" {
			component.Properties = &[]cdx.Property{{Name: "go:sum", Value: module.Sum}}
		}
		components = append(components, component)
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &cdx.Component{Type: cdx.ComponentTypeApplication, Name: info.Path, Version: info.Main.Version}}
	bom.Components = &components
	return cdx.NewBOMEncoder(out, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
}
