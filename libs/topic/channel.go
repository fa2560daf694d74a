package topic

import "slices"

// Channel names a way to reach a recipient. To add a channel, follow the recipe in services/README.md.
type Channel string

// The channels.
const (
	Webhook   Channel = "webhook"
	Teams     Channel = "teams"
	GChat     Channel = "gchat"
	Slack     Channel = "slack"
	Discord   Channel = "discord"
	Email     Channel = "email"
	SMS       Channel = "sms"
	WhatsApp  Channel = "whatsapp"
	Chatroom  Channel = "chatroom"  // legacy room chat
	Workspace Channel = "workspace" // legacy workspace chat: the legacy name of Slack
	Microblog Channel = "microblog" // legacy short posts
)

// RecipientService names the service that stores the recipients of a channel.
type RecipientService string

// The services that store recipients. The value Nobody is for channels without recipients: the legacy interface
// accepts these channels, and delivery logs them as skipped.
const (
	Integrations RecipientService = "integrations" // a recipient is an endpoint, which has a URL
	Subscribers  RecipientService = "subscribers"  // a recipient is a mail address or a phone number
	Identity     RecipientService = "identity"     // a recipient is a member, who gets only notices
	Nobody       RecipientService = "nobody"
)

// Registration is a channel and the service that stores its recipients.
type Registration struct {
	Channel Channel
	Service RecipientService
}

// Channels returns all channels. Every other table of channels has the channel as its key. The recipe in services/README.md
// names the tables to which a new channel must be added.
func Channels() []Registration {
	return []Registration{
		{Webhook, Integrations},
		{Teams, Integrations},
		{GChat, Integrations},
		{Slack, Integrations},
		{Discord, Integrations},
		{Email, Subscribers},
		{SMS, Subscribers},
		{WhatsApp, Subscribers},
		{Chatroom, Nobody},
		{Workspace, Nobody},
		{Microblog, Nobody},
	}
}

// ChannelsOf returns the channels whose recipients the service stores.
func ChannelsOf(service RecipientService) []Channel {
	var out []Channel
	for _, registered := range Channels() {
		if registered.Service == service {
			out = append(out, registered.Channel)
		}
	}
	return out
}

// AppChannels returns the channels that a request of the App interface can name.
func AppChannels() []Channel {
	return slices.Sorted(slices.Values(append(ChannelsOf(Subscribers), ChannelsOf(Integrations)...)))
}

// RecipientService returns the service that stores the channel's recipients, and "" if the channel is not registered.
func (c Channel) RecipientService() RecipientService {
	for _, registered := range Channels() {
		if registered.Channel == c {
			return registered.Service
		}
	}
	return ""
}
