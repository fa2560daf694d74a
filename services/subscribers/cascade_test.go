package subscribers_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/subscribers"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
)

const subscriptions = "/api/v1/subscribers/email/"

// The events service reports a deleted component twice: by a call before it responds to its client, and by a
// message. Each alone suffices, and both together cause no error.
func TestADeletedComponentTakesItsSubscriptionsAlong(t *testing.T) {
	for name, tell := range map[string]func(p *platform, o organization, component string){
		"by message": func(p *platform, o organization, component string) {
			// What cannot be read, and what is another organization's, holds up nothing.
			p.publish("no JSON", "{}", topic.ComponentDeleted{Organization: id(), ComponentID: component},
				topic.ComponentDeleted{Organization: o.id, ComponentID: component, OccurredAt: p.now()},
				topic.ComponentDeleted{Organization: o.id, ComponentID: component, OccurredAt: p.now()})
		},
		"by the call": func(p *platform, o organization, component string) {
			path := peer.Prefix + "/organizations/" + o.id + "/recipients/components/" + component
			for range 2 {
				if got := p.send(p.signer.Sign(o.peer()), http.MethodDelete, path, nil); got.status != http.StatusNoContent || got.text != "" {
					p.t.Errorf("%d %s", got.status, got.text)
				}
			}
			if got := p.send(p.signer.Sign(o.peer()), http.MethodDelete, peer.Prefix+"/organizations/"+o.id+"/recipients/components/nobodys", nil); got.status != http.StatusNoContent {
				p.t.Errorf("nobody's: %d %s", got.status, got.text)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t)
			o, other := p.organization(), p.organization()
			gone := p.subscribe(o, "ann@example.com", 0)[0]
			kept := p.subscribe(o, "ann@example.com", 1)[0]
			p.subscribe(other, "ann@example.com", 0)
			sms := p.call(o, http.StatusCreated, http.MethodPost, "/api/v1/subscribers/sms/", object{"number": object{"number": "+4915112345678"}, "service": o.uri(0)}).ResourceURI
			p.events.remove(o.id, o.services[0].ID)
			for _, uri := range []string{gone, sms} { // it is not there any more, even before it is cleared away
				p.call(o, http.StatusNotFound, http.MethodGet, uri, nil)
			}
			tell(p, o, o.services[0].ID)
			apitest.Eventually(p.t, "its subscriptions are gone", func() bool {
				return p.call(o, http.StatusOK, http.MethodGet, subscriptions, nil).Meta.TotalCount == 1 &&
					p.call(o, http.StatusOK, http.MethodGet, "/api/v1/subscribers/sms/", nil).Meta.TotalCount == 0
			})
			p.call(o, http.StatusOK, http.MethodGet, kept, nil)
			if n := p.total(o, "/api/v1/email/") + p.total(o, "/api/v1/number/"); n != 2 {
				t.Errorf("%d addresses are left", n)
			}
			if n := p.total(other, subscriptions); n != 1 {
				t.Errorf("the other organization has %d", n)
			}
			if ids := p.concerned(o, 10, o.services[0].ID); len(ids) != 0 {
				t.Errorf("concerned: %v", ids)
			}
		})
	}
}

// A service or an address that is deleted while somebody subscribes to it takes the
// subscription along, whichever comes first.
func TestWhatIsDeletedMeanwhileIsNotSubscribed(t *testing.T) {
	p := start(t)
	o := p.organization()
	p.subscribe(o, "ann@example.com", 2)
	email := "/api/v1/email/" + p.legacyID(o, "ann@example.com") + "/"
	moved := p.subscribe(o, "bob@example.com", 1)[0]
	// meanwhile does something between the write of a subscription and its being looked at.
	meanwhile := func(do func()) {
		var asked func(peer.ComponentQuery)
		asked = func(q peer.ComponentQuery) {
			if q.IDs != nil {
				p.events.asked.Store(nil)
				do()
			}
		}
		p.events.asked.Store(&asked)
	}
	meanwhile(func() { p.events.remove(o.id, o.services[0].ID) })
	p.call(o, http.StatusBadRequest, http.MethodPost, subscriptions, object{"email": email, "service": o.uri(0)})
	if n := p.total(o, subscriptions); n != 2 {
		t.Errorf("%d subscriptions", n)
	}
	// An outage at this moment refuses the whole, and a repetition is no duplicate.
	meanwhile(func() { p.events.down.Store(true) })
	p.call(o, http.StatusServiceUnavailable, http.MethodPost, subscriptions, object{"email": email, "service": o.uri(1)})
	p.events.down.Store(false)
	if n := p.total(o, subscriptions); n != 2 {
		t.Errorf("%d subscriptions after the outage", n)
	}
	made := p.call(o, http.StatusCreated, http.MethodPost, subscriptions, object{"email": email, "service": o.uri(1)}).ResourceURI
	p.call(o, http.StatusNoContent, http.MethodDelete, made, nil)
	meanwhile(func() { p.events.remove(o.id, o.services[2].ID) })
	p.call(o, http.StatusBadRequest, http.MethodPut, moved, object{"service": o.uri(2)})
	p.call(o, http.StatusNotFound, http.MethodGet, moved, nil)
	if left := p.send(p.signer.Sign(o.member(passport.RoleAdmin)), http.MethodGet, subscriptions, nil); left.Meta.TotalCount != 1 {
		t.Errorf("left are %s", left.text) // ann's, because the deletion of its component was not published
	}
	// An address that was stored for a subscription that is refused goes with it.
	other := p.organization()
	meanwhile(func() { p.events.remove(other.id, other.services[0].ID) })
	p.call(other, http.StatusBadRequest, http.MethodPost, subscriptions, object{"email": object{"email": "new@example.com"}, "service": other.uri(0)})
	if n := p.total(other, "/api/v1/email/"); n != 0 {
		t.Errorf("%d addresses stay of a refused subscription", n)
	}
	changed := p.subscribe(other, "eve@example.com", 2)[0]
	meanwhile(func() { p.events.remove(other.id, other.services[1].ID) })
	p.call(other, http.StatusBadRequest, http.MethodPut, changed, object{"email": object{"email": "new@example.com"}, "service": other.uri(1)})
	if n := p.total(other, "/api/v1/email/"); n != 1 {
		t.Errorf("%d addresses after a refused change, not one", n)
	}
}

// Without the events service nothing is wrong, only unavailable.
func TestAnOutageOfEventsIs503(t *testing.T) {
	p := start(t)
	o := p.organization()
	s := p.subscribe(o, "ann@example.com", 0)[0]
	p.events.down.Store(true)
	for _, d := range []door{
		{http.MethodGet, subscriptions}, {http.MethodGet, s}, {http.MethodPut, s}, {http.MethodGet, subscriptions + "?service__service_name=API"},
		{http.MethodGet, subscriptions + "set/1/"}, {http.MethodPost, subscriptions},
	} {
		got := p.send(p.signer.Sign(o.member(passport.RoleAdmin)), d.method, d.path, object{"email": object{"email": "bob@example.com"}, "service": o.uri(0)})
		if got.status != http.StatusServiceUnavailable || !strings.Contains(got.text, `"error"`) {
			t.Errorf("%s %s: %d %s", d.method, d.path, got.status, got.text)
		}
	}
	if n := p.total(o, "/api/v1/email/"); n != 1 {
		t.Errorf("%d addresses", n)
	}
	// What needs nobody else goes on, above all telling people: delivery names the dashboards of each component.
	query := topic.RecipientQuery{
		Kind: topic.IncidentCreated, Channel: topic.Email, Components: []string{o.services[0].ID}, Limit: 10,
		Dashboards: map[string][]string{o.services[0].ID: {o.dashboard}},
	}
	page, err := p.recipients().Concerned(t.Context(), o.id, query)
	if err != nil || len(page.Recipients) != 1 || p.resolve(o, page.Recipients[0].ID)[0].State != topic.RecipientActive {
		t.Errorf("concerned: %+v %v", page, err)
	}
	if count, err := p.recipients().Count(t.Context(), o.id, query); err != nil || count != (topic.RecipientCount{Recipients: 1}) {
		t.Errorf("counted: %+v %v", count, err)
	}
	p.call(o, http.StatusNoContent, http.MethodDelete, s, nil)
}

// A removal that was cut short after its first step is finished by the next start.
func TestAHalfDoneRemovalIsFinishedByTheNextStart(t *testing.T) {
	p := surround(t)
	o := p.organization()
	ann := p.ann(o, 1000)
	ann.Removed = true
	p.fill(o, ann)
	p.run()
	if n := p.total(o, "/api/v1/email/") + p.total(o, subscriptions); n != 0 {
		t.Errorf("%d are left", n)
	}
	p.subscribe(o, "ann@example.com", 0) // in nobody's way
	p.stop()
	if p.stored(ann) != nil {
		t.Error("it is still stored")
	}
}

func (p *platform) ann(o organization, legacyID int64) audience.Address {
	return audience.Address{
		ID: id(), OrganizationID: o.id, Channel: topic.Email, LegacyID: legacyID,
		Text: "ann@example.com", Normal: "ann@example.com", CreatedAt: p.now(),
	}
}

// fill stores an address with a subscriber that has confirmed entries for all services of the organization.
func (p *platform) fill(o organization, address audience.Address) {
	p.t.Helper()
	now := p.now()
	subscriber := audience.Subscriber{
		ID: audience.SubscriberID(o.dashboard, address.ID), OrganizationID: o.id, Channel: topic.Email, DashboardID: o.dashboard, AddressID: address.ID,
		Address: audience.AddressCopy{Text: address.Text, Normal: address.Normal, Removed: address.Removed}, Source: audience.FromLegacy, CreatedAt: now, UpdatedAt: now,
	}
	p.keep(func(s audience.Store) error {
		err := s.Addresses.Insert(p.t.Context(), address)
		for i, service := range o.services {
			entry := audience.Entry{
				ID: id(), LegacyID: address.LegacyID + int64(i), ComponentID: service.ID, Confirmed: true, ConfirmedAt: &now, CreatedAt: now, Anywhere: true,
			}
			subscriber.Entries = append(subscriber.Entries, entry)
			err = errors.Join(err, s.Subscriptions.Insert(p.t.Context(), audience.Subscription{
				ID: entry.ID, OrganizationID: o.id, Channel: topic.Email, LegacyID: entry.LegacyID, AddressID: address.ID, ComponentID: service.ID,
				Confirmed: true, CreatedAt: now, SubscriberID: subscriber.ID,
			}))
		}
		return errors.Join(err, s.Subscribers.Insert(p.t.Context(), subscriber))
	})
}

// stored is the address as it is in the database; nil when it is not.
func (p *platform) stored(address audience.Address) (found *audience.Address) {
	p.t.Helper()
	p.keep(func(s audience.Store) error {
		all, err := s.Addresses.GetMany(p.t.Context(), []string{address.ID})
		if len(all) == 1 {
			found = &all[0]
		}
		return err
	})
	return found
}

// The test binary runs itself as the process that is killed.
const (
	childDocuments = "BELLBUOY_TEST_CHILD_DOCUMENTS"
	childBroker    = "BELLBUOY_TEST_CHILD_BROKER"
	childEvents    = "BELLBUOY_TEST_CHILD_EVENTS"
)

func TestMain(m *testing.M) {
	if documents := os.Getenv(childDocuments); documents != "" {
		fmt.Fprintln(os.Stderr, live(documents))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// live is the service in a process of its own; it tells its address on standard output.
func live(documents string) error {
	config := configure(documents, os.Getenv(childBroker), os.Getenv(childEvents))
	if _, err := config.Open(context.Background(), "subscribers", prometheus.NewRegistry(), os.Stderr); err != nil {
		return err
	}
	var err error
	if config.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return err
	}
	fmt.Println("http://" + config.Listener.Addr().String())
	return subscribers.Run(context.Background(), config)
}

// A process killed anywhere in a removal leaves, once the next has started, either the
// address with all that was its own or nothing of it.
func TestKillDuringARemoval(t *testing.T) {
	p := surround(t)
	begun, between := 0, 0
	var whole time.Duration // what a removal takes on this machine; the first is not cut short
	organizations := make([]organization, 11)
	for round := range organizations {
		o := &organizations[round]
		o.id = id()
		o.services = p.events.add(o.id, make([]topic.ComponentRecord, 20)...)
		ann := p.ann(*o, int64(round+1)*1000)
		p.fill(*o, ann)
		if round == 0 {
			whole = p.killWithin(*o, ann.LegacyID, time.Hour)
			continue
		}
		p.killWithin(*o, ann.LegacyID, whole*time.Duration(round)/10)
		if left := p.stored(ann); left != nil && left.Removed {
			between++
		}
	}
	p.run()
	for round, o := range organizations {
		apitest.Eventually(t, "the relay has completed the removal", func() bool {
			got := p.call(o, http.StatusOK, http.MethodGet, subscriptions, nil)
			return len(got.Objects) == min(got.Meta.TotalCount, 20)
		})
		addresses, left := p.total(o, "/api/v1/email/"), p.total(o, subscriptions)
		if left != addresses*len(o.services) {
			t.Errorf("left are %d addresses, %d subscriptions", addresses, left)
		}
		if round > 0 {
			begun += 1 - addresses
		}
	}
	t.Logf("of 10 removals %d had begun, %d were cut short", begun, between)
	if begun == 0 {
		t.Error("no removal had begun when its process was killed")
	}
}

// killWithin starts the service as a process and kills it a while after it was asked to
// remove the address, or when it has answered; it tells how long after.
func (p *platform) killWithin(o organization, legacyID int64, after time.Duration) time.Duration {
	token := p.signer.Sign(o.member(passport.RoleAdmin))
	return p.killDuring(after, func() {
		_, _ = p.try(token, http.MethodDelete, legacy.URI("email", legacyID), nil) // it may not live to answer
	})
}

// killDuring starts the service as a process and kills it a while after the request began, or when that has ended; it tells
// how long after.
func (p *platform) killDuring(after time.Duration, request func()) time.Duration {
	p.t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childDocuments+"="+p.documents, childBroker+"="+p.broker.Addr(), childEvents+"="+p.events.server.URL)
	child.Stderr = p.logs
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() {
		_ = child.Process.Kill() // a second time is no harm
		_ = child.Wait()         // says that it was killed
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.t.Fatalf("the child said nothing: %v\n%s", err, p.logs)
	}
	p.url = strings.TrimSpace(line)
	apitest.Ready(p.t, p.url)
	start := time.Now()
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		request()
	}()
	select {
	case <-asked:
	case <-time.After(after):
	}
	took := time.Since(start)
	if err := child.Process.Kill(); err != nil {
		p.t.Error(err)
	}
	<-asked
	return took
}
