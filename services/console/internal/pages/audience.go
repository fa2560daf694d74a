package pages

import (
	"strconv"
	"strings"

	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

const (
	maxAffected = 100 // maximum number of components that an event may affect
	maxPlaces   = 50  // maximum number of dashboards that an event without components may have
)

// reach is the bar that says whom a button notifies.
type reach struct {
	Field *forms.Field
	Chips []reachChip
	Says  string // text of the bar, such as "Reaches 1,204 by mail, 3 webhooks"
	Total string // number of recipients of the chosen channels; empty: unknown or none
	Event string // id of the event that the message is about; empty: a new event
	Kind  string // kind of the message; empty: the default of the App interface
}

// reachChip is a channel that can be switched off.
type reachChip struct {
	Value, Label, Count string
	Chosen              bool
	Empty               bool // the channel reaches nobody
}

// button is a button that publishes. Total is the number of recipients, or empty.
type button struct{ Submit, Total string }

// For returns the button with the text submit. The page adds the number of recipients to the text.
func (r reach) For(submit string) button { return button{submit, r.Total} }

// reachOf returns the bar for a message. The page hides a channel that reaches nobody. A chosen channel stays chosen then,
// because somebody may subscribe before the message is sent. If the recipients cannot be counted, the chips have no counts.
func (v *visit) reachOf(field *forms.Field, about app.AudienceQuery) reach {
	out := reach{Field: field, Says: "Who is notified", Event: about.EventID, Kind: about.Kind}
	for _, channel := range field.Options {
		out.Chips = append(out.Chips, reachChip{Value: channel.Value, Label: channel.Label, Chosen: field.Has(channel.Value)})
	}
	switch components, dashboards := len(about.ComponentIDs), len(about.DashboardIDs); {
	case components+dashboards == 0 && about.EventID == "":
		return out
	case components > 0 && dashboards > 0:
		out.Says = "Choose components or dashboards"
		return out
	case components > maxAffected:
		out.Says = "Choose at most 100 components"
		return out
	case dashboards > maxPlaces:
		out.Says = "Choose at most 50 dashboards"
		return out
	}
	found, err := v.app.Audience(v.Request.Context(), about)
	if err != nil {
		out.Says = "The recipients cannot be counted right now"
		return out
	}
	var texts []string
	all, total, more := 0, 0, false
	for i, chip := range out.Chips {
		one := found.Audience[chip.Value]
		if all += one.Recipients; one.Recipients == 0 {
			out.Chips[i].Empty = true
			continue
		}
		out.Chips[i].Count = amount(one.Recipients, one.More)
		if chip.Chosen {
			texts = append(texts, recipientsText(chip.Value, one))
			total, more = total+one.Recipients, more || one.More
		}
	}
	switch {
	case all == 0 && len(about.ComponentIDs) > 0:
		out.Says = "Nobody has subscribed to these components"
	case all == 0 && len(about.DashboardIDs) > 0:
		out.Says = "Nobody has subscribed to these dashboards"
	case all == 0:
		out.Says = "Nobody gets messages about this event"
	case total == 0:
		out.Says = "Nobody is notified"
	default:
		out.Says, out.Total = "Reaches "+strings.Join(texts, ", "), amount(total, more)
	}
	return out
}

// recipientsText returns the number of recipients of a channel as a text, such as "3 webhooks".
func recipientsText(channel string, r app.Recipients) string {
	count := amount(r.Recipients, r.More)
	switch channel {
	case "email":
		return count + " by mail"
	case "sms":
		return count + " by SMS"
	case "whatsapp":
		return count + " by WhatsApp"
	case "webhook":
		return plural(count, "webhook", r.Recipients)
	case "teams":
		return count + " in Teams"
	case "slack":
		return count + " in Slack"
	case "discord":
		return count + " in Discord"
	case "gchat":
		return count + " in Google Chat"
	}
	return count + " by " + channel
}

// amount returns a number with commas between groups of three digits. If more is true, a plus sign follows.
func amount(n int, more bool) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	if more {
		text += "+"
	}
	return text
}

// counted returns a number with a noun, as in "1 row" and "2,000 rows".
func counted(n int, noun string) string { return plural(amount(n, false), noun, n) }

func plural(amount, noun string, n int) string {
	if n == 1 {
		return amount + " " + noun
	}
	return amount + " " + noun + "s"
}

// are returns a number with a noun and a verb, as in "1 row is" and "2,000 rows are".
func are(n int, noun string) string {
	if n == 1 {
		return counted(n, noun) + " is"
	}
	return counted(n, noun) + " are"
}

// audiencePart responds with the bar for the components, dashboards, channels, event and kind in the address.
func (p *pages) audiencePart(v *visit) error {
	field := notifyField()
	field.Values = v.QueryArray("notify")
	about := app.AudienceQuery{ComponentIDs: v.QueryArray("components"), DashboardIDs: v.QueryArray("dashboards"), EventID: v.Query("event"), Kind: v.Query("kind")}
	return v.renderPart("part-reach", v.reachOf(field, about))
}
