package app

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/semconv/v1.37.0"

	"github.com/holdfast-dev/holdfast/internal/telemetry"
)

// startTraces starts the export of the program's traces, if an endpoint is
// configured. stop exports the remaining spans and ends the export.
func startTraces(ctx context.Context, program, pod string) (stop func(context.Context) error, err error) {
	if !telemetry.Traced() {
		return func(context.Context) error { return nil }, nil
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, errors.Join(errors.New("OTEL_EXPORTER_OTLP_ENDPOINT"), err)
	}
	attributes, err := resource.Merge(resource.NewSchemaless(
		semconv.ServiceName("holdfast-"+program), semconv.ServiceInstanceID(pod)), resource.Environment()) // the last one wins: OTEL_SERVICE_NAME
	if err != nil {
		return nil, err
	}
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(attributes))
	otel.SetTracerProvider(provider)
	otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}))
	return provider.Shutdown, nil
}
