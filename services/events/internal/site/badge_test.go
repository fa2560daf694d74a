package site

import (
	"encoding/xml"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

func impacts() []catalog.Impact {
	return []catalog.Impact{catalog.Operational, catalog.UnderMaintenance, catalog.Degraded, catalog.PartialOutage, catalog.MajorOutage}
}

type badgeImage struct {
	Width int      `xml:"width,attr"`
	Role  string   `xml:"role,attr"`
	Label string   `xml:"aria-label,attr"`
	Title string   `xml:"title"`
	Texts []string `xml:"g>text"`
}

func readBadge(t *testing.T, file File, err error) badgeImage {
	t.Helper()
	var image badgeImage
	if err := xml.Unmarshal(file.Body, &image); err != nil {
		t.Fatalf("%s: %v", file.Body, err)
	}
	if err != nil || image.Role != "img" || image.Label != image.Title || image.Width == 0 {
		t.Errorf("badge %+v (%v)", image, err)
	}
	return image
}

// The badge names the state of a component, and the worst state of a dashboard. An open incident is never "Operational".
func TestTheBadgeNamesTheState(t *testing.T) {
	for _, state := range impacts() {
		s := sampleSnapshot()
		s.Events = nil
		for i := range s.Components {
			s.Components[i].State = catalog.Operational
		}
		s.Components[1].State = state
		word := english("state." + string(state))
		for id, title := range map[string]string{"": "Acme & Söhne: " + word, s.Components[1].ID: "Mail: " + word} {
			file, err := badge(s, id, english)
			if image := readBadge(t, file, err); image.Title != title || !strings.Contains(string(file.Body), badgeColor(state)) {
				t.Errorf("%q: %s, want the title %q and the colour %s", id, file.Body, title, badgeColor(state))
			}
		}
		s.Events = sampleSnapshot().Events[2:3] // an open incident without components
		want := word
		if state == catalog.Operational || state == catalog.UnderMaintenance {
			want = "Incident"
		}
		file, err := badge(s, "", english)
		if image := readBadge(t, file, err); image.Texts[1] != want {
			t.Errorf("%s with an open incident: %q, want %q", state, image.Texts[1], want)
		}
	}
}

func TestALongNameIsShortenedOnTheBadge(t *testing.T) {
	s := sampleSnapshot()
	s.Dashboard.Name = strings.Repeat("\"<&🚢", 25)
	file, err := badge(s, "", func(string) string { return strings.Repeat("<語>", 20) })
	if image := readBadge(t, file, err); len([]rune(image.Texts[0])) > maxBadgeLabel || len(file.Body) > 2048 {
		t.Errorf("%d bytes: %s", len(file.Body), file.Body)
	}
}

func TestBadgeColor(t *testing.T) {
	for _, state := range impacts() {
		luminance := 0.0
		for i, share := range []float64{0.2126, 0.7152, 0.0722} {
			value, err := strconv.ParseUint(badgeColor(state)[1+2*i:3+2*i], 16, 8)
			if err != nil {
				t.Fatal(err)
			}
			luminance += share * math.Pow((float64(value)/255+0.055)/1.055, 2.4)
		}
		if contrast := 1.05 / (luminance + 0.05); contrast < 4.5 {
			t.Errorf("%s: white on %s has a contrast of %.2f:1", state, badgeColor(state), contrast)
		}
	}
}
