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
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/semconv/v1.37.0"
	traceapi "go.opentelemetry.io/otel/trace"
)

// Traced reports whether traces are sent anywhere: OpenTelemetry's own settings say
// where to, and much else.
func Traced() bool { return traced }

var traced = os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""

// StartTraces begins to send traces of the program, if there is an address to send
// them to. stop sends what is left.
func StartTraces(ctx context.Context, program, pod string) (stop func(context.Context) error, err error) {
	if !Traced() {
		return func(context.Context) error { return nil }, nil
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, errors.Join(errors.New("OTEL_EXPORTER_OTLP_ENDPOINT"), err)
	}
	about, err := resource.Merge(resource.NewSchemaless(
		semconv.ServiceName("holdfast-"+program), semconv.ServiceInstanceID(pod)), resource.Environment()) // OTEL_SERVICE_NAME wins
	if err != nil {
		return nil, err
	}
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(about))
	otel.SetTracerProvider(provider)
	otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}))
	return provider.Shutdown, nil
}

const tracerName = "github.com/holdfast-dev/holdfast"

// Tracer makes Holdfast's own spans.
func Tracer() traceapi.Tracer { return otel.Tracer(tracerName) }

// NameRequest gives a request's span the route that served it.
func NameRequest(ctx context.Context, method, route, requestID string) {
	if !traced {
		return
	}
	span := traceapi.SpanFromContext(ctx)
	_, path, both := strings.Cut(route, " ")
	if !both {
		path = route
	}
	span.SetName(method + " " + path)
	span.SetAttributes(semconv.HTTPRoute(path), attribute.String("holdfast.request_id", requestID))
}

// TraceRun makes one trace of a job's run, found by its correlation ID. ended ends it.
func TraceRun(ctx context.Context, job, correlationID string) (inner context.Context, ended func(error)) {
	inner, span := Tracer().Start(ctx, "run "+job, traceapi.WithNewRoot(), traceapi.WithAttributes(
		attribute.String("holdfast.job", job), attribute.String("holdfast.correlation_id", correlationID)))
	return inner, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, "the run failed; see the log")
		}
		span.End()
	}
}

// MongoDBTraces makes a span of each command to MongoDB: its name, database and
// collection, and nothing of its content. nil where nothing is traced.
func MongoDBTraces() *event.CommandMonitor {
	if !Traced() {
		return nil
	}
	var open sync.Map // spans by the command's request
	end := func(id int64, failure error) {
		span, found := open.LoadAndDelete(id)
		if !found {
			return
		}
		s := span.(traceapi.Span)
		if failure != nil {
			s.SetStatus(codes.Error, kindOf(failure))
		}
		s.End()
	}
	return &event.CommandMonitor{
		Started: func(ctx context.Context, e *event.CommandStartedEvent) {
			collection, _ := e.Command.Lookup(e.CommandName).StringValueOK()
			_, span := Tracer().Start(ctx, strings.TrimSpace(e.CommandName+" "+collection), traceapi.WithSpanKind(traceapi.SpanKindClient),
				traceapi.WithAttributes(semconv.DBSystemNameMongoDB, semconv.DBNamespace(e.DatabaseName), semconv.DBOperationName(e.CommandName),
					attribute.String("db.collection.name", collection)))
			open.Store(e.RequestID, span)
		},
		Succeeded: func(_ context.Context, e *event.CommandSucceededEvent) { end(e.RequestID, nil) },
		Failed:    func(_ context.Context, e *event.CommandFailedEvent) { end(e.RequestID, e.Failure) },
	}
}

// kindOf names a failure without what it says: a driver's message may quote a document.
func kindOf(err error) string {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err.Error()
	}
	return "the command failed"
}
