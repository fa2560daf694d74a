package document

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/propagation"

	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// HeaderID is the header with a message's id, a uuid version 7 made when it was written.
const HeaderID = "outbox-id"

// entry is a message in an outbox. One without a topic publishes nothing: it only records that Derive
// is still due, so that a killed process leaves no projection behind its record.
type entry struct {
	ID      string            `bson:"id"`
	Topic   string            `bson:"topic,omitempty"`
	Key     string            `bson:"key,omitempty"`
	Value   []byte            `bson:"value,omitempty"`
	Headers map[string]string `bson:"headers,omitempty"`
}

func (e *entry) record() stream.Record {
	headers := make(map[string]string, len(e.Headers)+1)
	for name, value := range e.Headers {
		headers[name] = value
	}
	headers[HeaderID] = e.ID
	return stream.Record{Topic: e.Topic, Key: e.Key, Value: e.Value, Headers: headers}
}

// entries prepares messages for the outbox, with the trace of ctx.
func (db *Database) entries(ctx context.Context, s *shape, messages []topic.Message) ([]entry, error) {
	var out []entry
	for _, message := range messages {
		value, err := json.Marshal(message)
		if err != nil {
			return nil, fmt.Errorf("encode a message to %s: %w", message.Topic(), err)
		}
		headers := propagation.MapCarrier{}
		db.propagator.Inject(ctx, headers)
		id, err := uuid.NewV7()
		if err != nil {
			return nil, fmt.Errorf("make a message id: %w", err)
		}
		out = append(out, entry{ID: id.String(), Topic: message.Topic(), Key: message.Key(), Value: value, Headers: headers})
	}
	if len(out) == 0 && s.derives {
		id, err := uuid.NewV7()
		if err != nil {
			return nil, fmt.Errorf("make a mark: %w", err)
		}
		out = append(out, entry{ID: id.String()})
	}
	return out, nil
}

// derivedSet remembers the outbox entries after whose write this process has run Derive already, so
// that its relay need not do it again.
type derivedSet struct {
	mu  sync.Mutex
	ids map[string]struct{}
}

// A relay that runs elsewhere never takes from this set; past this many all of it is forgotten, which costs
// repeated Derives only.
const maxDerived = 10000

func (d *derivedSet) add(entries []entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ids == nil || len(d.ids) > maxDerived {
		d.ids = make(map[string]struct{})
	}
	for i := range entries {
		d.ids[entries[i].ID] = struct{}{}
	}
}

// take reports whether Derive ran for all entries, and forgets them.
func (d *derivedSet) take(entries []entry) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := true
	for i := range entries {
		if _, ok := d.ids[entries[i].ID]; !ok {
			all = false
		}
		delete(d.ids, entries[i].ID)
	}
	return all
}
