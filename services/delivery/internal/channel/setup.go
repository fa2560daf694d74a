package channel

import (
	"net/url"
	"strconv"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Setup says whether the operator has set a channel up. It contains no secret.
type Setup struct {
	Server  *Server // nil: none is set up, or each endpoint has its own
	From    string  // the sender; empty: unknown, or the channel has none
	Missing string  // name of a setting that the channel needs; empty: the channel is set up
}

// SettingTexts is the name of the setting of the account for SMS and WhatsApp.
const SettingTexts = "SMS_URL"

// Server is the server through which the messages of a channel are sent, without the account.
type Server struct {
	Host     string
	Port     int
	Security string
}

// How the connection to a Server is encrypted.
const (
	securityTLS      = "tls"
	securityStartTLS = "startTLSIfOffered"
	securityNone     = "none"
)

// serverOf returns the server of a URL. It returns nil if the URL is empty or not valid.
func serverOf(address string) *Server {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil
	}
	kind := map[string]Server{"smtp": {Port: 587, Security: securityStartTLS}, "smtps": {Port: 465, Security: securityTLS}, "https": {Port: 443, Security: securityTLS}, "http": {Port: 80, Security: securityNone}}[u.Scheme]
	kind.Host = u.Hostname()
	if port, err := strconv.Atoi(u.Port()); err == nil {
		kind.Port = port
	}
	return &kind
}

// SetupOf returns the Setup of a channel.
func SetupOf(name topic.Channel, mail boot.Mail, texts boot.Texts) Setup {
	switch {
	case name == topic.Email && mail.SMTPURL == "":
		return Setup{Missing: "SMTP_URL"}
	case name == topic.Email:
		return Setup{Server: serverOf(mail.SMTPURL), From: mail.MailFrom}
	case name.RecipientService() != topic.Subscribers:
		return Setup{}
	case texts.SMSURL == "":
		return Setup{Missing: SettingTexts}
	case name == topic.WhatsApp && texts.WhatsAppTemplate == "":
		return Setup{Server: serverOf(texts.SMSURL), From: texts.From(), Missing: "WHATSAPP_TEMPLATE"}
	}
	return Setup{Server: serverOf(texts.SMSURL), From: texts.From()}
}

// ToFiles reports whether messages are written to files, because the mail server or the account for texts is not set up.
func (s Setup) ToFiles() bool { return s.Missing == "SMTP_URL" || s.Missing == "SMS_URL" }
