package site

import (
	"bytes"
	"flag"
	"html"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
)

var update = flag.Bool("update", false, "write the golden pages")

const confirmURL = "https://platform.example/public/confirm"

func newSite(t testing.TB) *Site {
	t.Helper()
	s, err := New(confirmURL)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func render(t testing.TB, s *Site, snapshot *edition.Snapshot, name string) File {
	t.Helper()
	file, err := s.render(snapshot, name, edition.Extra{})
	if err != nil {
		t.Fatalf("%q: %v", name, err)
	}
	return file
}

// pageNames returns the names of all pages of the snapshot.
func pageNames(s *edition.Snapshot) []string {
	return append(fileNames(s, true), peer.EnterFile, peer.EnterBelowFile, peer.EnterFileAt(3), peer.EnterWrongFile, peer.EnterLateFile, peer.MissingFile)
}

// fileNames returns the names of all files of peer.DashboardFiles that are pages, or that are not.
func fileNames(s *edition.Snapshot, pages bool) (names []string) {
	components, events := make([]string, len(s.Components)), make([]string, len(s.Events))
	for i := range components {
		components[i] = s.Components[i].ID
	}
	for i := range events {
		events[i] = s.Events[i].ID
	}
	for _, file := range peer.DashboardFiles() {
		parameter, values := "", []string{""}
		switch name := file.Name(); {
		case file.IsPage() != pages || file.Of != "":
			continue
		case strings.HasPrefix(name, "components/{id}"):
			parameter, values = "{id}", components
		case strings.HasPrefix(name, "events/{id}"):
			parameter, values = "{id}", events
		case strings.Contains(name, "{month}"):
			parameter, values = "{month}", s.Months
		}
		for _, value := range values {
			names = append(names, strings.Replace(file.Name(), parameter, value, 1))
		}
	}
	return names
}

// samplePages returns the samples by name. With SAMPLES=folder, TestGoldenPages writes their pages to the folder.
func samplePages(s *Site) map[string]*edition.Snapshot {
	all := map[string]*edition.Snapshot{"calm": samplePage(), "trouble": troubledPage(), "large": largePage(), "hostile": hostilePage()}
	for lang := range s.words {
		all[lang] = troubledPage()
		all[lang].Dashboard.Locale = lang
		all[lang].Dashboard.Branding.PrimaryColor = "#0f9d8a"
	}
	return all
}

// The golden pages have no style and no script, so that they show the structure alone.
func TestGoldenPages(t *testing.T) {
	s := newSite(t)
	if folder := os.Getenv("SAMPLES"); folder != "" {
		for label, snapshot := range samplePages(s) {
			for _, name := range pageNames(snapshot) {
				file := render(t, s, snapshot, name)
				write(t, filepath.Join(folder, label, name, "index.html"), file.Body)
				write(t, filepath.Join(folder, label, name, "policy"), []byte(file.Policy))
			}
		}
	}
	trouble := troubledPage()
	names := map[string]string{"page_enter.html": peer.EnterWrongFile, "page_missing.html": peer.MissingFile} // by golden file
	golden := map[string]string{
		"/": "page_index.html", "/events/{id}": "page_event.html", "/components/{id}": "page_component.html", "/history": "page_history.html",
		"/history/{month}": "page_month.html", "/subscribe": "page_subscribe.html", "/subscribe/sent": "page_sent.html", "/embed": "page_embed.html",
	}
	values := strings.NewReplacer("events/{id}", "events/"+trouble.Events[3].ID, "components/{id}", "components/"+trouble.Components[0].ID, "{month}", "2026-11")
	for _, file := range peer.DashboardFiles() {
		if !file.IsPage() {
			continue
		}
		if golden[file.Path] == "" {
			t.Errorf("the page %s has no golden file", file.Path)
		}
		names[golden[file.Path]] = values.Replace(file.Name())
	}
	for golden, name := range names {
		got := string(render(t, s, trouble, name).Body)
		for _, tag := range []string{"style", "script"} {
			if from := strings.Index(got, "<"+tag+">"); from >= 0 {
				to := strings.Index(got, "</"+tag+">")
				got = got[:from] + got[to+len("</"+tag+">"):]
			}
		}
		path := filepath.Join("testdata", golden)
		if *update {
			write(t, path, []byte(got))
		}
		want, err := os.ReadFile(path)
		if err != nil || got != string(want) {
			t.Errorf("%s differs (%v). If the change is right, run the test with -update.", golden, err)
		}
	}
}

// The page of a dashboard links to each of its feeds and to its calendar.
func TestAPageLinksToEachFeed(t *testing.T) {
	page := string(render(t, newSite(t), troubledPage(), "").Body)
	for _, file := range peer.DashboardFiles() {
		if !file.IsFeed() || file.Of != "" || file.HasParameter() {
			continue
		}
		if link := regexp.MustCompile(`<(a|link) [^>]*href="[^"]*\b` + regexp.QuoteMeta(file.Name()) + `"`); !link.MatchString(page) {
			t.Errorf("the page has no link to %s", file.Path)
		}
	}
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestPagesAreSmall(t *testing.T) {
	s := newSite(t)
	large := largePage()
	for _, name := range []string{"", "history/2026-11", "subscribe", "components/" + large.Components[0].ID, "embed"} {
		var packed bytes.Buffer
		writer := brotli.NewWriterLevel(&packed, brotli.DefaultCompression)
		if _, err := writer.Write(render(t, s, large, name).Body); err != nil {
			t.Fatal(err)
		}
		if err := writer.Close(); err != nil {
			t.Fatal(err)
		}
		if t.Logf("%q has %d bytes", name, packed.Len()); packed.Len() > 30_000 {
			t.Errorf("%q has %d bytes", name, packed.Len())
		}
	}
	if n := len(s.script); n > 4<<10 {
		t.Errorf("the script has %d bytes", n)
	}
	if n := len(s.style); n > 10<<10 {
		t.Errorf("the style has %d bytes", n)
	}
}

// Two sites render the same bytes, also at the same time.
func TestPagesAreTheSameBytesEachTime(t *testing.T) {
	first, second := newSite(t), newSite(t)
	snapshot, equal := troubledPage(), troubledPage()
	for _, name := range pageNames(snapshot) {
		done := make(chan File)
		go func() {
			file, _ := second.render(equal, name, edition.Extra{})
			done <- file
		}()
		one, other := render(t, first, snapshot, name), <-done
		if !bytes.Equal(one.Body, other.Body) || one.Policy != other.Policy {
			t.Errorf("%q differs", name)
		}
	}
}

func TestAFileHasTheContentTypeOfItsExtension(t *testing.T) {
	s, snapshot := newSite(t), troubledPage()
	component := "components/" + snapshot.Components[0].ID + "/"
	for extension, want := range map[string]string{
		".svg": "image/svg+xml", ".js": "text/javascript; charset=utf-8", ".txt": "text/plain; charset=utf-8", ".ics": "text/calendar; charset=utf-8",
		".rss": "application/rss+xml; charset=utf-8", ".atom": "application/atom+xml; charset=utf-8",
		"feed.json": "application/feed+json; charset=utf-8", ".json": "application/json; charset=utf-8", "": "text/html; charset=utf-8",
	} {
		for _, row := range peer.DashboardFiles() {
			name := strings.NewReplacer("components/{id}/", component, "components/{id}", path.Dir(component+"x"), "{id}", snapshot.Events[0].ID, "{month}", snapshot.Months[0]).Replace(row.Path[1:])
			if path.Ext(name) != path.Ext(extension) || strings.Contains(name, "feed.json") != (extension == "feed.json") {
				continue
			}
			if file := render(t, s, snapshot, name); file.Media != want {
				t.Errorf("%s is %q, want %q", name, file.Media, want)
			}
		}
	}
}

func TestUnknownFiles(t *testing.T) {
	s, snapshot := newSite(t), troubledPage()
	for _, name := range []string{
		"x", "events", "events/", "events/x", "events/" + snapshot.Events[0].ID + "/x", "components/x", "history/2026-08", "history/x", "history/", "enter/x", "subscribe/email", "../x", "[",
	} {
		if file, err := s.render(snapshot, name, edition.Extra{}); !fault.Is(err, fault.NotFound) || file.Body != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// An old event and an old month come with the request. An event with another id than that in the name is not shown.
func TestAskedEventAndMonth(t *testing.T) {
	s, snapshot := newSite(t), samplePage()
	old := troubledPage().Events[3]
	file, err := s.render(snapshot, "events/"+old.ID, edition.Extra{Event: &old})
	if err != nil || !strings.Contains(string(file.Body), "Sign-in is not possible") {
		t.Errorf("%v: %s", err, file.Body)
	}
	if _, err := s.render(snapshot, "events/"+sampleID("a", 5), edition.Extra{Event: &old}); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	month := &edition.ShownMonth{Month: "2025-12", Events: []edition.ShownEvent{old}, Uptimes: map[string]*float64{snapshot.Components[0].ID: pointer(98.7654)}}
	file, err = s.render(snapshot, "history/2025-12", edition.Extra{Month: month})
	if text := string(file.Body); err != nil || !strings.Contains(text, "Sign-in is not possible") || !strings.Contains(text, "98.76%") || !strings.Contains(text, "Not measured") {
		t.Errorf("%v: %s", err, text)
	}
}

// Before the password, a visitor sees the name and the branding and nothing else of the dashboard.
func TestEnterShowsTheNameOnly(t *testing.T) {
	snapshot := troubledPage()
	snapshot.Dashboard.Access.Mode = catalog.AccessPassword
	snapshot.Dashboard.Branding.PrimaryColor = "#b00020"
	secrets := []string{snapshot.URL, snapshot.Dashboard.Description, snapshot.Dashboard.Timezone, "Docs", "example.com", "Frankfurt", "feed.rss", "2026", "CET", sampleID("c", 1)}
	for _, c := range snapshot.Components {
		secrets = append(secrets, c.Name, c.Description)
	}
	for _, e := range snapshot.Events {
		secrets = append(secrets, e.Title)
	}
	secrets = slices.DeleteFunc(secrets, func(text string) bool { return text == "" })
	for _, name := range []string{peer.EnterFile, peer.EnterBelowFile, peer.EnterFileAt(3), peer.EnterWrongFile, peer.EnterLateFile} {
		file := render(t, newSite(t), snapshot, name)
		text := string(file.Body)
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("%s shows %q", name, secret)
			}
		}
		if !strings.Contains(text, "Northwind Cloud") || !strings.Contains(text, "#b00020") || !strings.Contains(text, `<meta name="robots" content="noindex">`) {
			t.Errorf("%s: %s", name, text)
		}
		if strings.Contains(file.Policy, "script-src") {
			t.Errorf("%s: %s", name, file.Policy)
		}
	}
}

func TestSearchEnginesListPublicPagesOnly(t *testing.T) {
	s := newSite(t)
	for _, one := range []struct {
		name     string
		indexing bool
		access   catalog.AccessMode
		want     bool
	}{
		{"", true, catalog.AccessPublic, true}, {"history", true, catalog.AccessPublic, true}, {"", false, catalog.AccessPublic, false},
		{"", true, catalog.AccessPassword, false}, {"", true, catalog.AccessIPAllowlist, false}, {"embed", true, catalog.AccessPublic, false}, {"subscribe/sent", true, catalog.AccessPublic, false},
	} {
		snapshot := samplePage()
		snapshot.Dashboard.SearchIndexing, snapshot.Dashboard.Access.Mode = one.indexing, one.access
		text := string(render(t, s, snapshot, one.name).Body)
		if got := !strings.Contains(text, `content="noindex"`); got != one.want {
			t.Errorf("%+v: listed %v", one, got)
		}
	}
	text := string(render(t, s, samplePage(), "history/2026-10").Body)
	for _, want := range []string{
		`<link rel="canonical" href="https://status.example.com/history/2026-10">`, `<meta property="og:url" content="https://status.example.com/history/2026-10">`,
		` title="RSS" href="../feed.rss">`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

// TestFeedAddressesHaveTheKey checks that the feeds and the calendar of a private dashboard have the key in every address
// that a visitor with access sees, and that no other page has the key.
func TestFeedAddressesHaveTheKey(t *testing.T) {
	s := newSite(t)
	snapshot := troubledPage()
	const key = "k+/y"
	snapshot.Dashboard.Access.Mode, snapshot.FeedKey = catalog.AccessPassword, key
	open := []string{peer.EnterFile, peer.EnterBelowFile, peer.EnterFileAt(3), peer.EnterWrongFile, peer.EnterLateFile, peer.MissingFile}
	for _, name := range append(pageNames(snapshot), "feed.rss", "feed.atom", "feed.json", "components/"+snapshot.Components[0].ID+"/feed.atom") {
		body := html.UnescapeString(string(render(t, s, snapshot, name).Body))
		addresses := regexp.MustCompile(`[^"/]*(?:feed\.(?:rss|atom|json)|\.ics)[^"< ]*`).FindAllString(body, -1)
		if len(addresses) == 0 && !slices.Contains(open, name) && name != "embed" {
			t.Errorf("%q has no address of a feed", name)
		}
		for _, address := range addresses {
			if keyed := strings.HasSuffix(address, "?key=k%2B%2Fy"); keyed == slices.Contains(open, name) {
				t.Errorf("%q has the address %s", name, address)
			}
		}
		if slices.Contains(open, name) && strings.Contains(body, "key=") {
			t.Errorf("%q has the key", name)
		}
	}
}

// No file shows a character that reverses the text beside it, also if a record from the legacy interface has it.
func TestNoFileReversesATextBesideADescription(t *testing.T) {
	s, snapshot := newSite(t), troubledPage()
	const turned = "C\u202eesc"
	snapshot.Dashboard.Description, snapshot.Components[0].Description = turned, turned
	snapshot.Dashboard.Content.Announcement = &catalog.Rich{Format: "rich", Text: turned}
	for i := range snapshot.Events {
		if report := snapshot.Events[i].PostMortem; report != nil {
			report.ActionItems = []catalog.ActionItem{{Text: turned}}
		}
	}
	shown := 0
	for _, name := range append(fileNames(snapshot, true), fileNames(snapshot, false)...) {
		body := string(render(t, s, snapshot, name).Body)
		shown += strings.Count(body, "Cesc")
		if strings.Contains(body, "\u202e") || strings.Contains(body, `\u202e`) {
			t.Errorf("%q has U+202E", name)
		}
	}
	if shown < 7 {
		t.Errorf("the files have the texts only %d times", shown)
	}
}
