package site

import (
	"encoding/json"
	"time"

	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
)

type jsonFeed struct {
	Version     string         `json:"version"`
	Title       string         `json:"title"`
	HomePageURL string         `json:"home_page_url"`
	FeedURL     string         `json:"feed_url"`
	Description string         `json:"description"`
	Favicon     string         `json:"favicon,omitempty"`
	Language    string         `json:"language"`
	Authors     []jsonAuthor   `json:"authors"`
	Items       []jsonFeedItem `json:"items"`
}

type jsonAuthor struct {
	Name string `json:"name"`
}

type jsonFeedItem struct {
	ID            string   `json:"id"`
	URL           string   `json:"url"`
	Title         string   `json:"title"`
	ContentHTML   string   `json:"content_html"`
	DatePublished string   `json:"date_published"`
	DateModified  string   `json:"date_modified"`
	Tags          []string `json:"tags"`
}

// feedJSON returns feed.json of the component, or of the dashboard if component is empty.
func feedJSON(s *edition.Snapshot, component string, word wording, texts *texts) (File, error) {
	f, err := feedOf(s, component, "feed.json", word, texts)
	if err != nil {
		return File{}, err
	}
	document := jsonFeed{
		Version: "https://jsonfeed.org/version/1.1", Title: f.Title, HomePageURL: f.Home, FeedURL: f.Self, Description: f.Subtitle,
		Favicon: s.Dashboard.Branding.FaviconURL, Language: s.Dashboard.Locale, Authors: []jsonAuthor{{f.Author}}, Items: []jsonFeedItem{},
	}
	for _, item := range f.Items {
		document.Items = append(document.Items, jsonFeedItem{
			ID: item.ID, URL: item.URL, Title: item.Title, ContentHTML: item.HTML, Tags: item.Tags,
			DatePublished: item.Published.UTC().Format(time.RFC3339), DateModified: item.Updated.UTC().Format(time.RFC3339),
		})
	}
	encoded, err := json.Marshal(document)
	return File{Body: encoded}, err
}
