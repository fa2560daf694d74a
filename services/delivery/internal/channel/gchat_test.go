package channel

import (
	"encoding/json"
	"net/url"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/locale"
)

// The whole body.
func TestTheCardOfAChatIsAsDocumented(t *testing.T) {
	change := told(topic.Wording{})
	change.Notify = topic.Notify{topic.GChat: {Message: "All <good> & well", Details: true}}
	body, err := renderChat(in(t, "en"), &change, dashboard, change.Event.Components)
	if err != nil {
		t.Fatal(err)
	}
	text := func(content string) string { return `{"textParagraph":{"text":"` + content + `"}}` }
	section := func(name, content string) string {
		return `,{"header":"` + name + `","widgets":[` + text(content) + `]}`
	}
	head := `{"fallbackText":"Status · Resolved: A & B ‹fail›","cardsV2":[{"cardId":"event","card":{"header":{"title":"Status","subtitle":"Resolved · Minor outage"},"sections":[{"widgets":[`
	title := text("<b>A &amp; B &lt;fail&gt;</b>") + "]}"
	brief := section("Affected", "Core / API (Partial outage)") + section("Resolved, 2026-03-04 05:06 UTC", "Fixed.")
	tail := `,{"widgets":[{"buttonList":{"buttons":[{"text":"Open the event","onClick":{"openLink":{"url":"https://status.test/d/main/events/e"}}}]}}]}]}}],"thread":{"threadKey":"e"}}`
	want := head + text("All &lt;good&gt; &amp; well") + "," + title + brief +
		section("Description", "We <b>know</b> *it*.") + section("Impact", "Slow") + section("Coordinator", "Kim") +
		section("Times", "Start: 2026-03-04 05:06 UTC<br>End: 2026-03-04 06:06 UTC") + tail
	if string(body) != want {
		t.Errorf("got  %s\nwant %s", body, want)
	}
	change.Notify = topic.Notify{topic.GChat: {}}
	if body, err = renderChat(in(t, "en"), &change, dashboard, change.Event.Components); err != nil || string(body) != head+title+brief+tail {
		t.Errorf("without message and details: %s (%v)", body, err)
	}
}

// chatTexts returns the texts of a body: those that are HTML, and the others.
func chatTexts(t *testing.T, body []byte) (markup, plain []string) {
	t.Helper()
	var message chatMessage
	if err := json.Unmarshal(body, &message); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	card := message.Cards[0].Card
	plain = []string{message.Fallback, card.Header.Title, card.Header.Subtitle}
	for _, section := range card.Sections {
		markup = append(markup, section.Header)
		for _, widget := range section.Widgets {
			if widget.Text != nil {
				markup = append(markup, widget.Text.Text)
			}
		}
	}
	return markup, plain
}

// With any texts, the body stays below its limit, is JSON and UTF-8, and shows the beginning of each text.
func TestACardOfAChatStaysBelowItsLimitWithAnyText(t *testing.T) {
	for name, text := range map[string]string{
		"plain": strings.Repeat("word ", 8_000), "escaped": strings.Repeat("<&", 15_000), "quoted": strings.Repeat(`"\`, 15_000),
		"wide": strings.Repeat("€😀", 5_000), "controls": strings.Repeat("a\x01", 30_000), "lines": strings.Repeat("a\n", 15_000), "broken": strings.Repeat("\xff", 30_000),
		"items": strings.Repeat("- **a** b\n", 3_000),
	} {
		change := told(topic.Wording{})
		change.Notify = topic.Notify{topic.GChat: {Message: text, Details: true}}
		event := &change.Event
		event.Title, event.DescriptionText, event.DescriptionHTML = text, text, richtext.HTML(richtext.Markdown, text)
		event.ImpactText, event.CoordinatorText, event.Severity = text, text, text
		change.Entry.Text, change.Entry.HTML = text, richtext.HTML(richtext.Plain, text)
		body, err := renderChat(in(t, "en"), &change, topic.Dashboard{Name: text, URL: dashboard.URL}, many(500, strings.Repeat("name ", 20)))
		if err != nil || len(body) > chatLimit || len(body) < chatLimit/5 || !json.Valid(body) || !utf8.Valid(body) {
			t.Fatalf("%s: %d bytes, JSON %t, UTF-8 %t, %v", name, len(body), json.Valid(body), utf8.Valid(body), err)
		}
		if n := strings.Count(string(body), "…"); n < 6 {
			t.Errorf("%s: %d texts are marked as cut: %s", name, n, body)
		}
		chatTexts(t, body)
	}
}

// Hostile texts add no element, no attribute, no link and no mention.
func TestHostileTextsAddNoMarkupToAChat(t *testing.T) {
	lines, err := os.ReadFile("../../../../libs/richtext/testdata/hostile.txt")
	if err != nil {
		t.Fatal(err)
	}
	vectors := append(strings.Split(strings.TrimSpace(string(lines)), "\n"), "<users/all>", "<https://evil.test|bank>", "*b* _i_ ~s~ `c`",
		"</b></a><a href=\"https://evil.test\">", "&lt;users/all&gt;", `<a href="https://e.test/&quot;><users/all>">x</a>`)
	for _, text := range vectors {
		for _, format := range []richtext.Format{richtext.Plain, richtext.Markdown, richtext.Rich} {
			change := told(topic.Wording{})
			change.Notify = topic.Notify{topic.GChat: {Message: text, Details: true}}
			event := &change.Event
			event.Title, event.Severity, event.Components[0].Name, event.Components[0].Group = text, text, text, text
			event.DescriptionText, event.DescriptionHTML = richtext.PlainText(format, text), richtext.HTML(format, text)
			change.Entry.Text, change.Entry.HTML, change.Entry.Status = event.DescriptionText, event.DescriptionHTML, text
			body, err := renderChat(in(t, "en"), &change, topic.Dashboard{Name: text, URL: dashboard.URL}, event.Components)
			if err != nil {
				t.Fatal(err)
			}
			markup, plain := chatTexts(t, body)
			for _, shown := range markup {
				checkChat(t, shown)
			}
			for _, shown := range plain {
				if strings.ContainsAny(shown, "<>*_~`\n") {
					t.Errorf("%q is markup", shown)
				}
			}
		}
	}
}

// checkChat checks that a text has only the elements that cards of Chat may have, and that links lead to pages.
func checkChat(t *testing.T, text string) {
	t.Helper()
	tokens := html.NewTokenizer(strings.NewReader(text))
	for kind := tokens.Next(); kind != html.ErrorToken; kind = tokens.Next() {
		token := tokens.Token()
		switch {
		case kind == html.TextToken:
		case token.Data == "a" && kind == html.StartTagToken:
			target, err := url.Parse(token.Attr[0].Val)
			if err != nil || len(token.Attr) != 1 || token.Attr[0].Key != "href" || target.Scheme != "https" && target.Scheme != "http" && target.Scheme != "mailto" {
				t.Errorf("the link %s in %q", token, text)
			}
		case (token.Data == "b" || token.Data == "i" || token.Data == "br" || token.Data == "a") && len(token.Attr) == 0:
		default:
			t.Errorf("the element %s in %q", token, text)
		}
	}
}

// A request keeps the URL's own parameters as they are written, and has each of ours once.
func TestTheURLOfAChatKeepsItsOwnParameters(t *testing.T) {
	const base, ours = "https://chat.test/v1/spaces/A/messages", "messageReplyOption=REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD&requestId=d-1"
	for query, want := range map[string]string{
		"?key=k&token=t":                                                               "?key=k&token=t&" + ours,
		"?key=AI-z%2f%2F+x&token=a%3D=&&":                                              "?key=AI-z%2f%2F+x&token=a%3D=&" + ours,
		"?threadKey=x&key=k&requestId=1&token=t":                                       "?key=k&token=t&" + ours,
		"?key=k&token=t&messageReplyOption=REPLY_MESSAGE_OR_FAIL":                      "?key=k&token=t&" + ours,
		"?key=k&token=t&thread_key=x&request_id=&message_reply_option=1&thread%4bey=y": "?key=k&token=t&" + ours,
		"?key=%zz&token=t":                                                             "?key=%zz&token=t&" + ours,
		"":                                                                             "?" + ours,
	} {
		if got := chatURL(base+query, "d-1"); got != base+want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	if got := chatURL("", "d-1"); got != "" {
		t.Errorf("without a URL: %s", got)
	}
}

// The test of an endpoint says plainly what it is. It names the dashboard, and shows nothing of the example event.
func TestTheTestOfAnEndpointShowsNothingOfTheExampleEvent(t *testing.T) {
	change := told(topic.Wording{})
	change.ID, change.Kind, change.Notify = "n", topic.EndpointTest, nil
	for name, render := range map[string]func(*locale.Locale, *topic.EventChange, topic.Dashboard, []topic.Component) ([]byte, error){"teams": renderCard, "gchat": renderChat} {
		body, err := render(in(t, "en"), &change, dashboard, change.Event.Components)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"Test of this endpoint", "This is a test. Nothing happened: there is no incident and no maintenance.",
			"Notifications from the dashboard Status arrive here.", `"Open the dashboard"`, `"` + dashboard.URL + `"`} {
			if !strings.Contains(string(body), want) {
				t.Errorf("%s: %q is not in %s", name, want, body)
			}
		}
		for _, other := range []string{"A & B", "API", "Fixed", "Resolved", "/events/", `"threadKey":"e"`, "attention"} {
			if strings.Contains(string(body), other) {
				t.Errorf("%s: %q is in %s", name, other, body)
			}
		}
	}
	shared, err := render(&change, dashboard, change.Event.Components)
	if err != nil || !strings.HasPrefix(string(shared), `{"kind":"endpoint.test","version":1,`) || !strings.Contains(string(shared), `"title":"A & B <fail>"`) {
		t.Errorf("webhook: %s (%v)", shared, err)
	}
}
