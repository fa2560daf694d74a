package delivery_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/chattest"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// Slack, Discord and a Slack-compatible receiver accept each message. The requests of several events to one URL start as far
// apart as the receiver demands. The responses that mean gone do so, and what Discord refuses is not repeated. The legacy key
// workspace reaches Slack endpoints; if the change concerns none, it is logged as skipped.
func TestSlackAndDiscordAcceptWhatTheyGet(t *testing.T) {
	t.Parallel()
	respond := func(responses map[string]string) func(http.ResponseWriter, string) {
		return func(w http.ResponseWriter, path string) {
			status, body, _ := strings.Cut(responses[path], " ")
			code := http.StatusNoContent
			fmt.Sscan(status, &code)
			w.Header().Set("X-RateLimit-Remaining", "0")
			w.Header().Set("X-RateLimit-Reset-After", "0.9")
			w.WriteHeader(code)
			fmt.Fprint(w, body)
		}
	}
	slack := &chattest.Receiver{Check: chattest.CheckSlack, Respond: respond(map[string]string{
		"/services/T/B/well": "200 ok", "/services/T/B/gone": "404 no_service", "/services/T/B/lost": "404 channel_not_found"})}
	discord := &chattest.Receiver{Check: chattest.CheckDiscord, Respond: respond(map[string]string{
		"/api/webhooks/2/gone": `404 {"code": 10015}`, "/api/webhooks/3/invalid": `401 {"code": 50027}`, "/api/webhooks/4/forbidden": `403 {"code": 50013}`})}
	mattermost := &chattest.Receiver{Check: chattest.CheckSlackCompatible, Respond: respond(nil)}
	w := newWorld(t)
	w.peer.byChannel = true
	w.receiver("chat.test", mattermost.ServeHTTP)
	w.receiver("slack.test", slack.ServeHTTP)
	w.receiver("discord.test", discord.ServeHTTP)
	s := w.start(w.config(10*time.Millisecond, 10*time.Millisecond))

	toWorkspace := func() topic.EventChange {
		sent := change(newEvent(), 1)
		sent.Notify = topic.Notify{topic.Slack: {Details: true, Message: "<!channel> @everyone", SkippedAs: topic.Workspace}, topic.Discord: {Message: "@everyone <@1>"}, topic.Webhook: {}}
		return sent
	}
	skipped := func(sent topic.EventChange) bool {
		rows := w.rows(topic.ChannelDeliveryID(sent.ID, topic.Workspace))
		return len(rows) == 1 && rows[0].Status == deliverylog.StatusSkipped && rows[0].ErrorCode == deliverylog.CodeNoService
	}
	nobody := toWorkspace()
	w.publish(nobody, nil)
	apitest.Eventually(t, "the skipped delivery", func() bool { return skipped(nobody) })

	add := func(channel topic.Channel, url string) string {
		id := url[strings.LastIndexByte(url, '/')+1:] + "-" + string(channel)
		w.peer.add(id, url)
		w.peer.set(id, func(d *topic.Destination) {
			if d.Channel = channel; channel == topic.Webhook {
				d.Format, d.MinIntervalMs = topic.FormatSlack, 1000
				return
			}
			d.Secrets = nil
		})
		return id
	}
	want := map[string]deliverylog.Code{
		add(topic.Webhook, "https://chat.test/hooks/well"):       "",
		add(topic.Slack, "https://slack.test/services/T/B/well"): "", add(topic.Slack, "https://slack.test/services/T/B/gone"): deliverylog.CodeGone,
		add(topic.Slack, "https://slack.test/services/T/B/lost"):       deliverylog.CodeGone,
		add(topic.Discord, "https://discord.test/api/webhooks/1/well"): "", add(topic.Discord, "https://discord.test/api/webhooks/2/gone"): deliverylog.CodeGone,
		add(topic.Discord, "https://discord.test/api/webhooks/3/invalid"): deliverylog.CodeGone, add(topic.Discord, "https://discord.test/api/webhooks/4/forbidden"): deliverylog.CodeClientError,
	}
	receivers := map[string]*chattest.Receiver{"Slack": slack, "Discord": discord, "Mattermost": mattermost}
	sent := make([]topic.EventChange, 10)
	for i := range sent {
		sent[i] = toWorkspace()
		w.publish(sent[i], nil)
	}
	starts := map[string][]time.Time{} // when the requests to each id started
	for _, c := range sent {
		for id, code := range want {
			row := w.ended(c.ID, id)[0]
			if row.ErrorCode != code || len(row.Attempts) != 1 || (row.Status == deliverylog.StatusDelivered) != (code == "") {
				t.Errorf("%s: %+v", id, row)
			}
			starts[id] = append(starts[id], row.Attempts[0].At)
			if outcome := w.outcomes.of(t, row.ID); outcome.Gone != (code == deliverylog.CodeGone) {
				t.Errorf("%s: outcome %+v", id, outcome)
			}
		}
		if skipped(c) {
			t.Error("a delivery to Slack endpoints is logged as skipped too")
		}
	}
	for id, at := range starts {
		gap := time.Second
		if strings.HasSuffix(id, "-discord") {
			gap = 900 * time.Millisecond // X-RateLimit-Reset-After
		}
		slices.SortFunc(at, time.Time.Compare)
		keepApart(t, id, at, gap)
	}
	for name, r := range receivers {
		if refused := r.Refused(); len(refused) > 0 || len(r.Bodies()) == 0 {
			t.Errorf("%s accepted %d messages, and refused: %s", name, len(r.Bodies()), refused)
		}
	}
	if strings.Contains(s.logs.String(), "/well") {
		t.Error("a URL is in the log")
	}
}
