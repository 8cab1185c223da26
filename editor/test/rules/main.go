// Command rules answers for the tests of the plan editor what the server would: it reads a text with one JSON value a line, and writes a
// line for each.
//
//	rules check      plans → their problems, as POST /api/seating-plans names them
//	rules same       [a plan, another one] → "" if both are the same plan written out, or else what is not
//	rules draw 100   writes so many plans, always the same ones
//
// It is part of Holdfast's own programs and may change in any release: see package holdfast.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/holdfast-dev/holdfast/seats/planfile"
)

const maxLine = 32 << 20

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	w := bufio.NewWriter(out)
	var err error
	switch {
	case len(args) == 1 && args[0] == "check":
		err = eachLine(in, w, problemsOf)
	case len(args) == 1 && args[0] == "same":
		err = eachLine(in, w, differenceOf)
	case len(args) == 2 && args[0] == "draw":
		err = drawPlans(args[1], w)
	default:
		err = errors.New("usage: rules check | same | draw NUMBER")
	}
	return errors.Join(err, w.Flush())
}

func eachLine(in io.Reader, w io.Writer, answer func(line []byte) (any, error)) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		value, err := answer(lines.Bytes())
		if err == nil {
			err = json.NewEncoder(w).Encode(value)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return lines.Err()
}

type problem struct {
	Where string `json:"where"`
	What  string `json:"what"`
}

func problemsOf(line []byte) (any, error) {
	_, found, err := planfile.ReadJSON(line)
	problems := []problem{}
	for _, p := range found {
		problems = append(problems, problem{p.Where, p.What})
	}
	return problems, err
}

func drawPlans(number string, w io.Writer) error {
	n, err := strconv.Atoi(number)
	if err != nil {
		return fmt.Errorf("the number of plans: %w", err)
	}
	d := newDrawer()
	for range n {
		if err := json.NewEncoder(w).Encode(d.plan()); err != nil {
			return err
		}
	}
	return nil
}
