// Command seatctl is the operators' tool: it checks and repairs a database.
package main

import (
	"os"

	"github.com/holdfast-dev/holdfast/internal/seatctl"
)

func main() { os.Exit(seatctl.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
