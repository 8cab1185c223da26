package seatctl

import (
	"io"
	"os"

	"golang.org/x/term"
)

// terminal is what a command knows of its output, if this is a terminal.
type terminal struct {
	is    bool
	width int // characters of a line; 0: not known
	color bool
}

// terminalOf returns what an output is: no terminal if it is a file, a pipe or a buffer. Colors can be switched off as
// https://no-color.org says.
func terminalOf(w io.Writer) terminal {
	file, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(file.Fd())) {
		return terminal{}
	}
	t := terminal{is: true, color: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
	if width, _, err := term.GetSize(int(file.Fd())); err == nil {
		t.width = width
	}
	return t
}
