package site

import (
	"html"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

const (
	feedDays = 90
	maxItems = 100
)

// feed is what RSS, Atom and JSON Feed show of a dashboard or of one component.
type feed struct {
	ID, Title, Subtitle string
	Author              string // the dashboard's name
	Home, Self          string // the addresses of the page and of this feed
	Updated             time.Time
	Items               []feedItem // the newest first
}

// feedItem is an entry of a timeline.
type feedItem struct {
	ID                 string // the entry's, which is a uuid
	URL, Title         string
	HTML               string // safe
	Published, Updated time.Time
	Tags               []string // the names of the affected components
}

// feedOf returns the feed in the file with a name such as feed.rss: of the dashboard, or of a component if its id is
// not empty. It returns NotFound for a component that the dashboard does not show.
func feedOf(s *catalog.Snapshot, component, file string, word wording) (feed, error) {
	dashboard := oneLine(s.Dashboard.Name)
	f := feed{
		ID: s.Dashboard.ID, Title: dashboard + " – " + word("feed.history"), Author: dashboard,
		Home: s.URL + "/", Self: s.URL + "/" + file, Updated: s.Dashboard.UpdatedAt,
	}
	if component != "" {
		at := slices.IndexFunc(s.Components, func(c catalog.ShownComponent) bool { return c.ID == component })
		if at < 0 {
			return feed{}, unknownFile()
		}
		f.ID, f.Home, f.Self = component, componentURL(s, component), componentURL(s, component)+"/"+file
		f.Title = dashboard + " – " + oneLine(s.Components[at].Name)
	}
	f.Subtitle = f.Title
	if text := oneLine(s.Dashboard.Description); text != "" {
		f.Subtitle = text
	}
	f.Items = feedItems(s, component, word)
	// The time of the snapshot would make a new file of each edition, and readers would load it again.
	for i, item := range f.Items {
		if i == 0 || item.Updated.After(f.Updated) {
			f.Updated = item.Updated
		}
	}
	return f, nil
}

// feedItems returns the newest items of the last days. An event without entries has one item, its description.
func feedItems(s *catalog.Snapshot, component string, word wording) []feedItem {
	var items []feedItem
	for i := range s.Events {
		event := &s.Events[i]
		concerns := func(impact catalog.ShownImpact) bool { return impact.ComponentID == component }
		if component != "" && !slices.ContainsFunc(event.Impacts, concerns) {
			continue
		}
		for _, entry := range event.Entries {
			items = append(items, entryItem(s, event, entry, word))
		}
		if len(event.Entries) == 0 {
			items = append(items, eventItem(s, event, word))
		}
	}
	since := s.At.AddDate(0, 0, -feedDays)
	items = slices.DeleteFunc(items, func(item feedItem) bool { return item.Published.Before(since) })
	slices.SortStableFunc(items, func(a, b feedItem) int { return b.Published.Compare(a.Published) })
	return items[:min(len(items), maxItems)]
}

func entryItem(s *catalog.Snapshot, event *catalog.ShownEvent, entry catalog.ShownEntry, word wording) feedItem {
	return newItem(event, feedItem{
		ID: entry.StatusID, URL: eventURL(s, event.ID) + "#" + entry.StatusID,
		HTML: entry.Message.HTML(), Published: entry.Timestamp, Updated: entry.UpdatedAt,
	}, word("status."+string(entry.Status)))
}

func eventItem(s *catalog.Snapshot, event *catalog.ShownEvent, word wording) feedItem {
	return newItem(event, feedItem{
		ID: event.ID, URL: eventURL(s, event.ID),
		HTML: event.Description.HTML(), Published: event.CreatedAt, Updated: event.UpdatedAt,
	}, word("status."+string(event.Status)))
}

func newItem(event *catalog.ShownEvent, item feedItem, status string) feedItem {
	item.Title = status + ": " + oneLine(event.Title)
	if item.HTML == "" {
		item.HTML = "<p>" + html.EscapeString(status) + "</p>"
	}
	if item.Updated.Before(item.Published) {
		item.Updated = item.Published
	}
	item.Tags = []string{}
	for _, impact := range event.Impacts {
		item.Tags = append(item.Tags, oneLine(impact.Name))
	}
	return item
}

func eventURL(s *catalog.Snapshot, id string) string { return s.URL + "/events/" + id }

func componentURL(s *catalog.Snapshot, id string) string { return s.URL + "/components/" + id }

// oneLine returns a text with a blank for each run of white space and control characters. XML and iCalendar forbid most
// control characters; the last two code points of the basic plane are no characters in XML either. Marks that override
// the direction of writing would also turn the text that follows.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "\uFFFD"), func(c rune) bool {
		return unicode.IsSpace(c) || unicode.IsControl(c) || c == 0xFFFE || c == 0xFFFF ||
			0x202A <= c && c <= 0x202E || 0x2066 <= c && c <= 0x2069
	}), " ")
}
