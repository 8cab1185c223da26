// Package telemetry is how a process is watched: its log and its metrics.
package telemetry

import (
	"io"
	"log/slog"
	"os"
)

// NewLog returns the process's log, in the format json or text.
func NewLog(w io.Writer, level slog.Level, format string) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if format == "text" {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

// IsTerminal reports whether a person watches the file.
func IsTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
