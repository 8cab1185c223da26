package testenv

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
)

// Log is a slog.Handler that keeps the lines in memory.
type Log struct {
	mu    sync.Mutex
	lines []string
}

// Enabled accepts every level.
func (*Log) Enabled(context.Context, slog.Level) bool { return true }

// Handle keeps level and message.
func (l *Log) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, r.Level.String()+" "+r.Message)
	return nil
}

// WithAttrs drops the attributes.
func (l *Log) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup drops the group.
func (l *Log) WithGroup(string) slog.Handler { return l }

// Lines returns the lines that contain text.
func (l *Log) Lines(text string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []string
	for _, line := range l.lines {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// Has reports whether a line with this message was logged, at any level.
func (l *Log) Has(message string) bool {
	return slices.ContainsFunc(l.Lines(message), func(line string) bool {
		_, logged, _ := strings.Cut(line, " ")
		return logged == message
	})
}
