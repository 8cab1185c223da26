// Command program prints its version. The test of releases builds it.
package main

import (
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/telemetry"
)

func main() { fmt.Println(telemetry.Version()) }
