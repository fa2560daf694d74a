package catalog

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/google/uuid"
)

const (
	// MaxImported is the maximum number of events of an import.
	MaxImported = 200
	// importsAtOnce is how many imports a process runs at the same time, because each import needs some ten MiB.
	importsAtOnce = 2
	// importTries is how often an import, or its undo, tries to write while other writes are faster.
	importTries = 8
)

// ImportMark is what an event records of its import. A stored ImportMark never changes; a write replaces the pointer.
type ImportMark struct {
	Key    string `json:"key" audit:"key"`     // unique in the organization
	RunID  string `json:"runId" audit:"runId"` // the run that created the event
	Digest string `json:"digest"`              // digest of the event as it was sent
	// Changed means that a write of another source than an import or the scheduler has changed the event.
	Changed bool `json:"changed"`
}

// ImportKey returns the key of the event in an import. It is empty if the event was not imported.
func (e *Event) ImportKey() string {
	if e.Import == nil {
		return ""
	}
	return e.Import.Key
}

// markChanged sets Changed of the ImportMark, unless the source of the write is the scheduler. A write without a source is
// the consequence of another write and does not count either.
func (d *EventEdit) markChanged() {
	if d.Import != nil && !d.Import.Changed && d.source != "" && d.source != SourceScheduler {
		changed := *d.Import
		changed.Changed = true
		d.Import = &changed
	}
}

// DeletedImport records that a member has deleted an imported event. So the next import does not create the event again,
// unless it has Force.
type DeletedImport struct {
	OrganizationID string    `json:"organizationId"`
	Key            string    `json:"key"`
	DeletedAt      time.Time `json:"deletedAt"`
}

// ID returns the key of the record.
func (d *DeletedImport) ID() string { return deletedImportID(d.OrganizationID, d.Key) }

func deletedImportID(organization, key string) string { return organization + "/" + key }

// EventImport is a request to import events.
type EventImport struct {
	DashboardID string // dashboard of the events that have neither components nor dashboards
	RunID       string
	Events      []ImportedEvent
	DryRun      bool // nothing is stored; the results are those that the import would have
	Force       bool // events that a member has changed or deleted are imported too
}

// ImportStatus says what an import has done with an event.
type ImportStatus string

const (
	ImportCreated   ImportStatus = "created"
	ImportUnchanged ImportStatus = "unchanged"
	ImportUpdated   ImportStatus = "updated"
	ImportKept      ImportStatus = "kept" // a member has changed or deleted the event
	ImportRefused   ImportStatus = "refused"
)

// ImportResult is the result of the import of one event.
type ImportResult struct {
	Key     string
	Status  ImportStatus
	EventID string // empty: no event is stored, or Status is ImportRefused
	Error   string
}

// importRecord is the subject of the audit entry about an import or its undo. No collection stores it.
type importRecord struct {
	OrganizationID string
	RunID          string   `audit:"runId"`
	Created        []string `audit:"created"` // ids of events
	Updated        []string `audit:"updated"`
	Deleted        []string `audit:"deleted"`
}

// AuditEntity implements audit.Record.
func (r importRecord) AuditEntity() audit.Entity {
	return audit.Entity{Organization: r.OrganizationID, Type: "event", ID: r.RunID, Name: fmt.Sprintf("%d events", len(r.Created)+len(r.Updated)+len(r.Deleted))}
}

// importing is an import in progress.
type importing struct {
	c          *Catalog
	command    Command
	in         *EventImport
	components map[string]Component // by external reference
	dashboards map[string]bool      // ids of the organization's dashboards
	results    []ImportResult
	tried      map[string]string // ids of the events that this import has tried to create, by key
	updated    map[string]bool   // keys of the events that this import has tried to update
	noted      bool              // the audit entry is stored

	refusedPaths map[int]refusedPaths // by position of the event in the request
}

// importLine is an event of the request that check has not refused.
type importLine struct {
	*ImportedEvent
	at     int // position in the request
	digest string
}

// ImportEvents creates and updates events with their whole timelines. It refuses a wrong event and imports the others. It
// notifies nobody. Each event is one write, so a repeated import completes an interrupted import: the key of an event is
// unique, and an event that is stored as it was sent does not change.
func (c *Catalog) ImportEvents(ctx context.Context, command Command, in EventImport) ([]ImportResult, error) {
	if len(in.Events) < 1 || len(in.Events) > MaxImported {
		return nil, fault.Field("events", "must have from 1 to %d events", MaxImported)
	}
	if _, err := uuid.Parse(in.RunID); err != nil {
		return nil, fault.Field("runId", "must be a UUID")
	}
	if _, err := c.Dashboard(ctx, command.Organization, in.DashboardID); err != nil {
		return nil, err
	}
	select {
	case c.importing <- struct{}{}:
		defer func() { <-c.importing }()
	case <-ctx.Done():
		return nil, fault.Wrap(fault.Unavailable, ctx.Err(), "Too many imports wait for each other. Try again later.")
	}
	i := &importing{c: c, command: command, in: &in, results: make([]ImportResult, len(in.Events)), tried: map[string]string{}, updated: map[string]bool{}}
	if err := i.read(ctx); err != nil {
		return nil, err
	}
	lines, err := i.check()
	for try := 1; err == nil; try++ {
		err = i.write(ctx, lines)
		if !fault.Is(err, fault.Conflict) {
			break
		}
		if err = nil; try == importTries {
			err = fault.New(fault.Unavailable, "The same events are being written by others. Try again shortly.")
		}
	}
	if err == nil && !in.DryRun {
		err = i.setAliases(ctx, lines)
	}
	return i.results, err
}

// read loads the components that the events name, and the ids of the dashboards.
func (i *importing) read(ctx context.Context) error {
	refs := map[string]bool{}
	for n := range i.in.Events {
		for _, named := range i.in.Events[n].Components {
			refs[named.Key] = true
		}
	}
	i.components, i.dashboards = map[string]Component{}, map[string]bool{}
	for some := range slices.Chunk(slices.Sorted(maps.Keys(refs)), find.MaxMerged) {
		found, err := i.c.store.Components.Find(ctx, owned(i.command.Organization, find.Query{Where: []find.Condition{find.Has(FieldExternalRefs, some...)}}))
		if err != nil {
			return err
		}
		for _, component := range found.Items {
			for _, ref := range component.ExternalRefs {
				i.components[ref] = component
			}
		}
	}
	rows, err := i.c.store.Dashboards.Keys(ctx, owned(i.command.Organization, find.Query{}))
	for _, row := range rows {
		i.dashboards[row.Key] = true
	}
	return err
}

// check refuses wrong events and returns the lines of the others.
func (i *importing) check() ([]*importLine, error) {
	var lines []*importLine
	first, entries := map[string]int{}, map[string]string{}
	for at := range i.in.Events {
		in := &i.in.Events[at]
		i.results[at].Key = in.Key
		l := &importLine{ImportedEvent: in, at: at}
		err := in.Wrong
		if before, twice := first[in.Key]; err == nil && twice {
			err = fault.Field("key", "is that of event %d too", before+1)
		}
		if err == nil {
			err = checkEntryIDs(in, entries)
		}
		if err == nil {
			first[in.Key] = at
			if len(in.Components) == 0 && len(in.DashboardIDs) == 0 {
				in.DashboardIDs = []string{i.in.DashboardID}
			}
			_, err = i.eventOf(l, nil)
		}
		if err != nil {
			i.refuse(at, err)
			continue
		}
		text, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(text)
		l.digest = base64.RawStdEncoding.EncodeToString(sum[:])
		lines = append(lines, l)
	}
	return lines, nil
}

// checkEntryIDs returns a fault if an entry of the event has the publicId of another entry of the request. keys has, by the
// publicId of an entry, the key of the event with the entry, for the events before this event in the request.
// checkEntryIDs adds the entries of this event.
func checkEntryIDs(in *ImportedEvent, keys map[string]string) error {
	own := map[string]bool{}
	for n, entry := range in.Timeline {
		key, twice := keys[entry.PublicID]
		if entry.PublicID != "" && (own[entry.PublicID] || twice && key != in.Key) {
			return fault.Field(fmt.Sprintf("timeline[%d].publicId", n), "is that of another entry of the import")
		}
		own[entry.PublicID] = true
	}
	delete(own, "")
	for id := range own {
		keys[id] = in.Key
	}
	return nil
}

func (i *importing) refuse(at int, err error) {
	i.results[at] = ImportResult{Key: i.in.Events[at].Key, Status: ImportRefused, Error: fault.As(err).Error()}
}

// write compares the lines with the stored events, and writes the events that differ. If another write was faster, write
// returns a Conflict, but may have written some of the events.
func (i *importing) write(ctx context.Context, lines []*importLine) error {
	stored, err := i.stored(ctx, lines)
	if err != nil {
		return err
	}
	deleted, err := i.deleted(ctx, lines)
	if err != nil {
		return err
	}
	taken, err := i.takenIDs(ctx, lines)
	if err != nil {
		return err
	}
	var creates, updates []*Event
	for _, l := range lines {
		event, exists := stored[l.Key]
		result := &i.results[l.at]
		*result = ImportResult{Key: l.Key, EventID: event.ID}
		switch {
		case exists && event.Import.Digest == l.digest && !(i.in.Force && event.Import.Changed):
			switch {
			case i.tried[l.Key] == event.ID:
				result.Status = ImportCreated
			case i.updated[l.Key]:
				result.Status = ImportUpdated
			default:
				result.Status = ImportUnchanged
			}
			continue
		case exists && event.Import.Changed && !i.in.Force:
			result.Status, result.Error = ImportKept, "A member has changed the event. Send force to replace it."
			continue
		case !exists && deleted[l.Key] && !i.in.Force:
			result.Status, result.Error = ImportKept, "A member has deleted the event. Send force to import it again."
			continue
		case taken[l.Key] != nil:
			i.refuse(l.at, taken[l.Key])
			continue
		}
		next, err := i.eventOf(l, &event)
		if err != nil {
			return err
		}
		if exists {
			result.Status = ImportUpdated
			updates = append(updates, next)
		} else {
			result.Status = ImportCreated
			if !i.in.DryRun {
				result.EventID = next.ID
			}
			creates = append(creates, next)
		}
	}
	if i.in.DryRun || len(creates)+len(updates) == 0 {
		return nil
	}
	return i.store(ctx, creates, updates)
}
