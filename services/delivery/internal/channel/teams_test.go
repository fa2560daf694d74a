package channel

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

func told(wording topic.Wording) topic.EventChange {
	change := sample()
	change.Event.DescriptionText, change.Event.DescriptionHTML = "We know *it*.", "<p>We <strong>know</strong> *it*.</p>"
	change.Event.ImpactText, change.Event.CoordinatorText = "Slow", "Kim"
	change.Notify = topic.Notify{topic.Teams: wording}
	return change
}

// The whole body.
func TestTheCardOfTeamsIsAsDocumented(t *testing.T) {
	change := told(topic.Wording{Message: "All [good]", Details: true, Color: "#c00"})
	body, err := renderCard(in(t, "en"), &change, dashboard, change.Event.Components)
	if err != nil {
		t.Fatal(err)
	}
	head := `{"type":"message","attachments":[{"contentType":"application/vnd.microsoft.card.adaptive","contentUrl":null,"content":` +
		`{"$schema":"http://adaptivecards.io/schemas/adaptive-card.json","type":"AdaptiveCard","version":"1.4","msteams":{"width":"Full"},"fallbackText":"A & B <fail>","body":[`
	tail := `],"actions":[{"type":"Action.OpenUrl","title":"Open the event","url":"https://status.test/d/main/events/e"}]}}]}`
	title := func(style string) string {
		return `{"type":"Container","style":"` + style + `","bleed":true,"items":[{"type":"TextBlock","text":"A \\& B \\<fail\\>","size":"Large","weight":"Bolder","wrap":true},` +
			`{"type":"TextBlock","text":"Status · Resolved · Minor outage","isSubtle":true,"wrap":true,"spacing":"None"}]}`
	}
	section := func(name, text string) string {
		return `,{"type":"TextBlock","text":"` + name + `","weight":"Bolder","wrap":true},{"type":"TextBlock","text":"` + text + `","wrap":true,"spacing":"Small"}`
	}
	brief := section("Affected", "Core / API (Partial outage)") + section("Resolved, 2026-03-04 05:06 UTC", "Fixed.")
	want := head + `{"type":"TextBlock","text":"All \\[good\\]","wrap":true},` + title("attention") + brief +
		section("Description", `We **know** \\*it\\*.`) + section("Impact", "Slow") + section("Coordinator", "Kim") +
		section("Times", `Start: 2026-03-04 05:06 UTC\n\nEnd: 2026-03-04 06:06 UTC`) + tail
	if string(body) != want {
		t.Errorf("got  %s\nwant %s", body, want)
	}
	change = told(topic.Wording{})
	if body, err = renderCard(in(t, "en"), &change, dashboard, change.Event.Components); err != nil || string(body) != head+title("good")+brief+tail {
		t.Errorf("without message, details and color: %s (%v)", body, err)
	}
}

// With any texts, the body stays below its limit, is JSON and UTF-8, and shows the beginning of each text.
func TestACardOfTeamsStaysBelowItsLimitWithAnyText(t *testing.T) {
	for name, text := range map[string]string{
		"plain": strings.Repeat("word ", 8_000), "escaped": strings.Repeat("*[", 15_000), "quoted": strings.Repeat(`"\`, 15_000),
		"wide": strings.Repeat("€😀", 5_000), "controls": strings.Repeat("\x01", 30_000), "lines": strings.Repeat("a\n", 15_000), "broken": strings.Repeat("\xff", 30_000),
		"items": strings.Repeat("- **a** b\n", 3_000),
	} {
		t.Run(name, func(t *testing.T) {
			change := told(topic.Wording{Message: text, Details: true})
			event := &change.Event
			event.Title, event.DescriptionText, event.DescriptionHTML = text, text, richtext.HTML(richtext.Markdown, text)
			event.ImpactText, event.CoordinatorText, event.Severity = text, text, text
			change.Entry.Text, change.Entry.HTML = text, richtext.HTML(richtext.Plain, text)
			body, err := renderCard(in(t, "en"), &change, dashboard, many(500, strings.Repeat("name ", 20)))
			if err != nil || len(body) > cardLimit || !json.Valid(body) || !utf8.Valid(body) {
				t.Fatalf("%d bytes, JSON %t, UTF-8 %t, %v", len(body), json.Valid(body), utf8.Valid(body), err)
			}
			if n := strings.Count(string(body), "…"); n < 6 {
				t.Errorf("%d texts are marked as cut: %s", n, body)
			}
		})
	}
	change := told(topic.Wording{Message: strings.Repeat("x", 30_000)})
	body, err := renderCard(in(t, "en"), &change, dashboard, change.Event.Components)
	if err != nil || !strings.Contains(string(body), "Fixed.") || strings.Count(string(body), "…") != 1 {
		t.Errorf("one long text changes the others: %s %v", body, err)
	}
}

func TestTheColorOfACardBecomesTheNearestStyle(t *testing.T) {
	incident, over := topic.Event{Type: "incident"}, topic.Event{Type: "incident", EndAt: &time.Time{}}
	for color, want := range map[string]string{
		"#c00": "attention", "#CC0000": "attention", "#ff0040": "attention", "#ff8800": "warning", "#fc0": "warning", "#ffff00": "warning",
		"#0f0": "good", "#2eb886": "good", "#00f": "accent", "#8000ff": "accent", "#0078d4": "accent", "#000": "emphasis", "#fff": "emphasis", "#889": "emphasis",
		"": "attention", "c00": "attention", "#12345": "attention", "#ggg": "attention",
	} {
		if got := cardStyle(color, &topic.EventChange{Event: incident}); got != want {
			t.Errorf("%q: %s, want %s", color, got, want)
		}
	}
	if got := cardStyle("", &topic.EventChange{Event: over}); got != "good" {
		t.Errorf("over: %s", got)
	}
	if got := cardStyle("", &topic.EventChange{Event: topic.Event{Type: "maintenance"}}); got != "accent" {
		t.Errorf("maintenance: %s", got)
	}
}
