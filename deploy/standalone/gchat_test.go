package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/receiver"
)

// spaceHost is the host of Google Chat.
const spaceHost = "chat.googleapis.com"

// chatMessage is the part of a request that Google Chat reads.
type chatMessage struct {
	FallbackText string
	CardsV2      []struct {
		Card struct {
			Header   struct{ Title, Subtitle string }
			Sections []struct {
				Widgets []struct{ TextParagraph struct{ Text string } }
			}
		}
	}
	Thread struct{ ThreadKey string }

	request string // requestId of the message
	token   string // token in the endpoint's URL
}

// chats waits until the space has received n messages, and returns them.
func chats(t *testing.T, server *receiver.Receiver, n int) []chatMessage {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	requests, err := server.Wait(ctx, func(all []receiver.Request) bool { return len(all) >= n })
	if err != nil || len(requests) != n {
		t.Fatalf("%d messages instead of %d: %v", len(requests), n, err)
	}
	out := make([]chatMessage, n)
	for i, request := range requests {
		parameters, err := url.ParseQuery(request.Query)
		if err == nil {
			err = json.Unmarshal(request.Body, &out[i])
		}
		if err != nil || len(out[i].CardsV2) != 1 || out[i].FallbackText == "" || len(request.Body) > 32_000 {
			t.Fatalf("%v in %s?%s %s", err, request.Path, request.Query, request.Body)
		}
		if !strings.HasPrefix(request.Query, "key=AI%2fza&token=") || parameters.Get("messageReplyOption") != "REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD" {
			t.Errorf("the parameters are %s", request.Query)
		}
		out[i].request, out[i].token = parameters.Get("requestId"), parameters.Get("token")
	}
	return out
}

// TestGoogleChatShowsEachEventInAThread notifies two endpoints of the same space about an event and an update, and tests one of them. Each
// event has its own thread, and the space gets at most one message per second.
func TestGoogleChatShowsEachEventInAThread(t *testing.T) {
	t.Parallel()
	servers, env := startReceivers(t, spaceHost)
	space := servers[spaceHost]
	space.Answer = func(receiver.Request) int { return http.StatusOK }
	p, _ := started(t, env...)
	s := &stage{actor: actor{t, seeded(t, p)}}
	_, s.component = s.service("Checkout")
	const endpoints = "/app/integrations/gchat/endpoints"
	var made struct{ Endpoint struct{ URLHash string } }
	for _, token := range []string{"one", "two"} {
		send(t, http.MethodPost, s.BaseURL+endpoints, s.credentials.app(), map[string]any{
			"dashboardId": s.DashboardID, "managementEmail": "ops@example.com", "componentIds": []string{s.component},
			"url": "https://" + spaceHost + "/v1/spaces/AAAA/messages?key=AI%2fza&token=" + token,
		}).expect(t, http.StatusCreated).into(t, &made)
	}
	event := s.create(map[string]any{"type": "incident", "title": "Payments <users/all> fail", "initialTimelineMessage": "We <b>look</b>."})
	chats(t, space, 2) // wait, because a newer update would replace a message that is still queued
	s.app(http.StatusCreated, http.MethodPost, "/"+event+"/timeline", map[string]any{"message": "Found it.", "status": "identified"})
	chats(t, space, 4)
	var test struct{ DeliveryID string }
	send(t, http.MethodPost, s.BaseURL+endpoints+"/test", s.credentials.app(), map[string]any{"dashboardId": s.DashboardID, "urlHash": made.Endpoint.URLHash}).
		expect(t, http.StatusAccepted).into(t, &test)
	got := chats(t, space, 5)

	deliveries, told := map[string]bool{}, map[string]int{}
	for i, m := range got {
		deliveries[m.request] = true
		card := m.CardsV2[0].Card
		text := ""
		for _, section := range card.Sections {
			for _, widget := range section.Widgets {
				text += widget.TextParagraph.Text + "|"
			}
		}
		if i == 4 {
			if m.request != test.DeliveryID || m.token != "two" || m.Thread.ThreadKey == event || card.Header.Subtitle != "Test" || !strings.Contains(text, "This is a test. Nothing happened") {
				t.Errorf("the test is %+v", m)
			}
			continue
		}
		told[m.token+" "+card.Header.Subtitle]++
		if m.Thread.ThreadKey != event || !strings.HasPrefix(text, "<b>Payments &lt;users/all&gt; fail</b>|") || strings.Contains(m.FallbackText, "<") {
			t.Errorf("message %d is %+v", i, m)
		}
	}
	want := map[string]int{"one Investigating": 1, "two Investigating": 1, "one Identified": 1, "two Identified": 1}
	if fmt.Sprint(told) != fmt.Sprint(want) || len(deliveries) != len(got) {
		t.Errorf("%v with the request ids %v", told, deliveries)
	}
	// The logs have the times at which the attempts began. The time of an arrival may be late.
	var sent []time.Time
	eventually(t, 30*time.Second, "the logs of the messages", func() error {
		sent = nil
		for _, row := range s.everything("/app/notifications/gchat/logs", "logs") {
			if at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(row["sentAt"])); err != nil {
				t.Fatal(err)
			} else if row["status"] == "delivered" {
				sent = append(sent, at)
			}
		}
		if len(sent) != len(got) {
			return fmt.Errorf("%d are delivered", len(sent))
		}
		return nil
	})
	slices.SortFunc(sent, time.Time.Compare)
	if took := sent[len(sent)-1].Sub(sent[0]); took < time.Duration(len(sent)-1)*time.Second-time.Second/2 {
		t.Errorf("%d messages within %v", len(sent), took)
	}
}
