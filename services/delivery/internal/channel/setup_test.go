package channel

import (
	"reflect"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

func TestTheSetupOfAChannelNamesItsSenderOrTheMissingSetting(t *testing.T) {
	mail := boot.Mail{SMTPURL: "smtp://user:secret@mail.test", MailFrom: "Acme <status@acme.test>"}
	account := boot.Texts{SMSURL: "https://AC1:secret@sms.test/?from=+15550100"}
	templated := boot.Texts{SMSURL: account.SMSURL, WhatsAppTemplate: "HX0"}
	for _, row := range []struct {
		channel topic.Channel
		mail    boot.Mail
		texts   boot.Texts
		want    Setup
	}{
		{topic.Email, boot.Mail{}, account, Setup{Missing: "SMTP_URL"}},
		{topic.Email, boot.Mail{MailFrom: "a@b.test"}, account, Setup{Missing: "SMTP_URL"}},
		{topic.Email, mail, boot.Texts{}, Setup{Server: &Server{"mail.test", 587, "startTLSIfOffered"}, From: "Acme <status@acme.test>"}},
		{topic.Email, boot.Mail{SMTPURL: "smtps://user:secret@mail.test", MailFrom: "a@b.test"}, boot.Texts{}, Setup{Server: &Server{"mail.test", 465, "tls"}, From: "a@b.test"}},
		{topic.Email, boot.Mail{SMTPURL: "smtp://[2001:db8::1]:2525", MailFrom: "a@b.test"}, boot.Texts{}, Setup{Server: &Server{"2001:db8::1", 2525, "startTLSIfOffered"}, From: "a@b.test"}},
		{topic.SMS, boot.Mail{}, boot.Texts{SMSURL: "http://AC1:secret@sms.test:8090/"}, Setup{Server: &Server{"sms.test", 8090, "none"}, From: "Bellbuoy"}},
		{topic.SMS, mail, boot.Texts{}, Setup{Missing: "SMS_URL"}},
		{topic.SMS, boot.Mail{}, account, Setup{Server: &Server{"sms.test", 443, "tls"}, From: "+15550100"}},
		{topic.WhatsApp, mail, boot.Texts{WhatsAppTemplate: "HX0"}, Setup{Missing: "SMS_URL"}},
		{topic.WhatsApp, mail, account, Setup{Server: &Server{"sms.test", 443, "tls"}, From: "+15550100", Missing: "WHATSAPP_TEMPLATE"}},
		{topic.WhatsApp, boot.Mail{}, templated, Setup{Server: &Server{"sms.test", 443, "tls"}, From: "+15550100"}},
		{topic.Webhook, boot.Mail{}, boot.Texts{}, Setup{}},
		{topic.Teams, boot.Mail{}, boot.Texts{}, Setup{}},
	} {
		if got := SetupOf(row.channel, row.mail, row.texts); !reflect.DeepEqual(got, row.want) {
			t.Errorf("%s with %+v and %+v: %+v, not %+v", row.channel, row.mail, row.texts, got, row.want)
		}
	}
}
