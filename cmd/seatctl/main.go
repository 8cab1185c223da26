// Command seatctl is the operators' tool: it looks at a database and mends it.
package main

import (
	"os"

	"github.com/holdfast-dev/holdfast/internal/seatctl"
)

func main() { os.Exit(seatctl.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
