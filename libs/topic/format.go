package topic

// Format is the form of the body of a webhook.
type Format string

const (
	FormatBellbuoy   Format = "bellbuoy"   // the default
	FormatStatuspage Format = "statuspage" // the body of Atlassian Statuspage
	FormatSlack      Format = "slack"      // for chat programs that accept the messages of Slack's legacy webhooks, such as Mattermost and Rocket.Chat
	FormatTemplate   Format = "template"   // the request of a Template
)
