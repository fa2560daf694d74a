package channel

import (
	"strings"
	"testing"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Every channel whose recipients a service keeps has an implementation. Without one the service does not start.
func TestEveryChannelHasAnImplementation(t *testing.T) {
	options := Options{Tracer: noop.NewTracerProvider(), Propagator: propagation.TraceContext{}}
	for _, registered := range topic.Channels() {
		table, err := Table(options)
		if err != nil {
			t.Fatal(err)
		}
		_, found := table[registered.Channel]
		delete(table, registered.Channel)
		err = complete(table)
		if found == (registered.Service == topic.Nobody) || found != (err != nil) || found && !strings.Contains(err.Error(), `"`+string(registered.Channel)+`"`) {
			t.Errorf("%s: implemented %t, and without the implementation %v", registered.Channel, found, err)
		}
	}
}
