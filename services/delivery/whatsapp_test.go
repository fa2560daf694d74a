package delivery_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

const template = "HX0123456789abcdef0123456789abcdef"

// chatter returns a WhatsApp subscriber.
func chatter() topic.Destination {
	return topic.Destination{
		ID: "p1", Channel: topic.WhatsApp, Address: smsNumber,
		Dashboard: topic.Dashboard{ID: dashboardID, Name: "Acme", URL: "https://status.test/d/main"},
	}
}

// chat sends a change to a WhatsApp subscriber and returns its row and outcome.
func (w *world) chat(c delivery.Config, to topic.Destination) (*service, topic.EventChange, deliverylog.Delivery, topic.Outcome) {
	w.t.Helper()
	w.person(&c, to)
	s := w.start(c)
	sent := change(newEvent(), 1)
	sent.Notify = topic.Notify{topic.WhatsApp: {}}
	w.publish(sent, nil)
	row := w.ended(sent.ID, "p1")[0]
	return s, sent, row, w.outcomes.of(w.t, row.ID)
}

func TestWhatsAppMessagesArePostedAsTextOrAsATemplate(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		sender, template string
		answer           http.HandlerFunc
		code             deliverylog.Code
	}{
		"plain text":            {smsFrom, "", acceptSMS, ""},
		"template":              {smsFrom, template, acceptSMS, ""},
		"messaging service":     {"MG0123456789abcdef0123456789abcdef", template, acceptSMS, ""},
		"no such address":       {smsFrom, template, refuseSMS(400, 63003), deliverylog.CodeGone},
		"not a number":          {smsFrom, template, refuseSMS(400, 21211), deliverylog.CodeGone},
		"blocked by the user":   {smsFrom, template, refuseSMS(400, 63014), deliverylog.CodeOptedOut},
		"may accept it later":   {smsFrom, template, refuseSMS(400, 63024), deliverylog.CodeClientError},
		"outside of the window": {smsFrom, "", refuseSMS(400, 63016), deliverylog.CodeClientError},
		"unknown template":      {smsFrom, template, refuseSMS(404, 20404), deliverylog.CodeClientError},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			api := newSMSAPI(t, x.answer)
			server := httptest.NewServer(api)
			t.Cleanup(server.Close)
			c := w.config()
			c.SMSURL, c.WhatsAppTemplate = smsURL(server.URL, smsToken, x.sender), x.template
			s, sent, row, outcome := w.chat(c, chatter())
			if row.ErrorCode != x.code || len(row.Attempts) != 1 || outcome.Gone != (x.code == deliverylog.CodeGone || x.code == deliverylog.CodeOptedOut) ||
				outcome.Channel != topic.WhatsApp || outcome.ErrorCode != string(x.code) {
				t.Errorf("row %+v, outcome %+v", row, outcome)
			}
			link := "https://status.test/d/main/events/" + sent.Event.ID
			want := url.Values{"To": {"whatsapp:" + smsNumber}, "From": {"whatsapp:" + smsFrom}}
			if strings.HasPrefix(x.sender, "MG") {
				want = url.Values{"To": {"whatsapp:" + smsNumber}, "MessagingServiceSid": {x.sender}}
			}
			shown := "Acme: incident investigating: Logins fail\nWe <look> into it.\n" + link
			if x.template == "" {
				want.Set("Body", shown)
			} else {
				content, err := json.Marshal(map[string]string{"1": "Acme", "2": "Investigating", "3": "Logins fail", "4": link, "5": "We <look> into it."})
				if err != nil {
					t.Fatal(err)
				}
				shown = string(content)
				want.Set("ContentSid", x.template)
				want.Set("ContentVariables", shown)
			}
			if got := api.got(); len(got) != 1 || got[0].Encode() != want.Encode() {
				t.Errorf("the API got %v, want %v", got, want)
			}
			logs, text := s.list(t, topic.WhatsApp, nil)
			if len(logs) != 1 || logs[0].Kind != topic.WhatsApp {
				t.Fatalf("logs %s", text)
			}
			one, text := s.log(t, logs[0])
			if one.Request == nil || one.Request.Body != shown || strings.Contains(text, smsNumber[1:]) || strings.Contains(text, smsToken) || strings.Contains(text, smsAccount) {
				t.Errorf("the log is %s", text)
			}
		})
	}
}

// Without SMS_URL, the message is a file beside the texts.
func TestWithoutATextServerWhatsAppMessagesAreFiles(t *testing.T) {
	for _, used := range []string{"", template} {
		w := newWorld(t)
		c := w.config()
		c.Data, c.WhatsAppTemplate = filepath.Join(w.dir, "data"), used
		to := chatter()
		to.Dashboard.Name, to.Dashboard.URL = "", ""
		_, _, row, _ := w.chat(c, to)
		content, err := os.ReadFile(filepath.Join(c.Data, "sms", row.ID+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]string
		if err := json.Unmarshal(content, &got); err != nil {
			t.Fatal(err)
		}
		if got["channel"] != "whatsapp" || got["to"] != "whatsapp:"+smsNumber || got["body"] != "incident investigating: Logins fail\nWe <look> into it." || got["contentSid"] != used {
			t.Errorf("%s", content)
		}
		variables := map[string]string{}
		if used != "" {
			if err := json.Unmarshal([]byte(got["contentVariables"]), &variables); err != nil || variables["1"] != "-" || variables["4"] != "-" || variables["3"] != "Logins fail" {
				t.Errorf("%s", content)
			}
		}
	}
}

// The message that confirms a subscription has the link and the code, and the message to a subscriber who has it all the
// link. No log shows them.
func TestNoLogShowsTheLinkOrTheCodeOfASubscriber(t *testing.T) {
	const link, confirmed = "https://status.test/public/confirm?token=the-token-of-the-link", "012345"
	for _, c := range []struct {
		channel    topic.Channel
		kind       topic.Kind
		code, want string
	}{
		{topic.SMS, topic.SubscriberConfirm, confirmed, "Acme: Confirm with the code " + confirmed + " or " + link},
		{topic.WhatsApp, topic.SubscriberConfirm, confirmed, "Acme: Confirm with the code " + confirmed + " or " + link},
		{topic.SMS, topic.SubscriberManage, "", "Acme: Already subscribed. Change: " + link},
		{topic.WhatsApp, topic.SubscriberManage, "", "Acme: Already subscribed. Change: " + link},
	} {
		channel, code, want := c.channel, c.code, c.want
		w := newWorld(t)
		api := newSMSAPI(t, nil)
		server := httptest.NewServer(api)
		t.Cleanup(server.Close)
		config := w.config()
		config.SMSURL = smsURL(server.URL, smsToken, smsFrom)
		to := chatter()
		to.Channel, to.Link, to.Code, to.Names = channel, link, code, []string{"API", "Shop"}
		w.person(&config, to)
		s := w.start(config)
		notice := topic.Notice{
			ID: newEvent(), Kind: c.kind, Organization: organization, Channel: channel, Service: topic.Subscribers,
			Recipient: "p1", Destination: "d1",
		}
		w.publish(notice, nil)
		row := w.ended(notice.ID, "p1")[0]
		if got := api.got(); row.Status != deliverylog.StatusDelivered || len(got) != 1 || got[0].Get("Body") != want {
			t.Errorf("row %+v, texts %v, want %q", row, got, want)
		}
		logs, text := s.list(t, channel, nil)
		if len(logs) != 1 {
			t.Fatalf("logs %s", text)
		}
		if _, text = s.log(t, logs[0]); code != "" && strings.Contains(text, code) || strings.Contains(text, "the-token") || strings.Contains(text, smsNumber[1:]) {
			t.Errorf("the log is %s", text)
		}
	}
}
