package boot

import (
	"errors"
	"net/mail"
	"net/url"
	"regexp"
	"strings"
)

// Providers are the hosts of chat providers. The URL of a chat endpoint must be on a host of its provider. The URL of a
// Teams endpoint must not be on one of TeamsConnectorHosts, and the URL of a webhook not on one of SlackHosts or
// DiscordHosts.
type Providers struct {
	TeamsWorkflowHosts  []string `name:"teams-workflow-hosts" env:"TEAMS_WORKFLOW_HOSTS" default:"*.logic.azure.com" check:"host" help:"Hosts of Teams workflow URLs, separated by commas; *. allowed in front."`
	TeamsPlatformHosts  []string `name:"teams-platform-hosts" env:"TEAMS_PLATFORM_HOSTS" default:"*.environment.api.powerplatform.com" check:"host" help:"Hosts of Teams platform URLs."`
	TeamsConnectorHosts []string `name:"teams-connector-hosts" env:"TEAMS_CONNECTOR_HOSTS" default:"*.webhook.office.com,outlook.office.com,outlook.office365.com" check:"host" help:"Hosts of classic Teams connectors, which are refused."`
	GChatHosts          []string `name:"gchat-hosts" env:"GCHAT_HOSTS" default:"chat.googleapis.com" check:"host" help:"Hosts of Google Chat webhook URLs."`
	SlackHosts          []string `name:"slack-hosts" env:"SLACK_HOSTS" default:"hooks.slack.com" check:"host" help:"Hosts of Slack webhook URLs."`
	DiscordHosts        []string `name:"discord-hosts" env:"DISCORD_HOSTS" default:"discord.com,*.discord.com,discordapp.com" check:"host" help:"Hosts of Discord webhook URLs."`
}

// Mail are the settings of mail. SMTPURL may contain a password.
type Mail struct {
	SMTPURL  string `name:"smtp-url" env:"SMTP_URL" check:"url smtp smtps" placeholder:"smtp://USER:PASSWORD@HOST:PORT" help:"Mail server: smtp:// (STARTTLS if the server offers it) or smtps://; if empty, each mail is written to mail/*.eml in the data folder."`
	MailFrom string `name:"mail-from" env:"MAIL_FROM" help:"Sender of mail, an address with or without a name; required with SMTP_URL."`
}

// Validate checks the settings. The parser of settings calls it.
func (m Mail) Validate() error {
	if m.MailFrom == "" && m.SMTPURL == "" {
		return nil
	}
	if _, err := mail.ParseAddress(m.MailFrom); err != nil {
		return errors.New("MAIL_FROM must be a mail address; it is required with SMTP_URL")
	}
	return nil
}

// Texts are the settings of SMS and WhatsApp. SMSURL contains a token.
type Texts struct {
	SMSURL string `name:"sms-url" env:"SMS_URL" check:"url https http" placeholder:"https://SID:TOKEN@HOST/?from=+15550100" help:"Twilio-compatible API; from is the sender: a number, a name (default: Bellbuoy) or a messaging service. If empty, each text is written to sms/*.json in the data folder. WhatsApp uses the same account and sender."`
	// WhatsAppTemplate is the ContentSid of a message template that has variables for the parts of a message.
	WhatsAppTemplate string `name:"whatsapp-template" env:"WHATSAPP_TEMPLATE" placeholder:"HX..." help:"ContentSid of the WhatsApp template, with the variables 1 dashboard, 2 status, 3 title, 4 link, 5 text; in a confirmation, 2 asks to confirm, 3 has the code, 4 the link, 5 the components. If empty, WhatsApp gets plain text, which it accepts only within 24 hours after a message of the recipient."`
}

// Validate checks the settings. The parser of settings calls it.
func (t Texts) Validate() error {
	if t.WhatsAppTemplate != "" && !templatePattern.MatchString(t.WhatsAppTemplate) {
		return errors.New("WHATSAPP_TEMPLATE must be a ContentSid: HX and 32 hexadecimal digits")
	}
	if t.SMSURL == "" {
		return nil
	}
	u, err := url.Parse(t.SMSURL)
	if err != nil || u.User.Username() == "" {
		return errors.New("SMS_URL must contain the account: https://SID:TOKEN@host/")
	}
	if _, given := u.User.Password(); !given {
		return errors.New("SMS_URL must contain the account's token: https://SID:TOKEN@host/")
	}
	if !senderPattern.MatchString(t.From()) {
		return errors.New("SMS_URL: from must be a number, a name or a messaging service: https://SID:TOKEN@host/?from=+15550100")
	}
	return nil
}

// senderPattern matches a phone number with country code, a short code, the id of a messaging service, or a name.
var senderPattern = regexp.MustCompile(`^(\+[0-9]{7,15}|[0-9]{3,8}|MG[0-9a-fA-F]{32}|[A-Za-z0-9][A-Za-z0-9 ]{0,10})$`)

var templatePattern = regexp.MustCompile(`^HX[0-9a-fA-F]{32}$`)

// defaultSender is a sender name. In most countries, an account with a sender name needs no phone number.
const defaultSender = "Bellbuoy"

// From returns the sender in SMSURL, or defaultSender if SMSURL has none. The plus sign of a phone number may be
// unescaped in the URL. It is then parsed as a space, and From restores it.
func (t Texts) From() string {
	u, err := url.Parse(t.SMSURL)
	if err != nil || !u.Query().Has("from") {
		return defaultSender
	}
	from := u.Query().Get("from")
	if number, plus := strings.CutPrefix(from, " "); plus {
		from = "+" + number
	}
	return from
}

// Templates is the setting of the folder with an operator's own words and templates of messages.
type Templates struct {
	Templates string `name:"templates" env:"BELLBUOY_TEMPLATES" placeholder:"FOLDER" help:"Folder with files that override the templates and words of mail and texts, such as mail.html, de/mail.html and locales/de.json; Markdown files are ignored; if empty, the shipped ones are used."`
}
