// Command helm packages the chart deploy/helm/holdfast, as helm package does, and prints the archive's path. The module is separate, so
// that the programs do not depend on Helm's packages; its tests check the chart.
//
//	go -C tools/helm run .     .build/helm/holdfast-VERSION.tgz
package main

import (
	"fmt"
	"os"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/chart/v2/util"
)

const (
	root     = "../.."
	chartDir = root + "/deploy/helm/holdfast"
)

func main() {
	path, err := pack(chartDir, root+"/.build/helm")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(path)
}

// pack writes a chart's archive into a folder, and returns its path. The archive has the contents of linked files.
func pack(chart, folder string) (path string, err error) {
	loaded, err := loader.LoadDir(chart)
	if err != nil {
		return "", err
	}
	return util.Save(loaded, folder)
}
