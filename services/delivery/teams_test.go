package delivery_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// workflow adds a Teams endpoint.
func (w *world) workflow(id, url string) {
	w.t.Helper()
	w.peer.add(id, url)
	w.peer.set(id, func(d *topic.Destination) { d.Channel, d.Secrets = topic.Teams, nil })
}

// toTeams returns a change for Teams.
func toTeams(wording topic.Wording) topic.EventChange {
	sent := change(newEvent(), 1)
	sent.Notify = topic.Notify{topic.Teams: wording}
	return sent
}

func TestTeamsGetsACardAnd202IsASuccess(t *testing.T) {
	w := newWorld(t)
	flows := w.receiver("prod.flows.test", status(http.StatusAccepted))
	w.workflow("t1", "https://prod.flows.test/workflows/secret/token?sig=a%2Fb")
	s := w.start(w.config())
	sent := toTeams(topic.Wording{Message: "m", Details: true, Color: "#c00"})
	w.publish(sent, nil)
	row := w.ended(sent.ID, "t1")[0]
	if row.Status != deliverylog.StatusDelivered || row.Channel != topic.Teams || len(row.Attempts) != 1 || row.Attempts[0].HTTPStatus != http.StatusAccepted {
		t.Errorf("row %+v", row)
	}
	got := flows.got()
	if len(got) != 1 || got[0].path != "/workflows/secret/token" || got[0].header.Get("Content-Type") != "application/json" || got[0].header.Get("Webhook-Signature") != "" {
		t.Fatalf("arrived: %+v", got)
	}
	var card struct {
		Type        string
		Attachments []struct {
			ContentType string
			Content     struct {
				Version string
				Actions []struct{ URL string }
			}
		}
	}
	if err := json.Unmarshal(got[0].body, &card); err != nil || card.Type != "message" || len(card.Attachments) != 1 ||
		card.Attachments[0].ContentType != "application/vnd.microsoft.card.adaptive" || card.Attachments[0].Content.Version != "1.4" ||
		card.Attachments[0].Content.Actions[0].URL != "https://status.test/d/main/events/"+sent.Event.ID {
		t.Errorf("%v: %s", err, got[0].body)
	}
	if !strings.Contains(string(got[0].body), `We \\<look\\> into it.`) {
		t.Errorf("the entry is not shown as it is: %s", got[0].body)
	}
	if text := fmt.Sprintf("%+v %s", row, s.logs); strings.Contains(text, "token") || strings.Contains(text, "sig=") {
		t.Error("the URL is in a row or log")
	}
}

func TestA429OfTeamsCausesARetry(t *testing.T) {
	w := newWorld(t)
	flows := w.receiver("prod.flows.test", inTurn(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
	}, status(http.StatusAccepted)))
	w.workflow("t1", "https://prod.flows.test/workflows/x")
	w.start(w.config())
	sent := toTeams(topic.Wording{})
	w.publish(sent, nil)
	row := w.ended(sent.ID, "t1")[0]
	got := flows.got()
	if row.Status != deliverylog.StatusDelivered || len(row.Attempts) != 2 || row.Attempts[0].ErrorCode != deliverylog.CodeRateLimited || len(got) != 2 {
		t.Fatalf("row %+v, %d arrivals", row, len(got))
	}
	if rest := got[1].at.Sub(got[0].at); rest < time.Second {
		t.Errorf("asked again after %v", rest)
	}
	if string(got[0].body) != string(got[1].body) {
		t.Error("the card changed")
	}
}

// A URL gets at most four requests a second, and other URLs do not wait. There are so many deliveries that some
// wait in the store.
func TestATeamsURLGetsAtMostFourRequestsASecond(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	flows := w.receiver("prod.flows.test", status(http.StatusAccepted))
	hooks := w.receiver("hooks.test", nil)
	w.workflow("t1", "https://prod.flows.test/workflows/x")
	w.workflow("t2", "https://prod.flows.test/workflows/x") // the same URL on another dashboard
	w.peer.set("t2", func(d *topic.Destination) { d.URLHash = fmt.Sprintf("%064x", 0) })
	w.start(w.config())
	const events = 24
	var sent []topic.EventChange
	for range events {
		c := toTeams(topic.Wording{})
		sent = append(sent, c)
		w.publish(c, nil)
	}
	apitest.Eventually(t, "the first card", func() bool { return len(flows.got()) > 0 })
	w.peer.add("h1", "https://hooks.test/hook")
	other := change(newEvent(), 1)
	w.publish(other, nil)
	// A card comes here too if its change is planned after the endpoint was added.
	apitest.Eventually(t, "the webhook", func() bool {
		return slices.ContainsFunc(hooks.got(), func(a arrival) bool { return a.id() == topic.DeliveryID(other.ID, "h1") })
	})
	if n := len(flows.got()); n > events {
		t.Errorf("%d of %d cards came before a webhook that has nothing to do with them", n, 2*events)
	}
	var rows []deliverylog.Delivery
	for _, c := range sent {
		rows = append(rows, w.ended(c.ID, "t1", "t2")...)
	}
	if n := len(flows.got()); n != 2*events {
		t.Fatalf("%d cards arrived", n)
	}
	keepApart(t, "the URL", firstAttempts(t, rows), time.Second/4)
}
