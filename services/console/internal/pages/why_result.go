package pages

import (
	"fmt"

	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
)

// whyResult is the result for the messages to a recipient about an event.
type whyResult struct {
	app.Why
	Who      string     // address of the recipient, or the visible part of its URL
	Event    *app.Event // nil: the member may not read events, or they could not be read
	Messages []whyMessage
}

// whyMessage is a change of the event with its results.
type whyMessage struct {
	app.WhyMessage
	Rows []whyRow
}

// whyRow is the result of a message for a dashboard.
type whyRow struct {
	app.WhyReason
	Kind      string
	Dashboard string  // name of the dashboard; empty: none or unknown
	Fix       whyLink // link to the page on which the reason can be changed; empty path: none
	Audit     string  // path of the audit log of the recipient; empty: changed returns false, or the member may not read the log
	Replay    string  // path of the page that sends the message again; empty: this is not needed, or the plan does not allow it
}

type whyLink struct{ Path, Label string }

// arrived reports whether the message arrived, at first or when it was sent again.
func (r whyRow) arrived() bool {
	for _, log := range r.Replays {
		if log.Status == "delivered" && !r.Filed() {
			return true
		}
	}
	return r.Status == "delivered" && !r.Filed()
}

// Filed reports whether the message was written to a file instead of sent.
func (r whyRow) Filed() bool { return r.Code == "not_configured" }

// changed reports whether the recipient had other settings when the message was sent.
func (r whyRow) changed() bool { return r.Code == "chosen_later" || r.Code == "changed_since" }

// RuleOfToday reports whether the rule may not have applied at the time of the message. It returns false for the codes
// not_subscribed, chosen_later and changed_since, whose texts say this already.
func (r whyRow) RuleOfToday() bool {
	return r.AsOfToday && r.Code != "not_subscribed" && !r.changed()
}

// Icon returns the name of the icon of the result.
func (r whyRow) Icon() string {
	switch {
	case r.Filed():
		return "info"
	case r.Status == "none":
		return "close"
	case r.Status == "waiting":
		return "clock"
	}
	return deliveryRow{DeliveryLog: app.DeliveryLog{Status: r.Status}}.Icon()
}

// Class returns the CSS class of the result.
func (r whyRow) Class() string {
	switch {
	case r.Filed(), r.Status == "none", r.Status == "suppressed", r.Status == "skipped":
		return "d"
	}
	return deliveryRow{DeliveryLog: app.DeliveryLog{Status: r.Status}}.Class()
}

// Word returns the result in words.
func (r whyRow) Word() string {
	switch {
	case r.Filed():
		return "Written to a file"
	case r.Status == "none":
		return "Not sent"
	}
	return deliveryStatus(r.Status)
}

// Delivery returns the path of the page of the delivery. It is empty before the first attempt.
func (r whyRow) Delivery() string {
	if r.Log == nil {
		return ""
	}
	return r.path(*r.Log)
}

// Again returns the deliveries that sent the message again.
func (r whyRow) Again() (rows []deliveryRow) {
	for _, log := range r.Replays {
		rows = append(rows, deliveryRow{app.DeliveryLog{LogID: log.LogID, SentAt: log.SentAt, Status: log.Status}, r.Kind})
	}
	return rows
}

// SuppressedBy returns in words why nothing is sent to the recipient.
func (r whyRow) SuppressedBy() string {
	return map[string]string{
		"bounce": "messages came back", "complaint": "the owner reported a message as spam", "invalid": "the address does not exist",
		"unsubscribed": "the owner unsubscribed on the former page",
		"gone":         "the receiver said that the address no longer exists", "failures": "too many messages failed in a row",
	}[r.Suppression.Reason]
}

// Icon returns the name of the icon of the only result, or of a general icon unless there is exactly one result.
func (m whyMessage) Icon() string {
	if len(m.Rows) == 1 {
		return m.Rows[0].Icon()
	}
	return "message"
}

// Class returns the CSS class of the only result. It is empty unless there is exactly one result.
func (m whyMessage) Class() string {
	if len(m.Rows) == 1 {
		return m.Rows[0].Class()
	}
	return ""
}

// counts returns the number of results whose message arrived, the number of those whose message still waits, and the
// number of all results.
func (r whyResult) counts() (arrived, waiting, all int) {
	for _, m := range r.Messages {
		for _, row := range m.Rows {
			all++
			switch {
			case row.arrived():
				arrived++
			case row.Status == "waiting", row.Status == "retrying":
				waiting++
			}
		}
	}
	return arrived, waiting, all
}

// Summary returns how many messages the recipient got, such as "got 2 of 3 messages".
func (r whyResult) Summary() string {
	arrived, waiting, all := r.counts()
	text := fmt.Sprintf("got %s of %s messages", amount(arrived, false), amount(all, false))
	switch {
	case all == 0:
		return "got no message"
	case arrived == 1 && all == 1:
		text = "got the message"
	case arrived == all:
		text = fmt.Sprintf("got all %s messages", amount(all, false))
	case all == 1:
		text = "did not get the message"
	case arrived == 0:
		text = fmt.Sprintf("got none of %s messages", amount(all, false))
	}
	if all == 1 && waiting == 1 {
		return "has not got the message yet"
	}
	if waiting == 1 {
		return text + ", and 1 still waits"
	} else if waiting > 1 {
		return text + ", and " + amount(waiting, false) + " still wait"
	}
	return text
}

// State returns the CSS class of the summary.
func (r whyResult) State() string {
	arrived, waiting, all := r.counts()
	switch {
	case all > 0 && arrived == all:
		return "o"
	case all > 0 && arrived+waiting == all:
		return "m"
	}
	return "d"
}

// whyFix returns a link to the page on which the member can change the reason why the message was not sent. The link is empty
// if there is no such page, or the member may not open it.
func (v *visit) whyFix(r whyRow, event, hash string, e *app.Event) whyLink {
	switch r.Code {
	case "delivered", "held", "planning", "queued", "expired":
		return whyLink{}
	case "not_configured":
		return v.linkFor(passport.RoleAdmin, setupPath, "Open the setup")
	case "channel_off", "notify_off", "draft", "backdated", "legacy", "late_reminder", "event_withdrawn", "replaced", "endpoint_not_named":
		return v.linkFor(passport.RoleEvent, eventAt(event), "Open the event")
	case "components_hidden":
		if e != nil && len(e.AffectedComponents) == 1 {
			return whyLink{componentsPath + "/" + e.AffectedComponents[0].ComponentID, "Open the component"}
		}
		return whyLink{componentsPath, "Open the components"}
	case "other_dashboard":
		if r.DashboardID != "" {
			return whyLink{dashboardsPath + "/" + r.DashboardID + "/components", "Open the components of the dashboard"}
		}
	}
	return v.linkToRecipient(r, hash)
}

// linkFor returns a link, or an empty link if the member lacks the role.
func (v *visit) linkFor(role, path, label string) whyLink {
	if !v.caller.Has(role) {
		return whyLink{}
	}
	return whyLink{path, label}
}

// linkToRecipient returns a link to the subscriber or the endpoint, or to the form that adds one. It may be empty.
func (v *visit) linkToRecipient(r whyRow, hash string) whyLink {
	gone := r.Code == "not_subscribed"
	if hash == "" {
		at := subscribersAt(app.Channel(r.Kind))
		switch {
		case gone:
			return whyLink{at + "/new", "Add a subscriber"}
		case r.RecipientID != "":
			return whyLink{at + "/" + r.RecipientID, "Open the subscriber"}
		}
		return whyLink{}
	}
	at := integrationsAt(app.EndpointKind(r.Kind))
	switch {
	case !v.caller.Features.Integrations:
		return whyLink{}
	case gone:
		return whyLink{at + "/new", "Add an endpoint"}
	case r.RecipientID == "":
		return whyLink{}
	case r.DashboardID == "":
		return whyLink{at + "/" + hash, "Open the endpoint"}
	}
	return whyLink{endpointAt(app.EndpointKind(r.Kind), hash, r.DashboardID), "Open the endpoint"}
}
