package main_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// explained is the result of the operation explainDeliveries.
type explained struct {
	Messages []whyMessage // newest first
	More     bool
	Older    bool
}

type whyMessage struct {
	EventKind string
	Results   []whyResult
}

type whyResult struct {
	DashboardID, RecipientID *string
	Status, Code, Text       string
	AsOfToday                bool
	Since, NextAttemptAt     *time.Time
	Suppression              *struct{ Reason string }
	Log                      *whyLog
	Attempts                 int
	Replays                  []whyLog
}

type whyLog struct{ LogID, SentAt, Status string }

// recipientKinds names the member of the request that identifies a recipient of a kind.
var recipientKinds = map[string]string{"email": "email", "sms": "phone", "whatsapp": "phone", "webhook": "urlHash"}

// explains asks what became of the messages about an event for a recipient.
func (a actor) explains(event, kind, to string) explained {
	a.t.Helper()
	var got struct{ Why explained }
	body := map[string]any{"eventId": event, "kind": kind, recipientKinds[kind]: to}
	send(a.t, http.MethodPost, a.BaseURL+"/app/notifications/why", a.app(), body).expect(a.t, http.StatusOK).into(a.t, &got)
	return got.Why
}

// becomes waits until the messages about an event for a recipient have these statuses and codes. Each message must have
// one result with a text.
func (a actor) becomes(event, kind, to string, want ...string) []whyResult {
	a.t.Helper()
	var results []whyResult
	eventually(a.t, time.Minute, fmt.Sprintf("%s %s: %v", kind, to, want), func() error {
		var got []string
		results = nil
		for _, message := range a.explains(event, kind, to).Messages {
			for _, r := range message.Results {
				got = append(got, r.Status+" "+r.Code)
				results = append(results, r)
				if r.Text == "" {
					return fmt.Errorf("%+v has no text", r)
				}
			}
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("got %v", got)
		}
		return nil
	})
	return results
}

// incident creates an incident of the component with these members, and returns its id.
func (a actor) incident(component string, members map[string]any) string {
	a.t.Helper()
	body := map[string]any{"type": "incident", "title": "Checkout is slow", "affectedComponents": []any{map[string]any{"componentId": component}}}
	maps.Copy(body, members)
	var made struct{ Event struct{ ID string } }
	send(a.t, http.MethodPost, a.BaseURL+"/app/events", a.app(), body).expect(a.t, http.StatusCreated).into(a.t, &made)
	return made.Event.ID
}

// entry adds an entry to the timeline of an event.
func (a actor) entry(event string, notify any) {
	a.t.Helper()
	send(a.t, http.MethodPost, a.BaseURL+"/app/events/"+event+"/timeline", a.app(), map[string]any{"message": "We still look.", "notify": notify}).
		expect(a.t, http.StatusCreated)
}

// subscriber creates a subscriber of the first dashboard, and returns its path.
func (a actor) subscriber(kind, address string, members map[string]any) string {
	a.t.Helper()
	body := map[string]any{"dashboardId": a.DashboardID, recipientKinds[kind]: address, "confirmed": true}
	maps.Copy(body, members)
	var made struct{ Subscriber struct{ ID string } }
	send(a.t, http.MethodPost, a.BaseURL+"/app/subscribers/"+kind, a.app(), body).expect(a.t, http.StatusCreated).into(a.t, &made)
	return a.BaseURL + "/app/subscribers/" + kind + "/" + made.Subscriber.ID
}

// webhook creates an endpoint whose URL leads to a tally, and returns the hash of the URL.
func (a actor) webhook(n int, component string, members map[string]any) string {
	a.t.Helper()
	body := map[string]any{
		"dashboardId": a.DashboardID, "url": fmt.Sprintf("https://%s/hooks/%d", tallyHost, n), "managementEmail": "ops@example.com", "componentIds": []string{component},
	}
	maps.Copy(body, members)
	var made struct{ Endpoint struct{ URLHash string } }
	send(a.t, http.MethodPost, a.BaseURL+"/app/integrations/webhooks/outbound/endpoints", a.app(), body).expect(a.t, http.StatusCreated).into(a.t, &made)
	return made.Endpoint.URLHash
}

// The endpoints of TestEachRecipientIsToldWhatBecameOfItsMessages by the response of their receiver.
const (
	hookWorks = iota
	hookGone
	hookFails
	hookPauses // asks for a pause
	hookHangs  // does not respond in time
	hookOfKinds
	hookOfOther
)

// whyHooks is a receiver of these endpoints.
func whyHooks(t *testing.T) *tally {
	hooks := newTally(t)
	refusals := map[int]int{hookGone: http.StatusGone, hookFails: http.StatusInternalServerError, hookPauses: http.StatusServiceUnavailable}
	hooks.answer = func(endpoint int) int { return max(refusals[endpoint], http.StatusNoContent) }
	hooks.takes = func(endpoint int) time.Duration { return map[int]time.Duration{hookHangs: time.Hour}[endpoint] }
	return hooks
}

// Mail and webhooks go to real receivers, and SMS is not set up. Some receivers refuse, some ask for a pause and some do
// not respond. Somebody is paused, not confirmed, deleted or has chosen something else.
func TestEachRecipientIsToldWhatBecameOfItsMessages(t *testing.T) {
	t.Parallel()
	hooks := whyHooks(t)
	_, mailEnv := startMailServer(t)
	_, base := started(t, slices.Concat(mailEnv, hooks.env, []string{"BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN=" + operatorToken, "DELIVERY_RETRY_SCHEDULE=1h", "DELIVERY_TIMEOUT=14s", "APP_RATE_PER_MINUTE=1000000"})...)
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}
	component, other := a.component("Checkout", "checkout"), a.component("Search", "search")
	a.subscriber("email", "ann@example.com", nil)
	a.subscriber("email", "gone-ann@example.com", nil)
	a.subscriber("email", "paused@example.com", map[string]any{"paused": true})
	a.subscriber("email", "new@example.com", map[string]any{"confirmed": false})
	a.subscriber("email", "search@example.com", map[string]any{"componentIds": []string{other}})
	left := a.subscriber("email", "left@example.com", nil)
	send(t, http.MethodDelete, left, a.app(), nil).expect(t, http.StatusNoContent)
	a.subscriber("sms", "+4915112345671", nil)
	hash := make([]string, hookOfOther+1)
	for n := range hash {
		members := map[int]map[string]any{hookOfKinds: {"eventKinds": []string{"incident.resolved"}}, hookOfOther: {"componentIds": []string{other}}}[n]
		hash[n] = a.webhook(n, component, members)
	}

	first := a.incident(component, nil)
	t.Run("of deliveries", func(t *testing.T) {
		a := actor{t, a.credentials}
		a.becomes(first, "webhook", hash[hookHangs], "waiting queued")
		sent := a.becomes(first, "email", "ann@example.com", "delivered delivered")[0]
		if sent.Log == nil || sent.Attempts != 1 || sent.AsOfToday || value(sent.DashboardID) != a.DashboardID || value(sent.RecipientID) == "" {
			t.Errorf("delivered as %+v", sent)
		}
		a.becomes(first, "webhook", hash[hookWorks], "delivered delivered")
		a.becomes(first, "sms", "+49 151 12345671", "delivered not_configured")
		a.becomes(first, "webhook", hash[hookGone], "failed gone")
		a.becomes(first, "email", "gone-ann@example.com", "failed gone")
		failed := a.becomes(first, "webhook", hash[hookFails], "retrying http_5xx")[0]
		if failed.NextAttemptAt == nil || time.Until(*failed.NextAttemptAt) < 30*time.Minute || failed.Attempts != 1 {
			t.Errorf("retrying as %+v", failed)
		}
		a.becomes(first, "webhook", hash[hookPauses], "retrying http_5xx")
	})
	t.Run("of rules", func(t *testing.T) {
		a := actor{t, a.credentials}
		for to, want := range map[string]string{
			"paused@example.com": "none paused", "new@example.com": "none unconfirmed", "search@example.com": "none not_chosen",
			"left@example.com": "none not_subscribed", "nobody@example.com": "none not_subscribed",
		} {
			if r := a.becomes(first, "email", to, want)[0]; r.AsOfToday != (want == "none not_subscribed") || r.Log != nil {
				t.Errorf("%s: %+v", to, r)
			}
		}
		a.becomes(first, "webhook", hash[hookOfKinds], "none kind_not_chosen")
		a.becomes(first, "webhook", hash[hookOfOther], "none not_chosen")
		quiet := a.incident(component, map[string]any{"notify": map[string]any{"email": true}})
		a.becomes(quiet, "sms", "+4915112345671", "none channel_off")
		a.becomes(quiet, "email", "ann@example.com", "delivered delivered")
		draft := a.incident(component, map[string]any{"publish": false})
		a.becomes(draft, "email", "ann@example.com", "none draft")
	})
	t.Run("of a second change", func(t *testing.T) {
		a := actor{t, a.credentials}
		eventually(t, time.Minute, "the suppressions", func() error {
			for kind, to := range map[string]string{"email": "gone-ann@example.com", "webhook": hash[hookGone]} {
				if r := a.explains(first, kind, to).Messages[0].Results[0]; r.Suppression == nil {
					return fmt.Errorf("%s is not suppressed: %+v", to, r)
				}
			}
			return nil
		})
		a.entry(first, true)
		a.becomes(first, "webhook", hash[hookGone], "suppressed suppressed", "failed gone")
		a.becomes(first, "email", "gone-ann@example.com", "suppressed suppressed", "failed gone")
		a.becomes(first, "webhook", hash[hookFails], "retrying http_5xx", "skipped replaced")
		a.becomes(first, "webhook", hash[hookPauses], "waiting held", "skipped replaced")
		a.becomes(first, "email", "ann@example.com", "delivered delivered", "delivered delivered")
	})
	t.Run("of a replay", func(t *testing.T) {
		a := actor{t, a.credentials}
		for kind, to := range map[string]string{"email": "ann@example.com", "webhook": hash[hookWorks]} {
			sent := a.becomes(first, kind, to, "delivered delivered", "delivered delivered")
			log := sent[0].Log
			if len(sent[0].Replays) > 0 || log == nil {
				t.Fatalf("%s before the replay: %+v", kind, sent[0])
			}
			send(t, http.MethodPost, base+"/app/notifications/"+kind+"/logs/"+log.LogID+"/replay", a.app(), map[string]any{"sentAt": log.SentAt}).expect(t, http.StatusAccepted)
			eventually(t, time.Minute, "the replay of "+kind, func() error {
				sent := a.becomes(first, kind, to, "delivered delivered", "delivered delivered")
				if again := sent[0].Replays; len(again) != 1 || again[0].Status != "delivered" || again[0].LogID == log.LogID || len(sent[1].Replays) > 0 {
					return fmt.Errorf("%+v", sent)
				}
				return nil
			})
		}
	})
	t.Run("to others", func(t *testing.T) {
		body := map[string]any{"eventId": first, "kind": "email", "email": "ann@example.com"}
		theirs := provision(t, base, "Umbrella", "umbrella-admin", "admin", "api")
		send(t, http.MethodPost, base+"/app/notifications/why", theirs.app(), body).expect(t, http.StatusNotFound)
		editor := addUser(t, a.credentials, "editor", "event", "api")
		send(t, http.MethodPost, base+"/app/notifications/why", editor.app(), body).expect(t, http.StatusForbidden)
	})
}

// whyRecipient is a subscriber or an endpoint, with the number of messages that it has got.
type whyRecipient struct {
	kind, to string
	got      func() int
}

// recipients returns all recipients. arrivals counts the requests to endpoints.
func (c *crowded) recipients(arrivals map[int]int) (all []whyRecipient) {
	for n := range c.subscribers {
		switch address := fmt.Sprintf("%s-%d@example.com", []string{"person", "gone"}[n%6/4], n); n % 3 {
		case 2:
			number := fmt.Sprintf("+49151123%05d", n)
			all = append(all, whyRecipient{"sms", number, func() (count int) {
				for _, text := range texts(c.t, c.data) {
					if text.To == number {
						count++
					}
				}
				return count
			}})
		default:
			all = append(all, whyRecipient{"email", address, func() int { return len(c.mails.accepted[address]) }})
		}
	}
	for n, endpoint := range c.endpoints {
		all = append(all, whyRecipient{"webhook", endpoint["urlHash"], func() int {
			c.hooks.mu.Lock()
			defer c.hooks.mu.Unlock()
			return arrivals[n]
		}})
	}
	return all
}

// newest waits until the newest message about an event for a recipient does not wait, and returns its result.
func (c *crowded) newest(event string, r whyRecipient) (result whyResult) {
	c.t.Helper()
	eventually(c.t, time.Minute, r.kind+" "+r.to, func() error {
		messages := c.explains(event, r.kind, r.to).Messages
		if len(messages) == 0 {
			return errors.New("the change is not stored yet")
		}
		results := messages[0].Results
		if len(results) != 1 || results[0].Status == "waiting" {
			return fmt.Errorf("%+v", results)
		}
		result = results[0]
		return nil
	})
	return result
}

// Five random changes of events are sent to 45 random recipients, of which some are suppressed, paused, locked or not
// confirmed. After each change, the explanation says delivered about those who really got a message. It names a rule that
// holds for each other recipient. In the end, each recipient got as many messages as are explained as delivered.
func TestTheExplanationAgreesWithWhatArrived(t *testing.T) {
	t.Parallel()
	rounds, seed := setting(t, "WHY_ROUNDS", 5, 50), uint64(setting(t, "WHY_SEED", 8, 7))
	c, arrivals := newCrowd(t, seed)
	want := map[string]int{"webhook": 15, "sms": 10, "email": 20}
	c.expect(want)
	everyone, events, counted := c.recipients(arrivals), map[string]bool{c.all: true}, map[string]int{}
	for range rounds {
		for range 12 {
			c.shuffle()
		}
		notify := map[string]bool{"email": true, "sms": c.IntN(4) > 0, "webhook": true}
		asked, write := c.publish(notify)
		for channel, reach := range c.audience(asked) {
			if notify[channel] {
				want[channel] += reach.Recipients
			}
		}
		before := make([]int, len(everyone))
		for i, r := range everyone {
			before[i] = r.got()
		}
		event := write()
		events[event] = true
		c.expect(want)
		for i, r := range everyone {
			got, result := r.got()-before[i], c.newest(event, r)
			counted[result.Status+" "+result.Code]++
			switch {
			case (got == 1) != (result.Status == "delivered") || got > 1:
				t.Errorf("%s %s got %d messages: %+v", r.kind, r.to, got, result)
			case got == 0 && !slices.Contains(rulesOfToday, result.Code):
				t.Errorf("%s %s got nothing: %+v", r.kind, r.to, result)
			case result.Code == "not_concerned" && result.Text != "The endpoint or its dashboard had no component that the message was to name, or did not show the event any more.":
				t.Errorf("%s %s is told %q", r.kind, r.to, result.Text)
			}
		}
	}
	t.Logf("%v", counted)
	for _, r := range everyone {
		delivered := 0
		for event := range events {
			for _, m := range c.explains(event, r.kind, r.to).Messages {
				for _, result := range m.Results {
					if result.Status == "delivered" {
						delivered++
					}
				}
			}
		}
		if got := r.got(); delivered != got {
			t.Errorf("%s %s got %d messages, of which %d are explained", r.kind, r.to, got, delivered)
		}
	}
	for _, rule := range []string{"none paused", "none not_chosen", "none unconfirmed", "none kind_not_chosen", "suppressed suppressed", "skipped not_concerned"} {
		if counted[rule] == 0 {
			t.Errorf("nobody got no message because of %q: %v", rule, counted)
		}
	}
}

// rulesOfToday are the codes of a recipient that was not changed since the change of the event, and got no message.
var rulesOfToday = []string{"paused", "unconfirmed", "not_chosen", "other_dashboard", "kind_not_chosen", "not_concerned", "suppressed", "channel_off", "components_hidden"}

// newCrowd returns recipients whose fill is over, and the number of requests that each endpoint has accepted.
func newCrowd(t *testing.T, seed uint64) (*crowded, map[int]int) {
	c := emptyCrowd(t, seed)
	arrivals := map[int]int{}
	answer := c.hooks.answer
	c.hooks.answer = func(endpoint int) int {
		status := answer(endpoint)
		if status == http.StatusNoContent {
			arrivals[endpoint]++
		}
		return status
	}
	c.fill()
	return c, arrivals
}

// TestWhyKnowsEachChannelAndEachReason compares the words of "why" with those of the operations to which they belong. The
// services do not share them, so "why" would refuse a new kind of endpoint, and would break its document for a new reason.
func TestWhyKnowsEachChannelAndEachReason(t *testing.T) {
	t.Parallel()
	all := schemas(t, "app.yaml")
	words := func(schema, property string) (found []string) {
		for _, word := range all[schema].Properties[property].Enum {
			if text, is := word.(string); is { // not null
				found = append(found, text)
			}
		}
		slices.Sort(found)
		return found
	}
	var channels []string
	for _, service := range []topic.RecipientService{topic.Integrations, topic.Subscribers} {
		for _, channel := range topic.ChannelsOf(service) {
			channels = append(channels, string(channel))
		}
	}
	slices.Sort(channels)
	if got := words("WhyBody", "kind"); !slices.Equal(got, channels) {
		t.Errorf("why is for %v, but recipients have %v", got, channels)
	}
	reasons := slices.Concat(words("Subscriber", "suppressedReason"), words("Suppression", "reason"))
	slices.Sort(reasons)
	if got := words("WhySuppression", "reason"); len(reasons) < 6 || !slices.Equal(got, reasons) {
		t.Errorf("why knows the reasons %v, but subscribers and endpoints have %v", got, reasons)
	}
}
