package delivery_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

const secondComponent = "0190a000-0000-7000-8000-0000000000c2"

// While the delivery of a message waits for its retry, the event is deleted, becomes a draft again, or its components are
// hidden from notifications. Then the message is not sent, its log and the progress say why, and it cannot be replayed. Of
// several components, those that were hidden, or have left the dashboard of the endpoint, are no longer named. While the events service is down, the message is sent.
func TestAMessageOfAWithdrawnEventIsNotSentAgain(t *testing.T) {
	w := newWorld(t)
	hooks := w.receiver("hooks.test", nil)
	w.peer.add("r1", "https://hooks.test/hook")
	w.peer.set("r1", func(d *topic.Destination) { d.Components = nil })
	s := w.start(w.config())
	both := []string{componentID, secondComponent}
	for _, x := range []struct {
		name   string
		then   func(event string)
		names  []string // in the retry; none: it is not sent
		replay int
	}{
		{"deleted", func(event string) { w.incidents.remove(organization, event) }, nil, http.StatusNotFound},
		{"draft", func(event string) { w.incidents.set(organization, event, topic.EventState{Components: both}) }, nil, http.StatusConflict},
		{"components hidden", func(event string) { w.incidents.set(organization, event, topic.EventState{Published: true}) }, nil, http.StatusConflict},
		{"one component hidden", func(event string) {
			w.incidents.set(organization, event, topic.EventState{Published: true, Components: both[1:]})
		}, both[1:], http.StatusAccepted},
		{"one component on another dashboard", func(event string) {
			shown := map[string][]string{componentID: {dashboardID}, secondComponent: {"another"}}
			w.incidents.set(organization, event, topic.EventState{Published: true, Components: both, Dashboards: shown})
		}, both[:1], http.StatusAccepted},
		{"unchanged", func(string) {}, both, http.StatusAccepted},
		{"the events service is down", func(string) { w.incidents.server.Close() }, both, http.StatusAccepted},
	} {
		t.Run(x.name, func(t *testing.T) {
			sent := change(newEvent(), 1)
			second := sent.Event.Components[0]
			second.ID = secondComponent
			sent.Event.Components = append(sent.Event.Components, second)
			hooks.answers(inTurn(func(rw http.ResponseWriter, _ *http.Request) {
				x.then(sent.Event.ID)
				rw.WriteHeader(http.StatusInternalServerError)
			}, status(http.StatusNoContent)))
			w.publish(sent, nil)
			row := w.ended(sent.ID, "r1")[0]
			retries := slices.DeleteFunc(hooks.got(), func(a arrival) bool { return a.id() != row.ID })[1:]
			logs, _ := s.list(t, topic.Webhook, map[string][]string{"eventId": {sent.Event.ID}})
			want := counts{Planned: 1, Delivered: 1}
			switch {
			case len(x.names) > 0:
				if len(retries) != 1 {
					t.Fatalf("%d retries, logs %+v", len(retries), logs)
				}
				for _, id := range both {
					if strings.Contains(string(retries[0].body), id) != slices.Contains(x.names, id) {
						t.Errorf("the retry, which must name %v: %s", x.names, retries[0].body)
					}
				}
			default:
				want = counts{Planned: 1, Skipped: 1}
				if len(retries) > 0 || len(logs) != 2 || logs[0].Status != deliverylog.StatusSkipped || *logs[0].ErrorCode != "event_withdrawn" {
					t.Errorf("%d retries, logs %+v", len(retries), logs)
				}
			}
			if all, _ := s.progress(t, sent.Event.ID); all != want {
				t.Errorf("progress %+v", all)
			}
			if x.replay == http.StatusAccepted {
				w.outcomes.of(t, s.replay(t, logs[0]))
				return
			}
			path := fmt.Sprintf("/app/notifications/webhook/logs/%s/replay", logs[0].LogID)
			if code, text := s.app(t, organization, http.MethodPost, path, map[string]any{"sentAt": logs[0].SentAt}); code != x.replay {
				t.Errorf("replay: %d %s", code, text)
			}
		})
	}
}

// Mails, texts and WhatsApp messages of a deleted event are not sent again either.
func TestMailsAndTextsOfADeletedEventAreNotSentAgain(t *testing.T) {
	for _, channel := range []topic.Channel{topic.Email, topic.SMS, topic.WhatsApp} {
		t.Run(string(channel), func(t *testing.T) {
			w := newWorld(t)
			sent := change(newEvent(), 1)
			sent.Notify = topic.Notify{channel: {}}
			forget := func() { w.incidents.remove(organization, sent.Event.ID) }
			api := newSMSAPI(t, inTurn(func(rw http.ResponseWriter, _ *http.Request) {
				forget()
				rw.WriteHeader(http.StatusServiceUnavailable)
			}, acceptSMS))
			server := httptest.NewServer(api)
			t.Cleanup(server.Close)
			office := newPostOffice(t, &postOffice{content: func(attempt int) error {
				if attempt > 1 {
					return nil
				}
				forget()
				return reply(451, smtp.EnhancedCode{4, 3, 0})
			}})
			c := w.config(50*time.Millisecond, 50*time.Millisecond)
			c.SMSURL, c.SMTPURL, c.MailFrom = smsURL(server.URL, smsToken, smsFrom), office.url("smtp", ""), "status@bellbuoy.test"
			to := phone()
			if channel == topic.Email {
				to = reader("p1")
			}
			to.Channel = channel
			w.person(&c, to)
			w.start(c)
			w.publish(sent, nil)
			row := w.ended(sent.ID, "p1")[0]
			if row.Status != deliverylog.StatusSkipped || row.ErrorCode != deliverylog.CodeWithdrawn || len(row.Attempts) != 1 {
				t.Errorf("row %+v", row)
			}
			mails, _, _ := office.got()
			if requests := len(api.got()) + len(mails); requests != 1 {
				t.Errorf("%d requests", requests)
			}
		})
	}
}
