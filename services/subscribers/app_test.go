package subscribers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
)

// shown is a response of the App interface.
type shown struct {
	text        string
	Subscriber  shownSubscriber
	Subscribers []shownSubscriber
	NextToken   *string
	DeliveryID  string
	Counts      struct{ Total, Confirmed, Unconfirmed, Paused, Suppressed, Unsubscribed int }
	Results     []struct {
		Row    int
		Status string
		ID     *string
		Error  *string
	}
}

type shownSubscriber struct {
	ID, DashboardID, Email, Phone, Source, SuppressedReason, Locale, CreatedAt, UpdatedAt string
	ConfirmedAt                                                                           *time.Time
	ComponentIDs                                                                          []string
	Confirmed, Paused, Suppressed                                                         bool
}

// app is a request of the App interface that must answer with the status.
func (p *platform) app(o organization, status int, method, path string, body any) (out shown) {
	p.t.Helper()
	got := p.send(p.signer.Sign(o.app(passport.RoleSubscriber)), method, "/app/subscribers/"+path, body)
	if got.status != status {
		p.t.Fatalf("%s %s answered %d %s, want %d", method, path, got.status, got.text, status)
	}
	if out.text = got.text; got.text != "" {
		if err := json.Unmarshal([]byte(got.text), &out); err != nil {
			p.t.Fatal(err)
		}
	}
	return out
}

func TestOneOfFiftyConcurrentSubscribersOfADashboardSucceeds(t *testing.T) {
	p := start(t)
	o := p.organization()
	token := p.signer.Sign(o.app(passport.RoleAdmin))
	var made, refused atomic.Int64
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() {
			email := []string{"ann@example.com", "ANN@example.com"}[i%2]
			got, err := p.try(token, http.MethodPost, "/app/subscribers/email", object{"dashboardId": o.dashboard, "email": email, "componentIds": []string{o.services[i%3].ID}})
			switch {
			case err != nil:
				t.Error(err)
			case got.status == http.StatusCreated:
				made.Add(1)
			case got.status == http.StatusConflict:
				refused.Add(1)
			}
		})
	}
	group.Wait()
	if made.Load() != 1 || refused.Load() != 49 {
		t.Errorf("%d were created and %d refused", made.Load(), refused.Load())
	}
	if a, s, rows := p.total(o, "/api/v1/email/"), p.app(o, http.StatusOK, http.MethodGet, "email", nil).Subscribers, p.total(o, subscriptions); a != 1 || len(s) != 1 || rows != 1 {
		t.Errorf("%d addresses, %d subscribers, %d subscriptions", a, len(s), rows)
	}
}

// Subscribers of all components hear of the components that their dashboard shows, and an address on two dashboards is two
// recipients in one bucket.
func TestRecipientsOfAllComponentsAndOfTwoDashboards(t *testing.T) {
	p := start(t)
	o := p.organization()
	api, web := o.services[0].ID, o.services[1].ID
	second := p.events.addDashboard(o.id, web)
	create := func(dashboard, email string, more object) string {
		body := object{"dashboardId": dashboard, "email": email, "confirmed": true}
		for member, value := range more {
			body[member] = value
		}
		return p.app(o, http.StatusCreated, http.MethodPost, "email", body).Subscriber.ID
	}
	all := create(o.dashboard, "all@example.com", nil)
	allSecond := create(second.ID, "all@example.com", nil)
	one := create(o.dashboard, "one@example.com", object{"componentIds": []string{api}, "locale": "fr"})
	create(o.dashboard, "paused@example.com", object{"paused": true})
	create(o.dashboard, "unconfirmed@example.com", object{"confirmed": false})
	concerned := func(components ...string) []string { return p.concerned(o, 2, components...) }
	expect := func(got []string, want ...string) {
		t.Helper()
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("concerned are %v, not %v", got, want)
		}
	}
	expect(concerned(api), all, one)
	expect(concerned(web), all, allSecond)
	expect(concerned(api, web), all, allSecond, one)
	page, err := p.recipients().Concerned(t.Context(), o.id, topic.RecipientQuery{Channel: topic.Email, Components: []string{web}, Limit: 10})
	if err != nil || len(page.Recipients) != 2 || page.Recipients[0].Destination != page.Recipients[1].Destination {
		t.Errorf("%+v %v", page, err)
	}
	d := p.resolve(o, all, allSecond, one)
	if d[0].Components != nil || d[1].Components != nil || len(d[2].Components) != 1 || d[2].Locale != "fr" {
		t.Errorf("resolved %+v", d)
	}
	if d[1].Dashboard.ID != second.ID || d[1].Dashboard.Timezone != "Europe/Berlin" || d[1].Dashboard.Locale != "de" || d[0].Unsubscribe == d[1].Unsubscribe || d[0].Manage == d[1].Manage {
		t.Errorf("resolved %+v", d)
	}
	// While events is down, nobody can say which dashboards show a component. Delivery asks again.
	p.events.down.Store(true)
	if _, err := p.recipients().Concerned(t.Context(), o.id, topic.RecipientQuery{Channel: topic.Email, Components: []string{web}, Limit: 10}); err == nil {
		t.Error("subscribers of all components are left out")
	}
	p.events.down.Store(false)
	// One click ends one of them.
	if status, text, _ := p.visit(http.MethodPost, d[1].Unsubscribe, "List-Unsubscribe=One-Click"); status != http.StatusOK {
		t.Fatal(text)
	}
	expect(concerned(web), all)
	// The link of a former subscriber does not end the next one.
	p.ahead.Add(int64(time.Second))
	again := create(second.ID, "all@example.com", nil)
	p.visit(http.MethodPost, d[1].Unsubscribe, "List-Unsubscribe=One-Click")
	expect(concerned(web), all, again)
}

func TestADeletedDashboardTakesItsSubscribersAlong(t *testing.T) {
	p := start(t)
	o := p.organization()
	second := p.events.addDashboard(o.id, o.services[0].ID)
	for _, dashboard := range []string{o.dashboard, second.ID} {
		p.app(o, http.StatusCreated, http.MethodPost, "email", object{"dashboardId": dashboard, "email": "ann@example.com", "componentIds": []string{o.services[0].ID}, "confirmed": true})
	}
	p.events.removeDashboard(o.id, second.ID)
	value, err := json.Marshal(topic.DashboardDeleted{Organization: o.id, DashboardID: second.ID, OccurredAt: p.now()})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := p.bus.Publish(t.Context(), stream.Record{Topic: topic.DashboardChanges, Key: "one", Value: value}); err != nil {
			t.Fatal(err)
		}
	}
	apitest.Eventually(t, "its subscribers are gone", func() bool {
		return p.app(o, http.StatusOK, http.MethodGet, "email/counts", nil).Counts.Total == 1 && p.total(o, subscriptions) == 1
	})
	if a := p.total(o, "/api/v1/email/"); a != 1 {
		t.Errorf("%d addresses", a)
	}
	if left := p.app(o, http.StatusOK, http.MethodGet, "email", nil).Subscribers; left[0].DashboardID != o.dashboard {
		t.Errorf("left is %+v", left)
	}
}

// What is deleted while a subscriber is being stored takes the subscriber along.
func TestWhatIsDeletedMeanwhileHasNoSubscribers(t *testing.T) {
	p := start(t)
	o := p.organization()
	// second does something before the second question about a dashboard, which follows the write.
	second := func(do func()) {
		asked := 0
		hook := func() {
			if asked++; asked == 2 {
				p.events.boardAsked.Store(nil)
				do()
			}
		}
		p.events.boardAsked.Store(&hook)
	}
	for _, path := range []string{"email", "email/import"} {
		board := p.events.addDashboard(o.id, o.services[0].ID)
		body := object{"dashboardId": board.ID, "email": "ann@example.com"}
		if path != "email" {
			body = object{"dashboardId": board.ID, "rows": []object{{"email": "ann@example.com"}}}
		}
		second(func() { p.events.removeDashboard(o.id, board.ID) })
		p.app(o, http.StatusBadRequest, http.MethodPost, path, body)
	}
	for _, path := range []string{"email", "email/import"} {
		added := p.events.add(o.id, topic.ComponentRecord{Name: "Short-lived"})[0]
		both := []string{added.ID, o.services[0].ID}
		body := object{"dashboardId": o.dashboard, "email": "bob@example.com", "componentIds": both}
		status := http.StatusCreated
		if path != "email" {
			body = object{"dashboardId": o.dashboard, "rows": []object{{"email": "carl@example.com", "componentIds": both}}}
			status = http.StatusOK
		}
		second(func() { p.events.remove(o.id, added.ID) })
		p.app(o, status, http.MethodPost, path, body)
	}
	left := p.app(o, http.StatusOK, http.MethodGet, "email", nil).Subscribers
	if len(left) != 2 || len(left[0].ComponentIDs) != 1 || len(left[1].ComponentIDs) != 1 {
		t.Errorf("left are %+v", left)
	}
	if n := p.total(o, subscriptions); n != 2 {
		t.Errorf("%d subscriptions", n)
	}
}

// An outcome suppresses the address on all dashboards, with its reason, until a member ends that.
func TestOutcomesSuppressWithAReason(t *testing.T) {
	p := start(t)
	o := p.organization()
	second := p.events.addDashboard(o.id, o.services[0].ID)
	number := object{"phone": "+4915112345678", "confirmed": true}
	var ids []string
	for _, dashboard := range []string{o.dashboard, second.ID} {
		number["dashboardId"] = dashboard
		ids = append(ids, p.app(o, http.StatusCreated, http.MethodPost, "whatsapp", number).Subscriber.ID)
	}
	outcome := func(code string, isGone bool, at time.Time) topic.Outcome {
		out := gone(o, topic.WhatsApp, ids[0], at)
		out.ErrorCode, out.Gone = code, isGone
		return out
	}
	reasons := func(want string) {
		t.Helper()
		for _, id := range ids {
			if s := p.app(o, http.StatusOK, http.MethodGet, "whatsapp/"+id, nil).Subscriber; s.SuppressedReason != want || s.Suppressed != (want != "") {
				t.Errorf("shown as %+v, want %q", s, want)
			}
			if state := p.resolve(o, id)[0].State; (state == topic.RecipientSuppressed) != (want != "") {
				t.Errorf("resolved as %s", state)
			}
		}
	}
	for code, want := range map[string]string{"gone": "invalid", "opted_out": "complaint", "bounce": "bounce"} {
		at := p.now()
		p.outcomes(outcome(code, true, at), outcome("bounce", false, at))
		reasons(want)
		if n := p.app(o, http.StatusOK, http.MethodGet, "whatsapp/counts", nil).Counts.Suppressed; n != 2 {
			t.Errorf("%d suppressed", n)
		}
		if found := p.app(o, http.StatusOK, http.MethodGet, "whatsapp?state=suppressed&dashboardId="+second.ID, nil).Subscribers; len(found) != 1 {
			t.Errorf("found %+v", found)
		}
		if got := p.app(o, http.StatusOK, http.MethodPatch, "whatsapp/"+ids[1], object{"suppressed": false}); got.Subscriber.Suppressed {
			t.Errorf("cleared: %s", got.text)
		}
		reasons("")
		p.outcomes(outcome(code, true, at)) // again, and too late
		reasons("")
		p.ahead.Add(int64(time.Minute))
	}
	p.outcomes(outcome("timeout", false, p.now()))
	reasons("")
	// Nothing asks a suppressed address for a confirmation.
	p.outcomes(outcome("gone", true, p.now()))
	p.app(o, http.StatusOK, http.MethodPatch, "whatsapp/"+ids[0], object{"confirmed": false})
	p.app(o, http.StatusConflict, http.MethodPost, "whatsapp/"+ids[0]+"/resend-confirmation", nil)
}

func TestAnUnconfirmedSubscriberIsAskedForAConfirmation(t *testing.T) {
	p := start(t)
	h := p.listen(topic.Notices)
	heard := func() []topic.Notice { return apitest.Messages[topic.Notice](t, h, topic.Notices) }
	o := p.organization()
	p.app(o, http.StatusCreated, http.MethodPost, "email", object{"dashboardId": o.dashboard, "email": "confirmed@example.com", "confirmed": true})
	ann := p.app(o, http.StatusCreated, http.MethodPost, "email", object{"dashboardId": o.dashboard, "email": "ann@example.com", "componentIds": []string{o.services[0].ID, o.services[1].ID}}).Subscriber.ID
	confirm := func() topic.Destination {
		found, err := p.recipients().Resolve(t.Context(), o.id, topic.ResolveQuery{Kind: topic.SubscriberConfirm, Channel: topic.Email, IDs: []string{ann}})
		if err != nil {
			t.Fatal(err)
		}
		return found[0]
	}
	first := confirm()
	if first.State != topic.RecipientActive || first.Address != "ann@example.com" || !strings.HasPrefix(first.Link, "https://status.example.com/public/confirm?token=") ||
		len(first.Code) != 6 || strings.Trim(first.Code, "0123456789") != "" || fmt.Sprint(first.Names) != "[API]" || first.Dashboard.ID != o.dashboard {
		t.Errorf("resolved %+v", first)
	}
	if d := p.resolve(o, ann)[0]; d.State != topic.RecipientUnconfirmed || d.Address != "" || d.Dashboard.ID != o.dashboard {
		t.Errorf("an unconfirmed one hears of events: %+v", d)
	}
	delivery := p.app(o, http.StatusAccepted, http.MethodPost, "email/"+ann+"/resend-confirmation", nil).DeliveryID
	if second := confirm(); second.Link == first.Link {
		t.Error("the first link works on")
	}
	apitest.Eventually(t, "both notices are published", func() bool { return len(heard()) >= 2 })
	all := heard()
	if len(all) != 2 || all[0].Recipient != ann || all[0].Kind != topic.SubscriberConfirm || all[0].Service != topic.Subscribers || topic.DeliveryID(all[1].ID, ann) != delivery {
		t.Errorf("published %+v", all)
	}
	p.app(o, http.StatusOK, http.MethodPatch, "email/"+ann, object{"confirmed": true})
	if d := confirm(); d.State != topic.RecipientGone {
		t.Errorf("a confirmed one is asked: %+v", d)
	}
	imported := p.app(o, http.StatusOK, http.MethodPost, "email/import", object{"dashboardId": o.dashboard, "rows": []object{{"email": "x@example.com"}, {"email": "y@example.com", "confirmed": true}}, "sendConfirmations": true})
	apitest.Eventually(t, "the import's notice is published", func() bool { return len(heard()) >= 3 })
	if last := heard()[2]; last.Recipient != *imported.Results[0].ID {
		t.Errorf("published %+v", last)
	}
}

// An import of 1,000 rows takes a few operations of the database, not some for each row. If the machine is so busy that the
// import is only accepted, the service that runs beside it completes it, and the test repeats the import.
func TestAnImportOf1000RowsIsBulk(t *testing.T) {
	p := start(t)
	o := p.organization()
	var calls atomic.Int64
	people := p.direct(func(string) { calls.Add(1) })
	rows := make([]audience.Row, importRows)
	for i := range rows {
		rows[i] = audience.Row{Address: fmt.Sprintf("p%d@example.com", i), ComponentIDs: optional.Of([]string{o.services[i%2].ID})}
	}
	run := func(what string, most int64, want audience.Status) {
		t.Helper()
		var results []audience.Result
		tries := 0
		apitest.Eventually(t, what, func() bool {
			before, began := calls.Load(), time.Now()
			var err error
			results, err = people.Import(t.Context(), o.id, topic.Email, o.dashboard, rows, audience.ImportOptions{})
			n := calls.Load() - before
			t.Logf("%s: %d operations in %v, %v", what, n, time.Since(began), err)
			if n > most {
				t.Errorf("%s: %d operations, more than %d", what, n, most)
			}
			if err != nil && !fault.Is(err, fault.Unavailable) {
				t.Fatal(err)
			}
			tries++
			return err == nil
		})
		for _, r := range results {
			if r.Status != want && !(tries > 1 && r.Status == audience.Updated) {
				t.Fatalf("%s: %+v", what, r)
			}
		}
	}
	run("new rows", 60, audience.Created)
	run("the same rows", 20, audience.Updated)
	for i := range rows[:50] {
		rows[i].Confirmed = new(bool)
		*rows[i].Confirmed = true
	}
	run("50 changed rows", 400, audience.Updated)
	if n := p.app(o, http.StatusOK, http.MethodGet, "email/counts", nil).Counts; n.Total != importRows || n.Unconfirmed != importRows-50 {
		t.Errorf("counts %+v", n)
	}
	if n := p.call(o, http.StatusOK, http.MethodGet, subscriptions+"?limit=1", nil).Meta.TotalCount; n != importRows {
		t.Errorf("%d subscriptions", n)
	}
}

// A row of another shape is refused with its reason, and the rows beside it are imported.
func TestAWrongRowRefusesNoOther(t *testing.T) {
	p := start(t)
	o := p.organization()
	for path, rows := range map[string][]struct {
		row  any
		want string
	}{
		"email/import": {
			{object{"email": "ann@example.com"}, ""},
			{object{"email": 7}, "email: must be a string"},
			{object{"email": nil}, "email: must not be null"},
			{object{}, "email: is required"},
			{object{"phone": "+4915112345678"}, "phone: is not a field of this request"},
			{object{"email": "e@example.com", "confirmed": "yes"}, "confirmed: must be true or false"},
			{object{"email": "e@example.com", "componentIds": []any{o.services[0].ID, 7}}, "componentIds[1]: must be a string"},
			{object{"email": "e@example.com", "componentIds": []any{}}, "componentIds: must name at least one component, or be null for all components"},
			{object{"email": "e@example.com", "colour": "red"}, "colour: is not a field of this request"},
			{[]string{"e@example.com"}, "The row must be a JSON object."},
			{nil, "The row must be a JSON object."},
			{object{"email": "bob@example.com"}, ""},
		},
		"sms/import": {
			{object{"phone": 5}, "phone: must be a string"},
			{object{}, "phone: is required"},
			{object{"phone": "+4915112345678"}, ""},
		},
	} {
		sent := make([]any, len(rows))
		for i := range rows {
			sent[i] = rows[i].row
		}
		results := p.app(o, http.StatusOK, http.MethodPost, path, object{"dashboardId": o.dashboard, "rows": sent}).Results
		for i, want := range rows {
			got := results[i]
			created := got.Status == "created" && got.ID != nil && got.Error == nil
			refused := got.Status == "refused" && got.ID == nil && got.Error != nil && *got.Error == want.want
			if got.Row != i+1 || want.want == "" && !created || want.want != "" && !refused {
				t.Errorf("%s: %v is %+v, not %q", path, want.row, got, want.want)
			}
		}
	}
}
