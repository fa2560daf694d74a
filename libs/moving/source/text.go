package source

import (
	"errors"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
)

var image = regexp.MustCompile(`!\[([^\]]*)\]\(\s*<?([^)\s>]+)[^)]*\)`)

// maxParsed is the maximum number of bytes of a text that is parsed; a longer text counts as plain text, because the
// time of the parsers grows with the square of the depth of nested blocks.
const maxParsed = 200_000

// markdown renders Markdown as HTML of the allow-list. An image becomes a link, because a page shows no images of other
// servers.
func markdown(text string) string {
	if len(text) > maxParsed {
		return richtext.HTML(richtext.Plain, text)
	}
	text = image.ReplaceAllStringFunc(text, func(found string) string {
		parts := image.FindStringSubmatch(found)
		if strings.TrimSpace(parts[1]) == "" {
			parts[1] = parts[2]
		}
		return "[" + parts[1] + "](" + parts[2] + ")"
	})
	return richtext.HTML(richtext.Markdown, text)
}

var (
	anyTag   = regexp.MustCompile(`</?[a-zA-Z]`)
	blockTag = regexp.MustCompile(`(?i)<(p|br|div|ul|ol|li|h[1-6]|pre|blockquote|table)\b`)
)

// markup renders an HTML fragment or plain text as HTML of the allow-list. A fragment without blocks keeps its line
// breaks.
func markup(text string) string {
	if len(text) > maxParsed {
		return richtext.HTML(richtext.Plain, text)
	}
	if anyTag.MatchString(text) && !blockTag.MatchString(text) {
		text = "<p>" + strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(text), "\n\n", "</p><p>"), "\n", "<br>") + "</p>"
	}
	return richtext.HTML(richtext.Rich, text)
}

// split cuts HTML of the allow-list into parts that fit into an entry, each at the end of a paragraph or another block.
// A single block that is too long becomes plain text.
func split(safe string) []string {
	var parts []string
	for utf8.RuneCountInString(safe) > lines.MaxText {
		at := lastBlock(safe)
		if at == 0 {
			return append(parts, splitPlain(richtext.PlainText(richtext.Rich, safe))...)
		}
		parts = append(parts, strings.TrimSpace(safe[:at]))
		safe = strings.TrimSpace(safe[at:])
	}
	return append(parts, safe)
}

// lastBlock returns the offset of the end of the last block at the top level that ends within lines.MaxText characters and
// before the end of the text, or 0.
func lastBlock(safe string) int {
	tokens, at, characters, depth, found := html.NewTokenizer(strings.NewReader(safe)), 0, 0, 0, 0
	for {
		kind := tokens.Next()
		raw := tokens.Raw()
		at += len(raw)
		characters += utf8.RuneCount(raw)
		if kind == html.ErrorToken || characters > lines.MaxText {
			return found
		}
		name, _ := tokens.TagName()
		switch {
		case string(name) == "br" || string(name) == "hr":
		case kind == html.StartTagToken:
			depth++
		case kind == html.EndTagToken:
			if depth--; depth == 0 && at < len(safe) {
				found = at
			}
		}
	}
}

// splitPlain cuts a plain text after words, and returns the parts as HTML, each of which fits into an entry.
func splitPlain(text string) []string {
	var parts []string
	for text != "" {
		size := lines.MaxText / 2
		part := firstWords(text, size)
		for utf8.RuneCountInString(richtext.HTML(richtext.Plain, part)) > lines.MaxText {
			size /= 2
			part = firstWords(text, size)
		}
		parts = append(parts, richtext.HTML(richtext.Plain, part))
		text = strings.TrimSpace(text[len(part):])
	}
	return parts
}

// firstWords returns the start of a text with at most size characters, if possible up to white space.
func firstWords(text string, size int) string {
	if utf8.RuneCountInString(text) <= size {
		return text
	}
	end := 0
	for range size {
		_, width := utf8.DecodeRuneInString(text[end:])
		end += width
	}
	if at := strings.LastIndexAny(text[:end], " \n"); at > 0 {
		return text[:at]
	}
	return text[:end]
}

// oneLine returns a title or a name in one line of at most most characters, and warns if it was longer or had
// characters that the platform would refuse.
func (b *builder) oneLine(key, field, text string, most int) string {
	if err := richtext.CheckLine(strings.TrimSpace(text)); err != nil && !richtext.IsBlank(text) {
		b.warn(key, field, "%s; it becomes one line without such characters", err)
	}
	return richtext.Line(b.cut(key, field, richtext.Line(text), most))
}

// cut returns a text of at most most characters, and warns if it was longer.
func (b *builder) cut(key, field, text string, most int) string {
	text = strings.TrimSpace(text)
	if length := utf8.RuneCountInString(text); length > most {
		b.warn(key, field, "has %d characters; it is cut at %d", length, most)
		return strings.TrimSpace(string([]rune(text)[:most]))
	}
	return text
}

// Layouts of times. Those without a zone follow those with one.
var (
	zonedTimes = []string{time.RFC3339Nano, "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05 Z07:00", "2006-01-02 15:04:05 -0700 MST"}
	localTimes = []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"}
)

var errTime = errors.New("is no time")

// parseTime reads a time to the millisecond. zone applies if the text names no zone.
func parseTime(text string, zone *time.Location) (time.Time, error) {
	text = strings.TrimSpace(text)
	for _, layout := range zonedTimes {
		if t, err := time.Parse(layout, text); err == nil {
			return possible(t)
		}
	}
	for _, layout := range localTimes {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			return possible(t)
		}
	}
	return time.Time{}, errTime
}

func possible(t time.Time) (time.Time, error) {
	t = t.UTC().Truncate(time.Millisecond)
	if t.Year() < 1970 || t.Year() > 9998 {
		return time.Time{}, errTime
	}
	return t, nil
}

// when returns the time in a text, nil if the text is empty, and nil with a warning if it is no time.
func (b *builder) when(key, field, text string) *time.Time {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	t, err := parseTime(text, b.Zone)
	if err != nil {
		b.warn(key, field, "%.60q is no time", text)
		return nil
	}
	return &t
}

// at returns the time in the first of the texts that is a time, and false if none is a time.
func (b *builder) at(texts ...string) (time.Time, bool) {
	for _, text := range texts {
		if t, err := parseTime(text, b.Zone); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

var notSlug = regexp.MustCompile(`[^a-z0-9]+`)

// slug returns the slug of a dashboard that follows from a text, or "" if the slug would be too short.
func slug(text string) string {
	made := strings.Trim(notSlug.ReplaceAllString(strings.ToLower(text), "-"), "-")
	if len(made) > 63 {
		made = strings.Trim(made[:63], "-")
	}
	if len(made) < 3 {
		return ""
	}
	return made
}

// zone returns name, or UTC with a warning if name is no IANA time zone.
func (b *builder) zone(key, name string) string {
	if name == "" {
		return ""
	}
	if _, err := time.LoadLocation(name); err != nil || name == "Local" {
		b.warn(key, "timezone", "%.60q is no IANA time zone; it becomes UTC", name)
		return "UTC"
	}
	return name
}

func copied(t time.Time) *time.Time { return &t }
