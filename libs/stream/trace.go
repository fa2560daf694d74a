package stream

import (
	"context"
	"slices"
	"strconv"

	"github.com/segmentio/kafka-go"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// maxLinks is the maximum number of traces to which a span links.
const maxLinks = 32

// Context returns ctx with the trace that the record carries. A handler of batches uses it to process records one at a
// time. If the record carries no trace, Context returns ctx.
func (c *Client) Context(ctx context.Context, record Record) context.Context {
	if len(record.Headers) == 0 {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier(record.Headers))
}

func (c *Client) remote(record Record) trace.SpanContext {
	return trace.SpanContextFromContext(c.Context(context.Background(), record))
}

// produce starts one span per topic. A record without a trace gets the trace of the span of its topic. A record from an
// outbox already contains the trace of the call that wrote it, and produce does not replace that trace. If ctx has no
// trace, the span is a child of the first such trace. The span links to the other traces. The span does not contain
// keys, because a key may be a person's address. The returned function ends the spans.
func (c *Client) produce(ctx context.Context, records []Record) ([]kafka.Message, func(error)) {
	byTopic := make(map[string][]Record)
	for _, record := range records {
		byTopic[record.Topic] = append(byTopic[record.Topic], record)
	}
	spans := make([]trace.Span, 0, len(byTopic))
	carriers := make(map[string]propagation.MapCarrier, len(byTopic))
	for topic, records := range byTopic {
		parent := ctx
		carries := slices.IndexFunc(records, func(record Record) bool { return c.remote(record).IsValid() })
		if carries >= 0 && !trace.SpanContextFromContext(ctx).IsValid() {
			parent = c.Context(ctx, records[carries])
		}
		spanned, span := c.tracer.Start(parent, "send "+topic,
			trace.WithSpanKind(trace.SpanKindProducer),
			trace.WithLinks(c.links(trace.SpanContextFromContext(parent), records)...),
			trace.WithAttributes(append(c.attributes(topic),
				semconv.MessagingOperationName("send"), semconv.MessagingOperationTypeSend,
				semconv.MessagingBatchMessageCount(len(records)))...))
		spans = append(spans, span)
		carriers[topic] = propagation.MapCarrier{}
		propagation.TraceContext{}.Inject(spanned, carriers[topic])
	}
	messages := make([]kafka.Message, len(records))
	for i, record := range records {
		extra := carriers[record.Topic]
		if c.remote(record).IsValid() {
			extra = nil
		}
		messages[i] = record.message(extra)
	}
	return messages, func(err error) {
		for _, span := range spans {
			finishSpan(span, err)
		}
	}
}

// consume starts a span for processing records of one partition. The span continues the trace of the first record, and
// links to the traces of the others.
func (c *Client) consume(ctx context.Context, group string, partition int, records []Record) (context.Context, trace.Span) {
	first := c.remote(records[0])
	topic := records[0].Topic
	attributes := append(c.attributes(topic),
		semconv.MessagingOperationName("process"), semconv.MessagingOperationTypeProcess,
		semconv.MessagingConsumerGroupName(group),
		semconv.MessagingDestinationPartitionID(strconv.Itoa(partition)),
		semconv.MessagingKafkaOffset(int(records[0].offset)))
	if len(records) > 1 {
		attributes = append(attributes, semconv.MessagingBatchMessageCount(len(records)))
	}
	return c.tracer.Start(trace.ContextWithRemoteSpanContext(ctx, first), "process "+topic,
		trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithLinks(c.links(first, records[1:])...),
		trace.WithAttributes(attributes...))
}

func (c *Client) attributes(topic string) []attribute.KeyValue {
	return []attribute.KeyValue{
		semconv.MessagingSystemKafka,
		semconv.MessagingDestinationName(topic),
		semconv.MessagingClientID(c.id),
	}
}

// links returns a link to each trace that the records carry, except the trace of the span itself, and at most maxLinks
// links.
func (c *Client) links(own trace.SpanContext, records []Record) []trace.Link {
	var links []trace.Link
	seen := map[trace.TraceID]bool{own.TraceID(): true}
	for _, record := range records {
		remote := c.remote(record)
		if !remote.IsValid() || seen[remote.TraceID()] || len(links) == maxLinks {
			continue
		}
		seen[remote.TraceID()] = true
		links = append(links, trace.Link{SpanContext: remote})
	}
	return links
}

func finishSpan(span trace.Span, err error) {
	if err != nil {
		span.RecordError(err)
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}
