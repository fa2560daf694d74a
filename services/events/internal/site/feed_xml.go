package site

import (
	"encoding/xml"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
)

// rssTime is RFC 822 with a year of four digits, as RSS 2.0 requires.
const rssTime = "Mon, 02 Jan 2006 15:04:05 GMT"

type rssDocument struct {
	XMLName xml.Name   `xml:"rss"`
	Version string     `xml:"version,attr"`
	Atom    string     `xml:"xmlns:atom,attr"`
	Channel rssChannel `xml:"channel"`
}

type rssChannel struct {
	Title         string    `xml:"title"`
	Link          string    `xml:"link"`
	Description   string    `xml:"description"`
	Language      string    `xml:"language"`
	LastBuildDate string    `xml:"lastBuildDate"`
	Self          xmlLink   `xml:"atom:link"`
	Items         []rssItem `xml:"item"`
}

type rssItem struct {
	Title       string   `xml:"title"`
	Link        string   `xml:"link"`
	Description string   `xml:"description"` // HTML
	Categories  []string `xml:"category"`
	GUID        rssGUID  `xml:"guid"`
	PubDate     string   `xml:"pubDate"`
}

type rssGUID struct {
	IsPermaLink bool   `xml:"isPermaLink,attr"`
	ID          string `xml:",chardata"`
}

type xmlLink struct {
	Href string `xml:"href,attr"`
	Rel  string `xml:"rel,attr"`
	Type string `xml:"type,attr"`
}

// feedRSS returns feed.rss of the component, or of the dashboard if component is empty.
func feedRSS(s *edition.Snapshot, component string, word wording, texts *texts) (File, error) {
	f, err := feedOf(s, component, "feed.rss", word, texts)
	if err != nil {
		return File{}, err
	}
	channel := rssChannel{
		Title: f.Title, Link: f.Home, Description: f.Subtitle, Language: s.Dashboard.Locale,
		LastBuildDate: f.Updated.UTC().Format(rssTime), Self: xmlLink{f.Self, "self", peer.RSS},
	}
	for _, item := range f.Items {
		channel.Items = append(channel.Items, rssItem{
			Title: item.Title, Link: item.URL, Description: item.HTML, Categories: item.Tags,
			GUID: rssGUID{ID: item.ID}, PubDate: item.Published.UTC().Format(rssTime),
		})
	}
	return xmlFile(rssDocument{Version: "2.0", Atom: "http://www.w3.org/2005/Atom", Channel: channel})
}

type atomDocument struct {
	XMLName  xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	Language string      `xml:"xml:lang,attr"`
	ID       string      `xml:"id"`
	Title    string      `xml:"title"`
	Subtitle string      `xml:"subtitle"`
	Updated  string      `xml:"updated"`
	Author   string      `xml:"author>name"`
	Links    []xmlLink   `xml:"link"`
	Entries  []atomEntry `xml:"entry"`
}

type atomEntry struct {
	ID         string         `xml:"id"`
	Title      string         `xml:"title"`
	Updated    string         `xml:"updated"`
	Published  string         `xml:"published"`
	Link       xmlLink        `xml:"link"`
	Categories []atomCategory `xml:"category"`
	Content    atomContent    `xml:"content"`
}

type atomCategory struct {
	Term string `xml:"term,attr"`
}

type atomContent struct {
	Type string `xml:"type,attr"`
	HTML string `xml:",chardata"`
}

// feedAtom returns feed.atom of the component, or of the dashboard if component is empty.
func feedAtom(s *edition.Snapshot, component string, word wording, texts *texts) (File, error) {
	f, err := feedOf(s, component, "feed.atom", word, texts)
	if err != nil {
		return File{}, err
	}
	document := atomDocument{
		Language: s.Dashboard.Locale, ID: "urn:uuid:" + f.ID, Title: f.Title, Subtitle: f.Subtitle,
		Updated: f.Updated.UTC().Format(time.RFC3339), Author: f.Author,
		Links: []xmlLink{{f.Self, "self", peer.Atom}, {f.Home, "alternate", peer.HTML}},
	}
	for _, item := range f.Items {
		entry := atomEntry{
			ID: "urn:uuid:" + item.ID, Title: item.Title, Link: xmlLink{item.URL, "alternate", peer.HTML},
			Updated: item.Updated.UTC().Format(time.RFC3339), Published: item.Published.UTC().Format(time.RFC3339),
			Content: atomContent{"html", item.HTML}, Categories: find.Values(item.Tags, func(tag string) atomCategory { return atomCategory{tag} }),
		}
		document.Entries = append(document.Entries, entry)
	}
	return xmlFile(document)
}

func xmlFile(document any) (File, error) {
	encoded, err := xml.Marshal(document)
	return File{Body: append([]byte(xml.Header), encoded...)}, err
}
