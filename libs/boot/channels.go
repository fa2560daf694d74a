package boot

import (
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"regexp"
	"strings"
)

// Providers are the hosts at which chat providers receive; an endpoint of their kind
// must have its URL there.
type Providers struct {
	TeamsWorkflowHosts  []string `name:"teams-workflow-hosts" env:"TEAMS_WORKFLOW_HOSTS" default:"*.logic.azure.com" help:"Hosts of Teams workflow URLs, separated by commas; *. allowed in front."`
	TeamsPlatformHosts  []string `name:"teams-platform-hosts" env:"TEAMS_PLATFORM_HOSTS" default:"*.environment.api.powerplatform.com" help:"Hosts of Teams platform URLs."`
	TeamsConnectorHosts []string `name:"teams-connector-hosts" env:"TEAMS_CONNECTOR_HOSTS" default:"*.webhook.office.com,outlook.office.com" help:"Hosts of classic Teams connectors, which are refused."`
}

var hostPattern = regexp.MustCompile(`^(\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

// Validate is called by the settings' parser.
func (p Providers) Validate() error {
	var failures []error
	for setting, hosts := range map[string][]string{
		"TEAMS_WORKFLOW_HOSTS": p.TeamsWorkflowHosts, "TEAMS_PLATFORM_HOSTS": p.TeamsPlatformHosts,
		"TEAMS_CONNECTOR_HOSTS": p.TeamsConnectorHosts,
	} {
		for _, host := range hosts {
			if !hostPattern.MatchString(host) {
				failures = append(failures, fmt.Errorf("%s: %q is not a host name, with or without *. in front", setting, host))
			}
		}
	}
	return errors.Join(failures...)
}

// Mail is how mail leaves. Its URL may hold a password.
type Mail struct {
	SMTPURL  string `name:"smtp-url" env:"SMTP_URL" placeholder:"smtp://USER:PASSWORD@HOST:PORT" help:"Mail server: smtp:// (STARTTLS where the server offers it) or smtps://; without it each mail is written to mail/*.eml in the data folder."`
	MailFrom string `name:"mail-from" env:"MAIL_FROM" help:"Sender of mail, an address with or without a name; needed with SMTP_URL."`
}

// Validate is called by the settings' parser.
func (m Mail) Validate() error {
	if err := OptionalURL("SMTP_URL", m.SMTPURL, "smtp", "smtps"); err != nil {
		return err
	}
	if m.MailFrom == "" {
		if m.SMTPURL != "" {
			return errors.New("MAIL_FROM is needed with SMTP_URL")
		}
		return nil
	}
	if _, err := mail.ParseAddress(m.MailFrom); err != nil {
		return errors.New("MAIL_FROM is not a mail address")
	}
	return nil
}

// Texts is how SMS leave. Its URL holds a token.
type Texts struct {
	SMSURL string `name:"sms-url" env:"SMS_URL" placeholder:"https://SID:TOKEN@HOST/?from=+15550100" help:"A Twilio-compatible API; from is the sender, a number, a name (Bellbuoy when not given) or a messaging service. Without it each text is written to sms/*.json in the data folder."`
}

// Validate is called by the settings' parser.
func (t Texts) Validate() error {
	if err := OptionalURL("SMS_URL", t.SMSURL, "https", "http"); err != nil || t.SMSURL == "" {
		return err
	}
	u, err := url.Parse(t.SMSURL)
	if err != nil || u.User.Username() == "" {
		return errors.New("SMS_URL must hold the account: https://SID:TOKEN@host/")
	}
	if _, given := u.User.Password(); !given {
		return errors.New("SMS_URL must hold the account's token: https://SID:TOKEN@host/")
	}
	if !senderPattern.MatchString(t.From()) {
		return errors.New("SMS_URL: from is no sender, which is a number, a name or a messaging service: https://SID:TOKEN@host/?from=+15550100")
	}
	return nil
}

// senderPattern is a number with its country code, a short code, a messaging service's
// id, or a name.
var senderPattern = regexp.MustCompile(`^(\+[0-9]{7,15}|[0-9]{3,8}|MG[0-9a-fA-F]{32}|[A-Za-z0-9][A-Za-z0-9 ]{0,10})$`)

// defaultSender is a sender id of letters, which needs no number of one's own in most countries.
const defaultSender = "Bellbuoy"

// From is the sender that SMSURL names. Its plus sign may be written as it is.
func (t Texts) From() string {
	u, err := url.Parse(t.SMSURL)
	if err != nil {
		return ""
	}
	if !u.Query().Has("from") {
		return defaultSender
	}
	from := u.Query().Get("from")
	if number, plus := strings.CutPrefix(from, " "); plus {
		from = "+" + number
	}
	return from
}
