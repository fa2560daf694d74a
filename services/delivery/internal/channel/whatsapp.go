package channel

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/locale"
)

const (
	whatsappPrefix = "whatsapp:"
	maxMessageText = 1000 // characters; WhatsApp allows 1,600 in a message without a template
	emptyVariable  = "-"  // the API refuses an empty variable
)

// whatsapp sends messages to WhatsApp. WhatsApp accepts a message without a template only within 24 hours after the
// recipient's last message.
type whatsapp struct {
	texts
	template string // ContentSid; empty: plain text
}

// Send makes one attempt.
func (w whatsapp) Send(ctx context.Context, message dispatch.Message) dispatch.Result {
	t, err := w.message(ctx, message, w.template)
	if err != nil {
		return dispatch.Result{Code: codeUnsendable, Final: true}
	}
	return w.send(ctx, message, w.key(message), t)
}

// message returns the message with its text. If template is not "", it also sets the variables of the template.
func (t texts) message(ctx context.Context, message dispatch.Message, template string) (text, error) {
	l := localeOf(t.locales, message)
	out := text{Channel: topic.WhatsApp, To: whatsappPrefix + message.To.Address, ContentSid: template}
	var variables [5]string
	var err error
	if message.Change.Kind == topic.MemberTest {
		out.Body = testText(message)
		variables = [5]string{message.To.Dashboard.Name, testStatus, testTitle, "", out.Body}
	} else if own, is := subscriberNotice(message.Change.Kind); is {
		page, failed := confirmationOf(l, message, t.within)
		if failed != nil {
			return out, failed
		}
		out.Body, err = l.Execute(ctx, own.whatsapp, page)
		components := cmp.Or(strings.Join(page.Names, ", "), l.Word("confirm.all"))
		variables = [5]string{page.Dashboard, l.Word(own.title), page.Code, page.Link, components}
	} else {
		page := textPage(l, message)
		page.Text = richtext.Shorten(strings.TrimSpace(page.Text), maxMessageText)
		out.Body, err = l.Execute(ctx, locale.WhatsApp, page)
		variables = [5]string{page.Dashboard, statusLine(l, &message.Change.EventChange), page.Title, page.URL, page.Text}
	}
	out.Body = strings.TrimSpace(out.Body)
	if template != "" {
		out.ContentVariables = variablesOf(variables)
	}
	return out, err
}

// variablesOf returns the variables 1 to 5 of a template as JSON. No variable is empty or contains a line break.
// WhatsApp allows 1,024 characters for the template with its variables. The limits leave room for the link and the
// template's own words.
func variablesOf(values [5]string) string {
	variable := func(text string, limit int) string {
		return cmp.Or(richtext.Shorten(locale.OneLine(text), limit), emptyVariable)
	}
	content, _ := json.Marshal(map[string]string{ // strings can always be encoded
		"1": variable(values[0], 80), "2": variable(values[1], 80), "3": variable(values[2], 200),
		"4": cmp.Or(values[3], emptyVariable), "5": variable(values[4], 300),
	})
	return string(content)
}
