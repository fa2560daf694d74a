package channel

import (
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/locale"
)

// localeOf returns the locale of the recipient's language tag. If no locale matches the tag, it returns the locale of the
// dashboard's tag, and otherwise locale.Default.
func localeOf(locales *locale.Locales, message dispatch.Message) *locale.Locale {
	return locales.For(message.To.Locale, message.To.Dashboard.Locale)
}

// wordsKey returns a key that is the same for recipients of the same dashboard, components, locale and time zone. They
// get the same text.
func wordsKey(l *locale.Locale, message dispatch.Message) string {
	return l.Tag + " " + message.To.Dashboard.Timezone + " " + textKey(message)
}

// textPage returns the data for the template of a text message about an event.
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
