package chattest

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

type compatibleMessage struct {
	Text        string
	Attachments []struct {
		Fallback, Color, Title, Text string
		TitleLink                    string `json:"title_link"`
		Fields                       []struct {
			Title, Value string
			Short        *bool
		}
	}
}

var (
	barColor      = regexp.MustCompile(`^#[0-9a-f]{6}$`)
	announcements = strings.NewReplacer("<!channel>", "@channel", "<!here>", "@here", "<!all>", "@all")
	linked        = regexp.MustCompile(`<([^\n<|>]+)\|([^\n>]+)>`) // Mattermost converts each match to a link
	mailTarget    = regexp.MustCompile(`\]\(mailto:[^)]*\)`)
	named         = regexp.MustCompile(`@($|[^\x{200b}])`)
	image         = regexp.MustCompile(`(^|[^\\])!\[`)
	escaped       = regexp.MustCompile(`\\.`)
)

// CheckSlackCompatible returns an error if Mattermost or Rocket.Chat would refuse the body, or if the message mentions
// anybody, shows an image, has control characters or direction marks, or has a link whose text is an address of another host.
// The limit of characters is that of older releases of Mattermost, which is lower than that of Rocket.Chat.
func CheckSlackCompatible(body []byte) error {
	var m compatibleMessage
	if err := strictly(body, &m); err != nil {
		return err
	}
	if len(m.Attachments) != 1 || strings.TrimSpace(m.Text) == "" || strings.Contains(m.Text, "\n") {
		return fmt.Errorf("%d attachments, and the text %q", len(m.Attachments), m.Text)
	}
	a := m.Attachments[0]
	texts := []string{m.Text, a.Fallback, a.Text}
	total := length(a.TitleLink)
	for _, field := range a.Fields {
		texts = append(texts, field.Title, field.Value)
		if strings.TrimSpace(field.Title) == "" || strings.TrimSpace(field.Value) == "" || field.Short == nil {
			return fmt.Errorf("an empty field: %+v", field)
		}
	}
	if a.TitleLink == "" {
		texts = append(texts, a.Title)
	} else { // a title that is a link is not Markdown
		total += length(a.Title)
	}
	problems := []error{checkMentions(a.Title)}
	for _, text := range texts {
		total += length(text)
		problems = append(problems, checkMentions(text), checkMarkdown(text))
	}
	switch {
	case total > 4_000:
		problems = append(problems, fmt.Errorf("%d characters in all", total))
	case !barColor.MatchString(a.Color):
		problems = append(problems, fmt.Errorf("the color %q", a.Color))
	case a.TitleLink != "":
		problems = append(problems, checkLink(a.TitleLink, ""))
	}
	return errors.Join(problems...)
}

func checkMentions(text string) error {
	if found := named.FindString(mailTarget.ReplaceAllString(announcements.Replace(text), "]()")); found != "" {
		return fmt.Errorf("a mention in %q", text)
	}
	if hasMarks(text) {
		return fmt.Errorf("control or direction marks in %q", text)
	}
	return nil
}

func checkMarkdown(text string) error {
	text = linked.ReplaceAllString(text, "[$2]($1)")
	if image.MatchString(text) {
		return fmt.Errorf("an image in %q", text)
	}
	for _, link := range discordLink.FindAllStringSubmatch(text, -1) {
		shown := escaped.ReplaceAllStringFunc(link[1], func(pair string) string { return pair[1:] })
		if err := checkLink(link[2], shown); err != nil {
			return err
		}
	}
	return nil
}
