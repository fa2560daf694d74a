package channel

import (
	"bytes"
	"cmp"
	_ "embed"
	"html"
	"html/template"
	"io"
	"strings"
	texttemplate "text/template"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

const maxSubject = 250 // characters

//go:embed mail.txt
var mailTextSource string

//go:embed mail.html
var mailHTMLSource string

// The templates never change.
var (
	mailText = texttemplate.Must(texttemplate.New("mail.txt").Parse(mailTextSource))
	mailHTML = template.Must(template.New("mail.html").Parse(mailHTMLSource))
)

// mailPage is the input of the templates. The events service has sanitised its HTML.
type mailPage struct {
	Title, Dashboard, URL, Status, Severity string
	Start, End                              string
	Components                              []mailComponent
	Entry, Description, Impact, Coordinator mailProse
	EntryAt                                 string
}

type mailComponent struct{ Name, Group, Impact string }

// mailProse is a text in both forms.
type mailProse struct {
	Text string
	HTML template.HTML
}

// executed returns the template's output, which all recipients of the same dashboard and components share.
func executed(message dispatch.Message, name string, source interface{ Execute(io.Writer, any) error }) (string, error) {
	shared, err := message.Change.Rendered(name+" "+textKey(message), func() ([]byte, error) {
		var out bytes.Buffer
		err := source.Execute(&out, mailPageOf(message))
		return out.Bytes(), err
	})
	return string(shared), err
}

// mailParts returns the mail's text and HTML.
func mailParts(message dispatch.Message) (plain, page string, err error) {
	if aboutEndpoint(message) {
		return noticeParts(message)
	}
	plain, err = executed(message, "mail text", mailText)
	if err != nil {
		return "", "", err
	}
	page, err = executed(message, "mail html", mailHTML)
	if err != nil {
		return "", "", err
	}
	if manage := message.To.Manage; manage != "" {
		plain += "\nUnsubscribe: " + manage + "\n"
		page += `<p style="font-size:12px"><a href="` + html.EscapeString(manage) + "\">Unsubscribe</a></p>\n"
	}
	return plain, page + "</div></body></html>\n", nil
}

func mailPageOf(message dispatch.Message) mailPage {
	change, event, dashboard := message.Change, &message.Change.Event, message.To.Dashboard
	page := mailPage{
		Title: oneLine(event.Title), Dashboard: oneLine(dashboard.Name), Status: statusLine(&change.EventChange), Severity: words(event.Severity),
		URL: eventURL(dashboard, event, message.Components), Start: mailTime(&event.StartAt), End: mailTime(event.EndAt),
		Description: prose(event.DescriptionText, event.DescriptionHTML),
		Impact:      prose(event.ImpactText, event.ImpactHTML),
		Coordinator: prose(event.CoordinatorText, event.CoordinatorHTML),
	}
	if event.ScheduledStartAt != nil {
		page.Start, page.End = mailTime(event.ScheduledStartAt), cmp.Or(mailTime(event.ScheduledEndAt), page.End)
	}
	for _, c := range message.Components {
		page.Components = append(page.Components, mailComponent{oneLine(c.Name), oneLine(c.Group), words(c.Impact)})
	}
	if entry := change.Entry; entry != nil && entry.Text != event.DescriptionText {
		page.Entry, page.EntryAt = prose(entry.Text, entry.HTML), mailTime(&entry.Timestamp)
	}
	return page
}

func prose(text, markup string) mailProse {
	return mailProse{Text: strings.TrimSpace(text), HTML: template.HTML(markup)} //nolint:gosec // the events service sanitised it
}

// mailTime returns "" for nil.
func mailTime(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format("2 January 2006, 15:04 UTC")
}

// words converts a name of the interface into words: "major_outage" becomes "Major outage".
func words(name string) string {
	name = strings.NewReplacer("_", " ", "-", " ").Replace(oneLine(name))
	switch name {
	case "":
		return ""
	case "inprogress":
		return "In progress"
	}
	first, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(first)) + name[size:]
}

// oneLine replaces white space and control characters by single spaces.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}
