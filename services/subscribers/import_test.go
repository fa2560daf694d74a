package subscribers_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// asked waits until the subscriber is asked for a confirmation. It returns the ids of the messages that ask, by recipient. A
// message may be published twice.
func (p *platform) asked(h *apitest.Heard, last string) (notices map[string][]string) {
	p.t.Helper()
	apitest.Eventually(p.t, "the last one is asked", func() bool {
		notices = map[string][]string{}
		for _, n := range apitest.Messages[topic.Notice](p.t, h, topic.Notices) {
			if !slices.Contains(notices[n.Recipient], n.ID) {
				notices[n.Recipient] = append(notices[n.Recipient], n.ID)
			}
		}
		return notices[last] != nil
	})
	return notices
}

func TestADryRunOfAnImportAsksNobodyAndHasNoAuditEntry(t *testing.T) {
	p := start(t)
	h := p.listen(topic.Notices, topic.Audit)
	o := p.organization()
	body := object{"dashboardId": o.dashboard, "rows": []object{{"email": "ann@example.com"}, {"email": "x"}}, "sendConfirmations": true, "dryRun": true}
	for range 2 {
		results := p.app(o, http.StatusOK, http.MethodPost, "email/import", body).Results
		if results[0].Status != "created" || results[0].ID != nil || results[1].Status != "refused" {
			t.Errorf("the results are %+v", results)
		}
	}
	last := p.app(o, http.StatusCreated, http.MethodPost, "email", object{"dashboardId": o.dashboard, "email": "last@example.com"}).Subscriber.ID
	if asked := p.asked(h, last); len(asked) != 1 {
		t.Errorf("asked are %v", asked)
	}
	var entries []topic.AuditEntry
	apitest.Eventually(t, "the entry of the last one", func() bool {
		entries = apitest.Messages[topic.AuditEntry](t, h, topic.Audit)
		return len(entries) > 0
	})
	for _, e := range entries {
		if e.EntityID != last {
			t.Errorf("there is an entry %s of %s", e.Action, e.EntityName)
		}
	}
	if n := p.app(o, http.StatusOK, http.MethodGet, "email/counts", nil).Counts.Total; n != 1 {
		t.Errorf("%d subscribers are stored", n)
	}
}

// An owner is asked by the first import that asks, and by no repetition, also when it sets other values.
func TestARepeatedImportAsksNobodyTwice(t *testing.T) {
	p := start(t)
	h := p.listen(topic.Notices)
	o := p.organization()
	ids := map[string]string{}
	send := func(asks bool, rows ...object) {
		t.Helper()
		for i, r := range p.app(o, http.StatusOK, http.MethodPost, "email/import", object{"dashboardId": o.dashboard, "rows": rows, "sendConfirmations": asks}).Results {
			if r.ID == nil {
				t.Fatalf("row %d is refused: %s", i+1, *r.Error)
			}
			ids[rows[i]["email"].(string)] = *r.ID
		}
	}
	ann, bob, carl := object{"email": "ann@example.com"}, object{"email": "bob@example.com"}, object{"email": "carl@example.com", "confirmed": true}
	send(true, ann, carl)
	send(false, bob)
	send(true, ann, bob, carl)
	send(true, object{"email": "ann@example.com", "locale": "de", "componentIds": []string{o.services[0].ID}}, bob, carl)
	last := p.app(o, http.StatusCreated, http.MethodPost, "email", object{"dashboardId": o.dashboard, "email": "last@example.com"}).Subscriber.ID
	asked := p.asked(h, last)
	for email, want := range map[string]int{"ann@example.com": 1, "bob@example.com": 1, "carl@example.com": 0} {
		if n := len(asked[ids[email]]); n != want {
			t.Errorf("%s is asked %d times, not %d", email, n, want)
		}
	}
}
