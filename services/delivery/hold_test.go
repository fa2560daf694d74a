package delivery_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

const otherOrganization = "0190a000-0000-7000-8000-000000000002"

// restless is an API that refuses the request with a number once and asks for a pause.
type restless struct {
	*smsAPI
	status   int
	refuse   int
	mu       sync.Mutex
	arrivals []time.Time
	refused  time.Time
}

func (r *restless) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	r.arrivals = append(r.arrivals, time.Now())
	refuse := len(r.arrivals) == r.refuse
	if refuse {
		r.refused = time.Now()
	}
	r.mu.Unlock()
	if refuse {
		w.Header().Set("Retry-After", "8")
		w.WriteHeader(r.status)
		return
	}
	timer := time.NewTimer(30 * time.Millisecond)
	defer timer.Stop()
	<-timer.C
	r.smsAPI.ServeHTTP(w, request)
}

// Retry-After of the API holds the account: of 500 texts and WhatsApp messages of two organizations, none starts before
// the time has passed. Then they do not start all together. None is lost, repeated, or loses an attempt.
func TestRetryAfterOfTheTextServerHoldsTheWholeAccount(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			api := &restless{smsAPI: newSMSAPI(t, nil), status: status, refuse: 20}
			server := httptest.NewServer(api)
			t.Cleanup(server.Close)
			c := w.config()
			c.SMSURL = smsURL(server.URL, smsToken, smsFrom)
			const n, pause, onTheWay = 250, 8 * time.Second, 5 * time.Second
			people := newPeer(t, "subscribers")
			c.SubscribersURL = people.server.URL
			ids := map[string][]string{}
			for i := range n {
				owner := []string{organization, otherOrganization}[i%2]
				id := fmt.Sprintf("p%d", i)
				people.addFor(owner, id, "")
				people.set(id, func(d *topic.Destination) {
					d.Channel, d.Address, d.URLHash = topic.SMS, fmt.Sprintf("+4915%08d", i), fmt.Sprintf("%064x", i)
				})
				ids[owner] = append(ids[owner], id)
			}
			w.start(c)
			sent := map[string]topic.EventChange{}
			for owner := range ids {
				for _, channel := range []topic.Channel{topic.SMS, topic.WhatsApp} {
					one := change(newEvent(), 1)
					one.Organization, one.Notify = owner, topic.Notify{channel: {Text: "API is down"}}
					sent[owner+string(channel)] = one
					w.publish(one, nil)
				}
			}
			attempts, buckets := 0, map[int]bool{}
			for key, one := range sent {
				for _, row := range w.ended(one.ID, ids[key[:len(organization)]]...) {
					if row.Status != deliverylog.StatusDelivered {
						t.Errorf("row %+v", row)
					}
					attempts += len(row.Attempts)
					buckets[row.Partition] = true
				}
			}
			api.mu.Lock()
			defer api.mu.Unlock()
			if len(api.arrivals) != 2*n+1 || attempts != 2*n+1 || len(buckets) != 1 {
				t.Errorf("%d requests and %d attempts of %d deliveries in %d buckets", len(api.arrivals), attempts, 2*n, len(buckets))
			}
			early, late := 0, []time.Time{}
			for _, at := range api.arrivals {
				switch since := at.Sub(api.refused); {
				case since > onTheWay && since < pause: // earlier ones were on their way, since the machine is slow
					early++
					t.Logf("a request %v after the refusal", since)
				case since >= pause:
					late = append(late, at)
				}
			}
			if early > 0 || len(late) < n/2 {
				t.Errorf("%d requests during the pause, %d after it", early, len(late))
			}
			apart := late[len(late)-1].Sub(late[0])
			t.Logf("%d requests after the pause within %v", len(late), apart)
			if apart < time.Duration(len(late))*10*time.Millisecond {
				t.Errorf("%d requests started within %v", len(late), apart)
			}
		})
	}
}

// A text whose attempt was in flight at kill -9 may have been sent. It fails, and is not sent again. The other texts are
// sent once.
func TestATextInFlightAtAKillFailsAndIsNotSentAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	let := make(chan struct{})
	api := newSMSAPI(t, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-let:
		case <-r.Context().Done():
			return
		}
		acceptSMS(w, r)
	})
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	release := sync.OnceFunc(func() { close(let) })
	t.Cleanup(release)
	people := newPeer(t, "subscribers")
	const n = 4
	ids := make([]string, n)
	for i := range n {
		ids[i] = fmt.Sprintf("p%d", i)
		people.add(ids[i], "")
		people.set(ids[i], func(d *topic.Destination) { d.Channel, d.Address = topic.SMS, fmt.Sprintf("+4915%08d", i) })
	}
	env := []string{"SMS_URL=" + smsURL(server.URL, smsToken, smsFrom), "SUBSCRIBERS_URL=" + people.server.URL}
	sent := textChange("API is down")
	w.publish(sent, nil)
	child := w.child(env...)
	apitest.Eventually(t, "the texts to be in flight", func() bool { return api.requests.Load() == n })
	second := textChange("API is up") // its texts wait for the recipients' locks
	w.publish(second, nil)
	child.kill()
	release()
	w.child(env...)
	for _, row := range w.ended(sent.ID, ids...) {
		if row.Status != deliverylog.StatusFailed || row.ErrorCode != deliverylog.CodeAmbiguous || len(row.Attempts) != 1 || row.Attempts[0].ErrorCode != deliverylog.CodeAmbiguous {
			t.Errorf("row %+v", row)
		}
		if outcome := w.outcomes.of(t, row.ID); outcome.Result != topic.Failed || outcome.Gone || outcome.Attempts != 1 {
			t.Errorf("outcome %+v", outcome)
		}
	}
	for _, row := range w.ended(second.ID, ids...) {
		if row.Status != deliverylog.StatusDelivered || len(row.Attempts) != 1 {
			t.Errorf("row %+v", row)
		}
	}
	times := map[string]int{}
	for _, form := range api.got() {
		times[form.Get("To")+form.Get("Body")]++
	}
	for text, n := range times {
		if n != 1 {
			t.Errorf("%s was sent %d times", text, n)
		}
	}
	if len(times) != 2*n {
		t.Errorf("%d texts", len(times))
	}
}

// A retry that is in flight at kill -9 is not sent again either.
func TestARetryOfATextInFlightAtAKillIsNotSentAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	end := make(chan struct{})
	api := newSMSAPI(t, inTurn(refuseSMS(http.StatusTooManyRequests, 20429), func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-end:
		case <-r.Context().Done():
		}
	}, acceptSMS))
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(end) })
	people := newPeer(t, "subscribers")
	people.add("p1", "")
	people.set("p1", func(d *topic.Destination) { d.Channel, d.Address = topic.SMS, smsNumber })
	env := []string{"SMS_URL=" + smsURL(server.URL, smsToken, smsFrom), "SUBSCRIBERS_URL=" + people.server.URL}
	sent := textChange("API is down")
	w.publish(sent, nil)
	child := w.child(env...)
	apitest.Eventually(t, "the retry to be in flight", func() bool { return api.requests.Load() == 2 })
	child.kill()
	w.child(env...)
	row := w.ended(sent.ID, "p1")[0]
	if row.Status != deliverylog.StatusFailed || row.ErrorCode != deliverylog.CodeAmbiguous || len(row.Attempts) != 2 || row.Attempts[0].ErrorCode != deliverylog.CodeRateLimited || api.requests.Load() != 2 {
		t.Errorf("%d requests, row %+v", api.requests.Load(), row)
	}
}
