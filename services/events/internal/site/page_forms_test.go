package site

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
)

// framed returns a page of another service in the frame of the snapshot.
func framed(t *testing.T, s *Site, snapshot *edition.Snapshot) (document, peer.Frame) {
	t.Helper()
	file := render(t, s, snapshot, peer.FrameFile)
	var frame peer.Frame
	if err := json.Unmarshal(file.Body, &frame); err != nil || file.Media != "application/json" {
		t.Fatal(file.Media, err)
	}
	page := frame.Before + "Manage" + frame.Between + `<main id="main"><h1>Manage</h1></main>` + frame.After
	return read(t, snapshot.Dashboard.Name, File{Media: "text/html", Body: []byte(page), Policy: frame.Policy}), frame
}

// The frame is a page of the dashboard with absolute links and without a script. Its texts stay texts.
func TestFrameIsAPageWithoutContent(t *testing.T) {
	s := newSite(t)
	for label, snapshot := range map[string]*edition.Snapshot{"trouble": troubledPage(), "hostile": hostilePage()} {
		snapshot.URL = "https://status.example.com"
		d, frame := framed(t, s, snapshot)
		d.label = label
		d.checkHeadings()
		d.checkReferences()
		if title := textOf(d.all("title")[0]); !strings.HasPrefix(title, "Manage – ") || frame.Lang != snapshot.Dashboard.Locale {
			d.errorf("the title %q, the language %q", title, frame.Lang)
		}
		if len(d.all("script")) != 0 || len(d.all("form")) != 0 || len(d.all("main")) != 1 || len(d.all("nav")) != 1 {
			d.errorf("%s", d.file.Body)
		}
		for _, want := range []string{"style-src " + hashOf(textOf(d.all("style")[0])), "form-action 'self';", "img-src data:"} {
			if !strings.Contains(frame.Policy, want) {
				d.errorf("the policy lacks %q: %s", want, frame.Policy)
			}
		}
		if robots, _ := attribute(d.all("meta")[2], "content"); robots != "noindex" {
			d.errorf("search engines may list the page: %q", robots)
		}
		for _, n := range d.elements {
			for _, key := range []string{"href", "src"} {
				if to, is := attribute(n, key); is && !strings.HasPrefix(to, "https://") && !strings.HasPrefix(to, "#") && !strings.HasPrefix(to, "mailto:") && !isIcon(n) {
					d.errorf("the relative address %q", to)
				}
			}
		}
	}
}

// The frame of a private page shows the name and nothing else of the dashboard.
func TestFrameOfAPrivatePageShowsTheName(t *testing.T) {
	s := newSite(t)
	for _, mode := range []catalog.AccessMode{catalog.AccessPassword, catalog.AccessIPAllowlist} {
		snapshot := troubledPage()
		snapshot.Dashboard.Access.Mode = mode
		snapshot.Dashboard.Links.Navigation = []catalog.NavigationLink{{Text: "Intranet", Href: "https://intra.example"}}
		d, _ := framed(t, s, snapshot)
		if len(d.all("nav", "footer")) != 0 || strings.Contains(string(d.file.Body), "Intranet") || !strings.Contains(textOf(d.all("header")[0]), snapshot.Dashboard.Name) {
			d.errorf("%s", d.file.Body)
		}
	}
}

// The page after a form has a form for a code for each channel of phone numbers that the dashboard offers.
func TestFormsForACodeFollowTheOffer(t *testing.T) {
	s := newSite(t)
	for label, on := range map[string]catalog.Subscriptions{
		"":             {Email: true, Webhook: true},
		"sms":          {Email: true, SMS: true},
		"whatsapp":     {WhatsApp: true},
		"sms whatsapp": {SMS: true, WhatsApp: true},
	} {
		snapshot := troubledPage()
		snapshot.Dashboard.Subscriptions = on
		d := read(t, label, render(t, s, snapshot, "subscribe/sent"))
		var channels []string
		for _, n := range d.all("form") {
			fields := map[string]string{}
			for _, input := range d.all("input") {
				if input.Parent == n || input.Parent.Parent == n {
					name, _ := attribute(input, "name")
					fields[name], _ = attribute(input, "value")
				}
			}
			if action, _ := attribute(n, "action"); action != confirmURL || fields["dashboardId"] != snapshot.Dashboard.ID {
				d.errorf("the form %q has %v", action, fields)
			}
			if got := slices.Sorted(maps.Keys(fields)); !slices.Equal(got, []string{"channel", "code", "dashboardId", "phone"}) {
				d.errorf("the form has %v", got)
			}
			channels = append(channels, fields["channel"])
		}
		if slices.Sort(channels); strings.Join(channels, " ") != label {
			d.errorf("the forms are of %v", channels)
		}
	}
}
