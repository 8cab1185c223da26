package telemetry

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// Line is one line of the log.
type Line struct {
	At         time.Time
	Level      string
	Message    string
	Attributes map[string]string
}

// Recent is a log's handler that keeps the last warnings and errors, for
// operators to look at, and hands everything on.
type Recent struct {
	slog.Handler
	attrs []slog.Attr
	kept  *kept
}

// keepLines bounds the memory that they take.
const keepLines = 50

type kept struct {
	mu    sync.Mutex
	lines []Line
}

// NewRecent keeps what is told to next.
func NewRecent(next slog.Handler) *Recent { return &Recent{next, nil, &kept{}} }

// Lines are the kept ones, newest first.
func (r *Recent) Lines() []Line {
	r.kept.mu.Lock()
	defer r.kept.mu.Unlock()
	lines := slices.Clone(r.kept.lines)
	slices.Reverse(lines)
	return lines
}

// Handle is slog.Handler's.
func (r *Recent) Handle(ctx context.Context, record slog.Record) error {
	if record.Level >= slog.LevelWarn {
		line := Line{record.Time, record.Level.String(), record.Message, map[string]string{}}
		for _, a := range r.attrs {
			line.note(a)
		}
		record.Attrs(func(a slog.Attr) bool {
			line.note(a)
			return true
		})
		r.kept.add(line)
	}
	return r.Handler.Handle(ctx, record)
}

// longest bounds an attribute, such as a stack.
const longest = 400 // bytes

func (l Line) note(a slog.Attr) {
	text := a.Value.Resolve().String()
	l.Attributes[a.Key] = strings.ToValidUTF8(text[:min(len(text), longest)], "")
}

func (k *kept) add(line Line) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.lines) == keepLines {
		k.lines = slices.Delete(k.lines, 0, 1)
	}
	k.lines = append(k.lines, line)
}

// WithAttrs is slog.Handler's.
func (r *Recent) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &Recent{r.Handler.WithAttrs(attrs), append(slices.Clip(r.attrs), attrs...), r.kept}
}

// WithGroup is slog.Handler's; the kept lines know no groups.
func (r *Recent) WithGroup(name string) slog.Handler {
	return &Recent{r.Handler.WithGroup(name), r.attrs, r.kept}
}
