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
	const events = 6
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
	var inOne, inOther []deliverylog.Delivery
	for _, c := range sent {
		inOne = append(inOne, w.ended(c.ID, "g1", "g2")...)
		inOther = append(inOther, w.ended(c.ID, "g3")...)
	}
	if n, others := len(chat.got()), len(other.got()); n != 2*events || others != events {
		t.Fatalf("%d and %d messages arrived", n, others)
	}
	at, others := firstAttempts(t, inOne), firstAttempts(t, inOther)
	keepApart(t, "a space", at, time.Second)
	keepApart(t, "the other space", others, time.Second)
	if others[events-1].After(at[2*events-3]) { // the messages of the last event are the last two
		t.Error("a space waited for another space")
	}
}

// A pause that the receiver asks for holds all endpoints of the space.
func TestAPauseOfAChatHoldsAllEndpointsOfItsSpace(t *testing.T) {
	t.Parallel()
	const asked, endpoints = 8 * time.Second, 6
	w := newWorld(t)
	chat := w.receiver("chat.test", inTurn(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "8")
		w.WriteHeader(http.StatusTooManyRequests)
	}, status(http.StatusOK)))
	ids := make([]string, endpoints)
	for i := range ids {
		ids[i] = fmt.Sprintf("g%d", i)
		w.space(ids[i], chatSpace+"key=k&token="+ids[i], "space-a")
	}
	w.start(w.config())
	sent := toChat(newEvent(), 1)
	w.publish(sent, nil)
	var at []time.Time
	var took time.Duration // until the response that asks for the pause
	for _, row := range w.ended(sent.ID, ids...) {
		if row.Status != deliverylog.StatusDelivered {
			t.Errorf("row %+v", row)
		}
		for i, a := range row.Attempts {
			at = append(at, a.At)
			if a.HTTPStatus == http.StatusTooManyRequests {
				took = time.Duration(a.DurationMS) * time.Millisecond
			} else if i > 0 && a.At.Sub(row.Attempts[0].At) < asked {
				t.Errorf("the retry came after %v", a.At.Sub(row.Attempts[0].At))
			}
		}
	}
	if n := len(chat.got()); len(at) != endpoints+1 || n != endpoints+1 {
		t.Fatalf("%d attempts, %d requests", len(at), n)
	}
	slices.SortFunc(at, time.Time.Compare)
	early := 0
	for _, a := range at {
		if a.Sub(at[0]) < asked {
			early++
		}
	}
	// One message a second may begin before the response has arrived, which is late on a busy machine.
	if most := 1 + int((took+time.Second/2)/time.Second); early > most {
		t.Errorf("the space got %d messages before the end of the pause, and %d before the response can count", early, most)
	}
}
