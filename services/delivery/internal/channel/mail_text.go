package channel

import (
	"cmp"
	"context"

	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/locale"
)

const maxSubject = 250 // characters

// mailText is the subject of a mail and its text as plain text and as HTML. A mail about an event contains marks, which
// are later replaced by the links of the recipient.
type mailText struct{ subject, plain, html string }

// executeMail executes the three templates with the page. It returns their results as the text of a mail.
func executeMail(ctx context.Context, l *locale.Locale, page any, subject, plain, html locale.Template) (text mailText, err error) {
	for _, part := range []struct {
		out  *string
		name locale.Template
	}{{&text.subject, subject}, {&text.plain, plain}, {&text.html, html}} {
		if *part.out, err = l.Execute(ctx, part.name, page); err != nil {
			return text, err
		}
	}
	text.subject = richtext.Shorten(locale.OneLine(text.subject), maxSubject)
	return text, nil
}

// eventText returns the text of a mail about an event. links are marks, or "" for a link that the recipient does not
// have.
func eventText(ctx context.Context, l *locale.Locale, message dispatch.Message, links mailLinks) (mailText, error) {
	page := eventPage(l, message)
	page.Manage, page.Unsubscribe = links.manage, links.unsubscribe
	text, err := executeMail(ctx, l, page, locale.MailSubject, locale.MailText, locale.MailHTML)
	if own := locale.OneLine(message.Change.Notify[topic.Email].Subject); own != "" {
		text.subject = richtext.Shorten(own, maxSubject)
	}
	return text, err
}

// noticeText returns the text of a mail that is not about an event.
func (e email) noticeText(ctx context.Context, l *locale.Locale, message dispatch.Message) (mailText, error) {
	if own, is := subscriberNotice(message.Change.Kind); is {
		page, err := confirmationOf(l, message, e.confirmWithin)
		if err != nil {
			return mailText{}, err
		}
		return executeMail(ctx, l, page, own.subject, own.text, own.html)
	}
	if message.Change.Notice.Member != nil {
		page, err := memberOf(l, message)
		if err != nil {
			return mailText{}, err
		}
		return executeMail(ctx, l, page, locale.MemberSubject, locale.MemberText, locale.MemberHTML)
	}
	if message.Change.Notice.Inbound != nil {
		return executeMail(ctx, l, silentOf(l, message), locale.NoticeSubject, locale.NoticeText, locale.NoticeHTML)
	}
	page, err := noticeOf(l, message)
	if err != nil {
		return mailText{}, err
	}
	return executeMail(ctx, l, page, locale.NoticeSubject, locale.NoticeText, locale.NoticeHTML)
}

// eventPage returns the data for the templates of a mail about an event. It sets no links of the recipient.
func eventPage(l *locale.Locale, message dispatch.Message) locale.Event {
	change, event, dashboard := message.Change, &message.Change.Event, message.To.Dashboard
	zone := dashboard.Timezone
	page := locale.Event{
		Kind: string(change.Kind), Type: event.Type, Dashboard: locale.OneLine(dashboard.Name), Title: locale.OneLine(event.Title),
		Headline: headline(l, &change.EventChange, zone), Status: statusLine(l, &change.EventChange), Severity: l.Name("severity", event.Severity),
		ScheduledStart: l.Time(event.ScheduledStartAt, zone), ScheduledEnd: l.Time(event.ScheduledEndAt, zone),
		Start: l.Time(&event.StartAt, zone), End: l.Time(event.EndAt, zone),
		Description: locale.NewProse(event.DescriptionText, event.DescriptionHTML),
		Impact:      locale.NewProse(event.ImpactText, event.ImpactHTML),
		Coordinator: locale.NewProse(event.CoordinatorText, event.CoordinatorHTML),
		URL:         eventURL(dashboard, event, message.Components),
	}
	if event.Status == "planning" {
		page.Start = "" // the maintenance has not started
	}
	for _, c := range message.Components {
		page.Components = append(page.Components, locale.Component{Name: locale.OneLine(c.Name), Group: locale.OneLine(c.Group), Impact: l.Name("impact", c.Impact)})
	}
	if entry := change.Entry; entry != nil && entry.Text != event.DescriptionText {
		page.Entry = locale.NewProse(entry.Text, entry.HTML)
		page.EntryAt = l.Word("event.entry", "status", l.Name("status", cmp.Or(entry.Status, event.Status)), "time", l.Time(&entry.Timestamp, zone))
	}
	return page
}
