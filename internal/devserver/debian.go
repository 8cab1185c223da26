package devserver

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
)

// debianPackage is a program or a library of Debian. If it is not installed, apt fetches it once,
// without root, and checks the signatures.
type debianPackage struct {
	title    string
	packages []string // the first is the package; the others are dependencies that a small system lacks
	pattern  string   // path of the file, below the root or the folder that the packages are unpacked in
}

var (
	faketimePackage = debianPackage{
		title: "libfaketime (0.1 MB, once)", packages: []string{"libfaketime"}, pattern: "usr/lib/*/faketime/libfaketimeMT.so.1",
	}
	haproxyPackage = debianPackage{
		title: "HAProxy (2 MB, once)", pattern: "usr/sbin/haproxy",
		packages: []string{"haproxy", "liblua5.3-0", "libopentracing-c-wrapper0", "libopentracing1"},
	}
	nginxPackage = debianPackage{title: "nginx (0.6 MB, once)", packages: []string{"nginx"}, pattern: "usr/sbin/nginx"}
)

// HAProxy returns the path of Debian's haproxy, and the environment that it needs.
func HAProxy(ctx context.Context, progress io.Writer) (binary string, env []string, err error) {
	return haproxyPackage.program(ctx, progress)
}

// Nginx returns the path of Debian's nginx, and the environment that it needs.
func Nginx(ctx context.Context, progress io.Writer) (binary string, env []string, err error) {
	return nginxPackage.program(ctx, progress)
}

func (d debianPackage) program(ctx context.Context, progress io.Writer) (binary string, env []string, err error) {
	binary, home, err := d.find(ctx, progress)
	if err != nil || home == "" {
		return binary, nil, err
	}
	libraries, err := filepath.Glob(filepath.Join(home, "usr/lib/*-linux-gnu"))
	return binary, []string{"LD_LIBRARY_PATH=" + strings.Join(libraries, ":")}, err
}

// find returns the path of the package's file, and the folder that it was unpacked in; "" if it is installed.
func (d debianPackage) find(ctx context.Context, progress io.Writer) (file, home string, err error) {
	if found, _ := filepath.Glob("/" + d.pattern); len(found) > 0 { // the pattern is correct
		return found[0], "", nil
	}
	name := d.packages[0]
	home, err = fetched(name, d.title, progress, func(scratch, ready string) error { return d.fetch(ctx, scratch, ready) })
	found, _ := filepath.Glob(filepath.Join(home, d.pattern))
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%s does not contain %s", home, d.pattern)
	}
	if err != nil {
		return "", "", fmt.Errorf("no %s: %w\nWhat to do: install the package %s", name, err, name)
	}
	return found[0], home, nil
}

func (d debianPackage) fetch(ctx context.Context, scratch, ready string) error {
	const script = `apt-get -q download "$@" || { apt-get -q update && apt-get -q download "$@"; }
for package in *.deb; do dpkg -x "$package" "$0"; done`
	fetch := exec.CommandContext(ctx, "/bin/sh", append([]string{"-ec", script, ready}, d.packages...)...)
	fetch.Dir = scratch
	if output, err := fetch.CombinedOutput(); err != nil {
		return fmt.Errorf("apt-get download %s: %w: %s", strings.Join(d.packages, " "), err, lastLines(output))
	}
	return nil
}
