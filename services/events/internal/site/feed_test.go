package site

import (
	"encoding/json"
	"encoding/xml"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
)

// readFeeds returns the ids of the items of the three feeds of a dashboard or a component, which are the same.
func readFeeds(t *testing.T, s *edition.Snapshot, component string) []string {
	t.Helper()
	var rss struct {
		IDs   []string `xml:"channel>item>guid"`
		Dates []string `xml:"channel>item>pubDate"`
	}
	var atom struct {
		IDs []string `xml:"entry>id"`
	}
	var feed struct {
		Items []struct{ ID string }
	}
	for _, read := range []struct {
		render func(*edition.Snapshot, string, wording, *texts) (File, error)
		decode func([]byte, any) error
		into   any
	}{{feedRSS, xml.Unmarshal, &rss}, {feedAtom, xml.Unmarshal, &atom}, {feedJSON, json.Unmarshal, &feed}} {
		file, err := read.render(s, component, english, newTexts())
		if err != nil {
			t.Fatal(err)
		}
		if err := read.decode(file.Body, read.into); err != nil {
			t.Fatalf("%s: %v", file.Body, err)
		}
	}
	ids := []string{}
	for i, item := range feed.Items {
		if i >= len(rss.IDs) || i >= len(atom.IDs) || rss.IDs[i] != item.ID || atom.IDs[i] != "urn:uuid:"+item.ID {
			t.Errorf("item %d of the feeds: RSS %v, Atom %v, JSON %s", i, rss.IDs, atom.IDs, item.ID)
		}
		ids = append(ids, item.ID)
	}
	for _, date := range rss.Dates {
		if _, err := time.Parse(time.RFC1123, date); err != nil {
			t.Error(err)
		}
	}
	return ids
}

// An item is an entry, or the description of an event without entries; the newest first.
func TestAFeedHasAnItemForEachEntryTheNewestFirst(t *testing.T) {
	s := sampleSnapshot()
	s.Events = s.Events[:3]
	all := []string{itemID(23), itemID(22), itemID(21), itemID(40), itemID(33), itemID(32), itemID(31)}
	if got := readFeeds(t, s, ""); !slices.Equal(got, all) {
		t.Errorf("the dashboard's items are %v, want %v", got, all)
	}
	for id, want := range map[string][]string{itemID(11): all[:3], itemID(12): all[4:], itemID(13): {}} {
		if got := readFeeds(t, s, id); !slices.Equal(got, want) {
			t.Errorf("the items of component %s are %v, want %v", id, got, want)
		}
	}
}

func TestAFeedHasTheNewestItemsOnly(t *testing.T) {
	s := sampleSnapshot()
	at := func(age time.Duration) edition.ShownEntry {
		return edition.ShownEntry{Status: catalog.StatusUpdate, Timestamp: s.At.Add(-age), Message: unmarked("x")}
	}
	const days = 24 * time.Hour
	s.Events = s.Events[:1]
	s.Events[0].Entries = sampleEntries(100, at(90*days+time.Second), at(90*days), at(time.Hour))
	if got, want := readFeeds(t, s, ""), []string{itemID(102), itemID(101)}; !slices.Equal(got, want) {
		t.Errorf("items %v, want those of 90 days %v", got, want)
	}
	var many []edition.ShownEntry
	for i := range 150 {
		many = append(many, at(time.Duration(150-i)*time.Minute))
	}
	s.Events[0].Entries = sampleEntries(200, many...)
	if got := readFeeds(t, s, ""); len(got) != 100 || got[0] != itemID(349) {
		t.Errorf("%d items, the first is %s", len(got), got[0])
	}
}

// A text of an operator is one text in the title, and the sanitised HTML of the page in the content.
func TestAFeedShowsTextsOfOperatorsSafely(t *testing.T) {
	s := sampleSnapshot()
	s.Events = s.Events[1:2]
	s.Events[0].Title, s.Events[0].Impacts[1].Name = "a\r\n<b>&amp;]]>\x01 \u202Ec", "x\"<y>\x02"
	s.Events[0].Entries = s.Events[0].Entries[:1]
	s.Events[0].Entries[0].Message = catalog.Rich{Text: `<p>1 &lt; 2 ]]&gt; <a href="https://example.com/?a=1&amp;b=2" onclick="x()">here</a><script>alert(1)</script></p>`, Format: "rich"}
	var atom struct {
		Entries []struct {
			Title      string `xml:"title"`
			Content    string `xml:"content"`
			Categories []struct {
				Term string `xml:"term,attr"`
			} `xml:"category"`
		} `xml:"entry"`
	}
	file, err := feedAtom(s, "", english, newTexts())
	if err != nil || xml.Unmarshal(file.Body, &atom) != nil || len(atom.Entries) != 1 {
		t.Fatalf("%s (%v)", file.Body, err)
	}
	entry := atom.Entries[0]
	if want := "Resolved: a <b>&amp;]]> c"; entry.Title != want {
		t.Errorf("title %q, want %q", entry.Title, want)
	}
	if want := `x"<y>`; entry.Categories[1].Term != want {
		t.Errorf("category %q, want %q", entry.Categories[1].Term, want)
	}
	if !strings.HasPrefix(entry.Content, `<p>1 &lt; 2 ]]&gt; <a href="https://example.com/?a=1&amp;b=2"`) || strings.Contains(entry.Content, "onclick") || strings.Contains(entry.Content, "<script") {
		t.Errorf("content %q", entry.Content)
	}
}

// A feed has the time of its newest item. If it has none, it has the time of its last change, or that at which its last item
// became too old.
func TestAFeedIsAsOldAsItsLastChange(t *testing.T) {
	s := sampleSnapshot()
	old := s.Events[2]
	old.CreatedAt = s.At.AddDate(0, 0, -edition.FeedDays).Add(-time.Hour)
	for want, events := range map[string][]edition.ShownEvent{"2026-03-29T11:00:01Z": s.Events, "2026-03-01T09:00:00Z": nil, "2026-03-29T11:00:00Z": {old}} {
		s.Events = events
		file, err := feedAtom(s, "", english, newTexts())
		var atom struct {
			Updated string `xml:"updated"`
		}
		if err != nil || xml.Unmarshal(file.Body, &atom) != nil || atom.Updated != want {
			t.Errorf("updated %q, want %q (%v)", atom.Updated, want, err)
		}
	}
}
