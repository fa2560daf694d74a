package channel

import (
	"bytes"
	_ "embed"
	"errors"
	"html/template"
	"strconv"
	texttemplate "text/template"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

//go:embed notice.txt
var noticeTextSource string

//go:embed notice.html
var noticeHTMLSource string

// The templates never change.
var (
	noticeText = texttemplate.Must(texttemplate.New("notice.txt").Parse(noticeTextSource))
	noticeHTML = template.Must(template.New("notice.html").Parse(noticeHTMLSource))
)

// errNotice is the error of a mail about an endpoint that lacks the endpoint or the link.
var errNotice = errors.New("a mail about an endpoint needs the endpoint, and its link if it is about the link")

// noticePage is the input of the templates of a mail about an endpoint.
type noticePage struct {
	Title, Dashboard, Lead string
	Facts                  []noticeFact
	Link, LinkTitle        string
	Unsubscribe            string   // link that stops the notifications
	Next                   []string // what happens next
}

type noticeFact struct{ Name, Value string }

// noticeWords are the words of a kind of mail about an endpoint.
type noticeWords struct {
	title, lead string
	link        string // title of the link to the page of the endpoint
	needsLink   bool
	failures    bool // the mail has the failures
	next        []string
}

// wordsOf returns the words for a kind, and false if there is no mail of that kind. endpoint is the word for the endpoint.
func wordsOf(kind topic.Kind, endpoint, dashboard string) (noticeWords, bool) {
	switch kind {
	case topic.EndpointVerify:
		return noticeWords{
			title: "Confirm your " + endpoint, lead: "Somebody asked to send the notifications of " + dashboard + " to this " + endpoint + ".",
			link: "Confirm it", needsLink: true,
			next: []string{
				"The link works once, and for a limited time. Nothing is sent to the " + endpoint + " before you confirm it.",
				"If you did not ask for this, ignore this mail.",
			},
		}, true
	case topic.EndpointManage:
		return noticeWords{
			title: "Manage your " + endpoint, lead: "This " + endpoint + " gets the notifications of " + dashboard + ".",
			link: "Change or remove it", needsLink: true,
			next: []string{"Everybody who has this link can change or remove the " + endpoint + "."},
		}, true
	case topic.EndpointFailing:
		return noticeWords{
			title: "Notifications to your " + endpoint + " fail", lead: "This " + endpoint + " did not accept the last notifications of " + dashboard + ".",
			link: "Change or remove it", failures: true,
			next: []string{
				"Please check the receiver. Notifications are still sent.",
				"If more notifications fail in a row, the " + endpoint + " is suppressed. Then nothing is sent to it until the suppression is cleared.",
			},
		}, true
	case topic.EndpointSuppressed:
		return noticeWords{
			title: "Your " + endpoint + " is suppressed", lead: "Nothing is sent to this " + endpoint + " of " + dashboard + " until the suppression is cleared.",
			link: "Change or remove it", failures: true,
			next: []string{
				"Please repair the receiver first.",
				"A user of the organization with the role admin or subscriber can then clear the suppression.",
			},
		}, true
	}
	return noticeWords{}, false
}

// noticeOf returns the page of a mail about an endpoint.
func noticeOf(message dispatch.Message) (noticePage, error) {
	report, dashboard := message.Change.Endpoint, oneLine(message.To.Dashboard.Name)
	if report == nil {
		return noticePage{}, errNotice
	}
	endpoint, of := endpointWord(report.Channel), "the dashboard "+dashboard
	if dashboard == "" {
		of = "a dashboard"
	}
	text, known := wordsOf(message.Change.Kind, endpoint, of)
	if !known || text.needsLink && message.To.Link == "" {
		return noticePage{}, errNotice
	}
	page := noticePage{
		Title: text.title, Dashboard: dashboard, Lead: text.lead, Link: message.To.Link, LinkTitle: text.link, Unsubscribe: message.To.Manage, Next: text.next,
		Facts: []noticeFact{{words(endpoint), oneLine(report.URLDisplay)}},
	}
	if page.Link == message.To.Dashboard.URL {
		page.LinkTitle = "Open the dashboard"
	}
	if text.failures {
		page.Facts = append(page.Facts, failureFacts(report)...)
	}
	return page, nil
}

// failureFacts returns the failures of an endpoint. It omits those that are unknown.
func failureFacts(report *topic.EndpointReport) []noticeFact {
	var facts []noticeFact
	if report.Failures > 0 {
		facts = append(facts, noticeFact{"Failures in a row", strconv.Itoa(report.Failures)})
	}
	if report.Since != nil {
		facts = append(facts, noticeFact{"First failure", mailTime(report.Since)})
	}
	if text := failureWords(report); text != "" {
		facts = append(facts, noticeFact{"Last error", text})
	}
	return facts
}

// endpointWord returns the word for an endpoint of a channel.
func endpointWord(channel topic.Channel) string {
	switch channel {
	case topic.Webhook:
		return "webhook"
	case topic.GChat:
		return "Google Chat endpoint"
	}
	return words(string(channel)) + " endpoint"
}

// failureWords describes the last failure of an endpoint. It returns "" if the report has none.
func failureWords(report *topic.EndpointReport) string {
	text := ""
	switch code := dispatch.Code(report.ErrorCode); code {
	case dispatch.CodeTimeout:
		text = "the receiver did not respond in time"
	case dispatch.CodeDNS:
		text = "the name of the host was not found"
	case dispatch.CodeConnect:
		text = "the receiver accepted no connection"
	case dispatch.CodeTLS:
		text = "the connection is not secure, for example because the certificate has expired"
	case dispatch.CodeBlocked:
		text = "the address of the host is not public"
	case dispatch.CodeRedirect:
		text = "the receiver redirected the request, and redirects are not followed"
	case dispatch.CodeClientError:
		text = "the receiver refused the request"
	case dispatch.CodeServerError:
		text = "the receiver reported an error of its own"
	case dispatch.CodeRateLimited:
		text = "the receiver got too many requests"
	case dispatch.CodeGone:
		text = "the receiver does not exist any more"
	default:
		text = words(string(code))
	}
	if report.HTTPStatus == 0 {
		return text
	}
	status := "HTTP " + strconv.Itoa(report.HTTPStatus)
	if text == "" {
		return status
	}
	return status + ", " + text
}

// aboutEndpoint reports whether a mail is about an endpoint: it has no event.
func aboutEndpoint(message dispatch.Message) bool { return message.Change.Event.ID == "" }

// noticeTitle returns the title of a mail about an endpoint, and "" if the mail is incomplete.
func noticeTitle(message dispatch.Message) string {
	page, err := noticeOf(message)
	if err != nil {
		return ""
	}
	return page.Title
}

// noticeParts returns the text and the HTML of a mail about an endpoint.
func noticeParts(message dispatch.Message) (plain, markup string, err error) {
	page, err := noticeOf(message)
	if err != nil {
		return "", "", err
	}
	var text, html bytes.Buffer
	if err := noticeText.Execute(&text, page); err != nil {
		return "", "", err
	}
	if err := noticeHTML.Execute(&html, page); err != nil {
		return "", "", err
	}
	return text.String(), html.String(), nil
}
