package stream_test

import (
	"context"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/stream"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// A trace continues from the caller of Publish to the handler, also for a record that was stored together with its
// trace. Names and attributes of spans follow the messaging conventions.
func TestATraceContinuesInTheHandler(t *testing.T) {
	onBrokers(t, func(t *testing.T, addr string) {
		recorder := tracetest.NewSpanRecorder()
		provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder))
		client := connect(t, addr, stream.Options{Tracer: provider, ClientID: "tracer"})
		topic := newTopic(t, client, 1)

		call, root := provider.Tracer("test").Start(t.Context(), "POST /call")
		if err := client.Publish(call, stream.Record{Topic: topic, Value: []byte("1")}); err != nil {
			t.Fatal(err)
		}
		root.End()
		saved := "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		publish(t, client, stream.Record{Topic: topic, Value: []byte("2"), Headers: map[string]string{"traceparent": saved}})

		seen := make(chan trace.SpanContext, 4)
		start(t, func(ctx context.Context) error {
			return client.Consume(ctx, stream.Subscription{Group: unique("claims"), Topics: []string{topic}},
				func(ctx context.Context, claim stream.Claim) {
					seen <- trace.SpanContextFromContext(ctx)
					claim.Done()
				})
		})
		if got := <-seen; got.TraceID() != root.SpanContext().TraceID() {
			t.Errorf("claim 1 belongs to trace %s", got.TraceID())
		}
		if got := <-seen; got.TraceID().String() != saved[3:35] {
			t.Errorf("claim 2 belongs to trace %s", got.TraceID())
		}

		batches := make(chan []trace.TraceID, 4)
		start(t, func(ctx context.Context) error {
			return client.ConsumeBatches(ctx, stream.Subscription{Group: unique("batches"), Topics: []string{topic}},
				func(ctx context.Context, batch []stream.Record) error {
					ids := []trace.TraceID{trace.SpanContextFromContext(ctx).TraceID()}
					for _, record := range batch {
						ids = append(ids, trace.SpanContextFromContext(client.Context(ctx, record)).TraceID())
					}
					batches <- ids
					return nil
				})
		})
		ids := <-batches
		if len(ids) != 3 || ids[0] != ids[1] || ids[1] != root.SpanContext().TraceID() || ids[2].String() != saved[3:35] {
			t.Errorf("the batch's traces: %v", ids)
		}
		eventually(t, "the spans ended", func() bool { return len(recorder.Ended()) >= 6 })
		checkSpans(t, topic, recorder.Ended())
	})
}

func checkSpans(t *testing.T, topic string, spans []sdk.ReadOnlySpan) {
	t.Helper()
	kinds := make(map[string]trace.SpanKind)
	for _, span := range spans {
		kinds[span.Name()] = span.SpanKind()
		if span.Name() == "process "+topic && len(span.Links()) == 1 {
			if span.Links()[0].SpanContext.TraceID() == span.SpanContext().TraceID() {
				t.Error("the batch links to itself")
			}
		}
	}
	if kinds["send "+topic] != trace.SpanKindProducer || kinds["process "+topic] != trace.SpanKindConsumer {
		t.Errorf("spans %v", kinds)
	}
	for _, span := range spans {
		if span.SpanKind() != trace.SpanKindConsumer {
			continue
		}
		set := attribute.NewSet(span.Attributes()...)
		for _, key := range []attribute.Key{"messaging.system", "messaging.destination.name", "messaging.operation.name",
			"messaging.operation.type", "messaging.consumer.group.name", "messaging.destination.partition.id", "messaging.kafka.offset"} {
			if !set.HasValue(key) {
				t.Errorf("span %s has no %s", span.Name(), key)
			}
		}
	}
}
