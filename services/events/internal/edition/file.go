package edition

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/uptime"
	"github.com/google/uuid"
)

// maxFileName bounds the name of a file, in bytes.
const maxFileName = 255

// DashboardFile returns a file of the current edition of an enabled dashboard, or NotFound.
func (e *Editions) DashboardFile(ctx context.Context, dashboardID, name string) (File, error) {
	page, err := e.store.Pages.Get(ctx, dashboardID)
	if err == nil && !page.Enabled {
		err = catalog.NoDashboard()
	}
	if page, err = e.current(ctx, page, err); err != nil {
		return File{}, err
	}
	return e.EditionFile(ctx, page.EditionID, name)
}

// EditionFile returns a file of an edition, or NotFound. A file is rendered at its first request and then stored.
// Rendering all files within a write would take longer than the write itself.
func (e *Editions) EditionFile(ctx context.Context, id, name string) (File, error) {
	if len(name) > maxFileName {
		return File{}, noFile()
	}
	of, err := e.edition(ctx, id)
	if fault.Is(err, fault.NotFound) {
		return File{}, fault.New(fault.NotFound, "There is no such edition.")
	}
	if err != nil {
		return File{}, err
	}
	key := id + "/" + name
	kept, err := e.store.Files.Get(ctx, key)
	if !fault.Is(err, fault.NotFound) {
		return kept.File, err
	}
	return catalog.Share(ctx, &e.files, key, nil, func(ctx context.Context, _ []struct{}) (File, error) { return e.renderFile(ctx, of, name) })
}

// storeWait is the maximum time that a visitor waits for the storing of a file.
const storeWait = time.Second

// renderFile renders and stores a file. If the file is already stored, for example by another process, it returns the
// stored file.
func (e *Editions) renderFile(ctx context.Context, of *decodedEdition, name string) (File, error) {
	fresh := StoredFile{EditionID: of.ID, DashboardID: of.DashboardID, CreatedAt: e.Now(), File: File{Name: name}}
	kept, err := e.store.Files.Get(ctx, fresh.Key())
	if !fault.Is(err, fault.NotFound) {
		return kept.File, err
	}
	extra, err := e.extraFor(ctx, of, name)
	if err != nil {
		return File{}, err
	}
	snapshot := of.snapshot()
	if fresh.File, err = e.Renderer.Render(&snapshot, name, extra); err != nil {
		return File{}, err
	}
	waiting, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	err = e.store.Files.Insert(waiting, fresh)
	if fault.Is(err, fault.Conflict) {
		kept, err = e.store.Files.Get(ctx, fresh.Key())
		return kept.File, err
	}
	if err != nil && !fault.Is(err, fault.Unavailable) && waiting.Err() == nil { // for example because MongoDB refuses a record of more than 16 MiB
		e.Log.LogAttrs(ctx, slog.LevelWarn, "a file cannot be stored", slog.String("dashboard", of.DashboardID), slog.String("file", name), slog.Any("error", err))
	}
	return fresh.File, nil // files are only stored so that they are not rendered again
}

// extraFor returns the data besides the snapshot that a file needs.
func (e *Editions) extraFor(ctx context.Context, of *decodedEdition, name string) (extra Extra, err error) {
	folder, rest, _ := strings.Cut(name, "/")
	switch {
	case folder == "events" && !strings.Contains(rest, "/"):
		extra.Event, err = e.eventOf(ctx, of, rest)
	case folder == "history" && rest != "":
		extra.Month, err = e.monthOf(ctx, of, rest)
	}
	return extra, err
}

// eventOf returns an event as the dashboard of an edition shows it, or NotFound. It returns a recent event from the
// state, and reads any other event from the store.
func (e *Editions) eventOf(ctx context.Context, of *decodedEdition, id string) (*ShownEvent, error) {
	if recent := of.state.chunks.get(id).Event; recent != nil {
		return recent, of.state.unlessAhead(recent)
	}
	if uuid.Validate(id) != nil {
		return nil, noFile()
	}
	event, err := e.records.EventOf(ctx, of.state.OrganizationID, id)
	if fault.Is(err, fault.NotFound) {
		return nil, noFile()
	}
	shown := shownOn(&event, of.DashboardID, of.state.names())
	if err == nil && shown.Event == nil {
		err = noFile()
	}
	return shown.Event, cmp.Or(err, of.state.unlessAhead(shown.Event))
}

// monthOf reads the events of a month, and returns the month as the dashboard of an edition shows it, or NotFound.
func (e *Editions) monthOf(ctx context.Context, of *decodedEdition, name string) (*ShownMonth, error) {
	snapshot := &of.state.Snapshot
	month, err := time.Parse("2006-01", name)
	if err != nil || !slices.Contains(snapshot.Months, name) {
		return nil, noFile()
	}
	calendar := uptime.MonthCalendar(month, snapshot.Dashboard.Zone(), snapshot.At)
	m := &composition{records: &e.records, calendar: calendar, names: of.state.names(), state: State{OrganizationID: of.state.OrganizationID}}
	m.state.Snapshot.Dashboard.ID = of.DashboardID
	out := &ShownMonth{Month: name, Events: []ShownEvent{}, Uptimes: map[string]*float64{}}
	from, to := calendar.Days[0].From, calendar.Today().To
	var found []shownEvent
	spans, err := m.readBetween(ctx, []string{""}, from, &to, func(event shownEvent) { found = append(found, event) })
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, newestFirst)
	for _, event := range found {
		if !event.Event.ahead(snapshot.At) {
			out.Events = append(out.Events, *event.Event)
		}
	}
	for i := range snapshot.Components {
		component := snapshot.Components[i]
		component.Days = calendar.Tallied(component.Since, component.spans(spans[component.ID]), calendar.Days)
		out.Uptimes[component.ID] = calendar.Uptime(component.Since, component.Days, len(calendar.Days), snapshot.Dashboard.Content.Uptime.PartialOutageWeight)
	}
	return out, nil
}
