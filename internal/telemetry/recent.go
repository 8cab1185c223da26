package telemetry

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// Line is a log line.
type Line struct {
	At         time.Time
	Level      string
	Message    string
	Attributes map[string]string
}

// Recent is a slog.Handler that passes all records on, and keeps the latest
// warnings and errors in memory for the operators' page.
type Recent struct {
	slog.Handler
	attrs  []slog.Attr
	buffer *buffer
}

const (
	maxLines          = 50
	maxAttributeBytes = 400 // a stack, for example, is longer
)

type buffer struct {
	mu    sync.Mutex
	lines []Line
}

// NewRecent returns a Recent that passes records on to next.
func NewRecent(next slog.Handler) *Recent { return &Recent{Handler: next, buffer: &buffer{}} }

// Lines returns the kept lines, newest first.
func (r *Recent) Lines() []Line {
	r.buffer.mu.Lock()
	defer r.buffer.mu.Unlock()
	lines := slices.Clone(r.buffer.lines)
	slices.Reverse(lines)
	return lines
}

// Handle implements slog.Handler.
func (r *Recent) Handle(ctx context.Context, record slog.Record) error {
	if record.Level >= slog.LevelWarn {
		line := Line{At: record.Time, Level: record.Level.String(), Message: record.Message, Attributes: map[string]string{}}
		for _, a := range r.attrs {
			line.add(a)
		}
		record.Attrs(func(a slog.Attr) bool {
			line.add(a)
			return true
		})
		r.buffer.add(line)
	}
	return r.Handler.Handle(ctx, record)
}

func (l Line) add(a slog.Attr) {
	text := a.Value.Resolve().String()
	l.Attributes[a.Key] = strings.ToValidUTF8(text[:min(len(text), maxAttributeBytes)], "")
}

func (b *buffer) add(line Line) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.lines) == maxLines {
		b.lines = slices.Delete(b.lines, 0, 1)
	}
	b.lines = append(b.lines, line)
}

// WithAttrs implements slog.Handler.
func (r *Recent) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &Recent{Handler: r.Handler.WithAttrs(attrs), attrs: slices.Concat(r.attrs, attrs), buffer: r.buffer}
}

// WithGroup implements slog.Handler. Kept lines do not have groups.
func (r *Recent) WithGroup(name string) slog.Handler {
	return &Recent{Handler: r.Handler.WithGroup(name), attrs: r.attrs, buffer: r.buffer}
}
