package edition

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/services/events/internal/uptime"
)

// Part is a stored part of the editions of a dashboard: the head of an edition, or what several editions share. The id
// of the head is that of the edition, which the PublishedPage record names. Parts never change.
//
// Decision. An edition is several records, because MongoDB refuses a record of more than 16 MiB, and because a write
// then encodes and stores only the parts that it changes. Head and parts are stored in one collection, so that a write
// needs one operation.
type Part struct {
	ID          string    `json:"id"` // uuid v7
	DashboardID string    `json:"dashboardId"`
	CreatedAt   time.Time `json:"createdAt"`
	// Number is the number of the edition; 0: the part is no head.
	Number int64     `json:"number"`
	Chunks []string  `json:"chunks"` // parts with a chunk each, in their order; a head has them
	Days   []DayPart `json:"days"`   // parts with a day each, the oldest first; a head has them
	// Body is JSON in gzip. A head has the State without the days of its components, a chunk has its events, and a day has
	// a uptime.AffectedDay by the id of the component.
	Body []byte `json:"body"`
}

// DayPart names the part with the days of components on a date.
type DayPart struct {
	Date string `json:"date"` // yyyy-mm-dd
	ID   string `json:"id"`
}

// File is a rendered file in its codings.
type File struct {
	Name    string   `json:"name"`   // the path below the dashboard's address
	Media   string   `json:"media"`  // Content-Type
	Policy  string   `json:"policy"` // Content-Security-Policy; empty: none
	Codings []Coding `json:"codings"`
}

// Coding is a file in a content coding.
type Coding struct {
	Name string `json:"name"` // identity, gzip or br
	Body []byte `json:"body"`
	ETag string `json:"etag"` // strong
}

// In returns the file in a content coding.
func (f *File) In(coding string) (Coding, bool) {
	for _, c := range f.Codings {
		if c.Name == coding {
			return c, true
		}
	}
	return Coding{}, false
}

// StoredFile is a file as it is stored. It is rendered at its first request and deleted with its edition.
//
// Decision. Files are records and not in the memory of a process, so that a restart renders none again. Of two
// processes that render one at the same time, the file that is stored first stays. They live for as long as their edition, which a visitor cannot prolong,
// and there are at most as many as the dashboard has events, months and components.
type StoredFile struct {
	EditionID   string    `json:"editionId"`
	DashboardID string    `json:"dashboardId"`
	CreatedAt   time.Time `json:"createdAt"`
	File        File      `json:"file"`
}

// Key returns the key of the record.
func (f *StoredFile) Key() string { return f.EditionID + "/" + f.File.Name }

func noFile() error { return fault.New(fault.NotFound, "The dashboard has no such file.") }

// decodedEdition is an edition with its decoded state. Nobody changes it.
type decodedEdition struct {
	Part   // the head, without its body
	state  State
	former string // the id of the edition that this one follows; empty if the process has read this one
	// snapshot returns the snapshot with the events.
	snapshot func() Snapshot
}

func newDecodedEdition(head Part, state State) *decodedEdition {
	head.Body = nil
	return &decodedEdition{Part: head, state: state, snapshot: sync.OnceValue(state.shown)}
}

// size returns about how many bytes the decodedEdition uses. The events count twice: in chunks, and in the snapshot that files are
// rendered from.
func (e *decodedEdition) size() int {
	n := headSize
	for _, one := range e.state.chunks {
		n += 2 * one.size
	}
	for i := range e.state.Snapshot.Components {
		component := &e.state.Snapshot.Components[i]
		n += 512 + len(component.Description) + 256*len(component.Days)
	}
	return n
}

const (
	// maxDecoded bounds the editions that a process remembers, in bytes.
	maxDecoded = 24 << 20
	// headSize is what an edition uses without components and events, in bytes, about.
	headSize = 3 << 10
)

// decodedEditions remembers the newest editions that the process has made or read. The zero value is empty.
type decodedEditions struct {
	mu   sync.Mutex
	byID map[string]*decodedEdition
	size int
}

func (d *decodedEditions) get(id string) *decodedEdition {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.byID[id]
}

// remember adds an edition. It evicts the older ones of the dashboard but the former one, of which a gateway may still
// read files. The older ones include those that the process has read for a gateway.
func (d *decodedEditions) remember(fresh *decodedEdition) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.byID == nil {
		d.byID = map[string]*decodedEdition{}
	}
	for id, old := range d.byID {
		if old.DashboardID == fresh.DashboardID && old.Number < fresh.Number && id != fresh.former {
			d.evict(id)
		}
	}
	d.evict(fresh.ID)
	for id := range d.byID {
		if d.size+fresh.size() <= maxDecoded {
			break
		}
		d.evict(id)
	}
	d.byID[fresh.ID] = fresh
	d.size += fresh.size()
}

func (d *decodedEditions) evict(id string) {
	if old, there := d.byID[id]; there {
		d.size -= old.size()
		delete(d.byID, id)
	}
}

// edition returns the edition with the id, or NotFound.
func (e *Editions) edition(ctx context.Context, id string) (*decodedEdition, error) {
	if known := e.decoded.get(id); known != nil {
		return known, nil
	}
	read, err := e.store.edition(ctx, id)
	if err == nil {
		e.decoded.remember(read)
	}
	return read, err
}

// Snapshot returns the snapshot of an edition, or NotFound.
func (r *Records) Snapshot(ctx context.Context, edition string) (Snapshot, error) {
	read, err := r.edition(ctx, edition)
	if err != nil {
		return Snapshot{}, err
	}
	return read.snapshot(), nil
}

// edition reads an edition. It returns NotFound if one of the parts is missing.
func (r *Records) edition(ctx context.Context, id string) (*decodedEdition, error) {
	head, err := r.Parts.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	wanted := head.uses()
	parts, err := r.Parts.GetMany(ctx, wanted)
	if err != nil {
		return nil, err
	}
	if head.Number == 0 || len(parts) < len(wanted) {
		return nil, fault.New(fault.NotFound, "The edition %s is not complete.", id)
	}
	var state State
	if err := unpack(head.Body, &state); err != nil {
		return nil, err
	}
	for _, part := range parts[:len(head.Chunks)] {
		var events []shownEvent
		if err := unpack(part.Body, &events); err != nil {
			return nil, err
		}
		one := newChunk(events)
		one.id = part.ID
		state.chunks = append(state.chunks, one)
	}
	for _, part := range parts[len(head.Chunks):] {
		var days map[string]uptime.AffectedDay
		if err := unpack(part.Body, &days); err != nil {
			return nil, err
		}
		for i := range state.Snapshot.Components {
			component := &state.Snapshot.Components[i]
			if day, there := days[component.ID]; there {
				component.Days = append(component.Days, day)
			}
		}
	}
	return newDecodedEdition(head, state), nil
}

// uses returns the ids of the parts of a head.
func (p *Part) uses() []string {
	ids := slices.Clone(p.Chunks)
	for _, day := range p.Days {
		ids = append(ids, day.ID)
	}
	return ids
}
