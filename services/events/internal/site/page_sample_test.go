package site

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
	"github.com/bellbuoy/bellbuoy/services/events/internal/uptime"
)

// pageNow is the time of the samples.
func pageNow() time.Time { return time.Date(2026, 11, 22, 16, 40, 0, 0, time.UTC) }

func ago(d time.Duration) time.Time { return pageNow().Add(-d) }

func plainText(text string) catalog.Rich { return catalog.Rich{Text: text, Format: richtext.Plain} }

func pointer[T any](value T) *T { return &value }

// samplePage is a dashboard on which everything is in order.
func samplePage() *edition.Snapshot {
	modules := catalog.Modules{
		Announcement: true, OverallStatus: true, ActiveIncidents: true, ActiveMaintenance: true, Components: true, UptimeHistory: true,
		UpcomingMaintenance: true, EventHistory: true, Subscribe: true, About: true,
	}
	return &edition.Snapshot{
		Edition: 7, At: pageNow(), URL: "https://status.example.com", Months: []string{"2026-11", "2026-10", "2026-09", "2025-12"},
		Dashboard: catalog.Dashboard{
			ID: "d0000000-0000-4000-8000-000000000001", Name: "Northwind Cloud", Slug: "northwind", Enabled: true, Locale: "en", Timezone: "Europe/Berlin",
			Description: "This page shows the state of the systems of Northwind Cloud.\nOur support answers every day.",
			Branding:    catalog.Branding{Theme: "auto"}, SearchIndexing: true, Access: catalog.Access{Mode: catalog.AccessPublic},
			Links: catalog.Links{
				HomepageURL: "https://example.com", SupportURL: "mailto:help@example.com",
				Navigation: []catalog.NavigationLink{{Text: "Docs", Href: "https://docs.example.com"}},
			},
			Subscriptions: catalog.Subscriptions{Email: true, SMS: true, Webhook: true},
			Content: catalog.Content{
				Modules: modules, Uptime: catalog.UptimeSettings{WindowDays: 90, ShowPercentage: true, Precision: 2, PartialOutageWeight: 0.3, HistoryDays: 14},
				Order: []string{
					"announcement", "overallStatus", "activeIncidents", "activeMaintenance", "components", "uptimeHistory",
					"upcomingMaintenance", "eventHistory", "subscribe", "about",
				},
			},
		},
		Components: []edition.ShownComponent{
			sampleComponent(1, "API", "Core"), sampleComponent(2, "Dashboard", "Core"), sampleComponent(3, "Sign-in", "Core"),
			sampleComponent(4, "Object storage", "Regions"), sampleComponent(5, "Website", catalog.DefaultGroup),
		},
	}
}

func sampleID(kind string, n int) string {
	return fmt.Sprintf("%s0000000-0000-4000-8000-%012d", kind, n)
}

func sampleComponent(n int, name, group string) edition.ShownComponent {
	return edition.ShownComponent{
		ID: sampleID("c", n), LegacyID: int64(n), Name: name, Group: group, State: catalog.Operational, Since: ago(400 * 24 * time.Hour),
		UpdatedAt: ago(time.Hour), Uptime: pointer(100.0),
	}
}

func sampleEntry(n int, status catalog.Status, at time.Time, text string) edition.ShownEntry {
	return edition.ShownEntry{StatusID: sampleID("e", n), Status: status, InForce: status, Message: plainText(text), Timestamp: at, CreatedAt: at, UpdatedAt: at}
}

// troubledPage is a dashboard with an event of every kind.
func troubledPage() *edition.Snapshot {
	s := samplePage()
	s.Dashboard.Content.Announcement = &catalog.Rich{Format: richtext.Markdown, Text: "# Move of the data centre\nWe move to **Frankfurt** in December. [Read more](https://example.com/move)"}
	s.Components[0].State, s.Components[0].Uptime = catalog.PartialOutage, pointer(99.971)
	s.Components[0].Description = "REST and GraphQL, all versions"
	s.Components[1].State = catalog.Degraded
	s.Components[2].Since = ago(40 * 24 * time.Hour)
	s.Components[3].State = catalog.UnderMaintenance
	open, upkeep, planned, past := sampleID("a", 1), sampleID("a", 2), sampleID("a", 3), sampleID("a", 4)
	day := func(date string, worst catalog.Impact, minutes int, ids ...string) uptime.AffectedDay {
		tally := uptime.Tally{Measured: 24 * time.Hour, Worst: worst}
		switch lost := time.Duration(minutes) * time.Minute; worst {
		case catalog.MajorOutage:
			tally.Major = lost
		case catalog.PartialOutage:
			tally.Partial = lost
		case catalog.Degraded:
			tally.Degraded = lost
		case catalog.UnderMaintenance:
			tally.Maintenance = lost
		}
		return uptime.AffectedDay{Date: date, Tally: tally, EventIDs: ids}
	}
	s.Components[0].Days = []uptime.AffectedDay{
		day("2026-09-20", catalog.MajorOutage, 40, sampleID("a", 9)), day("2026-10-12", catalog.Degraded, 10, sampleID("a", 8)),
		day("2026-11-17", catalog.MajorOutage, 95, past), day("2026-11-22", catalog.PartialOutage, 90, open, past),
	}
	s.Components[1].Days = []uptime.AffectedDay{day("2026-11-22", catalog.Degraded, 90, open)}
	s.Components[3].Days = []uptime.AffectedDay{day("2026-11-22", catalog.UnderMaintenance, 45, upkeep)}
	impact := func(n int, impact, worst catalog.Impact) edition.ShownImpact {
		return edition.ShownImpact{ComponentID: sampleID("c", n), Name: s.Components[n-1].Name, Impact: impact, Worst: worst}
	}
	s.Events = []edition.ShownEvent{
		{
			ID: planned, Type: catalog.Maintenance, Status: catalog.Planning, Title: "Upgrade of the database", StartAt: pageNow().Add(52 * time.Hour),
			ScheduledStartAt: pointer(pageNow().Add(52 * time.Hour)), ScheduledEndAt: pointer(pageNow().Add(54 * time.Hour)),
			Description: plainText("Sign-in may be slow for a few minutes."), Impacts: []edition.ShownImpact{impact(3, catalog.UnderMaintenance, catalog.UnderMaintenance)},
		},
		{
			ID: open, Type: catalog.Incident, Status: catalog.Identified, Title: "Elevated error rates on the API", StartAt: ago(90 * time.Minute),
			Description: plainText("Some requests fail."),
			Impacts:     []edition.ShownImpact{impact(1, catalog.PartialOutage, catalog.PartialOutage), impact(2, catalog.Degraded, catalog.Degraded)},
			Entries: []edition.ShownEntry{
				sampleEntry(3, catalog.Identified, ago(20*time.Minute), "A network device drops packets between two zones. We route traffic around this device. Error rates are falling."),
				sampleEntry(2, catalog.StatusUpdate, ago(50*time.Minute), "About 4 % of the requests fail."),
				sampleEntry(1, catalog.Investigating, ago(90*time.Minute), "We see more errors than usual and look for the cause."),
			},
		},
		{
			ID: upkeep, Type: catalog.Maintenance, Status: catalog.InProgress, Title: "Exchange of disks", StartAt: ago(45 * time.Minute),
			ScheduledStartAt: pointer(ago(45 * time.Minute)), ScheduledEndAt: pointer(pageNow().Add(75 * time.Minute)),
			Impacts: []edition.ShownImpact{impact(4, catalog.UnderMaintenance, catalog.UnderMaintenance)},
			Entries: []edition.ShownEntry{sampleEntry(4, catalog.InProgress, ago(45*time.Minute), "The work has begun. Reads and writes continue.")},
		},
		{
			ID: past, Type: catalog.Incident, Status: catalog.Resolved, Title: "Sign-in is not possible", StartAt: ago(5*24*time.Hour + 3*time.Hour),
			EndAt: pointer(ago(5*24*time.Hour + 85*time.Minute)), Impacts: []edition.ShownImpact{impact(1, catalog.Operational, catalog.MajorOutage)},
			Entries: []edition.ShownEntry{
				sampleEntry(6, catalog.Resolved, ago(5*24*time.Hour+85*time.Minute), "Sign-in works again."),
				sampleEntry(5, catalog.Investigating, ago(5*24*time.Hour+3*time.Hour), "Nobody can sign in."),
			},
			PostMortem: &edition.ShownPostMortem{
				Summary: plainText("A certificate expired."), RootCause: pointer(plainText("The renewal had failed since May.")),
				ActionItems: []catalog.ActionItem{{Text: "Alert 30 days before the end", Done: true}, {Text: "Renew each week", DueDate: pointer("2026-12-01")}},
				PublishedAt: ago(2 * 24 * time.Hour),
			},
		},
	}
	return s
}

// largePage has 50 components, 90 days and 14 days of history with much text. The same seed gives the same page.
func largePage() *edition.Snapshot {
	s := samplePage()
	random := rand.New(rand.NewPCG(1, 2))
	words := []string{"request", "queue", "node", "replica", "storage", "error", "latency", "region", "cache", "deploy", "network", "writes", "customers", "slowly", "traffic", "again", "restored", "monitoring", "identified", "database"}
	text := func(n int) string {
		out := ""
		for range n {
			out += words[random.IntN(len(words))] + " "
		}
		return out
	}
	s.Components = nil
	for n := range 50 {
		c := sampleComponent(n, fmt.Sprintf("%s service %d", words[n%len(words)], n), "Group "+words[n/8])
		c.Description = text(6)
		c.Uptime = pointer(99 + float64(random.IntN(1e6))/1e6)
		s.Components = append(s.Components, c)
	}
	impacts := []catalog.Impact{catalog.Degraded, catalog.PartialOutage, catalog.MajorOutage, catalog.UnderMaintenance}
	for n := range 60 { // over 90 days; the newest first
		begin := ago(time.Duration(n*36) * time.Hour).Add(-3 * time.Hour)
		end := begin.Add(time.Duration(10+random.IntN(140)) * time.Minute)
		e := edition.ShownEvent{
			ID: sampleID("a", 1e9+random.IntN(1e9)), Type: catalog.Incident, Status: catalog.Resolved, Title: text(5), Description: plainText(text(20)), StartAt: begin, EndAt: &end,
		}
		if n < 2 {
			e.Status, e.EndAt = catalog.Identified, nil
		}
		for range 4 {
			c := &s.Components[random.IntN(50)]
			worst := impacts[random.IntN(4)]
			e.Impacts = append(e.Impacts, edition.ShownImpact{ComponentID: c.ID, Name: c.Name, Impact: worst, Worst: worst})
			c.Days = append([]uptime.AffectedDay{{
				Date: begin.Format(time.DateOnly), EventIDs: []string{e.ID},
				Tally: uptime.Tally{Measured: 24 * time.Hour, Partial: end.Sub(begin), Worst: worst},
			}}, c.Days...)
		}
		for k := range 4 {
			e.Entries = append(e.Entries, sampleEntry(n*10+k, catalog.Identified, end.Add(-time.Duration(k)*time.Minute), text(40)))
		}
		s.Events = append(s.Events, e)
	}
	return s
}
