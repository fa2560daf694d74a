package catalog

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/services/events/internal/uptime"
)

// Part is a stored part of the editions of a dashboard: the head of an edition, or what several editions share. The id
// of the head is that of the edition, which the Page record names. Parts never change.
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
	Chunks []string  `json:"chunks"` // of a head: the parts that each have a chunk, in their order
	Days   []DayPart `json:"days"`   // of a head: the parts that each have a day, the oldest first
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

// KeptFile is a file as it is stored. It is rendered at its first request and deleted with its edition.
//
// Decision. Files are records and not in the memory of a process, so that a restart renders none again. Of two
// processes that render one at the same time, the file that is stored first stays. They live for as long as their edition, which a visitor cannot prolong,
// and there are at most as many as the dashboard has events, months and components.
type KeptFile struct {
	EditionID   string    `json:"editionId"`
	DashboardID string    `json:"dashboardId"`
	CreatedAt   time.Time `json:"createdAt"`
	File        File      `json:"file"`
}

// Key returns the key of the record.
func (f *KeptFile) Key() string { return f.EditionID + "/" + f.File.Name }

// Asked is what a file about one event or one month needs beside the snapshot.
type Asked struct {
	Event *ShownEvent
	Month *ShownMonth
}

// Renderer renders the files of a snapshot.
type Renderer interface {
	// Render returns the file with the name, or NotFound.
	Render(snapshot *Snapshot, name string, asked Asked) (File, error)
}

// Publication is what the public files need beside the records.
type Publication struct {
	Renderer Renderer
	URL      func(*Dashboard) string // the canonical address of a dashboard, without a final slash
	// Sign returns a value that nobody can compute without the platform's secret, for a purpose and a text.
	Sign  func(purpose, text string) string
	Tries Tries
}

// noFiles renders no files, for a catalog without Publish.
type noFiles struct{}

func (noFiles) Render(*Snapshot, string, Asked) (File, error) { return File{}, noFile() }

func noFile() error { return fault.New(fault.NotFound, "The dashboard has no such file.") }

// Publish sets how public files are made. It is called once, before the first write.
func (c *Catalog) Publish(p Publication) { c.publication = p }

// issue is an edition with its decoded state. Nobody changes it.
type issue struct {
	Part   // the head, without its body
	state  State
	former string // the id of the edition that this one follows; empty if the process has read this one
	// snapshot returns the snapshot with the events.
	snapshot func() Snapshot
}

func newIssue(head Part, state State) *issue {
	head.Body = nil
	return &issue{Part: head, state: state, snapshot: sync.OnceValue(state.shown)}
}

// size returns about how many bytes the issue uses. The events count twice: in chunks, and in the snapshot that files are
// rendered from.
func (e *issue) size() int {
	n := issueHead
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
	// maxIssues bounds the editions that a process remembers, in bytes.
	maxIssues = 24 << 20
	// issueHead is what an edition uses without components and events, in bytes, about.
	issueHead = 3 << 10
)

// issues remembers the newest editions that the process has made or read. The zero value is empty.
type issues struct {
	mu   sync.Mutex
	byID map[string]*issue
	size int
}

func (i *issues) get(id string) *issue {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.byID[id]
}

// remember adds an edition. It forgets the older ones of the dashboard but the former one, of which a gateway may still
// read files. The older ones include those that the process has read for a gateway.
func (i *issues) remember(fresh *issue) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.byID == nil {
		i.byID = map[string]*issue{}
	}
	for id, old := range i.byID {
		if old.DashboardID == fresh.DashboardID && old.Number < fresh.Number && id != fresh.former {
			i.forget(id)
		}
	}
	i.forget(fresh.ID)
	for id := range i.byID {
		if i.size+fresh.size() <= maxIssues {
			break
		}
		i.forget(id)
	}
	i.byID[fresh.ID] = fresh
	i.size += fresh.size()
}

func (i *issues) forget(id string) {
	if old, there := i.byID[id]; there {
		i.size -= old.size()
		delete(i.byID, id)
	}
}

// edition returns the edition with the id, or NotFound.
func (c *Catalog) edition(ctx context.Context, id string) (*issue, error) {
	if known := c.issues.get(id); known != nil {
		return known, nil
	}
	read, err := c.store.edition(ctx, id)
	if err == nil {
		c.issues.remember(read)
	}
	return read, err
}

// Snapshot returns the snapshot of an edition, or NotFound.
func (s *Store) Snapshot(ctx context.Context, edition string) (Snapshot, error) {
	read, err := s.edition(ctx, edition)
	if err != nil {
		return Snapshot{}, err
	}
	return read.snapshot(), nil
}

// edition reads an edition. It returns NotFound if one of the parts is missing.
func (s *Store) edition(ctx context.Context, id string) (*issue, error) {
	head, err := s.Parts.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	wanted := head.uses()
	parts, err := s.Parts.GetMany(ctx, wanted)
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
	return newIssue(head, state), nil
}

// uses returns the ids of the parts of a head.
func (p *Part) uses() []string {
	ids := slices.Clone(p.Chunks)
	for _, day := range p.Days {
		ids = append(ids, day.ID)
	}
	return ids
}
