package telemetry

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"
)

// Traced reports whether traces are exported. OpenTelemetry's own environment
// variables configure the exporter.
func Traced() bool { return traced }

var traced = os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""

const tracerName = "github.com/holdfast-dev/holdfast"

// Tracer returns the tracer of Holdfast's own spans.
func Tracer() trace.Tracer { return otel.Tracer(tracerName) }

// NameRequest names the request's span after its route.
func NameRequest(ctx context.Context, method, route, requestID string) {
	if !traced {
		return
	}
	span := trace.SpanFromContext(ctx)
	_, path, hasMethod := strings.Cut(route, " ")
	if !hasMethod {
		path = route
	}
	span.SetName(method + " " + path)
	span.SetAttributes(semconv.HTTPRoute(path), attribute.String("holdfast.request_id", requestID))
}

// TraceRun starts the trace of a job's run. The correlation ID is an attribute of
// it. end ends the trace.
func TraceRun(ctx context.Context, job, correlationID string) (runCtx context.Context, end func(error)) {
	runCtx, span := Tracer().Start(ctx, "run "+job, trace.WithNewRoot(), trace.WithAttributes(
		attribute.String("holdfast.job", job), attribute.String("holdfast.correlation_id", correlationID)))
	return runCtx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, "the run failed; see the log")
		}
		span.End()
	}
}

// MongoDBTraces returns a monitor that makes a span of each MongoDB command, with
// its name, database and collection, but without its content. It returns nil if
// traces are not exported.
func MongoDBTraces() *event.CommandMonitor {
	if !Traced() {
		return nil
	}
	var open sync.Map // spans by request ID
	end := func(id int64, failure error) {
		span, found := open.LoadAndDelete(id)
		if !found {
			return
		}
		s := span.(trace.Span)
		if failure != nil {
			s.SetStatus(codes.Error, statusOf(failure))
		}
		s.End()
	}
	return &event.CommandMonitor{
		Started: func(ctx context.Context, e *event.CommandStartedEvent) {
			collection, _ := e.Command.Lookup(e.CommandName).StringValueOK()
			_, span := Tracer().Start(ctx, strings.TrimSpace(e.CommandName+" "+collection), trace.WithSpanKind(trace.SpanKindClient),
				trace.WithAttributes(semconv.DBSystemNameMongoDB, semconv.DBNamespace(e.DatabaseName), semconv.DBOperationName(e.CommandName),
					attribute.String("db.collection.name", collection)))
			open.Store(e.RequestID, span)
		},
		Succeeded: func(_ context.Context, e *event.CommandSucceededEvent) { end(e.RequestID, nil) },
		Failed:    func(_ context.Context, e *event.CommandFailedEvent) { end(e.RequestID, e.Failure) },
	}
}

// statusOf describes a failure without the driver's message, which may quote a
// document.
func statusOf(err error) string {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err.Error()
	}
	return "the command failed"
}
