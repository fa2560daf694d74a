package boot

import (
	"errors"
	"fmt"
	"net/mail"
	"regexp"
)

// Channels are the settings of the channels beside webhooks: Teams, Google Chat, mail,
// SMS and WhatsApp. This build checks them and stops at a wrong one, so that a
// configuration can be made now; the channels that read them are not in it yet, and
// deliveries on them are recorded as skipped.
type Channels struct {
	TeamsWorkflowHosts  []string `name:"teams-workflow-hosts" env:"TEAMS_WORKFLOW_HOSTS" default:"*.logic.azure.com" help:"Hosts of Teams workflow URLs; *. allowed in front. Checked only: this build has no Teams channel."`
	TeamsPlatformHosts  []string `name:"teams-platform-hosts" env:"TEAMS_PLATFORM_HOSTS" default:"*.environment.api.powerplatform.com" help:"Hosts of Teams platform URLs. Checked only."`
	TeamsConnectorHosts []string `name:"teams-connector-hosts" env:"TEAMS_CONNECTOR_HOSTS" default:"*.webhook.office.com,outlook.office.com" help:"Hosts of classic connectors, which are refused. Checked only."`
	GChatHosts          []string `name:"gchat-hosts" env:"GCHAT_HOSTS" default:"chat.googleapis.com" help:"Hosts of Google Chat webhooks. Checked only: this build has no Google Chat channel."`
	SMTPURL             string   `name:"smtp-url" env:"SMTP_URL" help:"Mail server, smtp:// or smtps://. Checked only: this build has no mail channel."`
	MailFrom            string   `name:"mail-from" env:"MAIL_FROM" help:"Sender of mail. Checked only."`
	SMSURL              string   `name:"sms-url" env:"SMS_URL" help:"A Twilio-compatible API, https://SID:TOKEN@host/. Checked only: this build has no SMS channel."`
	AlertAfter          int      `name:"alert-after" env:"ALERT_AFTER" default:"5" help:"Consecutive failed deliveries after which an endpoint's managementEmail is told. Checked only, until there is mail."`
}

var hostPattern = regexp.MustCompile(`^(\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

// Validate is called by the settings' parser.
func (c Channels) Validate() error {
	failures := []error{OptionalURL("SMTP_URL", c.SMTPURL, "smtp", "smtps"), OptionalURL("SMS_URL", c.SMSURL, "https", "http")}
	for setting, hosts := range map[string][]string{
		"TEAMS_WORKFLOW_HOSTS": c.TeamsWorkflowHosts, "TEAMS_PLATFORM_HOSTS": c.TeamsPlatformHosts,
		"TEAMS_CONNECTOR_HOSTS": c.TeamsConnectorHosts, "GCHAT_HOSTS": c.GChatHosts,
	} {
		for _, host := range hosts {
			if !hostPattern.MatchString(host) {
				failures = append(failures, fmt.Errorf("%s: %q is not a host name, with or without *. in front", setting, host))
			}
		}
	}
	if c.MailFrom != "" {
		if _, err := mail.ParseAddress(c.MailFrom); err != nil {
			failures = append(failures, errors.New("MAIL_FROM is not a mail address"))
		}
	}
	if c.AlertAfter < 1 {
		failures = append(failures, fmt.Errorf("ALERT_AFTER: %d is less than 1", c.AlertAfter))
	}
	return errors.Join(failures...)
}
