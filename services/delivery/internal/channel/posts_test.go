package channel

import (
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/chattest"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/locale"
)

// compatible stands for a webhook with the format slack.
const compatible = topic.Channel("a Slack-compatible receiver")

// posts are the chat programs with strict receivers.
func posts() map[topic.Channel]struct {
	render renderer
	check  func([]byte) error
} {
	return map[topic.Channel]struct {
		render renderer
		check  func([]byte) error
	}{topic.Slack: {renderSlack, chattest.CheckSlack}, topic.Discord: {renderDiscord, chattest.CheckDiscord}, compatible: {renderCompatible, chattest.CheckSlackCompatible}}
}

// The whole bodies.
func TestTheMessagesOfSlackAndDiscordAreAsDocumented(t *testing.T) {
	change := told(topic.Wording{})
	change.Notify = topic.Notify{topic.Slack: {Message: "All [good]", Details: true}, topic.Discord: {Message: "All [good]", Details: true, Color: "#c00"}}
	plain := func(text string) string { return `{"type":"plain_text","text":"` + text + `","emoji":false}` }
	rich := func(text string) string { return `{"type":"mrkdwn","text":"` + text + `","verbatim":true}` }
	section := func(text string) string { return `{"type":"section","text":` + text + `}` }
	named := func(name, text string) string { return "," + section(rich("*"+name+"*")) + "," + section(text) }
	for channel, want := range map[topic.Channel]string{
		topic.Slack: `{"text":"Status · Resolved: A &amp; B &lt;fail&gt;","blocks":[` + section(plain("All [good]")) +
			`,{"type":"header","text":` + plain("A & B <fail>") + `},{"type":"context","elements":[` + plain("Status · Resolved · Minor outage") + `]}` +
			named("Affected", plain("Core / API (Partial outage)")) + named("Resolved, 2026-03-04 05:06 UTC", rich("Fixed.")) +
			named("Description", rich("We *know* ∗it∗.")) + named("Impact", plain("Slow")) + named("Coordinator", plain("Kim")) +
			named("Times", plain(`Start: 2026-03-04 05:06 UTC\nEnd: 2026-03-04 06:06 UTC`)) +
			"," + section(rich("<https://status.test/d/main/events/e|Open the event>")) + `],"unfurl_links":false,"unfurl_media":false}`,
		topic.Discord: `{"embeds":[{"title":"A & B \\<fail\\>","url":"https://status.test/d/main/events/e","description":"All \\[good\\]\n\nResolved · Minor outage\n\n` +
			`**Affected**\nCore / API (Partial outage)\n\n**Resolved, 2026-03-04 05:06 UTC**\nFixed.\n\n**Description**\nWe **know** \\*it\\*.\n\n**Impact**\nSlow\n\n**Coordinator**\nKim\n\n` +
			`**Times**\nStart: 2026-03-04 05:06 UTC\nEnd: 2026-03-04 06:06 UTC\n\n[Open the event](<https://status.test/d/main/events/e>)","color":12986408,` +
			`"footer":{"text":"Status"}}],"allowed_mentions":{"parse":[]}}`,
		compatible: `{"text":"Status · Resolved: A & B \\<fail\\>","attachments":[{"fallback":"Status · Resolved: A & B \\<fail\\>","color":"#2e7d32","title":"A & B <` + "\u200b" + `fail>",` +
			`"title_link":"https://status.test/d/main/events/e","text":"Resolved · Minor outage","fields":[{"title":"Affected","value":"Core / API (Partial outage)","short":false},` +
			`{"title":"Resolved, 2026-03-04 05:06 UTC","value":"Fixed.","short":false}]}]}`,
	} {
		body, err := posts()[channel].render(in(t, "en"), &change, dashboard, change.Event.Components)
		if err != nil || string(body) != want {
			t.Errorf("%s (%v):\ngot  %s\nwant %s", channel, err, body, want)
		}
		if err := posts()[channel].check(body); err != nil {
			t.Error(channel, err)
		}
	}
}

// With any texts, Slack and Discord accept the message, and it shows the beginning of each text. No text mentions anybody.
func TestSlackAndDiscordAcceptMessagesWithAnyText(t *testing.T) {
	lines, err := os.ReadFile("../../../../libs/richtext/testdata/hostile.txt")
	if err != nil {
		t.Fatal(err)
	}
	vectors := append(strings.Split(strings.TrimSpace(string(lines)), "\n"), "<!channel>", "x <!here> <!all> y", "![x](https://evil.test/i.png)", "! [x](https://evil.test)", "<https://evil.test|![x]>", "<!channel> <!here> <@U1> <#C1> <!subteam^S1>", "<https://evil.test|bank.example>", "@everyone @here <@1> <@&2> <#3>",
		"[https://bank.example](https://evil.test)", "\u202eelpmaxe.knab\u202c", "[\u200fbank.example](https://evil.test)", "\\", "\\\\<@1>", "\\@everyone", "*b* _i_ ~s~ `c` ||s||", "<", "\u2066", "&lt;!channel&gt;", "```\n@everyone\n```",
		`<a href="https://evil.test">www.bank.example/login</a>`, `<a href="https://e.test/|<!channel>">x</a>`, " ", "")
	for _, long := range []string{"word ", "*[", "<&>", "@", "€😀", "a\x01", "a\n", "\xff", "- **a** b\n", "[bank.example](https://evil.test/aaaaaaaaaaaaaaaaaaaaaaaa) ", "\\"} {
		vectors = append(vectors, strings.Repeat(long, 15_000/len(long)))
	}
	english := in(t, "en")
	for _, text := range vectors {
		for _, format := range []richtext.Format{richtext.Plain, richtext.Markdown, richtext.Rich} {
			change := told(topic.Wording{})
			wording := topic.Wording{Message: text, Details: true}
			change.Notify = topic.Notify{topic.Slack: wording, topic.Discord: wording}
			event := &change.Event
			name := text[:min(len(text), 4*255)] // names have at most 255 characters
			event.Title, event.Severity, event.Components[0].Name, event.Components[0].Group = name, name, name, name
			event.DescriptionText, event.DescriptionHTML = richtext.PlainText(format, text), richtext.HTML(format, text)
			event.ImpactText, event.ImpactHTML = event.DescriptionText, event.DescriptionHTML
			event.CoordinatorText, event.CoordinatorHTML = event.DescriptionText, event.DescriptionHTML
			change.Entry.Text, change.Entry.HTML, change.Entry.Status = event.DescriptionText, event.DescriptionHTML, name
			others := 1
			if len(text) > 1000 {
				others = 99 // the longest message that there can be
			}
			components := append(event.Components, many(others, strings.Repeat("name ", 40))...)
			for channel, to := range posts() {
				body, err := to.render(english, &change, topic.Dashboard{Name: name, URL: dashboard.URL}, components)
				if err == nil {
					err = to.check(body)
				}
				if err != nil || !utf8.Valid(body) {
					t.Fatalf("%s refuses %s of %.60q: %v", channel, format, text, err)
				}
				if n := strings.Count(string(body), "…"); len(text) > 1000 && n < 5 && !strings.ContainsAny(text, "\x01\n\xff") {
					t.Errorf("%s: %d texts of %.60q are marked as cut: %.2000s", channel, n, text, body)
				}
			}
		}
	}
}

// The chat programs accept a message of every kind, in each language, with and without an end, an entry and a page.
func TestChatProgramsAcceptEveryKindOfMessage(t *testing.T) {
	for _, kind := range append(topic.Kinds(), topic.EndpointTest) {
		for _, tag := range []string{"en", "de", "ja"} {
			for _, sparse := range []bool{false, true} {
				change := told(topic.Wording{})
				change.Kind = kind
				if event := &change.Event; strings.HasPrefix(string(kind), "maintenance.") {
					event.Type, event.Status, event.ScheduledStartAt, event.ScheduledEndAt = "maintenance", "planning", &event.StartAt, event.EndAt
				}
				components := change.Event.Components
				if sparse {
					change.Entry, change.Event.EndAt, change.Event.Severity, change.Event.Hidden, components = nil, nil, "", true, nil
				}
				for channel, to := range posts() {
					body, err := to.render(in(t, tag), &change, dashboard, components)
					if err == nil {
						err = to.check(body)
					}
					if err != nil {
						t.Errorf("%s refuses %s in %s: %v", channel, kind, tag, err)
					}
				}
			}
		}
	}
}

// What the response says about the webhook, and about the host of all webhooks.
func TestResponsesOfSlackAndDiscord(t *testing.T) {
	limited := http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset-After": {"1.5"}}
	for name, c := range map[string]struct {
		refine func(*dispatch.Result)
		status int
		header http.Header
		body   string
		want   dispatch.Result
	}{
		"no such webhook of Slack":      {slackRefine(t), 404, nil, "no_service", dispatch.Result{Code: deliverylog.CodeGone}},
		"no such channel of Slack":      {slackRefine(t), 404, nil, "channel_not_found\n", dispatch.Result{Code: deliverylog.CodeGone}},
		"another 404 of Slack":          {slackRefine(t), 404, nil, "not found", dispatch.Result{Code: deliverylog.CodeClientError}},
		"an archived channel of Slack":  {slackRefine(t), 410, nil, "channel_is_archived", dispatch.Result{Code: deliverylog.CodeGone}},
		"a refusal of Slack":            {slackRefine(t), 403, nil, "action_prohibited", dispatch.Result{Code: deliverylog.CodeClientError}},
		"no such webhook of Discord":    {discordRefine(t), 404, nil, `{"code": 10015}`, dispatch.Result{Code: deliverylog.CodeGone}},
		"a wrong token of Discord":      {discordRefine(t), 401, nil, `{"code": 50027}`, dispatch.Result{Code: deliverylog.CodeGone, Final: true}},
		"another 401 of Discord":        {discordRefine(t), 401, nil, `{"code": 0}`, dispatch.Result{Code: deliverylog.CodeClientError, Final: true}},
		"a 400 of Discord":              {discordRefine(t), 400, nil, `{"embeds": ["0"]}`, dispatch.Result{Code: deliverylog.CodeClientError, Final: true}},
		"a 403 of Discord":              {discordRefine(t), 403, nil, "", dispatch.Result{Code: deliverylog.CodeClientError, Final: true}},
		"the last request of a window":  {discordRefine(t), 204, limited, "", dispatch.Result{Rest: 1500 * time.Millisecond}},
		"an earlier one":                {discordRefine(t), 204, http.Header{"X-Ratelimit-Remaining": {"1"}, "X-Ratelimit-Reset-After": {"9"}}, "", dispatch.Result{}},
		"a 429 for the webhook":         {discordRefine(t), 429, nil, `{"retry_after": 0.3, "global": false}`, dispatch.Result{Code: deliverylog.CodeRateLimited, RetryAfter: 300 * time.Millisecond}},
		"a 429 for all":                 {discordRefine(t), 429, nil, `{"retry_after": 90, "global": true}`, dispatch.Result{Code: deliverylog.CodeRateLimited, RetryAfter: 90 * time.Second, HostPause: 90 * time.Second}},
		"a 429 of the server before it": {discordRefine(t), 429, nil, "<html>", dispatch.Result{Code: deliverylog.CodeRateLimited, RetryAfter: time.Minute, HostPause: time.Minute}},
		"a time that is no number":      {discordRefine(t), 204, http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset-After": {"NaN"}}, "", dispatch.Result{}},
		"a time without end":            {discordRefine(t), 204, http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset-After": {"1e300"}}, "", dispatch.Result{Rest: time.Hour}},
	} {
		got := dispatch.Result{HTTPStatus: c.status, Code: dispatch.CodeOf(c.status), Received: deliverylog.Received{Header: c.header, Body: []byte(c.body)}}
		c.refine(&got)
		if got.Code != c.want.Code || got.Final != c.want.Final || got.RetryAfter != c.want.RetryAfter || got.Rest != c.want.Rest || got.HostPause != c.want.HostPause {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func slackRefine(t *testing.T) func(*dispatch.Result) {
	return func(r *dispatch.Result) { refineSlack(t.Context(), r) }
}

func discordRefine(t *testing.T) func(*dispatch.Result) {
	return func(r *dispatch.Result) { newDiscord(slog.New(slog.DiscardHandler)).refine(t.Context(), r) }
}

// After 1,000 refusals within 10 minutes, nothing is sent to Discord for 10 minutes, and one line is logged. Slower refusals
// and other responses do not count.
func TestManyRefusalsOfDiscordPauseItsHost(t *testing.T) {
	var logs strings.Builder
	d := newDiscord(slog.New(slog.NewTextHandler(&logs, nil)))
	now := time.Now()
	d.now = func() time.Time { return now }
	pauses := func(status, n int, every time.Duration) (pauses int) {
		for range n {
			now = now.Add(every)
			result := dispatch.Result{HTTPStatus: status}
			if d.refine(t.Context(), &result); result.HostPause >= 10*time.Minute {
				pauses++
			}
		}
		return pauses
	}
	if n := pauses(http.StatusForbidden, 3000, 700*time.Millisecond); n != 0 {
		t.Errorf("refusals slower than 1,000 in 10 minutes paused the host %d times", n)
	}
	now = now.Add(time.Hour)
	if n := pauses(http.StatusNotFound, 3000, time.Millisecond); n != 0 {
		t.Errorf("webhooks that are gone paused the host %d times", n)
	}
	if n := pauses(http.StatusUnauthorized, 999, 100*time.Millisecond); n != 0 {
		t.Error("999 refusals paused the host")
	}
	if n := pauses(http.StatusUnauthorized, 500, 100*time.Millisecond); n != 1 {
		t.Errorf("1,499 refusals paused the host %d times", n)
	}
	if n := strings.Count(logs.String(), "Nothing is sent to it for 10 minutes"); n != 1 {
		t.Errorf("%d lines were logged: %s", n, logs.String())
	}
}

// The test of an endpoint says what it is on both, and is accepted.
func TestTheTestOfASlackOrDiscordEndpointIsAccepted(t *testing.T) {
	change := told(topic.Wording{})
	change.ID, change.Kind, change.Notify = "n", topic.EndpointTest, nil
	for _, tag := range []string{"en", "de", "ja"} {
		var l *locale.Locale = in(t, tag)
		for channel, to := range posts() {
			body, err := to.render(l, &change, dashboard, change.Event.Components)
			if err != nil || to.check(body) != nil || strings.Contains(string(body), "A & B") || !strings.Contains(string(body), dashboard.URL) {
				t.Errorf("%s: %s (%v, %v)", channel, body, err, to.check(body))
			}
		}
	}
}
