// Package chattest has checks of messages to chat programs and alerting services, and an HTTP receiver, for tests. A check
// returns an error if the service would refuse the message. The checks of chat programs also return an error for a mention or
// a misleading link.
package chattest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
)

type slackMessage struct {
	Text        string `json:"text"`
	Blocks      []slackBlock
	UnfurlLinks *bool `json:"unfurl_links"`
	UnfurlMedia *bool `json:"unfurl_media"`
}

type slackBlock struct {
	Type     string
	Text     *slackText
	Elements []slackText
}

type slackText struct {
	Type, Text string
	Emoji      *bool
	Verbatim   bool
}

// CheckSlack returns an error if Slack would refuse the body, or if the message mentions anybody, unfurls a link, has control
// characters or direction marks, or has a link whose text is an address of another host.
func CheckSlack(body []byte) error {
	var m slackMessage
	if err := strictly(body, &m); err != nil {
		return err
	}
	total := length(m.Text)
	problems := []error{checkSlackText(slackText{Type: "mrkdwn", Text: m.Text, Verbatim: true}, 40_000)}
	check := func(is bool, what string, args ...any) {
		if !is {
			problems = append(problems, fmt.Errorf(what, args...))
		}
	}
	check(!strings.Contains(m.Text, "\n"), "the text has several lines")
	check(m.UnfurlLinks != nil && !*m.UnfurlLinks && m.UnfurlMedia != nil && !*m.UnfurlMedia, "links are unfurled")
	check(len(m.Blocks) >= 1 && len(m.Blocks) <= 50, "%d blocks", len(m.Blocks))
	for i, block := range m.Blocks {
		texts, limit := block.Elements, 3_000
		if block.Text != nil {
			texts = []slackText{*block.Text}
		}
		switch block.Type {
		case "header":
			limit = 150
			check(block.Elements == nil && len(texts) == 1 && texts[0].Type == "plain_text", "block %d: a header needs one plain_text", i)
		case "section":
			check(block.Elements == nil && len(texts) == 1, "block %d: a section needs one text", i)
		case "context":
			check(block.Text == nil && len(texts) >= 1 && len(texts) <= 10, "block %d: a context needs 1 to 10 elements", i)
		default:
			check(false, "block %d: the type %q", i, block.Type)
		}
		for _, text := range texts {
			total += length(text.Text)
			if err := checkSlackText(text, limit); err != nil {
				problems = append(problems, fmt.Errorf("block %d: %w", i, err))
			}
		}
	}
	check(total <= 12_000, "%d characters in all", total)
	return errors.Join(problems...)
}

var (
	marked  = regexp.MustCompile(`<([^>]*)>?`)
	anyText = regexp.MustCompile(`^(?:https?://)?([\pL\pN-]+(?:\.[\pL\pN-]+)+)(?:[/?#:]\S*)?$`)
)

func checkSlackText(text slackText, limit int) error {
	switch n := length(text.Text); {
	case n == 0 || strings.TrimSpace(text.Text) == "":
		return errors.New("an empty text")
	case n > limit:
		return fmt.Errorf("%d characters instead of %d", n, limit)
	case hasMarks(text.Text):
		return fmt.Errorf("control or direction marks in %q", text.Text)
	case text.Type == "plain_text":
		if text.Verbatim || text.Emoji == nil || *text.Emoji {
			return errors.New("a plain_text must say that it has no emoji, and cannot be verbatim")
		}
		return nil
	case text.Type != "mrkdwn" || !text.Verbatim || text.Emoji != nil:
		return fmt.Errorf("the text object %+v", text)
	}
	for _, found := range marked.FindAllStringSubmatch(text.Text, -1) {
		target, shown, _ := strings.Cut(found[1], "|")
		if err := checkLink(strings.ReplaceAll(target, "&amp;", "&"), shown); err != nil {
			return err
		}
	}
	return nil
}

// checkLink returns an error if the target is not a URL of http, https or mailto, or if shown is an address of another host
// than the target's.
func checkLink(target, shown string) error {
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto" {
		return fmt.Errorf("a mention, or a link to %q", target)
	}
	if address := anyText.FindStringSubmatch(shown); address != nil && u.Host != "" && address[1] != strings.TrimPrefix(u.Hostname(), "www.") && address[1] != u.Hostname() {
		return fmt.Errorf("the link to %q shows %q", target, shown)
	}
	return nil
}

type discordMessage struct {
	Content string
	Embeds  []struct {
		Title, Description, URL string
		Color                   int
		Fields                  []struct{ Name, Value string }
		Footer                  struct{ Text string }
	}
	AllowedMentions *struct{ Parse []string } `json:"allowed_mentions"`
}

var (
	mention     = regexp.MustCompile(`(^|[^\\])<(@|#|:|id:|t:)`)
	discordLink = regexp.MustCompile(`(?:^|[^\\])\[((?:[^\]\\]|\\.)*)\]\(<?([^)>]*)>?\)`)
)

// CheckDiscord returns an error if Discord would refuse the body, or if the message mentions anybody, has control characters or
// direction marks, or has a link whose text is an address of another host.
func CheckDiscord(body []byte) error {
	var m discordMessage
	if err := strictly(body, &m); err != nil {
		return err
	}
	var problems []error
	check := func(is bool, what string, args ...any) {
		if !is {
			problems = append(problems, fmt.Errorf(what, args...))
		}
	}
	check(m.AllowedMentions != nil && m.AllowedMentions.Parse != nil && len(m.AllowedMentions.Parse) == 0, "mentions are allowed")
	check(m.Content == "" && len(m.Embeds) == 1, "%d embeds, and the content %q", len(m.Embeds), m.Content)
	total := 0
	plain := func(name, text string, limit int) {
		n := length(text)
		total += n
		check(n <= limit, "%s: %d characters", name, n)
		check(!hasMarks(text), "%s: control or direction marks in %q", name, text)
		check(!strings.Contains(text, "@everyone") && !strings.Contains(text, "@here"), "%s: a mention in %q", name, text)
	}
	text := func(name, text string, limit int) {
		plain(name, text, limit)
		check(!mention.MatchString(text), "%s: a mention in %q", name, text)
	}
	for _, e := range m.Embeds {
		text("title", e.Title, 256)
		text("description", e.Description, 4_096)
		plain("footer", e.Footer.Text, 2_048)
		check(len(e.Fields) <= 25, "%d fields", len(e.Fields))
		for _, field := range e.Fields {
			text("name", field.Name, 256)
			text("value", field.Value, 1_024)
		}
		check(e.Color >= 0 && e.Color <= 0xffffff, "the color %d", e.Color)
		check(strings.TrimSpace(e.Description) != "", "no description")
		check(e.URL == "" || checkLink(e.URL, "") == nil, "the address %q", e.URL)
		for _, link := range discordLink.FindAllStringSubmatch(e.Description, -1) {
			if err := checkLink(link[2], strings.ReplaceAll(link[1], `\`, "")); err != nil {
				problems = append(problems, err)
			}
		}
	}
	check(total <= 6_000, "%d characters in all", total)
	return errors.Join(problems...)
}

func strictly(body []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("%w in %s", err, body)
	}
	return nil
}

func length(text string) int { return len(utf16.Encode([]rune(text))) }

func hasMarks(text string) bool {
	return strings.ContainsFunc(text, func(c rune) bool {
		return unicode.Is(unicode.Bidi_Control, c) || unicode.IsControl(c) && c != '\n'
	})
}

// Receiver is an HTTP server that accepts the messages for which Check returns nil, and responds with status 400 to the
// others.
type Receiver struct {
	Check   func(body []byte) error                  // such as CheckSlack
	Respond func(w http.ResponseWriter, path string) // writes the response to an accepted message
	mu      sync.Mutex
	bodies  [][]byte
	refused []string
}

func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	if err := r.take(request.URL.Path, body); err != nil {
		http.Error(w, `{"message": "refused"}`, http.StatusBadRequest)
		return
	}
	r.Respond(w, request.URL.Path)
}

func (r *Receiver) take(path string, body []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.Check(body)
	if err != nil {
		r.refused = append(r.refused, path+": "+err.Error())
	} else {
		r.bodies = append(r.bodies, body)
	}
	return err
}

// Bodies returns the messages that were accepted.
func (r *Receiver) Bodies() [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.bodies)
}

// Refused returns why messages were refused.
func (r *Receiver) Refused() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.refused)
}
