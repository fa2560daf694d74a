package locale

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"unicode"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// The links and the code of samples.
const (
	sampleLink        = "https://dashboard.example/public/confirm?token=sample"
	sampleManage      = "https://dashboard.example/public/manage?token=sample"
	sampleUnsubscribe = "https://dashboard.example/public/unsubscribe?token=sample"
	sampleCode        = "123456"
)

// sample is an input of a template. The output must contain one of the texts in needs, if there are any.
type sample struct {
	page  any
	kind  string
	needs []string
	field string // name of the field that has the text of needs, for the text of the error
}

// check executes every template of the operator with samples of every kind of message. It returns an error if an output is
// blank, if a subject has several lines, or if an output lacks a text that it needs.
func (l *Locale) check() error {
	for name, own := range l.own {
		for _, s := range samples(name) {
			out, err := execute(own, s.page)
			if err != nil {
				return err
			}
			if blank(name, out) {
				return fmt.Errorf("%s: the output for %s must not be empty", own.Name(), s.kind)
			}
			if strings.HasSuffix(string(name), "_subject.txt") && strings.Contains(strings.TrimSpace(out), "\n") {
				return fmt.Errorf("%s: the output for %s must be one line", own.Name(), s.kind)
			}
			if !s.satisfied(out) {
				return fmt.Errorf("%s: the output for %s must contain %s", own.Name(), s.kind, s.field)
			}
		}
	}
	return nil
}

// tag matches a tag or a comment of HTML.
var tag = regexp.MustCompile(`(?s)<!--.*?-->|<[^>]*>`)

// blank reports whether the output has no visible character.
func blank(name Template, out string) bool {
	if strings.HasSuffix(string(name), ".html") {
		out = html.UnescapeString(tag.ReplaceAllString(out, ""))
	}
	return !strings.ContainsFunc(out, func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) })
}

func (s sample) satisfied(out string) bool {
	for _, needed := range s.needs {
		if strings.Contains(out, needed) {
			return true
		}
	}
	return len(s.needs) == 0
}

// samples returns the samples for a template: for each kind of message one sample with the optional fields and one without
// them, and for each kind of mail to members one sample. For SMSConfirm and WhatsAppConfirm it returns these samples both with
// and without a code.
func samples(name Template) []sample {
	switch name {
	case MailSubject:
		return eventSamples("")
	case MailText, MailHTML:
		return eventSamples("{{.Unsubscribe}}", sampleUnsubscribe)
	case NoticeSubject:
		return noticeSamples("")
	case NoticeText, NoticeHTML:
		return noticeSamples("{{.Link}}", sampleLink)
	case ConfirmSubject:
		return confirmationSamples(topic.SubscriberConfirm, "", "")
	case ConfirmText, ConfirmHTML:
		return confirmationSamples(topic.SubscriberConfirm, "", "{{.Link}}", sampleLink)
	case ManageSubject:
		return confirmationSamples(topic.SubscriberManage, "", "")
	case ManageText, ManageHTML, SMSManage, WhatsAppManage:
		return confirmationSamples(topic.SubscriberManage, "", "{{.Link}}", sampleLink)
	case MemberSubject:
		return memberSamples("")
	case MemberText, MemberHTML:
		return memberSamples("{{.Link}}", sampleLink)
	case SMS, WhatsApp:
		return textSamples()
	default:
		return append(confirmationSamples(topic.SubscriberConfirm, sampleCode, "{{.Link}} or {{.Code}}", sampleLink, sampleCode),
			confirmationSamples(topic.SubscriberConfirm, "", "{{.Link}}", sampleLink)...)
	}
}

func eventSamples(field string, needs ...string) []sample {
	var all []sample
	prose := NewProse("A text.", "<p>A <b>text</b>.</p>")
	for _, kind := range topic.Kinds() {
		about, _, _ := strings.Cut(string(kind), ".")
		few := Event{Kind: string(kind), Type: about, Title: "Sample", Headline: "Status: Sample", Status: "Status", Unsubscribe: sampleUnsubscribe}
		many := few
		many.Dashboard, many.Severity, many.URL, many.Manage = "Dashboard", "Severity", "https://dashboard.example/events/sample", sampleManage
		many.ScheduledStart, many.ScheduledEnd, many.Start, many.End, many.EntryAt = "1", "2", "3", "4", "Status, 5"
		many.Components = []Component{{"API", "Group", "Impact"}, {Name: "Web"}}
		many.Entry, many.Description, many.Impact, many.Coordinator = prose, prose, prose, prose
		all = append(all, sample{few, string(kind), needs, field}, sample{many, string(kind), needs, field})
	}
	return all
}

func noticeSamples(field string, needs ...string) []sample {
	var all []sample
	for _, kind := range []topic.Kind{topic.EndpointVerify, topic.EndpointManage, topic.EndpointFailing, topic.EndpointSuppressed, topic.InboundSilent} {
		few := Notice{Kind: string(kind), Title: "Sample", Lead: "Lead.", Footer: "Footer."}
		many := few
		if kind != topic.InboundSilent {
			few.Facts = []Fact{{"Webhook", "hooks.example"}}
		}
		many.Dashboard, many.Link, many.LinkTitle, many.Unsubscribe = "Dashboard", sampleLink, "Open", sampleUnsubscribe
		many.Facts, many.Next = []Fact{{"Webhook", "hooks.example"}, {"Last error", "HTTP 500"}}, []string{"Next."}
		all = append(all, sample{page: few, kind: string(kind)}, sample{many, string(kind), needs, field})
	}
	return all
}

func memberSamples(field string, needs ...string) []sample {
	var all []sample
	for _, kind := range topic.MemberKinds() {
		page := Member{Kind: string(kind), Organization: "Organization", Title: "Sample", Lead: "Lead.", Next: []string{"Next."}}
		one := sample{page: page, kind: string(kind)}
		if kind == topic.MemberInvitation || kind == topic.MemberForgotten {
			page.Link, page.LinkTitle = sampleLink, "Open"
			one = sample{page, string(kind), needs, field}
		}
		all = append(all, one)
	}
	return all
}

func confirmationSamples(kind topic.Kind, code, field string, needs ...string) []sample {
	few := Confirmation{Of: "a dashboard", Link: sampleLink, Code: code}
	if kind == topic.SubscriberConfirm {
		few.Until = "5"
	}
	many := few
	many.Dashboard, many.Names = "Dashboard", []string{"API", "Web"}
	return []sample{{few, string(kind), needs, field}, {many, string(kind), needs, field}}
}

func textSamples() []sample {
	var all []sample
	for _, kind := range topic.Kinds() {
		few := Text{Kind: string(kind), Status: "incident resolved", Title: "Sample"}
		many := few
		many.Dashboard, many.Text, many.URL = "Dashboard", "A text.", "https://dashboard.example/events/sample"
		all = append(all, sample{page: few, kind: string(kind)}, sample{page: many, kind: string(kind)})
	}
	return all
}
