package stream

import (
	"slices"
	"strings"

	"github.com/segmentio/kafka-go"
)

// Record is one message of a topic. Records of one key keep their order; without a
// key a record goes to any partition.
type Record struct {
	Topic   string
	Key     string
	Value   []byte
	Headers map[string]string
}

// message is the record in Kafka's form, with extra headers where the record has
// none of that name.
func (r Record) message(extra map[string]string) kafka.Message {
	message := kafka.Message{Topic: r.Topic, Value: r.Value}
	if r.Key != "" {
		message.Key = []byte(r.Key)
	}
	for name, value := range r.Headers {
		message.Headers = append(message.Headers, kafka.Header{Key: name, Value: []byte(value)})
	}
	for name, value := range extra {
		if _, has := r.Headers[name]; !has {
			message.Headers = append(message.Headers, kafka.Header{Key: name, Value: []byte(value)})
		}
	}
	slices.SortFunc(message.Headers, func(a, b kafka.Header) int { return strings.Compare(a.Key, b.Key) })
	return message
}
