package channel

import (
	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Setup says whether the operator has set a channel up. It contains no secret.
type Setup struct {
	From    string // the sender; empty: unknown, or the channel has none
	Missing string // name of a setting that the channel needs; empty: the channel is set up
}

// SetupOf returns the Setup of a channel.
func SetupOf(name topic.Channel, mail boot.Mail, texts boot.Texts) Setup {
	switch {
	case name == topic.Email && mail.SMTPURL == "":
		return Setup{Missing: "SMTP_URL"}
	case name == topic.Email:
		return Setup{From: mail.MailFrom}
	case name.RecipientService() != topic.Subscribers:
		return Setup{}
	case texts.SMSURL == "":
		return Setup{Missing: "SMS_URL"}
	case name == topic.WhatsApp && texts.WhatsAppTemplate == "":
		return Setup{From: texts.From(), Missing: "WHATSAPP_TEMPLATE"}
	}
	return Setup{From: texts.From()}
}
