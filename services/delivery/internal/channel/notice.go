package channel

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/locale"
)

// errNotice is the error if a notice has no known kind, or lacks the endpoint or a link that it needs.
var errNotice = errors.New("a mail about an endpoint needs the endpoint, and its link if it is about the link")

// noticeWords are the keys of the words for one kind of mail about an endpoint.
type noticeWords struct {
	title, lead string
	link        string // key of the title of the link to the page of the endpoint
	needsLink   bool
	failures    bool     // the mail lists the failures of the endpoint
	next        []string // keys of sentences about what happens next
}

// noticeKeys returns the keys for a kind, and false if there is no mail of that kind.
func noticeKeys(kind topic.Kind) (noticeWords, bool) {
	switch kind {
	case topic.EndpointVerify:
		return noticeWords{title: "verify.title", lead: "verify.lead", link: "verify.link", needsLink: true, next: []string{"verify.once", "verify.ignore"}}, true
	case topic.EndpointManage:
		return noticeWords{title: "manage.title", lead: "manage.lead", link: "notice.change", needsLink: true, next: []string{"manage.everybody"}}, true
	case topic.EndpointFailing:
		return noticeWords{title: "failing.title", lead: "failing.lead", link: "notice.change", failures: true, next: []string{"failing.check", "failing.suppression"}}, true
	case topic.EndpointSuppressed:
		return noticeWords{title: "suppressed.title", lead: "suppressed.lead", link: "notice.change", failures: true, next: []string{"suppressed.repair", "suppressed.clear"}}, true
	}
	return noticeWords{}, false
}

// ofEvent reports whether the message is about an event and not a notice.
func ofEvent(message dispatch.Message) bool { return message.Change.Notice == nil }

// noticeOf returns the data for the templates of a mail about an endpoint.
func noticeOf(l *locale.Locale, message dispatch.Message) (locale.Notice, error) {
	report, dashboard := message.Change.Notice.Endpoint, message.To.Dashboard
	keys, known := noticeKeys(message.Change.Kind)
	if report == nil || !known || keys.needsLink && message.To.Link == "" {
		return locale.Notice{}, errNotice
	}
	endpoint := endpointWord(l, report.Channel)
	values := []any{"endpoint", endpoint, "of", ofDashboard(l, dashboard)}
	page := locale.Notice{
		Kind: string(message.Change.Kind), Dashboard: locale.OneLine(dashboard.Name),
		Title: l.Word(keys.title, values...), Lead: l.Word(keys.lead, values...),
		Facts: []locale.Fact{{Name: locale.Capital(endpoint), Value: locale.OneLine(report.URLDisplay)}},
		Link:  message.To.Link, LinkTitle: l.Word(keys.link), Unsubscribe: message.To.Unsubscribe,
		Footer: l.Word("notice.footer"),
	}
	if page.Link == dashboard.URL {
		page.LinkTitle = l.Word("link.dashboard")
	}
	if keys.failures {
		page.Facts = append(page.Facts, failureFacts(l, report, dashboard.Timezone)...)
	}
	for _, key := range keys.next {
		page.Next = append(page.Next, l.Word(key, values...))
	}
	return page, nil
}

// silentOf returns the data for the templates of a mail about a signing key that is not used any more.
func silentOf(l *locale.Locale, message dispatch.Message) locale.Notice {
	report := message.Change.Notice.Inbound
	values := []any{"key", locale.OneLine(report.KeyName), "time", l.Time(&report.Since, message.To.Dashboard.Timezone)}
	return locale.Notice{
		Kind: string(message.Change.Kind), Title: l.Word("silent.title", values...), Lead: l.Word("silent.lead", values...),
		Next: []string{l.Word("silent.check", values...)}, Footer: l.Word("silent.footer"),
	}
}

// subscriberWords are the templates for a notice to a subscriber, and the key of its title.
type subscriberWords struct {
	subject, text, html locale.Template
	sms, whatsapp       locale.Template
	title               string
}

// subscriberNotice returns the words for a kind of notice to a subscriber. It returns false for every other kind.
func subscriberNotice(kind topic.Kind) (subscriberWords, bool) {
	switch kind {
	case topic.SubscriberConfirm:
		return subscriberWords{locale.ConfirmSubject, locale.ConfirmText, locale.ConfirmHTML, locale.SMSConfirm, locale.WhatsAppConfirm, "confirm.title"}, true
	case topic.SubscriberManage:
		return subscriberWords{locale.ManageSubject, locale.ManageText, locale.ManageHTML, locale.SMSManage, locale.WhatsAppManage, "subscribed.title"}, true
	}
	return subscriberWords{}, false
}

// confirmationOf returns the data for the templates of a notice to a subscriber: the request to confirm, or the link to
// the page of the subscription. It returns errNotice if there is no link.
func confirmationOf(l *locale.Locale, message dispatch.Message, within time.Duration) (locale.Confirmation, error) {
	to := message.To
	if to.Link == "" {
		return locale.Confirmation{}, errNotice
	}
	page := locale.Confirmation{
		Dashboard: locale.OneLine(to.Dashboard.Name), Of: ofDashboard(l, to.Dashboard), Names: slices.Clone(to.Names),
		Link: to.Link, Code: to.Code,
	}
	if message.Change.Kind == topic.SubscriberConfirm {
		until := message.Change.OccurredAt.Add(within)
		page.Until = l.Time(&until, to.Dashboard.Timezone)
	}
	for i, name := range page.Names {
		page.Names[i] = locale.OneLine(name)
	}
	return page, nil
}

// ofDashboard returns the words that follow "notifications of" and name the dashboard.
func ofDashboard(l *locale.Locale, dashboard topic.Dashboard) string {
	if name := locale.OneLine(dashboard.Name); name != "" {
		return l.Word("of.dashboard", "dashboard", name)
	}
	return l.Word("of.unknown")
}

// failureFacts returns the number of failures of an endpoint, the time since when it fails, and the last error. It omits
// values that are unknown.
func failureFacts(l *locale.Locale, report *topic.EndpointReport, zone string) []locale.Fact {
	var facts []locale.Fact
	if report.Failures > 0 {
		facts = append(facts, locale.Fact{Name: l.Word("notice.failures"), Value: strconv.Itoa(report.Failures)})
	}
	if report.Since != nil {
		facts = append(facts, locale.Fact{Name: l.Word("notice.since"), Value: l.Time(report.Since, zone)})
	}
	if text := failureWords(l, report); text != "" {
		facts = append(facts, locale.Fact{Name: l.Word("notice.error"), Value: text})
	}
	return facts
}

// endpointWord returns the word for an endpoint of the channel.
func endpointWord(l *locale.Locale, channel topic.Channel) string {
	switch channel {
	case topic.Webhook, topic.Teams, topic.GChat, topic.Slack, topic.Discord:
		return l.Name("endpoint", string(channel))
	}
	return l.Word("endpoint.other", "channel", l.Name("endpoint", string(channel)))
}

// failureWords describes the last failure of an endpoint. It returns "" if the report has none.
func failureWords(l *locale.Locale, report *topic.EndpointReport) string {
	text, status := l.Name("failure", report.ErrorCode), strconv.Itoa(report.HTTPStatus)
	switch {
	case report.HTTPStatus == 0:
		return text
	case text == "":
		return l.Word("notice.http", "status", status)
	}
	return l.Word("notice.http_error", "status", status, "error", text)
}
