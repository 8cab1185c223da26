// Command testreport reads the output of go test -json: it prints what failed,
// a line for each package, and last how many tests passed, failed and were
// skipped. A skipped test is a failure: a missing server must not hide.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

func main() {
	output := map[string]*strings.Builder{}
	passed, failed, skipped, broken := 0, 0, 0, 0
	lines := bufio.NewScanner(os.Stdin)
	const longest = 1 << 20
	lines.Buffer(make([]byte, 0, longest), 16*longest)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Println(lines.Text())
			continue
		}
		key := e.Package + " " + e.Test
		switch e.Action {
		case "output", "build-output":
			if output[key] == nil {
				output[key] = &strings.Builder{}
			}
			output[key].WriteString(e.Output)
		case "pass", "fail", "skip":
			switch {
			case e.Test == "" && e.Action == "fail":
				broken++
				fmt.Print(text(output[key]))
				fmt.Printf("FAIL  %s  %.1fs\n", e.Package, e.Elapsed)
			case e.Test == "" && e.Action == "pass":
				fmt.Printf("ok    %s  %.1fs\n", e.Package, e.Elapsed)
			case e.Test == "":
			case e.Action == "pass":
				passed++
			case e.Action == "skip":
				skipped++
				fmt.Print(text(output[key]))
			default:
				failed++
				fmt.Print(text(output[key]))
			}
			delete(output, key)
		case "build-fail":
			broken++
		}
	}
	for _, left := range output {
		fmt.Print(left.String())
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	if passed == 0 || failed+skipped+broken > 0 || lines.Err() != nil {
		os.Exit(1)
	}
}

func text(b *strings.Builder) string {
	if b == nil {
		return ""
	}
	return b.String()
}
