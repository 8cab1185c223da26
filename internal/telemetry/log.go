// Package telemetry provides the log, the metrics, the spans and the version of a process. internal/app exports the spans.
package telemetry

import (
	"io"
	"log/slog"
	"os"
)

// NewLog returns a log in the format json or text.
func NewLog(w io.Writer, level slog.Level, format string) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if format == "text" {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

// IsTerminal reports whether the file is a terminal.
func IsTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
