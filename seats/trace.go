package seats

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-dev/holdfast/internal/telemetry"
)

// traced begins a span of a batch's commit. It belongs to many requests at once, and
// so to none of their traces: it links to each of them.
func traced(ctx context.Context, eventID ID, batch []*request) (context.Context, func()) {
	if !telemetry.Traced() {
		return ctx, func() {}
	}
	var links []trace.Link
	for _, r := range batch {
		if r.span.IsValid() {
			links = append(links, trace.Link{SpanContext: r.span})
		}
	}
	ctx, span := telemetry.Tracer().Start(ctx, "commit seats", trace.WithNewRoot(), trace.WithLinks(links...), trace.WithAttributes(
		attribute.String("holdfast.event_id", eventID.String()), attribute.Int("holdfast.requests", len(batch))))
	return ctx, func() { span.End() }
}
