package pipeline

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-dev/holdfast/internal/groupcommit"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
)

// traced begins the span of a batch's commit. The commit belongs to many requests, so it has its own trace, with a
// link to the trace of each request.
func traced(ctx context.Context, b *groupcommit.Batch[ID, queued]) (context.Context, func()) {
	if !telemetry.Traced() {
		return ctx, func() {}
	}
	var links []trace.Link
	requests, events := 0, make([]string, len(b.Groups))
	for i, g := range b.Groups {
		requests, events[i] = requests+len(g.Commands), g.Key.String()
		for _, c := range g.Commands {
			if c.span.IsValid() {
				links = append(links, trace.Link{SpanContext: c.span})
			}
		}
	}
	ctx, span := telemetry.Tracer().Start(ctx, "commit seats", trace.WithNewRoot(), trace.WithLinks(links...), trace.WithAttributes(
		attribute.StringSlice("holdfast.event_ids", events), attribute.Int("holdfast.requests", requests)))
	return ctx, func() { span.End() }
}
