// Package source reads the status pages of other products from files and returns interchange lines (package lines). It
// calls no server and writes nothing.
//
// Decisions: Each reader is a function from a file or folder to a set of lines, with the tables of its mapping at the
// top of its file. A record that cannot be read becomes a warning that names the record and the field, and the reader
// continues with the others. What a reader loses or changes becomes a warning too. The set passes the checks of package
// lines at the end, so no reader can return a set that the next program refuses.
package source

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
)

// Options are the settings of Read.
type Options struct {
	Only    []string       // components, events, subscribers, endpoints; empty: all
	Zone    *time.Location // zone of times that name none; nil: UTC
	Outages time.Duration  // shortest outage that becomes an incident; 0: none does
	Now     time.Time
	LeftOut func(kind string, count int) // is called with the number of events, subscribers or endpoints that Only leaves out; may be nil
	Bounded bool                         // the memory is shared with others, so the source may have at most maxRecords records, each of at most lines.MaxLine bytes
}

// maxRecords is the maximum number of records of a bounded source.
const maxRecords = 250_000

// reader fills the builder from the file or folder at path.
type reader struct {
	name string
	read func(ctx context.Context, b *builder, path string) error
}

func readers() []reader {
	return []reader{
		{"lines", readLines},
		{"statuspage", readStatuspage},
		{"uptime-kuma", readKuma},
		{"cstate", readCState},
		{"upptime", readUpptime},
		{"gatus", readGatus},
		{"cachet", readCachet},
		{"openstatus", readOpenStatus},
	}
}

// Names returns the names of the sources.
func Names() []string {
	var names []string
	for _, r := range readers() {
		names = append(names, r.name)
	}
	return names
}

// Read reads a source. It returns an error if nothing can be read, if ctx ends, or if the source exceeds a bound.
func Read(ctx context.Context, name, path string, o Options) (*lines.Set, error) {
	place := slices.IndexFunc(readers(), func(r reader) bool { return r.name == name })
	if place < 0 {
		return nil, fmt.Errorf("the source %q is unknown; possible are %s", name, strings.Join(Names(), ", "))
	}
	b := &builder{Options: o, set: &lines.Set{}, zoned: o.Zone != nil, ended: ctx.Err}
	b.Zone = cmp.Or(o.Zone, time.UTC)
	err := readers()[place].read(ctx, b, path)
	if err = cmp.Or(b.stopped, err); err != nil {
		return nil, err
	}
	return b.done(), nil
}

// builder collects the lines of a source.
type builder struct {
	Options
	set     *lines.Set
	zoned   bool         // Options.Zone was given
	ended   func() error // returns an error if the context of Read has ended
	records int          // number of records that were read
	stopped error        // why no more records are read
}

// next counts a record with a size in bytes, before the record is decoded. It returns an error, also in all later calls, if
// the source exceeds a bound or the context of Read has ended.
func (b *builder) next(size int) error {
	b.records++
	switch {
	case b.stopped != nil:
	case b.Bounded && b.records > maxRecords:
		b.stopped = fmt.Errorf("there are more than %d records; the command bellbuoy import reads any number", maxRecords)
	case b.Bounded && size > lines.MaxLine:
		b.stopped = fmt.Errorf("a record has more than %d bytes; the command bellbuoy import reads it", lines.MaxLine)
	default:
		b.stopped = b.ended()
	}
	return b.stopped
}

// warn adds a warning about a record of the source.
func (b *builder) warn(key, field, format string, args ...any) {
	b.set.Warn(key, field, fmt.Sprintf(format, args...))
}

// about calls read, which adds records of a kind. If Only leaves out the kind, about removes the warnings that read has added.
func (b *builder) about(kind string, read func()) {
	before := len(b.set.Warnings)
	read()
	if len(b.Only) > 0 && !slices.Contains(b.Only, kind) {
		b.set.Warnings = b.set.Warnings[:before]
	}
}

// event adds an event. It orders the timeline, cuts a long title, replaces a title that shows nothing, moves an end before the
// start to the start, and moves a planned end that is not after the planned start to 1 min after the planned start.
func (b *builder) event(e lines.Event) {
	if e.Title = b.oneLine(e.Key, "title", e.Title, lines.MaxTitle); richtext.IsBlank(e.Title) {
		e.Title = map[string]string{"maintenance": "Maintenance"}[e.Type]
		e.Title = cmp.Or(e.Title, "Incident")
		b.warn(e.Key, "title", "shows nothing; it becomes %q", e.Title)
	}
	slices.SortStableFunc(e.Timeline, func(one, other lines.Entry) int { return one.At.Compare(other.At) })
	start := cmp.Or(e.StartAt, e.ScheduledStartAt)
	if e.EndAt != nil && start != nil && e.EndAt.Before(*start) {
		b.warn(e.Key, "endAt", "is %s, before the start; it becomes the start", e.EndAt.Format(time.RFC3339))
		e.EndAt = start
	}
	if e.ScheduledEndAt != nil && e.ScheduledStartAt != nil && !e.ScheduledEndAt.After(*e.ScheduledStartAt) {
		if e.EndAt == nil || !e.EndAt.Equal(*start) {
			b.warn(e.Key, "scheduledEndAt", "is %s, not after the planned start; it becomes 1 min later", e.ScheduledEndAt.Format(time.RFC3339))
		}
		later := e.ScheduledStartAt.Add(time.Minute)
		e.ScheduledEndAt = &later
	}
	b.set.Events = append(b.set.Events, e)
}

// progress sets the status of a maintenance by its planned times. If the planned start or end is later than now, the scheduler
// will start or end the maintenance.
func (b *builder) progress(e *lines.Event) {
	switch {
	case !e.ScheduledEndAt.After(b.Now):
		e.Status, e.StartAt, e.EndAt = "completed", e.ScheduledStartAt, e.ScheduledEndAt
	case !e.ScheduledStartAt.After(b.Now):
		e.Status, e.StartAt, e.AutoEnd = "inprogress", e.ScheduledStartAt, true
	default:
		e.Status, e.AutoStart, e.AutoEnd = "planning", true, true
	}
}

// entry adds an entry to the timeline of an event. A text that is too long becomes several entries. An entry without a
// text gets its status as the text. A status that the type of the event does not have becomes an update.
func (b *builder) entry(e *lines.Event, entry lines.Entry) {
	if entry.Status != "update" && !slices.Contains(lines.Statuses(e.Type), entry.Status) {
		b.warn(e.Key, "timeline", "the status %.60q of the entry of %s is unknown; it becomes update", entry.Status, entry.At.Format(time.RFC3339))
		entry.Status = "update"
	}
	if richtext.IsBlank(richtext.PlainText(richtext.Rich, entry.HTML)) {
		entry.HTML = "<p>" + strings.ToUpper(entry.Status[:1]) + entry.Status[1:] + "</p>"
	}
	parts := split(entry.HTML)
	if len(parts) > 1 {
		b.warn(e.Key, "timeline", "the text of the entry of %s has more than %d characters; it becomes %d entries", entry.At.Format(time.RFC3339), lines.MaxText, len(parts))
	}
	key := entry.Key
	for i, part := range parts {
		if i > 0 {
			entry = lines.Entry{Key: fmt.Sprintf("%s-%d", key, i+1), At: entry.At, Status: "update"}
		}
		entry.HTML = part
		e.Timeline = append(e.Timeline, entry)
	}
}

// postMortem returns a post-mortem, or nil if there is no text. It cuts a text that is too long, with a warning.
func (b *builder) postMortem(key, html string, published *time.Time) *lines.PostMortem {
	if strings.TrimSpace(html) == "" {
		return nil
	}
	if parts := split(html); utf8.RuneCountInString(html) > 50_000 {
		b.warn(key, "postMortem", "has more than 50000 characters; what follows the first %d is missing", utf8.RuneCountInString(parts[0]))
		html = parts[0]
	}
	return &lines.PostMortem{HTML: html, PublishedAt: published}
}

// component adds a component. It cuts a name, a group name and a description that are too long, with a warning.
func (b *builder) component(c lines.Component) {
	c.Name = b.oneLine(c.Key, "name", c.Name, lines.MaxName)
	c.GroupName = b.oneLine(c.Key, "groupName", c.GroupName, lines.MaxName)
	c.Description = b.cut(c.Key, "description", c.Description, lines.MaxShort)
	b.set.Components = append(b.set.Components, c)
}

// done returns the checked set, with only the kinds of Only and the oldest event first.
func (b *builder) done() *lines.Set {
	s := b.set
	slices.SortStableFunc(s.Events, func(one, other lines.Event) int { return begin(one).Compare(begin(other)) })
	if len(b.Only) > 0 {
		s.Events = only(b, "events", s.Events)
		s.Subscribers = only(b, "subscribers", s.Subscribers)
		s.Endpoints = only(b, "endpoints", s.Endpoints)
		if !slices.Contains(b.Only, "components") {
			b.dropUnused()
		}
	}
	s.Check()
	return s
}

func begin(e lines.Event) time.Time {
	if t := cmp.Or(e.StartAt, e.ScheduledStartAt); t != nil {
		return *t
	}
	return time.Time{}
}

func only[T any](b *builder, kind string, records []T) []T {
	if slices.Contains(b.Only, kind) {
		return records
	}
	if len(records) > 0 && b.LeftOut != nil {
		b.LeftOut(kind, len(records))
	}
	return nil
}

// dropUnused removes the components to which no line refers. The others stay although Only leaves out components, because a
// line may refer only to records in the file.
func (b *builder) dropUnused() {
	used := map[string]bool{}
	for _, e := range b.set.Events {
		for _, a := range e.Components {
			used[a.Key] = true
		}
	}
	for _, s := range b.set.Subscribers {
		for _, key := range s.Components {
			used[key] = true
		}
	}
	for _, e := range b.set.Endpoints {
		for _, key := range e.Components {
			used[key] = true
		}
	}
	b.set.Components = slices.DeleteFunc(b.set.Components, func(c lines.Component) bool { return !used[c.Key] })
}

// nothing returns the error of a file or folder in which there is nothing to read. The first three warnings are the reasons.
func (b *builder) nothing(path, what string) error {
	var reasons string
	for _, w := range b.set.Warnings[:min(len(b.set.Warnings), 3)] {
		text := strings.TrimPrefix(w.Field+": "+w.Text, ": ")
		if _, file, is := strings.Cut(w.Key, ":file:"); is {
			text = file + " " + text
		}
		reasons += "; " + text
	}
	return fmt.Errorf("%s has no %s%s", path, what, reasons)
}

// readLines reads interchange lines, which are only checked.
func readLines(ctx context.Context, b *builder, path string) error {
	in, err := b.openInput(path)
	if err != nil {
		return err
	}
	defer in.close()
	if in.folder {
		return fmt.Errorf("%s is a folder; give a file of lines", path)
	}
	file, err := in.files.Open(in.names[0])
	if err != nil {
		return err
	}
	defer file.Close()
	most := 0
	if b.Bounded {
		most = maxRecords
	}
	if b.set, err = lines.ReadPiece(ctx, file, nil, most); err != nil {
		return err
	}
	if s := b.set; len(s.Dashboards)+len(s.Components)+len(s.Events)+len(s.Subscribers)+len(s.Endpoints) == 0 {
		return b.nothing(path, "valid line")
	}
	return nil
}
