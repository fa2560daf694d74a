package catalog

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// Edition is an immutable record of what the public files of a dashboard show. The Page record names the current one.
type Edition struct {
	ID          string    `json:"id"` // uuid v7
	DashboardID string    `json:"dashboardId"`
	Number      int64     `json:"number"`
	CreatedAt   time.Time `json:"createdAt"`
	State       []byte    `json:"state"`  // a State without events, as JSON in gzip
	Chunks      []Chunk   `json:"chunks"` // the events, the newest first
}

// State is a snapshot, and what the next snapshot follows from.
type State struct {
	Snapshot       Snapshot `json:"snapshot"`
	OrganizationID string   `json:"organizationId"`
	FirstMonth     string   `json:"firstMonth"` // of history, yyyy-mm
	// Spans is the times that Snapshot.Events count, by the id of the event. With them today's numbers are computed
	// without reading an event.
	Spans map[string][]Span `json:"spans"`
}

// Chunk is the events of a State that began on one day, as JSON in gzip. An edition takes the chunks of the former one
// that did not change, so that a write encodes only the events of few days.
type Chunk struct {
	Day  int64  `json:"day"` // since 1970, in UTC
	Body []byte `json:"body"`
}

// chunkOf returns Chunk.Day of an event.
func chunkOf(e *ShownEvent) int64 { return e.StartAt.Unix() / (24 * 60 * 60) }

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
	// AtOnce returns the names of the files that the gateway reads with each edition.
	AtOnce() []string
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

func (noFiles) AtOnce() []string { return nil }

func (noFiles) Render(*Snapshot, string, Asked) (File, error) { return File{}, noFile() }

func noFile() error { return fault.New(fault.NotFound, "The dashboard has no such file.") }

// Publish sets how public files are made. It is called once, before the first write.
func (c *Catalog) Publish(p Publication) { c.publication = p }

// issue is an edition with its decoded state. Nobody changes it.
type issue struct {
	Edition
	state State
}

// size returns about how many bytes the issue uses.
func (e *issue) size() int {
	n := len(e.State)
	for _, chunk := range e.Chunks {
		n += len(chunk.Body)
	}
	return n * 8 // as it is decoded
}

// maxIssues bounds the editions that a process remembers, in bytes.
const maxIssues = 64 << 20

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

// remember adds an edition in place of the former one, which may be nil.
func (i *issues) remember(fresh *issue, former string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.byID == nil {
		i.byID = map[string]*issue{}
	}
	for _, id := range []string{former, fresh.ID} {
		i.forget(id)
	}
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
	record, err := c.store.Editions.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	read := &issue{Edition: record}
	if read.state, err = record.Decode(); err != nil {
		return nil, err
	}
	c.issues.remember(read, "")
	return read, nil
}

// chunkState is what a chunk holds of a State.
type chunkState struct {
	Events []ShownEvent      `json:"events"`
	Spans  map[string][]Span `json:"spans"`
}

// encode sets State and Chunks. It takes the chunks of former whose days are not in changed.
func (e *issue) encode(former *issue, changed map[int64]bool) (err error) {
	head := e.state
	head.Snapshot.Events, head.Spans = nil, nil
	if e.State, err = pack(head); err != nil {
		return err
	}
	known := map[int64]Chunk{}
	if former != nil {
		for _, chunk := range former.Chunks {
			known[chunk.Day] = chunk
		}
	}
	e.Chunks = []Chunk{}
	for events := e.state.Snapshot.Events; len(events) > 0; {
		n, day := 1, chunkOf(&events[0])
		for n < len(events) && chunkOf(&events[n]) == day {
			n++
		}
		chunk, there := known[day]
		if !there || changed[day] {
			if chunk, err = e.chunk(day, events[:n]); err != nil {
				return err
			}
		}
		e.Chunks = append(e.Chunks, chunk)
		events = events[n:]
	}
	return nil
}

func (e *issue) chunk(day int64, events []ShownEvent) (Chunk, error) {
	of := chunkState{Events: events, Spans: map[string][]Span{}}
	for i := range events {
		if spans := e.state.Spans[events[i].ID]; len(spans) > 0 {
			of.Spans[events[i].ID] = spans
		}
	}
	body, err := pack(of)
	return Chunk{day, body}, err
}

// Decode returns the state of the edition.
func (e *Edition) Decode() (State, error) {
	var state State
	if err := unpack(e.State, &state); err != nil {
		return State{}, err
	}
	state.Snapshot.Events, state.Spans = []ShownEvent{}, map[string][]Span{}
	for _, chunk := range e.Chunks {
		var part chunkState
		if err := unpack(chunk.Body, &part); err != nil {
			return State{}, err
		}
		state.Snapshot.Events = append(state.Snapshot.Events, part.Events...)
		maps.Copy(state.Spans, part.Spans)
	}
	return state, nil
}

func pack(value any) ([]byte, error) {
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if err := json.NewEncoder(zip).Encode(value); err != nil {
		return nil, fmt.Errorf("encode an edition: %w", err)
	}
	err = zip.Close()
	return out.Bytes(), err
}

func unpack(body []byte, value any) error {
	zip, err := gzip.NewReader(bytes.NewReader(body))
	if err == nil {
		err = json.NewDecoder(zip).Decode(value)
	}
	if err != nil {
		return fmt.Errorf("decode an edition: %w", err)
	}
	return nil
}

// insertEdition stores the edition of a snapshot. changed is the days of the chunks that differ from those of the former
// edition.
func (c *Catalog) insertEdition(ctx context.Context, page *Page, state *State, former *issue, changed map[int64]bool) (*issue, error) {
	made := &issue{
		Edition: Edition{ID: newID(), DashboardID: page.DashboardID, Number: state.Snapshot.Edition, CreatedAt: c.now()},
		state:   *state,
	}
	if err := made.encode(former, changed); err != nil {
		return nil, err
	}
	return made, c.store.Editions.Insert(ctx, made.Edition)
}

// deleteEditions deletes the editions of a dashboard from before a time, with their files, except the kept one. It finds
// the files by themselves too: one may be rendered while its edition is deleted.
func (c *Catalog) deleteEditions(ctx context.Context, dashboardID, kept string, before time.Time) error {
	query := find.Query{Where: []find.Condition{find.Eq(FieldDashboard, dashboardID), find.Lte(FieldCreatedAt, before)}}
	return together(
		func() error { return deleteAll(ctx, c.store.Files, query, kept) },
		func() error { return deleteAll(ctx, c.store.Editions, query, kept) },
	)
}

// deleteAll deletes the records that the query finds and that are not of the kept edition.
func deleteAll[T any](ctx context.Context, from Issued[T], query find.Query, kept string) error {
	rows, err := from.Keys(ctx, query, FieldEdition)
	if err != nil {
		return err
	}
	var gone []string
	for _, row := range rows {
		if row.Values[0] != kept {
			gone = append(gone, row.Key)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	_, err = from.DeleteMany(ctx, find.Query{Where: append(query.Where, find.In(FieldID, gone...)), Scan: IndexDashboard})
	return err
}
