module github.com/holdfast-dev/holdfast/tools/sbom

go 1.26.0

toolchain go1.26.8

require github.com/CycloneDX/cyclonedx-go v0.9.3
