package site

import (
	"cmp"
	"html"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
)

const maxItems = 100

// feed is the content of an RSS, Atom or JSON feed of a dashboard or of one component.
type feed struct {
	ID, Title, Subtitle string
	Author              string // the name of the dashboard
	Home, Self          string // Home is the URL of the page, Self is the URL of this feed
	Updated             time.Time
	Items               []feedItem // the newest first
}

// feedItem is an item of a feed. It is made from a timeline entry, or from an event without entries.
type feedItem struct {
	ID                 string // uuid of the entry or of the event
	URL, Title         string
	HTML               string // HTML that is safe to show
	Published, Updated time.Time
	Tags               []string // the names of the affected components
}

// feedOf returns the feed of a component, or of the dashboard if component is empty. file is the name of the feed file,
// such as feed.rss. feedOf returns NotFound if the dashboard does not show the component.
func feedOf(s *edition.Snapshot, component, file string, word wording, texts *texts) (feed, error) {
	dashboard := richtext.Line(s.Dashboard.Name)
	f := feed{
		ID: s.Dashboard.ID, Title: dashboard + " – " + word("feed.history"), Author: dashboard,
		Home: s.URL + "/", Self: s.URL + "/" + file, Updated: s.FeedChangedAt,
	}
	if component != "" {
		c := s.Component(component)
		if c == nil {
			return feed{}, unknownFile()
		}
		f.ID, f.Home, f.Self = component, componentURL(s, component), componentURL(s, component)+"/"+file
		f.Title, f.Updated = dashboard+" – "+richtext.Line(c.Name), c.FeedChangedAt
	}
	f.Self = keyed(f.Self, s.FeedKey) // some readers load this URL, and everybody who has the feed may access it
	f.Subtitle = cmp.Or(richtext.Line(s.Dashboard.Description), f.Title)
	f.addItems(s, component, word, texts)
	return f, nil
}

// addItems adds the newest maxItems items that are not older than edition.FeedDays, and sets Updated to the time of the
// last change of the feed. Updated is not the time of the snapshot, because then the feed would differ in each edition,
// and readers would load the feed again.
func (f *feed) addItems(s *edition.Snapshot, component string, word wording, texts *texts) {
	var sources []feedSource
	for i := range s.Events {
		event := &s.Events[i]
		concerns := func(impact edition.ShownImpact) bool { return impact.ComponentID == component }
		if component == "" || slices.ContainsFunc(event.Impacts, concerns) {
			sources = append(sources, feedSources(s, event)...)
		}
	}
	slices.SortStableFunc(sources, func(a, b feedSource) int { return b.published.Compare(a.published) })
	for _, source := range sources[:min(len(sources), maxItems)] {
		left := source.published.AddDate(0, 0, edition.FeedDays)
		switch {
		case !left.Before(s.At):
			item := source.item(word, texts)
			if len(f.Items) == 0 || item.Updated.After(f.Updated) {
				f.Updated = item.Updated
			}
			f.Items = append(f.Items, item)
		case len(f.Items) == 0 && left.After(f.Updated):
			f.Updated = left
		}
	}
}

// feedSource is the data of an item whose text is not rendered yet. Only items that the feed contains are rendered,
// because rendering takes most of the time.
type feedSource struct {
	event              *edition.ShownEvent
	id, url            string
	status             catalog.Status
	text               catalog.Rich
	published, updated time.Time
}

// feedSources returns the items of an event: one for each entry, or one with the description if the event has no
// entries. It omits imported entries, and imported events without entries, because feed readers would report them as
// new.
func feedSources(s *edition.Snapshot, event *edition.ShownEvent) []feedSource {
	url := eventURL(s, event.ID)
	if len(event.Entries) == 0 && event.Imported {
		return nil
	}
	if len(event.Entries) == 0 {
		return []feedSource{{event, event.ID, url, event.Status, event.Description, event.CreatedAt, event.UpdatedAt}}
	}
	var sources []feedSource
	for _, entry := range event.Entries {
		if !entry.Imported {
			sources = append(sources, feedSource{event, entry.StatusID, url + "#" + entry.StatusID, entry.Status, entry.Message, entry.Timestamp, entry.UpdatedAt})
		}
	}
	return sources
}

func (f feedSource) item(word wording, texts *texts) feedItem {
	status := word("status." + string(f.status))
	item := feedItem{
		ID: f.id, URL: f.url, Title: status + word("format.colon") + richtext.Line(f.event.Title), HTML: texts.html.of(f.text),
		Published: f.published, Updated: f.updated, Tags: impactNames(f.event),
	}
	if item.HTML == "" {
		item.HTML = "<p>" + html.EscapeString(status) + "</p>"
	}
	return item
}

// impactNames returns the names of the affected components, each on one line.
func impactNames(event *edition.ShownEvent) []string {
	return find.Values(event.Impacts, func(impact edition.ShownImpact) string { return richtext.Line(impact.Name) })
}

func eventURL(s *edition.Snapshot, id string) string { return s.URL + "/events/" + id }

func componentURL(s *edition.Snapshot, id string) string { return s.URL + "/components/" + id }
