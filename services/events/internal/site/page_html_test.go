package site

import (
	"fmt"
	"maps"
	"net/url"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
	"golang.org/x/net/html"
)

// otherFiles are the patterns of files that are no pages.
var otherFiles = []string{
	"feed.rss", "feed.atom", "feed.json", "components/*/feed.rss", "maintenance.ics", "badge.svg", "subscribe/email", "subscribe/sms", "subscribe/whatsapp",
	"subscribe/webhook", "subscribe/teams", "subscribe/gchat",
}

// document is a parsed page.
type document struct {
	t        *testing.T
	label    string
	file     File
	root     *html.Node
	elements []*html.Node // in the order of the document
}

// read parses a page. It reports elements that are not closed in the order in which they were opened.
func read(t *testing.T, label string, file File) document {
	t.Helper()
	void := []string{"meta", "link", "img", "input", "br", "hr"}
	var open []string
	for tokens := html.NewTokenizer(strings.NewReader(string(file.Body))); ; {
		kind := tokens.Next()
		if kind == html.ErrorToken {
			break
		}
		name, _ := tokens.TagName()
		switch tag := string(name); {
		case kind == html.StartTagToken && !slices.Contains(void, tag):
			open = append(open, tag)
		case kind == html.EndTagToken:
			if len(open) == 0 || open[len(open)-1] != tag {
				t.Fatalf("%s: </%s> closes %v", label, tag, open)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Fatalf("%s: %v is not closed", label, open)
	}
	root, err := html.Parse(strings.NewReader(string(file.Body)))
	if err != nil {
		t.Fatalf("%s: %v", label, err)
	}
	d := document{t: t, label: label, file: file, root: root}
	for node := range root.Descendants() {
		if node.Type == html.ElementNode {
			d.elements = append(d.elements, node)
		}
	}
	return d
}

func (d document) errorf(format string, args ...any) {
	d.t.Helper()
	d.t.Errorf("%s: %s", d.label, fmt.Sprintf(format, args...))
}

func attribute(n *html.Node, key string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val, true
		}
	}
	return "", false
}

func (d document) all(tags ...string) []*html.Node {
	return slices.DeleteFunc(slices.Clone(d.elements), func(n *html.Node) bool { return !slices.Contains(tags, n.Data) })
}

func textOf(n *html.Node) string {
	var out strings.Builder
	for child := range n.Descendants() {
		if child.Type == html.TextNode {
			out.WriteString(child.Data)
		}
	}
	return out.String()
}

// sample is a page of a sample.
type sample struct {
	document
	snapshot *edition.Snapshot
	name     string
}

// samples are the pages that eachPage has parsed. Rendering and parsing them takes longer than checking them.
var samples []sample

// eachPage calls check with each page of the samples.
func eachPage(t *testing.T, check func(document, *edition.Snapshot, string)) {
	if samples == nil {
		samples = readSamples(t)
	}
	for _, page := range samples {
		page.t = t
		check(page.document, page.snapshot, page.name)
	}
}

func readSamples(t *testing.T) (all []sample) {
	s := newSite(t)
	snapshots := map[string]*edition.Snapshot{"calm": samplePage(), "private": samplePage(), "branded": troubledPage(), "hostile": hostilePage()}
	snapshots["private"].Dashboard.Access.Mode = catalog.AccessPassword
	snapshots["branded"].Dashboard.Branding = catalog.Branding{LogoURL: "https://img.example.com/logo.png", FaviconURL: "https://cdn.example.com:8443/i.ico", PrimaryColor: "#ffcc00", Theme: "dark"}
	for lang := range s.words {
		snapshots[lang] = troubledPage()
		snapshots[lang].Dashboard.Locale = lang
	}
	for _, label := range slices.Sorted(maps.Keys(snapshots)) {
		for _, name := range pageNames(snapshots[label]) {
			all = append(all, sample{read(t, label+" "+name, render(t, s, snapshots[label], name)), snapshots[label], name})
		}
	}
	return all
}

func TestPagesAreWellFormedAndAccessible(t *testing.T) {
	eachPage(t, func(d document, s *edition.Snapshot, name string) {
		if lang, _ := attribute(d.all("html")[0], "lang"); lang != s.Dashboard.Locale {
			d.errorf("the language is %q", lang)
		}
		if got := len(d.all("main")); got != 1 {
			d.errorf("%d main", got)
		}
		if got := strings.TrimSpace(textOf(d.all("title")[0])); got == "" {
			d.errorf("no title")
		}
		d.checkHeadings()
		d.checkReferences()
		for _, n := range d.all("img") {
			if alt, is := attribute(n, "alt"); !is || alt == "" {
				d.errorf("an image without a text")
			}
		}
	})
}

// checkHeadings reports a page without exactly one h1, and a heading that skips a level.
func (d document) checkHeadings() {
	level, first := 0, 0
	for _, n := range d.all("h1", "h2", "h3", "h4", "h5", "h6") {
		next := int(n.Data[1] - '0')
		if next == 1 {
			first++
		}
		if next > level+1 {
			d.errorf("%s %q follows h%d", n.Data, textOf(n), level)
		}
		if _, image := attribute(n, "alt"); strings.TrimSpace(textOf(n)) == "" && !image && n.FirstChild == nil {
			d.errorf("an empty %s", n.Data)
		}
		level = next
	}
	if first != 1 {
		d.errorf("%d h1", first)
	}
}

// checkReferences reports an id that occurs twice, and a reference to an id that does not exist.
func (d document) checkReferences() {
	ids := map[string]bool{}
	for _, n := range d.elements {
		if id, is := attribute(n, "id"); is {
			if ids[id] || id == "" {
				d.errorf("the id %q occurs twice", id)
			}
			ids[id] = true
		}
	}
	labelled := map[string]bool{}
	for _, n := range d.elements {
		for _, key := range []string{"for", "aria-describedby", "aria-labelledby"} {
			if id, is := attribute(n, key); is && !ids[id] {
				d.errorf("%s names %q", key, id)
			} else if key == "for" {
				labelled[id] = true
			}
		}
		if href, _ := attribute(n, "href"); strings.HasPrefix(href, "#") && !ids[href[1:]] && href != refusedLink {
			d.errorf("a link to %q", href)
		}
	}
	for _, n := range d.all("input") {
		if id, _ := attribute(n, "id"); !labelled[id] && n.Parent.Data != "label" {
			d.errorf("an input without a label")
		}
	}
}

// Each relative link of a page leads to a file of the dashboard, from the address of the page.
func TestLinksAreRelativeAndLeadToFiles(t *testing.T) {
	eachPage(t, func(d document, s *edition.Snapshot, name string) {
		switch name {
		case peer.EnterWrongFile, peer.EnterLateFile:
			name = "enter" // the address of the response
		case peer.EnterBelowFile:
			name = "events/x"
		case peer.EnterFileAt(3):
			name = "status/main/rss/"
		}
		at, err := url.Parse("https://host/d/slug/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range d.elements {
			for _, key := range []string{"href", "src", "action"} {
				value, is := attribute(n, key)
				if !is || strings.HasPrefix(value, "#") || n.Data == "use" || isIcon(n) {
					continue
				}
				to, err := at.Parse(value)
				if err != nil {
					d.errorf("%s %q: %v", key, value, err)
					continue
				}
				if to.Scheme == "mailto" || to.Scheme == "https" && to.Host != "host" {
					continue
				}
				file, below := strings.CutPrefix(to.Path, "/d/slug/")
				if !below || to.Scheme != "https" || to.RawQuery != "" && (s.FeedKey == "" || to.Query().Get("key") != s.FeedKey) {
					d.errorf("%s %q", key, value)
					continue
				}
				if unknown := strings.HasPrefix(file, "events/"); !unknown && !exists(s, file) { // an event may be older than the snapshot
					d.errorf("%s %q leads to %q", key, value, file)
				}
			}
		}
	})
}

// isIcon reports whether the element links the icon that is inside the page.
func isIcon(n *html.Node) bool {
	rel, _ := attribute(n, "rel")
	to, _ := attribute(n, "href")
	return rel == "icon" && strings.HasPrefix(to, "data:image/svg+xml,%3csvg")
}

// The icon of a page that follows the state shows the state. That of another page shows no more than the dashboard's colour:
// the page may be one that everybody sees. The page loads no icon, because visitors without access would not get it.
func TestIconIsInsideThePage(t *testing.T) {
	calm, troubled := samplePage(), troubledPage()
	for _, one := range []struct {
		s          *edition.Snapshot
		name, want string
	}{
		{calm, "", badgeColor(catalog.Operational)}, {troubled, "", badgeColor(catalog.PartialOutage)}, {troubled, "history/2026-10", badgeColor(catalog.PartialOutage)},
		{calm, peer.EnterFile, "#2456c8"}, {troubled, peer.EnterBelowFile, "#2456c8"}, {troubled, peer.MissingFile, "#2456c8"},
	} {
		d := read(t, one.name, render(t, newSite(t), one.s, one.name))
		var icons []string
		for _, n := range d.all("link") {
			if isIcon(n) {
				address, _ := attribute(n, "href")
				icons = append(icons, address)
			}
		}
		if len(icons) != 1 || !strings.Contains(icons[0], "fill=%22%23"+one.want[1:]) || strings.Contains(string(d.file.Body), "badge.svg") {
			t.Errorf("%q: the icons are %q, want one with %s", one.name, icons, one.want)
		}
	}
}

// exists reports whether the dashboard has the file.
func exists(s *edition.Snapshot, name string) bool {
	if slices.Contains(pageNames(s), name) {
		return true
	}
	return slices.ContainsFunc(otherFiles, func(pattern string) bool { matches, err := path.Match(pattern, name); return err == nil && matches })
}

// The policy allows the style and the script of the page and nothing else.
func TestPolicyNamesTheStyleAndTheScript(t *testing.T) {
	eachPage(t, func(d document, s *edition.Snapshot, name string) {
		if d.file.Media != "text/html; charset=utf-8" {
			d.errorf("the media type is %q", d.file.Media)
		}
		styles, scripts := d.all("style"), d.all("script")
		if len(styles) != 1 || len(scripts) > 1 {
			d.errorf("%d styles, %d scripts", len(styles), len(scripts))
		}
		for _, n := range styles {
			if !strings.Contains(d.file.Policy, "; style-src "+hashOf(textOf(n))+";") {
				d.errorf("the policy lacks the style: %s", d.file.Policy)
			}
		}
		for _, n := range scripts {
			if !strings.Contains(d.file.Policy, "; script-src "+hashOf(textOf(n))+";") {
				d.errorf("the policy lacks the script: %s", d.file.Policy)
			}
		}
		ancestors := map[bool]string{true: "*", false: "'none'"}[name == "embed"]
		forms := "'self'"
		for _, n := range d.all("form") {
			if action, _ := attribute(n, "action"); action == confirmURL {
				forms = "'self' https://platform.example"
			}
		}
		if !strings.HasPrefix(d.file.Policy, "default-src 'none'; ") || !strings.HasSuffix(d.file.Policy, "; connect-src 'self'; form-action "+forms+"; base-uri 'none'; frame-ancestors "+ancestors) {
			d.errorf("the policy is %s", d.file.Policy)
		}
		for _, n := range d.elements {
			for _, a := range n.Attr {
				if a.Key == "style" || strings.HasPrefix(a.Key, "on") || a.Key == "srcdoc" {
					d.errorf("%s has the attribute %s", n.Data, a.Key)
				}
			}
			if slices.Contains([]string{"base", "iframe", "object", "embed", "frame", "video", "audio"}, n.Data) {
				d.errorf("there is a %s", n.Data)
			}
		}
	})
}

func TestImageOriginIsOneSource(t *testing.T) {
	for address, want := range map[string]string{
		"https://img.example.com/a.png": "https://img.example.com", "https://IMG.example.com:8443/a.png?x;y": "https://img.example.com:8443",
		"https://bücher.example/a.png": "https://xn--bcher-kva.example", "": "", "http://img.example.com/a.png": "", "https://a;script-src/a.png": "",
		"https://*.example.com/a": "", "https://[::1]/a": "", "data:image/png,": "",
	} {
		if got := imageOrigin(address); got != want {
			t.Errorf("%q has the origin %q, want %q", address, got, want)
		}
	}
	s := samplePage()
	s.Dashboard.Branding = catalog.Branding{LogoURL: "https://a;sandbox/l.png", FaviconURL: "https://a;sandbox/f.ico"}
	if file := render(t, newSite(t), s, ""); strings.Contains(string(file.Body)+file.Policy, "sandbox") {
		t.Error("the page loads an image that its policy cannot allow")
	}
	s.Dashboard.Branding = catalog.Branding{LogoURL: "https://a.example/l.png", FaviconURL: "https://a.example/f.ico"}
	if policy := render(t, newSite(t), s, "").Policy; !strings.Contains(policy, "; img-src data: https://a.example; ") {
		t.Error(policy)
	}
}

// refusedLink replaces an address that would run a script (package html/template).
const refusedLink = "#ZgotmplZ"

// hostilePageText would break a page that does not escape it, in an element, an attribute, a script, a style or a URL.
const hostilePageText = "</title></style></script><script>alert(1)</script><img src=x onerror=alert(2)>\"' onload=alert(3) x='{{.}}` javascript:alert(4) \u202Egnp.exe\u2066\u2069 &lt;b&gt; <!-- ]]> \x00\x08\r\n\u0085\uffff"

// hostilePage is the troubled page with hostilePageText in each text of operators.
func hostilePage() *edition.Snapshot {
	s := troubledPage()
	poison(reflect.ValueOf(s).Elem())
	s.URL, s.Dashboard.Locale, s.Dashboard.Timezone = "https://status.example.com", "en", "UTC"
	s.Dashboard.Access.Mode = catalog.AccessPublic
	s.Dashboard.Links.Navigation = []catalog.NavigationLink{{Text: hostilePageText, Href: "javascript:alert(5)"}, {Text: hostilePageText, Href: `https://x.example/"><script>alert(6)</script>`}}
	s.Dashboard.Links.HomepageURL, s.Dashboard.Links.SupportURL = `https://x.example/"><script>alert(8)</script>`, `mailto:a@x.example?subject="><script>alert(9)</script>`
	s.Dashboard.Branding = catalog.Branding{LogoURL: `https://x.example/"onerror="alert(7)`, PrimaryColor: "red}*{display:none", Theme: hostilePageText}
	for i, format := range []richtext.Format{richtext.Markdown, richtext.Rich, richtext.Plain} {
		s.Events[i].Description.Format = format
		for k := range s.Events[i].Entries {
			s.Events[i].Entries[k].Message.Format = format
		}
	}
	return s
}

// poison sets hostilePageText as each exported string that is no id, no name of a constant, and no date.
func poison(v reflect.Value) {
	constants := []reflect.Type{
		reflect.TypeFor[catalog.Impact](), reflect.TypeFor[catalog.Status](), reflect.TypeFor[catalog.EventType](), reflect.TypeFor[catalog.AccessMode](),
		reflect.TypeFor[richtext.Format](), reflect.TypeFor[time.Time](),
	}
	switch {
	case slices.Contains(constants, v.Type()):
	case v.Kind() == reflect.String:
		v.SetString(hostilePageText)
	case v.Kind() == reflect.Pointer && !v.IsNil():
		poison(v.Elem())
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i))
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if !v.Type().Field(i).IsExported() || strings.HasSuffix(name, "ID") || slices.Contains([]string{"EventIDs", "Order", "Months", "Date", "Slug"}, name) {
				continue
			}
			poison(v.Field(i))
		}
	}
}

// marks returns the names of all elements of a page, and of their attributes, such as "a" and "a href".
func (d document) marks() []string {
	var all []string
	for _, n := range d.elements {
		all = append(all, n.Data)
		for _, a := range n.Attr {
			all = append(all, n.Data+" "+a.Key)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Hostile texts stay texts: a page has no address that the same page with harmless texts does not have, and no element or
// attribute that no page with harmless texts has, other than the elements of rich text. The number of elements that can run or
// load something is the same.
func TestHostileTextsStayText(t *testing.T) {
	s, hostile, harmless := newSite(t), hostilePage(), troubledPage()
	harmless.Dashboard.Branding.LogoURL = "https://x.example/logo.png"
	known := strings.Fields("p br strong em b i code pre blockquote hr ul ol li a")
	for _, name := range pageNames(harmless) {
		known = append(known, read(t, name, render(t, s, harmless, name)).marks()...)
	}
	active := []string{"script", "style", "img", "form", "input", "rect"}
	for _, name := range pageNames(hostile) {
		d := read(t, name, render(t, s, hostile, name))
		if at := strings.IndexFunc(string(d.file.Body), func(r rune) bool { return unicode.IsControl(r) && r != '\n' || r == 0xffff }); at >= 0 {
			t.Errorf("%s has a control character at %d", name, at)
		}
		if !strings.Contains(string(d.file.Body), "alert(1)") {
			t.Errorf("%s does not show the text", name)
		}
		same := read(t, name, render(t, s, harmless, name))
		for _, mark := range d.marks() {
			if !slices.Contains(known, mark) {
				t.Errorf("%s has the mark %q", name, mark)
			}
		}
		for _, tag := range active {
			if got, want := len(d.all(tag)), len(same.all(tag)); got != want {
				t.Errorf("%s has %d %s, want %d", name, got, tag, want)
			}
		}
		for _, n := range d.elements {
			for _, a := range n.Attr {
				if to, err := url.Parse(a.Val); !isIcon(n) && slices.Contains([]string{"href", "src", "action"}, a.Key) && (err != nil || !slices.Contains([]string{"", "https", "http", "mailto"}, to.Scheme)) {
					t.Errorf("%s: the address %q", name, a.Val)
				}
				if a.Key == "aria-label" && strings.ContainsAny(a.Val, "\u202E\u2066") {
					t.Errorf("%s: the label %q changes the direction", name, a.Val)
				}
			}
		}
	}
}
