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

	"github.com/bellbuoy/bellbuoy/libs/look"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
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

// New returns a Site. It parses the templates once for each locale. confirm is the URL to which a visitor sends a
// confirmation code.
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
	s := &Site{pages: map[string]*template.Template{}, words: locales, texts: newTexts(), routes: routes, compressor: newCompressor(), style: look.Base() + styleText, confirm: confirm, script: script, scriptHash: hashOf(script)}
	for lang, l := range locales {
		parsed, err := template.New("").Funcs(template.FuncMap{"t": l.Word}).ParseFS(templateFiles, "templates/*.html")
		if err != nil {
			return nil, err
		}
		s.pages[lang] = parsed
	}
	return s, nil
}

// compact returns a script without comments, and without the blanks around = and =>. No string in the script contains
// such blanks.
func compact(script string) string {
	return strings.NewReplacer(" = ", "=", " => ", "=>").Replace(withoutComments(script))
}

// withoutComments returns a script without indentation, empty lines and lines that are comments.
func withoutComments(script string) string {
	var out strings.Builder
	for line := range strings.Lines(script) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}

// hashOf returns the expression by which a Content-Security-Policy allows a style or a script.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// frame is the data of a page besides its content.
type frame struct {
	*edition.Snapshot
	*locale
	dates dates

	Title       string
	Description string // for search engines and previews
	Indexed     bool   // search engines may list the page
	Bare        bool   // the page shows only the name and the branding
	Embedded    bool   // the page is shown within another site
	Canonical   string
	Up          string // URL of the dashboard: relative (empty or ../), or absolute with a final slash
	Current     string // the entry of the navigation for this page
	key         string // Snapshot.FeedKey; empty on pages that visitors without access can see
	Style       template.CSS
	Script      template.JS // empty: the page has none
	Rendered    moment
	Forms       string // another origin to which forms on the page are sent; empty: only the origin of the page
}

// Home is the URL of the dashboard's page.
func (f frame) Home() string { return cmp.Or(f.Up, "./") }

// Logo is the URL of the dashboard's logo. It is empty if there is none, or if the policy cannot allow its origin.
func (f frame) Logo() string { return loadable(f.Dashboard.Branding.LogoURL) }

// Subscribable reports whether visitors may subscribe.
func (f frame) Subscribable() bool {
	return f.Dashboard.Content.Modules.Subscribe && len(f.Dashboard.Channels()) > 0
}

// Feeds is the links to the feeds.
func (f frame) Feeds() []feedLink {
	return []feedLink{
		{f.Keyed("feed.rss"), "RSS", peer.RSS},
		{f.Keyed("feed.atom"), "Atom", peer.Atom},
		{f.Keyed("feed.json"), "JSON Feed", peer.JSONFeed},
	}
}

// Keyed returns the URL of a file below the dashboard that programs read. On a private page the URL has the key,
// because the program has no cookie.
func (f frame) Keyed(name string) string { return f.Up + keyed(name, f.key) }

// keyed appends the key of a private page to the URL of a feed or of the calendar. key is empty for a public page.
func keyed(address, key string) string {
	if key == "" {
		return address
	}
	return address + "?key=" + url.QueryEscape(key)
}

type feedLink struct{ Href, Name, Media string }

// localeOf returns the locale of the dashboard, or the default locale if the dashboard's is not one of the shipped
// locales.
func (s *Site) localeOf(snapshot *edition.Snapshot) *locale {
	if l, known := s.words[snapshot.Dashboard.Locale]; known {
		return l
	}
	return s.words[words.Default]
}

// newFrame returns the frame of the page that was requested.
func (s *Site) newFrame(r renderRequest) frame {
	l := s.localeOf(r.Snapshot)
	d := dates{l, r.Dashboard.Zone()}
	script := s.script
	if r.frozen {
		script = ""
	}
	return frame{
		Snapshot: r.Snapshot, locale: l, dates: d, Title: r.Dashboard.Name, Canonical: r.URL + "/" + r.name,
		Indexed:  r.Dashboard.SearchIndexing && r.Dashboard.Access.Mode == catalog.AccessPublic,
		Up:       strings.Repeat("../", strings.Count(r.name, "/")),
		Style:    template.CSS(look.Colors(r.Dashboard.Branding.Theme, r.Dashboard.Branding.PrimaryColor) + s.style), // safe: our own text
		Script:   template.JS(script),                                                                                // safe: text of this package
		Rendered: d.moment(r.At),
		key:      r.FeedKey,
	}
}

// html renders a page with the template of the given name.
func (s *Site) html(name string, f frame, view any) (File, error) {
	var out bytes.Buffer
	if err := s.pages[f.Tag].ExecuteTemplate(&out, name, view); err != nil {
		return File{}, err
	}
	return File{Body: bytes.Map(richtext.AllowedInHTML, out.Bytes()), Policy: s.policy(f)}, nil
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
	images := "img-src data:" // an icon may be a data URL
	for _, address := range []string{f.Logo(), string(f.Icon())} {
		if origin := imageOrigin(address); origin != "" && !strings.Contains(images+" ", " "+origin+" ") {
			images += " " + origin
		}
	}
	forms := strings.TrimSpace("form-action 'self' " + f.Forms)
	return strings.Join(append(parts, images, "connect-src 'self'", forms, "base-uri 'none'", "frame-ancestors "+ancestors), "; ")
}

// loadable returns the URL of an image. It is empty if the policy cannot allow the origin of the image.
func loadable(address string) string {
	if imageOrigin(address) == "" {
		return ""
	}
	return address
}

// originOf returns the origin of a URL. It is empty for a relative URL.
func originOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" {
		return ""
	}
	return parsed.Scheme + "://" + parsed.Host
}

var originForm = regexp.MustCompile(`^[a-z0-9.-]+(:[0-9]+)?$`)

// imageOrigin returns the origin of an image as a source in a Content-Security-Policy. It is empty if the URL is not
// https, or if its host is not a plain host name. Such a host could have another meaning in the policy.
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
