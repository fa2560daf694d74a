package channel

import (
	"context"
	"encoding/json"
	"path/filepath"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/locale"
)

const (
	leastTitle  = 16 // the shortest shortened title in a text, in characters
	leastName   = 8  // the shortest shortened name of a dashboard, in characters
	mostConfirm = 3  // the maximum number of segments of a notice to a subscriber
)

// texts has the parts that SMS and WhatsApp have in common.
type texts struct {
	locales *locale.Locales
	within  time.Duration // CONFIRM_WITHIN
	// send sends t through the account, or writes it to a file. The log stores t under the key.
	send func(ctx context.Context, message dispatch.Message, key string, t text) dispatch.Result
}

// text is a message of SMS or WhatsApp. Its JSON is the content of the file.
type text struct {
	Channel          topic.Channel `json:"channel"`
	To               string        `json:"to"`
	From             string        `json:"from"`
	Body             string        `json:"body"`
	ContentSid       string        `json:"contentSid,omitempty"`
	ContentVariables string        `json:"contentVariables,omitempty"`
	DeliveryID       string        `json:"deliveryId"`
	EventID          string        `json:"eventId"`
}

// onAccount is a channel that sends through an account.
type onAccount struct {
	dispatch.Channel
	*account
}

// newTexts returns the channels SMS and WhatsApp. They send through the account of the settings. Without an account
// they write files.
func newTexts(o Options) (short, chats dispatch.Channel, err error) {
	words := texts{locales: o.Locales, within: o.ConfirmWithin}
	if o.Texts.SMSURL == "" {
		words.send = folder{filepath.Join(o.Data, smsFolder), o.Log}.sendText
		return sms{words}, whatsapp{words, o.Texts.WhatsAppTemplate}, nil
	}
	a, err := newAccount(o)
	if err != nil {
		return nil, nil, err
	}
	words.send = a.sendText
	return onAccount{sms{words}, a}, onAccount{whatsapp{words, o.Texts.WhatsAppTemplate}, a}, nil
}

// sms sends text messages.
type sms struct{ texts }

// Send makes one attempt.
func (s sms) Send(ctx context.Context, message dispatch.Message) dispatch.Result {
	body, err := textOf(ctx, s.locales, s.within, message)
	if err != nil {
		return dispatch.Result{Code: codeUnsendable, Final: true}
	}
	return s.send(ctx, message, s.key(message), text{Channel: topic.SMS, To: message.To.Address, Body: body})
}

// key returns the key that deliveries with the same text have in common. It returns "" for a notice, whose text is
// never shared.
func (t texts) key(message dispatch.Message) string {
	if !ofEvent(message) {
		return ""
	}
	return wordsKey(localeOf(t.locales, message), message)
}

// textOf returns the publisher's text if there is one, otherwise the text of the template, or testText for a test message. It
// does not shorten the publisher's text, which the legacy interface limits to 85 characters. The text of the template has one
// segment, except for a notice to a subscriber.
func textOf(ctx context.Context, locales *locale.Locales, within time.Duration, message dispatch.Message) (string, error) {
	if text := plainLines(message.Change.Notify[topic.SMS].Text); text != "" {
		return text, nil
	}
	l := localeOf(locales, message)
	if message.Change.Kind == topic.MemberTest {
		return testText(message), nil
	}
	if own, is := subscriberNotice(message.Change.Kind); is {
		page, err := confirmationOf(l, message, within)
		if err != nil {
			return "", err
		}
		return confirmText(page, func(page locale.Confirmation) (string, error) { return l.Execute(ctx, own.sms, page) })
	}
	shared, err := message.Change.Rendered("sms "+wordsKey(l, message), func() ([]byte, error) {
		text, err := defaultText(textPage(l, message), func(page locale.Text) (string, error) { return l.Execute(ctx, locale.SMS, page) })
		return []byte(text), err
	})
	return string(shared), err
}

// confirmText returns the result of write for the page, in as few segments as possible. To save a segment, it shortens
// or omits the dashboard's name. If even that needs more than mostConfirm segments, the text is only the link and the
// code.
func confirmText(page locale.Confirmation, write func(locale.Confirmation) (string, error)) (string, error) {
	var failure error
	named := func(name string) string {
		page.Dashboard = name
		text, err := write(page)
		if err != nil {
			failure = err
		}
		return plain(text)
	}
	name := plain(page.Dashboard)
	for segments := 1; segments <= mostConfirm && failure == nil; segments++ {
		if text, ok := fitted(name, leastName, segments, named); ok {
			return text, failure
		}
		if text := named(""); fits(text, segments) {
			return text, failure
		}
	}
	return plain(page.Link + " " + page.Code), failure
}

// defaultText returns the result of write for the page, in one segment. If the text is too long, defaultText shortens the
// title, but not below leastTitle characters. If the text is still too long, it omits the dashboard's name, then the link
// instead, then both. If no text fits, it returns the status.
func defaultText(page locale.Text, write func(locale.Text) (string, error)) (string, error) {
	var failure error
	page.Dashboard, page.Status, page.Title = plain(page.Dashboard), plain(page.Status), plain(page.Title)
	for _, around := range [][2]string{{page.Dashboard, page.URL}, {"", page.URL}, {page.Dashboard, ""}, {"", ""}} {
		text, ok := fitted(page.Title, leastTitle, 1, func(title string) string {
			text, err := write(locale.Text{Kind: page.Kind, Dashboard: around[0], Status: page.Status, Title: title, Text: page.Text, URL: around[1]})
			if err != nil {
				failure = err
			}
			return plain(text)
		})
		if failure != nil || ok {
			return text, failure
		}
	}
	return page.Status, nil
}

// sendText writes the text to a file. The log stores the text under the key.
func (f folder) sendText(ctx context.Context, message dispatch.Message, key string, t text) dispatch.Result {
	t.DeliveryID, t.EventID = message.DeliveryID, message.Change.Event.ID
	content, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return dispatch.Result{Code: codeUnwritten}
	}
	result := f.send(ctx, message.DeliveryID+smsFile, append(content, '\n'))
	result.Sent = deliverylog.Sent{Text: key, Body: []byte(t.Body)}
	return result
}
