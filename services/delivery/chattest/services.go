package chattest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The keys, the token and the topic that the checks accept.
const (
	PagerDutyKey = "0123456789abcdef0123456789abcdef"
	NtfyTopic    = "acme-status_1"
	MatrixToken  = "syt_YWNtZQ_matrix_token"
	ZulipKey     = "zulip0key"
)

// CheckPagerDuty returns an error if the Events API v2 would refuse the request.
func CheckPagerDuty(r *http.Request, body []byte) error {
	var event struct {
		RoutingKey string `json:"routing_key"`
		Action     string `json:"event_action"`
		DedupKey   string `json:"dedup_key"`
		Client     string
		ClientURL  string `json:"client_url"`
		Links      []struct{ Href, Text string }
		Payload    struct {
			Summary, Source, Severity string
			Timestamp                 time.Time
			Class                     string
			Details                   map[string]any `json:"custom_details"`
		}
	}
	if err := strictly(body, &event); err != nil {
		return err
	}
	p := event.Payload
	return problems(map[string]bool{
		"the request":  r.Method == http.MethodPost && r.URL.Path == "/v2/enqueue",
		"the media":    r.Header.Get("Content-Type") == "application/json",
		"routing_key":  event.RoutingKey == PagerDutyKey,
		"event_action": slices.Contains([]string{"trigger", "acknowledge", "resolve"}, event.Action),
		"dedup_key":    event.DedupKey != "" && len(event.DedupKey) <= 255,
		"summary":      p.Summary != "" && utf8.RuneCountInString(p.Summary) <= 1024,
		"source":       p.Source != "",
		"severity":     slices.Contains([]string{"critical", "error", "warning", "info"}, p.Severity),
		"timestamp":    !p.Timestamp.IsZero(),
		"links":        !slices.ContainsFunc(event.Links, func(link struct{ Href, Text string }) bool { return link.Href == "" || link.Text == "" }),
	}, body)
}

var ntfyTopic = regexp.MustCompile(`^[-_A-Za-z0-9]{1,64}$`)

// CheckNtfy returns an error if ntfy would refuse the request, or send its message as an attachment.
func CheckNtfy(r *http.Request, body []byte) error {
	var message struct {
		Topic, Title, Message, Click string
		Priority                     int
		Tags                         []string
	}
	if err := strictly(body, &message); err != nil {
		return err
	}
	return problems(map[string]bool{
		"the request": r.Method == http.MethodPost && r.URL.Path == "/" && r.URL.RawQuery == "",
		"topic":       ntfyTopic.MatchString(message.Topic) && message.Topic == NtfyTopic,
		"message":     message.Message != "" && len(message.Message) < 4096,
		"title":       len(message.Title) <= 1024,
		"the size":    len(body) <= 2*4096,
		"priority":    message.Priority >= 1 && message.Priority <= 5,
		"tags":        len(message.Tags) > 0,
	}, body)
}

// zulipFence matches the line that begins a block of Zulip. Its groups are the fence, the language or kind of the block, and
// the header of the block.
var zulipFence = regexp.MustCompile("^(~{3,}|`{3,}) *(?:\\{?\\.?([a-zA-Z0-9_+-./#]+) *([^ ~`][^~`]*)?\\}?)?$")

// outsideCode returns the lines of a text that Zulip does not show as code. A block ends only at a line that equals its
// fence, apart from white space at the end.
func outsideCode(text string) (out []string) {
	type block struct {
		fence string
		code  bool
	}
	var open []block
	for line := range strings.SplitSeq(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n") {
		innermost := block{}
		if len(open) > 0 {
			innermost = open[len(open)-1]
		}
		found := zulipFence.FindStringSubmatch(line)
		switch {
		case innermost.fence != "" && strings.TrimRightFunc(line, unicode.IsSpace) == innermost.fence:
			open = open[:len(open)-1]
		case innermost.code:
		case found != nil:
			open = append(open, block{found[1], !slices.Contains([]string{"quote", "quoted", "spoiler"}, strings.ToLower(found[2]))})
			out = append(out, found[3]) // the header of a spoiler
		default:
			out = append(out, line)
		}
	}
	return out
}

// CheckZulip returns an error if the Slack-compatible webhook of Zulip would refuse the request, or post nothing, or if
// the message could mention somebody.
func CheckZulip(r *http.Request, body []byte) error {
	var message struct{ Channel, Text string }
	if err := strictly(body, &message); err != nil {
		return err
	}
	query := r.URL.Query()
	return problems(map[string]bool{
		"the request": r.Method == http.MethodPost && r.URL.Path == "/api/v1/external/slack_incoming" && query.Get("api_key") == ZulipKey && query.Get("stream") != "",
		"the media":   r.Header.Get("Content-Type") == "application/json",
		"the topic":   regexp.MustCompile(`^[^@#\pC]{1,60}$`).MatchString(message.Channel),
		"text":        message.Text != "" && utf8.RuneCountInString(message.Text) <= 10_000,
		"a mention":   !strings.ContainsAny(strings.Join(outsideCode(message.Text), "\n"), "@<"), // Slack's <!channel> becomes @**all**
	}, body)
}

var matrixPath = regexp.MustCompile(`^/_matrix/client/v3/rooms/![^/]+/send/m\.room\.message/([0-9a-f-]{36})$`)

// CheckMatrix returns an error if a home server of Matrix would refuse the request, or if the message mentions somebody.
func CheckMatrix(r *http.Request, body []byte) error {
	var message struct {
		Type     string `json:"msgtype"`
		Body     string
		Mentions *struct{} `json:"m.mentions"`
	}
	if err := strictly(body, &message); err != nil {
		return err
	}
	found := matrixPath.FindStringSubmatch(r.URL.Path)
	return problems(map[string]bool{
		"the request":   r.Method == http.MethodPut && found != nil && found[1] == r.Header.Get("Webhook-Id"),
		"Authorization": r.Header.Get("Authorization") == "Bearer "+MatrixToken,
		"msgtype":       message.Type == "m.notice" || message.Type == "m.text",
		"body":          message.Body != "",
		"m.mentions":    message.Mentions != nil,
		"the size":      len(body) < 60_000,
	}, body)
}

func problems(checks map[string]bool, body []byte) error {
	var all []error
	for what, is := range checks {
		if !is {
			all = append(all, fmt.Errorf("%s is wrong", what))
		}
	}
	if len(all) == 0 && json.Valid(body) {
		return nil
	}
	return fmt.Errorf("%w in %s", errors.Join(all...), body)
}
