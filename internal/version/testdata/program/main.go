// Command program is the smallest program with a version. The test of releases builds it.
package main

import (
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/version"
)

func main() { fmt.Println(version.String()) }
