package channel

import (
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/locale"
)

// localeOf returns the locale of the recipient, otherwise the locale of its dashboard, otherwise locale.Default.
func localeOf(locales *locale.Locales, message dispatch.Message) *locale.Locale {
	return locales.For(message.To.Locale, message.To.Dashboard.Locale)
}

// wordsKey returns the key of the text that recipients of the same dashboard, components, locale and time zone share.
func wordsKey(l *locale.Locale, message dispatch.Message) string {
	return l.Tag + " " + message.To.Dashboard.Timezone + " " + textKey(message)
}

// textPage returns the page of a text about an event.
func textPage(l *locale.Locale, message dispatch.Message) locale.Text {
	change, dashboard := &message.Change.EventChange, message.To.Dashboard
	text := change.Event.DescriptionText
	if change.Entry != nil {
		text = change.Entry.Text
	}
	return locale.Text{
		Kind: string(change.Kind), Dashboard: locale.OneLine(dashboard.Name), Status: shortStatus(l, change, dashboard.Timezone),
		Title: locale.OneLine(change.Event.Title), Text: text, URL: eventURL(dashboard, &change.Event, message.Components),
	}
}
