package topic

import "time"

const (
	// MaxExplained is the maximum number of changes in an ExplainQuery.
	MaxExplained = 100
	// MaxExplainedRecipients is the maximum number of recipients in an Explanation.
	MaxExplainedRecipients = 50
)

// ExplainQuery asks a service which recipients have an address or a URL, and which of the changes concern them. Address
// or URLHash is set.
type ExplainQuery struct {
	Channel Channel          `json:"channel"`
	Address string           `json:"address,omitempty"` // mail address or phone number, as a user wrote it
	URLHash string           `json:"urlHash,omitempty"`
	Changes []RecipientQuery `json:"changes"`
}

// Explanation has the endpoints with the URL, or one subscriber with the address for each dashboard, at most
// MaxExplainedRecipients.
type Explanation struct {
	Recipients []ExplainedRecipient `json:"recipients"`
}

// ExplainedRecipient is a recipient as it is today.
type ExplainedRecipient struct {
	Recipient   `json:",inline"`
	DashboardID string       `json:"dashboardId"`
	Missing     bool         `json:"missing,omitempty"` // not stored; ID is the id that a stored recipient would have or had, UpdatedAt and Suppression are empty
	UpdatedAt   time.Time    `json:"updatedAt,omitzero"`
	Suppression *Suppression `json:"suppression,omitempty"`
	Verdicts    []Verdict    `json:"verdicts"` // one for each change of the query
}

// Suppression says why and since when no message is sent to a recipient.
type Suppression struct {
	Reason string    `json:"reason"`
	Since  time.Time `json:"since"`
}

// Verdict says whether a recipient would be on the list of a change's recipients today.
type Verdict struct {
	Rule        Rule      `json:"rule,omitempty"`       // the first rule that keeps the recipient off the list; empty: the recipient is on the list
	CreatedAt   time.Time `json:"createdAt,omitzero"`   // with an empty Rule: time of the creation of the recipient
	ChosenAt    time.Time `json:"chosenAt,omitzero"`    // with an empty Rule: time from which the subscriber includes a component of the change; zero: not recorded
	ConfirmedAt time.Time `json:"confirmedAt,omitzero"` // with an empty Rule: time from which such a component is confirmed, or time of the verification of the endpoint
}

// Rule names why a recipient is not on the list of a change's recipients.
type Rule string

// The rules.
const (
	RuleNotSubscribed  Rule = "not_subscribed"     // the recipient is not stored
	RuleOtherDashboard Rule = "other_dashboard"    // the dashboard of the recipient shows none of the components, or is not a dashboard of the event without components
	RuleUnconfirmed    Rule = "unconfirmed"        // the subscription is not confirmed
	RuleUnverified     Rule = "unverified"         // the endpoint is not verified
	RulePaused         Rule = "paused"             // the recipient is paused
	RuleComponents     Rule = "not_chosen"         // the recipient chose none of the components
	RuleKind           Rule = "kind_not_chosen"    // the endpoint did not choose the kind of the change
	RuleEndpoint       Rule = "endpoint_not_named" // the request named endpoints, and not this one
)
