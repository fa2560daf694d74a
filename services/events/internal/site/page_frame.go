package site

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"net/url"
	"regexp"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/words"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
	"golang.org/x/net/idna"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed style.css
var styleText string

//go:embed script.js
var scriptText string

// New returns a Site. It parses the templates once for each locale. confirm is the URL that takes the code of a visitor.
func New(confirm string) (*Site, error) {
	locales, err := readLocales()
	if err != nil {
		return nil, err
	}
	routes, err := newRoutes()
	if err != nil {
		return nil, err
	}
	script := compact(scriptText)
	s := &Site{pages: map[string]*template.Template{}, words: locales, texts: newTexts(), routes: routes, compressor: newCompressor(), style: styleText, confirm: confirm, script: script, scriptHash: hashOf(script)}
	for lang, l := range locales {
		parsed, err := template.New("").Funcs(template.FuncMap{"t": l.Word}).ParseFS(templateFiles, "templates/*.html")
		if err != nil {
			return nil, err
		}
		s.pages[lang] = parsed
	}
	return s, nil
}

// compact returns a script without comments and without the blanks around = and =>. No text in the script has such blanks.
func compact(script string) string {
	return strings.NewReplacer(" = ", "=", " => ", "=>").Replace(withoutComments(script))
}

// withoutComments returns a script without indentation, empty lines, and lines of comments.
func withoutComments(script string) string {
	var out strings.Builder
	for line := range strings.Lines(script) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}

// hashOf returns the source expression of a style or a script in a Content-Security-Policy.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// frame is what every page has around its content.
type frame struct {
	*edition.Snapshot
	*locale
	dates dates

	Title       string
	Description string // for search engines and previews
	Indexed     bool   // search engines may list the page
	Bare        bool   // the page shows no more than the name and the branding
	Embedded    bool   // the page is shown within another site
	Canonical   string
	Up          string // the address of the dashboard: empty or ../, or absolute with a slash at the end
	Current     string // the entry of the navigation that leads to the page
	key         string // Snapshot.FeedKey; empty on pages that visitors without access may see
	Style       template.CSS
	Script      template.JS // empty: the page has none
	Rendered    moment
	Forms       string // the origin of a form that is sent to the platform; empty: the page has none
}

// Home is the relative address of the page of the dashboard.
func (f frame) Home() string { return cmp.Or(f.Up, "./") }

// Logo is the address of the dashboard's logo. Empty: none, or the policy cannot allow its origin.
func (f frame) Logo() string { return loadable(f.Dashboard.Branding.LogoURL) }

// Subscribable reports whether visitors may subscribe.
func (f frame) Subscribable() bool {
	return f.Dashboard.Content.Modules.Subscribe && len(f.Dashboard.Channels()) > 0
}

// Feeds is the addresses of the feeds.
func (f frame) Feeds() []feedLink {
	return []feedLink{
		{f.Keyed("feed.rss"), "RSS", peer.RSS},
		{f.Keyed("feed.atom"), "Atom", peer.Atom},
		{f.Keyed("feed.json"), "JSON Feed", peer.JSONFeed},
	}
}

// Keyed returns the relative address of a file below the dashboard that a program reads. On a private page it has the
// key, because the program has no cookie.
func (f frame) Keyed(name string) string { return f.Up + keyed(name, f.key) }

// keyed returns the address of a feed or of the calendar with the key of a private page.
func keyed(address, key string) string {
	if key == "" {
		return address
	}
	return address + "?key=" + url.QueryEscape(key)
}

type feedLink struct{ Href, Name, Media string }

// localeOf returns the locale of the dashboard.
func (s *Site) localeOf(snapshot *edition.Snapshot) *locale {
	if l, known := s.words[snapshot.Dashboard.Locale]; known {
		return l
	}
	return s.words[words.Default]
}

// newFrame returns the frame of the file. Its canonical address is that of the name below the dashboard.
func (s *Site) newFrame(r renderRequest) frame {
	l := s.localeOf(r.Snapshot)
	d := dates{l, r.Dashboard.Zone()}
	return frame{
		Snapshot: r.Snapshot, locale: l, dates: d, Title: r.Dashboard.Name, Canonical: r.URL + "/" + r.name,
		Indexed:  r.Dashboard.SearchIndexing && r.Dashboard.Access.Mode == catalog.AccessPublic,
		Up:       strings.Repeat("../", strings.Count(r.name, "/")),
		Style:    template.CSS(paletteCSS(r.Dashboard.Branding) + s.style), // our own text
		Script:   template.JS(s.script),                                    // our own text
		Rendered: d.moment(r.At),
		key:      r.FeedKey,
	}
}

// html renders a template of a page.
func (s *Site) html(name string, f frame, view any) (File, error) {
	var out bytes.Buffer
	if err := s.pages[f.Tag].ExecuteTemplate(&out, name, view); err != nil {
		return File{}, err
	}
	return File{Body: bytes.Map(allowed, out.Bytes()), Policy: s.policy(f)}, nil
}

// allowed removes the characters that HTML forbids: control characters and noncharacters.
func allowed(r rune) rune {
	switch {
	case r < ' ' && r != '\t' && r != '\n', r >= 0x7f && r < 0xa0, r >= 0xfdd0 && r <= 0xfdef, r&0xfffe == 0xfffe:
		return -1
	}
	return r
}

// policy returns the Content-Security-Policy of a page.
func (s *Site) policy(f frame) string {
	ancestors := "'none'"
	if f.Embedded {
		ancestors = "*"
	}
	parts := []string{"default-src 'none'", "style-src " + hashOf(string(f.Style))}
	if f.Script != "" {
		parts = append(parts, "script-src "+s.scriptHash)
	}
	images := "img-src data:" // the icon
	for _, address := range []string{f.Logo(), string(f.Icon())} {
		if origin := imageOrigin(address); origin != "" && !strings.Contains(images+" ", " "+origin+" ") {
			images += " " + origin
		}
	}
	forms := strings.TrimSpace("form-action 'self' " + f.Forms)
	return strings.Join(append(parts, images, "connect-src 'self'", forms, "base-uri 'none'", "frame-ancestors "+ancestors), "; ")
}

// loadable returns the address of an image, and no text if the policy cannot allow its origin.
func loadable(address string) string {
	if imageOrigin(address) == "" {
		return ""
	}
	return address
}

// originOf returns the origin of an address of the platform or the dashboard; no text for a relative address.
func originOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" {
		return ""
	}
	return parsed.Scheme + "://" + parsed.Host
}

var originForm = regexp.MustCompile(`^[a-z0-9.-]+(:[0-9]+)?$`)

// imageOrigin returns the origin of an image as a source of a Content-Security-Policy, or no text if a browser
// could not load the image or the origin could mean more than one source.
func imageOrigin(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme != "https" {
		return ""
	}
	host, err := idna.Lookup.ToASCII(parsed.Hostname())
	if err != nil {
		return ""
	}
	if port := parsed.Port(); port != "" {
		host += ":" + port
	}
	if !originForm.MatchString(host) {
		return ""
	}
	return "https://" + host
}
