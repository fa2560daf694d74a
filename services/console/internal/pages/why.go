package pages

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"

	"github.com/google/uuid"

	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

const whyPath = deliveriesPath + "/why"

// whyAt returns the path of the page that why shows. query may name an event, and an endpoint or a subscriber. The path never contains
// the address of a person, because browsers keep the addresses of pages, and servers log them.
func whyAt(kind string, query url.Values) string {
	return withQuery(whyPath, filled(map[string]string{"kind": kind, "event": query.Get("event"), "endpoint": query.Get("endpoint"), "subscriber": query.Get("subscriber")}))
}

// whyPage is the data of why.html.
type whyPage struct {
	Kind   string
	Views  []view
	Form   *forms.Form
	None   bool // there is no event, so there was no message
	Result *whyResult

	events []app.Event // events that the member can choose by their titles
}

// why shows why a recipient got messages about an event, or got none. The form sends the address of a recipient by POST, so
// that no address of a page contains it. A link can name an event, and an endpoint or a subscriber by its id.
func (p *pages) why(v *visit) error {
	data := whyPage{Kind: v.Query("kind")}
	if !slices.ContainsFunc(channels(), func(o forms.Option) bool { return o.Value == data.Kind }) {
		data.Kind = string(app.Email)
	}
	wanted := v.Request.URL.Query()
	if v.isPost() {
		if err := forms.Parse(v.Request); err != nil {
			return err
		}
		wanted.Set("event", v.Request.PostForm.Get("event"))
		wanted.Set("endpoint", v.Request.PostForm.Get("endpoint"))
	}
	for _, kind := range channels() {
		if v.caller.Features.Integrations || kind.Value == data.Kind || isAddressed(kind.Value) {
			data.Views = append(data.Views, view{whyAt(kind.Value, url.Values{"event": {wanted.Get("event")}}), kind.Label, kind.Value == data.Kind})
		}
	}
	event, err := v.whyEvent(&data, wanted.Get("event"))
	if err != nil {
		return err
	}
	who, err := v.whyRecipient(data.Kind, wanted)
	if err != nil {
		return err
	}
	data.Form = forms.New(whyAt(data.Kind, nil), "Show what happened", event, who)
	show := func(status int) error { return v.show(status, "why.html", "Why did somebody get nothing?", data) }
	if v.isPost() {
		return v.submit(data.Form, func() error { return v.explain(&data, show) }, show)
	}
	if event.Value() == "" || who.Value() == "" {
		return show(http.StatusOK)
	}
	err = v.explain(&data, show)
	if refused(data.Form, err) {
		return show(http.StatusUnprocessableEntity)
	}
	return err
}

// isAddressed reports whether the recipients of the kind have a mail address or a phone number, and not a URL.
func isAddressed(kind string) bool { return slices.Contains(app.AddressChannels(), app.Channel(kind)) }

// whyEvent returns the field for the event. Its options are the newest events and the event with the id wanted. If the member
// may not list events, or they cannot be read, the member types the id in the field.
func (v *visit) whyEvent(data *whyPage, wanted string) (*forms.Field, error) {
	field := &forms.Field{Kind: forms.Text, Name: "event", Label: "Event", Required: true, Max: 36, Members: []string{"eventId"}, Hint: "The id of the event", Missing: "Enter the id of the event."}
	if wanted != "" {
		field.Values = []string{wanted}
	}
	if !v.caller.Has(passport.RoleEvent) {
		return field, nil
	}
	listed, err := v.app.Events(v.Request.Context(), url.Values{"limit": {"50"}})
	if err != nil {
		return field, nil //nolint:nilerr // the id is enough
	}
	data.events = listed.Events
	if uuid.Validate(wanted) == nil && !slices.ContainsFunc(data.events, func(e app.Event) bool { return e.ID == wanted }) {
		found, err := v.app.Event(v.Request.Context(), wanted)
		if err != nil {
			return nil, err
		}
		data.events = append([]app.Event{found.Event.Event}, data.events...)
	}
	field.Kind, field.Max, field.Hint, field.Missing = forms.Select, 0, "", "Choose an event."
	field.Options = []forms.Option{{Label: "Choose an event"}}
	zone := v.zone()
	for _, e := range data.events {
		began := cmp.Or(e.ScheduledStartAt, &e.StartAt).In(zone).Format("2 Jan 2006, 15:04")
		field.Options = append(field.Options, forms.Option{Value: e.ID, Label: began + ": " + isolate(e.Title)})
	}
	data.None = len(data.events) == 0
	return field, nil
}

// whyRecipient returns the field for the recipient. If a link names a subscriber, the field has the address of this
// subscriber.
func (v *visit) whyRecipient(kind string, wanted url.Values) (*forms.Field, error) {
	if !isAddressed(kind) {
		return v.whyEndpoint(app.EndpointKind(kind), wanted.Get("endpoint")), nil
	}
	channel := app.Channel(kind)
	field := &forms.Field{Kind: forms.Text, Name: "address", Label: wordsOf(channel).Address, Required: true, Max: 254, Members: []string{"email", "phone"}, Autocomplete: "off"}
	if channel != app.Email {
		field.Hint = "With the code of the country, such as +49 30 901820"
	}
	if id := wanted.Get("subscriber"); id != "" && !v.isPost() {
		found, err := v.app.Subscriber(v.Request.Context(), channel, id)
		if err != nil {
			return nil, notFound(err)
		}
		field.Values = []string{found.Subscriber.Address()}
	}
	return field, nil
}

// whyEndpoint returns the field for the endpoint. Its options are the oldest 100 endpoints of the kind, and the endpoint with the
// hash wanted, also after its deletion, because it may have got messages before. If the plan has no integrations, or the
// endpoints cannot be read, the member types the hash in the field.
func (v *visit) whyEndpoint(kind app.EndpointKind, wanted string) *forms.Field {
	field := &forms.Field{Kind: forms.Text, Name: "endpoint", Label: "Endpoint", Required: true, Max: 64, Members: []string{"urlHash"}, Hint: "The hash of its URL, which the address of its page has", Missing: "Enter the hash of the URL."}
	if wanted != "" {
		field.Values = []string{wanted}
	}
	if !v.caller.Features.Integrations {
		return field
	}
	listed, err := v.app.Endpoints(v.Request.Context(), kind, url.Values{"limit": {"100"}})
	if err != nil {
		return field
	}
	field.Kind, field.Max, field.Hint, field.Missing = forms.Select, 0, "", "Choose an endpoint."
	field.Options = []forms.Option{{Label: "Choose an endpoint"}}
	add := func(endpoints []app.Endpoint) {
		for _, e := range endpoints {
			if field.LabelOf(e.URLHash) == e.URLHash { // a URL has an endpoint for each dashboard
				field.Options = append(field.Options, forms.Option{Value: e.URLHash, Label: isolate(e.URLDisplay)})
			}
		}
	}
	add(listed.Endpoints)
	if listed.NextToken != nil {
		field.Hint = "The oldest 100. The page of another endpoint has a link to this page"
	}
	if wanted != "" && field.LabelOf(wanted) == wanted {
		own, _ := v.app.Endpoints(v.Request.Context(), kind, url.Values{"urlHash": {wanted}, "limit": {"1"}})
		add(own.Endpoints)
		if field.LabelOf(wanted) == wanted {
			field.Options = append(field.Options, forms.Option{Value: wanted, Label: "An endpoint that no longer exists"})
		}
	}
	return field
}

// explain reads what happened to the messages, and shows the result. If there is no such event after a POST, it shows this as
// a problem of the form, or of the field in which the member typed the id.
func (v *visit) explain(data *whyPage, show func(int) error) error {
	event, who := data.Form.Field("event"), data.Form.Fields[1]
	in := app.WhyQuery{EventID: event.Value(), Kind: data.Kind}
	switch {
	case data.Kind == string(app.Email):
		in.Email = who.Value()
	case isAddressed(data.Kind):
		in.Phone = who.Value()
	default:
		in.URLHash = who.Value()
	}
	found, err := v.app.ExplainDeliveries(v.Request.Context(), in)
	if failed := app.As(err); failed != nil && failed.Status == http.StatusNotFound && v.isPost() {
		data.Form.Problem = "There is no such event."
		if event.Kind == forms.Text {
			event.Problem, data.Form.Problem = data.Form.Problem, ""
		}
		if who.Name == "endpoint" {
			data.Form.Problem, event.Problem = "There is no such event, or this endpoint got nothing about it and no longer exists.", ""
		}
		return show(http.StatusNotFound)
	}
	if err != nil {
		return err
	}
	listed, _ := v.firstDashboards() // the page works without the names
	data.Result = v.whyResultOf(data, found.Why, listed.Dashboards)
	return show(http.StatusOK)
}

// whyResultOf returns the data of the result for the page.
func (v *visit) whyResultOf(data *whyPage, found app.Why, dashboards []app.Dashboard) *whyResult {
	event, who := data.Form.Value("event"), data.Form.Fields[1]
	out := &whyResult{Why: found, Who: who.LabelOf(who.Value())}
	if at := slices.IndexFunc(data.events, func(e app.Event) bool { return e.ID == event }); at >= 0 {
		out.Event = &data.events[at]
	}
	hash := ""
	if who.Name == "endpoint" {
		hash = who.Value()
	}
	if out.Who == hash && hash != "" { // the field has no label for the hash, but a log has the visible part of the URL
		logs, err := v.app.DeliveryLogs(v.Request.Context(), data.Kind, url.Values{"urlHash": {hash}, "limit": {"1"}})
		if err == nil && len(logs.Logs) > 0 && logs.Logs[0].URLDisplay != "" {
			out.Who = logs.Logs[0].URLDisplay
		}
	}
	for _, m := range found.Messages {
		shown := whyMessage{WhyMessage: m}
		for _, r := range m.Results {
			row := whyRow{WhyReason: r, Kind: data.Kind, Dashboard: dashboardName(dashboards, r.DashboardID)}
			row.Fix = v.whyFix(row, event, hash, out.Event)
			if row.changed() && r.RecipientID != "" && v.caller.Has(passport.RoleAdmin) {
				row.Audit = "/audit?" + url.Values{"entityId": {r.RecipientID}}.Encode()
			}
			ended := r.Log != nil && r.Status != "delivered" && r.Status != "retrying" && !row.arrived()
			if ended && v.caller.Features.Integrations {
				row.Replay = row.path(*r.Log) + "/replay"
			}
			shown.Rows = append(shown.Rows, row)
		}
		out.Messages = append(out.Messages, shown)
	}
	return out
}

// path returns the path of the page of a log.
func (r whyRow) path(log app.WhyLog) string { return deliveryAt(r.Kind, log.LogID, log.SentAt) }
