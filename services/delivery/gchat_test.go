package delivery_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// space adds an endpoint of a space of Google Chat.
func (w *world) space(id, url, space string) {
	w.t.Helper()
	w.peer.add(id, url)
	w.peer.set(id, func(d *topic.Destination) { d.Channel, d.Secrets, d.Paced = topic.GChat, nil, space })
}

// toChat returns a change for Google Chat.
func toChat(event string, sequence int64) topic.EventChange {
	sent := change(event, sequence)
	sent.Notify = topic.Notify{topic.GChat: {}}
	return sent
}

// threadOf returns the thread of a message, and the title of its card.
func threadOf(t *testing.T, a arrival) (thread, title string) {
	t.Helper()
	var message struct {
		FallbackText string
		CardsV2      []struct {
			Card struct {
				Header struct{ Title, Subtitle string }
			}
		}
		Thread struct{ ThreadKey string }
	}
	if err := json.Unmarshal(a.body, &message); err != nil || len(message.CardsV2) != 1 || message.FallbackText == "" {
		t.Fatalf("%v in %s", err, a.body)
	}
	return message.Thread.ThreadKey, message.CardsV2[0].Card.Header.Title
}

const (
	chatSpace = "https://chat.test/v1/spaces/AAAA/messages?"
	chatReply = "&messageReplyOption=REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD&requestId="
)

// The messages of one event are in one thread, those of another event in another. All attempts of a delivery have the
// same requestId and body. The URL's own parameters arrive as they are written.
func TestTheMessagesOfOneEventAreInOneThreadOfAChat(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	chat := w.receiver("chat.test", inTurn(status(http.StatusServiceUnavailable), status(http.StatusOK)))
	const key = "key=AI%2Fza_x&token=a%3D%3d"
	w.space("g1", chatSpace+key+"&threadKey=theirs", "")
	s := w.start(w.config())
	event := newEvent()
	sent := []topic.EventChange{toChat(event, 1), toChat(event, 2), toChat(newEvent(), 1)}
	var ids []string
	for _, c := range sent { // one after the other, because a newer update replaces one that waits for a retry
		w.publish(c, nil)
		row := w.ended(c.ID, "g1")[0]
		if row.Status != deliverylog.StatusDelivered || row.Channel != topic.GChat {
			t.Errorf("row %+v", row)
		}
		if text := fmt.Sprintf("%+v %s", row, s.logs); strings.Contains(text, "token=") || strings.Contains(text, "AI%2F") {
			t.Error("the URL is in a row or log")
		}
		ids = append(ids, row.ID)
	}
	got := chat.got()
	if len(got) != 4 {
		t.Fatalf("%d messages arrived", len(got))
	}
	if string(got[0].body) != string(got[1].body) {
		t.Error("the card changed")
	}
	for i, a := range got {
		delivery := max(0, i-1)
		if a.path != "/v1/spaces/AAAA/messages" || a.query != key+chatReply+ids[delivery] || a.header.Get("Content-Type") != "application/json" {
			t.Errorf("request %d is %s?%s %v", i, a.path, a.query, a.header)
		}
		if thread, title := threadOf(t, a); thread != sent[delivery].Event.ID || title != "Status" {
			t.Errorf("request %d is in the thread %s: %s", i, thread, a.body)
		}
	}
}

// A space gets at most one message a second, through all its URLs and from two processes. Another space does not wait.
func TestAChatSpaceGetsAtMostOneMessageASecond(t *testing.T) {
	t.Parallel()
	const events = 3
	w := newWorld(t)
	chat := w.receiver("chat.test", status(http.StatusOK))
	other := w.receiver("other.test", status(http.StatusOK))
	w.space("g1", chatSpace+"key=k&token=one", "space-a")
	w.space("g2", chatSpace+"key=k&token=two", "space-a")
	w.space("g3", "https://other.test/v1/spaces/BBBB/messages?key=k&token=three", "space-b")
	w.start(w.config())
	w.start(w.config())
	apitest.Eventually(t, "the processes to share the deliveries", func() bool {
		members, err := groupMembers(t.Context(), w.broker.Addr(), "delivery-send")
		return err == nil && members == 2
	})
	var sent []topic.EventChange
	for range events {
		sent = append(sent, toChat(newEvent(), 1))
		w.publish(sent[len(sent)-1], nil)
	}
	for _, c := range sent {
		for _, row := range w.ended(c.ID, "g1", "g2", "g3") {
			if row.Status != deliverylog.StatusDelivered || len(row.Attempts) != 1 {
				t.Errorf("row %+v", row)
			}
		}
	}
	got := chat.got()
	if len(got) != 2*events || len(other.got()) != events {
		t.Fatalf("%d and %d messages arrived", len(got), len(other.got()))
	}
	// On a loaded machine transmission times differ. TestAllEndpointsOfASpaceShareItsLimit checks the exact times.
	const distance = time.Second / 2
	for i := 1; i < len(got); i++ {
		if apart := got[i].at.Sub(got[i-1].at); apart < time.Second-distance {
			t.Errorf("two messages are %v apart", apart)
		}
	}
	if all := got[len(got)-1].at.Sub(got[0].at); all < (2*events-1)*time.Second-distance {
		t.Errorf("%d messages within %v", len(got), all)
	}
	if last := other.got()[events-1].at; last.After(got[events+1].at) {
		t.Error("a space waited for another space")
	}
}

// A pause that the receiver asks for holds all endpoints of the space.
func TestAPauseOfAChatHoldsAllEndpointsOfItsSpace(t *testing.T) {
	t.Parallel()
	const asked = 3 * time.Second
	w := newWorld(t)
	chat := w.receiver("chat.test", inTurn(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3")
		w.WriteHeader(http.StatusTooManyRequests)
	}, status(http.StatusOK)))
	w.space("g1", chatSpace+"key=k&token=one", "space-a")
	w.space("g2", chatSpace+"key=k&token=two", "space-a")
	w.start(w.config())
	sent := toChat(newEvent(), 1)
	w.publish(sent, nil)
	attempts := 0
	for _, row := range w.ended(sent.ID, "g1", "g2") {
		attempts += len(row.Attempts)
		if row.Status != deliverylog.StatusDelivered {
			t.Errorf("row %+v", row)
		}
	}
	got := chat.got()
	if attempts != 3 || len(got) != 3 {
		t.Fatalf("%d attempts, %d requests", attempts, len(got))
	}
	if rest := got[1].at.Sub(got[0].at); rest < asked {
		t.Errorf("the space got a message after %v", rest)
	}
}
