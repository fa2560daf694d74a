package subscribers_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// outcomes publishes outcomes as delivery does, in one partition. It waits until the service has processed
// them: the last one blocks a number of another organization.
func (p *platform) outcomes(published ...topic.Outcome) {
	p.t.Helper()
	o := p.organization()
	_, marker := p.number(o, "+4915199999999")
	var records []stream.Record
	for _, outcome := range append(published, gone(o, topic.SMS, marker, p.now())) {
		value, err := json.Marshal(outcome)
		if err != nil {
			p.t.Fatal(err)
		}
		records = append(records, stream.Record{Topic: topic.DeliveryOutcomes, Key: "one", Value: value})
	}
	if err := p.bus.Publish(p.t.Context(), records...); err != nil {
		p.t.Fatal(err)
	}
	apitest.Eventually(p.t, "the outcomes are taken", func() bool { return p.resolve(o, marker)[0].State == topic.RecipientSuppressed })
}

func gone(o organization, channel topic.Channel, recipient string, at time.Time) topic.Outcome {
	return topic.Outcome{
		DeliveryID: id(), Organization: o.id, Channel: channel, Recipient: recipient, EventID: id(),
		Result: topic.Failed, Attempts: 1, HTTPStatus: 400, ErrorCode: "gone", Gone: true, At: at,
	}
}

// number makes a number with a confirmed subscription; its URI and its recipient id.
func (p *platform) number(o organization, number string) (uri, recipient string) {
	p.t.Helper()
	uri = p.call(o, http.StatusCreated, http.MethodPost, "/api/v1/number/", object{"number": number}).ResourceURI
	p.call(o, http.StatusCreated, http.MethodPost, "/api/v1/subscribers/sms/", object{"number": uri, "service": o.uri(0), "confirmed": true})
	page, err := p.recipients().Concerned(p.t.Context(), o.id, topic.RecipientQuery{
		Kind: topic.IncidentCreated, Channel: topic.SMS, Components: []string{o.services[0].ID}, Limit: 100,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, r := range page.Recipients {
		if p.resolve(o, r.ID)[0].Address == number {
			return uri, r.ID
		}
	}
	p.t.Fatalf("%s is no recipient", number)
	return "", ""
}

func TestOutcomeGoneSuppressesTheNumberUntilItIsAnother(t *testing.T) {
	p := start(t)
	o := p.organization()
	uri, recipient := p.number(o, "+4915112345678")
	blocked := func(want bool) {
		t.Helper()
		got := p.call(o, http.StatusOK, http.MethodGet, uri, nil).text
		if strings.Contains(got, `"blocked":true`) != want {
			t.Errorf("shown as %s", got)
		}
		if d := p.resolve(o, recipient)[0]; (d.State == topic.RecipientSuppressed) != want || (d.Address == "") != want {
			t.Errorf("resolved %+v", d)
		}
	}
	first := gone(o, topic.SMS, recipient, p.now())
	p.outcomes(first, first)
	blocked(true)
	p.outcomes(first)
	blocked(true)
	if n := strings.Count(p.logs.String(), recipient); n != 1 {
		t.Errorf("recorded %d times", n)
	}
	if strings.Contains(p.logs.String(), "15112345678") {
		t.Error("the number is in the log")
	}
	p.call(o, http.StatusOK, http.MethodPut, uri, object{"number": "+4915112345678"})
	blocked(true)
	changed := p.now()
	p.call(o, http.StatusOK, http.MethodPut, uri, object{"number": "+4915187654321"})
	blocked(false)
	p.outcomes(first, gone(o, topic.SMS, recipient, changed.Add(10*time.Second))) // about the former number
	blocked(false)
	p.outcomes(gone(o, topic.SMS, recipient, p.now().Add(time.Minute)))
	blocked(true)
}

func TestOutcomeGoneSuppressesTheMailAddressUntilItIsAnother(t *testing.T) {
	p := start(t)
	o := p.organization()
	p.subscribe(o, "ann@example.com", 0, 1)
	p.subscribe(o, "bob@example.com", 1)
	all := p.concerned(o, 10, o.services[0].ID, o.services[1].ID)
	ann, bob := all[0], all[1]
	if p.resolve(o, ann)[0].Address != "ann@example.com" {
		ann, bob = bob, ann
	}
	p.outcomes(gone(o, topic.Email, ann, p.now()))
	if d := p.resolve(o, ann, bob); d[0].State != topic.RecipientSuppressed || d[0].Address != "" || d[1].State != topic.RecipientActive {
		t.Errorf("resolved %+v", d)
	}
	email := "/api/v1/email/" + p.legacyID(o, "ann@example.com") + "/"
	p.call(o, http.StatusOK, http.MethodPut, email, object{"email": "Ann@example.com"})
	if d := p.resolve(o, ann)[0]; d.State != topic.RecipientSuppressed {
		t.Errorf("the same address in other letters is %s", d.State)
	}
	p.call(o, http.StatusOK, http.MethodPut, email, object{"email": "anna@example.org"})
	if d := p.resolve(o, ann)[0]; d.State != topic.RecipientActive || d.Address != "anna@example.org" {
		t.Errorf("another address: %+v", d)
	}
}

func TestOutcomesThatConcernNoAddress(t *testing.T) {
	p := start(t)
	o, other := p.organization(), p.organization()
	_, recipient := p.number(o, "+4915112345678")
	failed := gone(o, topic.SMS, recipient, p.now())
	failed.Gone = false
	p.outcomes(
		gone(other, topic.SMS, recipient, p.now()),
		gone(o, topic.Email, recipient, p.now()),
		gone(o, topic.Webhook, recipient, p.now()),
		gone(o, topic.SMS, id(), p.now()),
		failed,
	)
	if d := p.resolve(o, recipient)[0]; d.State != topic.RecipientActive || d.Address != "+4915112345678" {
		t.Errorf("resolved %+v", d)
	}
	uri, removed := p.number(o, "+4915112345679")
	p.call(o, http.StatusNoContent, http.MethodDelete, uri, nil)
	p.outcomes(gone(o, topic.SMS, removed, p.now()))
	if d := p.resolve(o, removed)[0]; d.State != topic.RecipientGone {
		t.Errorf("a removed one is %s", d.State)
	}
}
