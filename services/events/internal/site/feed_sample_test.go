package site

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
)

// hostileText has everything that a format of a file might take for its own.
const hostileText = "]]><script>alert(1)</script> \"quoted\" 'single' & &amp; a,b;c:d \\n \\ \r\nEND:VEVENT\r\nX-EVIL:1\rBEGIN:VEVENT\n" +
	"\x00\x01\x0b\x1b\x7f\u0085\u2028\u2029\uFFFE\uFFFF \u202Eesrever\u202C <svg onload=alert(1)> {{.}} ${x} `x` */ --> \xff\xfe 日本語 שלום 🚢"

func longWord() string { return strings.Repeat("Größe日本🚢", 40) }

func sampleTime(day, hour, minute int) time.Time {
	return time.Date(2026, time.March, day, hour, minute, 0, 123_000_000, time.UTC)
}

func itemID(n int) string { return fmt.Sprintf("019d0000-0000-7000-8000-%012d", n) }

func unmarked(text string) catalog.Rich {
	return catalog.Rich{Text: text, Format: richtext.Plain}
}

// sampleEntries returns entries, the newest first, with ids from first on.
func sampleEntries(first int, entries ...edition.ShownEntry) []edition.ShownEntry {
	for i := range entries {
		e := &entries[i]
		e.StatusID = itemID(first + i)
		e.CreatedAt, e.UpdatedAt = e.Timestamp.Add(time.Second), e.Timestamp.Add(time.Second)
		if e.InForce == "" {
			e.InForce = e.Status
		}
	}
	slices.Reverse(entries)
	return entries
}

// sampleSnapshot returns a dashboard with three components, of which one belongs to no group, an open incident, one with
// a post-mortem, one without entries, and a maintenance in each state.
func sampleSnapshot() *edition.Snapshot {
	api, web, mail := itemID(11), itemID(12), itemID(13)
	uptime := 99.981
	return &edition.Snapshot{
		Edition: 7, At: sampleTime(29, 12, 0), URL: "https://status.example.com",
		Dashboard: catalog.Dashboard{
			ID: itemID(1), LegacyID: 1, Name: "Acme & Söhne", Slug: "acme", Enabled: true, Description: "What works, and what does not.",
			Timezone: "Europe/Berlin", Locale: "en", SearchIndexing: true, Access: catalog.Access{Mode: catalog.AccessPublic},
			Branding: catalog.Branding{FaviconURL: "https://example.com/icon.png"},
			Content:  catalog.Content{Modules: catalog.Modules{UptimeHistory: true}},
		},
		Components: []edition.ShownComponent{
			{ID: api, LegacyID: 1, Name: "API", Group: "Core", Description: "Everything under /api", State: catalog.PartialOutage, Since: sampleTime(1, 23, 30), UpdatedAt: sampleTime(2, 8, 0), Uptime: &uptime},
			{ID: mail, LegacyID: 3, Name: "Mail", State: catalog.UnderMaintenance, Since: sampleTime(1, 8, 0), UpdatedAt: sampleTime(1, 8, 0)},
			{ID: web, LegacyID: 2, Name: "Website", Group: "Core", State: catalog.Operational, Since: sampleTime(1, 7, 0), UpdatedAt: sampleTime(9, 8, 0)},
		},
		Events:    append(sampleIncidents(api, web), sampleMaintenances(mail)...),
		Withdrawn: []edition.ShownEvent{sampleMaintenance(60, "Cancelled move", catalog.Planning, nil)},
		Months:    []string{"2026-03"}, FeedChangedAt: sampleTime(1, 9, 0),
	}
}

func sampleIncidents(api, web string) []edition.ShownEvent {
	ended := sampleTime(20, 11, 30)
	return []edition.ShownEvent{
		{
			ID: itemID(20), Type: catalog.Incident, Status: catalog.Identified, Title: "Requests to the API fail",
			Description: catalog.Rich{Text: "**Every third** request fails.", Format: richtext.Markdown},
			Impacts:     []edition.ShownImpact{{ComponentID: api, Name: "API", Impact: catalog.PartialOutage, Worst: catalog.MajorOutage}},
			StartAt:     sampleTime(29, 10, 0), CreatedAt: sampleTime(29, 10, 2), UpdatedAt: sampleTime(29, 11, 0), Version: 4,
			Entries: sampleEntries(21,
				edition.ShownEntry{Status: catalog.Investigating, Message: unmarked("We are looking into it."), Timestamp: sampleTime(29, 10, 2), Notified: true,
					Impacts: []edition.ShownChange{{ComponentID: api, Before: catalog.Degraded, Impact: catalog.MajorOutage}}},
				edition.ShownEntry{Status: catalog.Identified, Message: catalog.Rich{Text: "<p>It is the <a href=\"https://example.com/a?b=c&amp;d\">certificate</a>.</p>", Format: richtext.Rich}, Timestamp: sampleTime(29, 10, 30),
					Impacts: []edition.ShownChange{{ComponentID: api, Before: catalog.MajorOutage, Impact: catalog.PartialOutage}, {ComponentID: itemID(99), Impact: catalog.MajorOutage}}},
				edition.ShownEntry{Status: catalog.StatusUpdate, InForce: catalog.Identified, Message: unmarked("One part works again.\nThe rest follows."), Timestamp: sampleTime(29, 11, 0)}),
		},
		{
			ID: itemID(30), Type: catalog.Incident, Status: catalog.Resolved, Title: hostileText, Description: unmarked(hostileText),
			Impacts: []edition.ShownImpact{
				{ComponentID: web, Name: "Website", Impact: catalog.Operational, Worst: catalog.Degraded},
				{ComponentID: itemID(98), Name: hostileText, Impact: catalog.Degraded, Worst: catalog.Degraded},
			},
			StartAt: sampleTime(20, 10, 0), EndAt: &ended, CreatedAt: sampleTime(20, 10, 0), UpdatedAt: sampleTime(21, 9, 0), Version: 6,
			Entries: sampleEntries(31,
				edition.ShownEntry{Status: catalog.Investigating, Message: unmarked(hostileText), Timestamp: sampleTime(20, 10, 0)},
				edition.ShownEntry{Status: catalog.Monitoring, Message: catalog.Rich{Text: hostileText, Format: richtext.Markdown}, Timestamp: sampleTime(20, 11, 0)},
				edition.ShownEntry{Status: catalog.Resolved, Message: catalog.Rich{Text: "<p>" + hostileText + "</p>", Format: richtext.Rich}, Timestamp: ended}),
			PostMortem: &edition.ShownPostMortem{Summary: unmarked("It was DNS."), PublishedAt: sampleTime(21, 9, 0)},
		},
		{
			ID: itemID(40), Type: catalog.Incident, Status: catalog.Monitoring, Title: "Slow mail", Description: unmarked("Mail is late."),
			StartAt: sampleTime(29, 9, 0), CreatedAt: sampleTime(29, 9, 0), UpdatedAt: sampleTime(29, 9, 30), Version: 1,
		},
	}
}

func sampleMaintenances(mail string) []edition.ShownEvent {
	on := []edition.ShownImpact{{ComponentID: mail, Name: "Mail", Impact: catalog.UnderMaintenance, Worst: catalog.UnderMaintenance}}
	planned := sampleMaintenance(50, "Move of the mail servers, part 2; at night", catalog.Planning, on)
	running := sampleMaintenance(52, hostileText, catalog.InProgress, on)
	running.Description = unmarked(hostileText)
	running.StartAt = sampleTime(29, 11, 30)
	checked := sampleMaintenance(53, longWord(), catalog.Verifying, on)
	checked.StartAt = sampleTime(29, 11, 45)
	done := sampleMaintenance(54, "Update of the database", catalog.Completed, nil)
	ended := sampleTime(10, 3, 0)
	done.StartAt, done.EndAt = sampleTime(10, 2, 0), &ended
	done.Entries = sampleEntries(55, edition.ShownEntry{Status: catalog.Completed, Message: unmarked("Done."), Timestamp: ended})
	done.ScheduledStartAt, done.ScheduledEndAt = &done.StartAt, &ended
	return []edition.ShownEvent{planned, running, checked, done}
}

func sampleMaintenance(id int, title string, status catalog.Status, on []edition.ShownImpact) edition.ShownEvent {
	start, end := sampleTime(30, 1, 0), sampleTime(30, 3, 30)
	return edition.ShownEvent{
		ID: itemID(id), Type: catalog.Maintenance, Status: status, Title: title, Description: unmarked("Mail may arrive late.\nNothing is lost."),
		Impacts: on, StartAt: start, ScheduledStartAt: &start, ScheduledEndAt: &end,
		CreatedAt: sampleTime(25, 9, 0), UpdatedAt: sampleTime(26, 9, 0), Version: int64(id - 45),
	}
}

// hostileSnapshot returns the sample with hostile texts in every field that an operator writes.
func hostileSnapshot() *edition.Snapshot {
	s := sampleSnapshot()
	s.Dashboard.Name, s.Dashboard.Description = hostileText, hostileText
	for i := range s.Components {
		c := &s.Components[i]
		c.Name, c.Group, c.Description = hostileText+longWord(), hostileText, hostileText
	}
	for _, events := range [][]edition.ShownEvent{s.Events, s.Withdrawn} {
		for i := range events {
			e := &events[i]
			e.Title, e.Description = hostileText, catalog.Rich{Text: hostileText, Format: richtext.Rich}
			for j := range e.Impacts {
				e.Impacts[j].Name = hostileText
			}
			for j := range e.Entries {
				e.Entries[j].Message = catalog.Rich{Text: hostileText, Format: richtext.Markdown}
			}
		}
	}
	return s
}

// plainFiles returns all files of a snapshot that are not HTML, by their names.
func plainFiles(t *testing.T, s *edition.Snapshot) map[string]File {
	t.Helper()
	site, files := newSite(t), map[string]File{}
	for _, name := range fileNames(s, false) {
		files[name] = render(t, site, s, name)
	}
	return files
}
