package pages

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

const (
	inboundPath  = "/inbound"
	arrivalsPath = inboundPath + "/arrivals"
)

// inboundViews returns the tabs of the inbound webhook. There is a tab for keys only if the plan includes integrations.
func (v *visit) inboundViews(at string) (views []view) {
	if v.caller.Features.Integrations {
		views = append(views, view{inboundPath, "Keys", at == inboundPath})
	}
	return append(views, view{problemsPath, "Problems", at == problemsPath}, view{arrivalsPath, "Arrivals", at == arrivalsPath})
}

// inboundPage is the data of inbound.html.
type inboundPage struct {
	Views []view
	URL   string
	Keys  []app.InboundKey
	More  string // address of the next page; empty: there is none
	First bool
	Form  *forms.Form
}

// newInboundKey returns a key with the settings that the form of a new key shows at first.
func newInboundKey() app.InboundKey {
	return app.InboundKey{Defaults: app.InboundDefaults{Publish: true, Notify: true}, InboundRules: app.InboundRules{Bearer: true, OpenAfter: "0s", ResolveAfter: "0s", MinSources: 1}}
}

// inboundKeyForm returns the form that creates a key, or changes the key if it has an id.
func inboundKeyForm(key app.InboundKey) *forms.Form {
	severities := []forms.Option{{Value: "", Label: "None"}}
	for _, name := range []string{"minor_performance", "major_performance", "minor_outage", "major_outage"} {
		severities = append(severities, forms.Option{Value: name, Label: severityLabel(name)})
	}
	action, submit := inboundPath, "Create the key"
	if key.KeyID != "" {
		action, submit = inboundPath+"/"+key.KeyID, "Save"
	}
	fields := []*forms.Field{
		{Kind: forms.Text, Name: "name", Label: "Name", Required: true, Max: 80, Hint: "The tool that uses the key, such as “Alertmanager in Frankfurt”.", Values: []string{key.Name}},
		{Kind: forms.Tick, Name: "publish", Label: "Publish new events", Hint: "Without this tick, a new event is a draft.", Values: ticked(key.Defaults.Publish), Members: []string{"defaults.publish"}},
		{Kind: forms.Tick, Name: "notify", Label: "Notify subscribers", Hint: "Without this tick, nobody is notified.", Values: ticked(key.Defaults.Notify), Members: []string{"defaults.notify"}},
		{Kind: forms.Select, Name: "severity", Label: "Severity of new events", Plain: true, Options: severities, Hint: "A message may say otherwise about all three.", Members: []string{"defaults.severity"}, Values: []string{string(key.Defaults.Severity)}},
	}
	form := forms.New(action, submit, append(fields, inboundWaitFields(key.InboundRules)...)...)
	if key.KeyID != "" {
		form.Version, form.Cancel = form.Sum(), inboundPath
	}
	return form
}

// inbound lists the signing keys.
func (p *pages) inbound(v *visit) error {
	form := inboundKeyForm(newInboundKey())
	v.fill(form)
	return entitled(func(v *visit) error { return v.showInbound(http.StatusOK, form) })(v)
}

func (v *visit) showInbound(status int, form *forms.Form) error {
	data := inboundPage{Views: v.inboundViews(inboundPath), URL: v.pages.inboundURL(), First: v.Query("after") == "", Form: form}
	query := filled(map[string]string{"limit": "100", "nextToken": v.Query("after")})
	found, err := v.app.InboundKeys(v.Request.Context(), query)
	if err != nil {
		return err
	}
	// Revoked keys come last.
	slices.SortStableFunc(found.Keys, func(a, b app.InboundKey) int {
		return map[bool]int{true: 1}[a.RevokedAt != nil] - map[bool]int{true: 1}[b.RevokedAt != nil]
	})
	data.Keys, data.More = found.Keys, nextPage(inboundPath, url.Values{}, found.NextToken)
	return v.show(status, "inbound.html", "Inbound webhook", data)
}

func (p *pages) inboundURL() string { return p.Links.DashboardBaseURL + "/public/webhooks/inbound" }

// newInboundPage is the data of inbound_new.html.
type newInboundPage struct {
	app.InboundKey
	URL, Command string
}

// Formats returns the formats with which the address for a monitoring tool can end.
func (newInboundPage) Formats() []string {
	return []string{"alertmanager", "grafana", "uptime-kuma", "gatus", "zabbix", "generic"}
}

// inboundAdd creates a key. It shows the secret once, with a command that sends a message.
func (p *pages) inboundAdd(v *visit) error {
	form := inboundKeyForm(newInboundKey())
	return entitled(func(v *visit) error {
		return v.submit(form, func() error {
			made, err := v.app.AddInboundKey(v.Request.Context(), inboundKeyOf(form))
			if err != nil {
				return err
			}
			component := "ID OF A COMPONENT"
			if found, err := v.app.Components(v.Request.Context(), url.Values{"limit": {"1"}}); err == nil && len(found.Components) > 0 {
				component = found.Components[0].ID
			}
			key := made.Key
			return v.showSecret("inbound_new.html", "Your new signing key", newInboundPage{key, p.inboundURL(), inboundCommand(p.inboundURL(), key.KeyID, key.Secret, component)})
		}, func(status int) error { return v.showInbound(status, form) })
	})(v)
}

// inboundCommand returns a command that signs and sends a message. A test runs it.
func inboundCommand(address, key, secret, component string) string {
	return strings.NewReplacer("ADDRESS", address, "KEY", key, "SECRET", strings.TrimPrefix(secret, "whsec_"), "COMPONENT", component).Replace(
		`body='{"action": "trigger", "externalId": "command-line", "title": "A test from the command line", "components": ["COMPONENT"], "publish": false}'
now=$(date +%s) id=test-$now-$$
secret=$(printf %s 'SECRET' | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \n')
signature=$(printf %s "$id.$now.$body" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$secret" -binary | openssl base64 -A)
curl -sS -X POST 'ADDRESS' -H 'Content-Type: application/json' -H 'webhook-key-id: KEY' \
  -H "webhook-id: $id" -H "webhook-timestamp: $now" -H "webhook-signature: v1,$signature" -d "$body"
`)
}

// inboundRevoke revokes a key.
func (p *pages) inboundRevoke(v *visit) error {
	return entitled(func(v *visit) error {
		key, err := v.findInboundKey(v.Param("id"))
		if err != nil {
			return err
		}
		if key.RevokedAt != nil {
			v.notify("key-was-revoked", key.Name, "")
			return v.redirect(inboundPath)
		}
		form := forms.New(inboundPath+"/"+v.Param("id")+"/revoke", "Revoke the key")
		form.Danger = true
		return v.ask("Revoke “"+isolate(key.Name)+"”?", confirm{
			Back: inboundPath, BackLabel: "Inbound webhook", Text: "The next message with the key is refused. A revoked key cannot come back.", Points: []string{"Events that its messages made stay."}, Form: form,
		}, func() error {
			if _, err := v.app.RevokeInboundKey(v.Request.Context(), key.KeyID); err != nil {
				return err
			}
			return v.done(inboundPath, "key-revoked")
		})
	})(v)
}

// findInboundKey returns the key with the id, which may be revoked, or errNotFound.
func (v *visit) findInboundKey(id string) (app.InboundKey, error) {
	return findIn(func(query url.Values) ([]app.InboundKey, *string, error) {
		found, err := v.app.InboundKeys(v.Request.Context(), query)
		return found.Keys, found.NextToken, err
	}, func(k app.InboundKey) bool { return k.KeyID == id })
}

// arrivalsPage is the data of arrivals.html.
type arrivalsPage struct {
	Views    []view
	Filter   *forms.Form
	Filtered bool
	Rows     []arrival
	More     string // address of the next page; empty: there is none
	First    bool
}

// arrival is a received message.
type arrival struct {
	app.InboundLog
	Key string // name of the key; empty: unknown
}

// arrivalResults returns an option for each result that a received message can have, and the option "refused". The log of a
// refused message has no result.
func arrivalResults() []forms.Option {
	return []forms.Option{
		{Value: "created", Label: "New event"}, {Value: "updated", Label: "Event updated"}, {Value: "resolved", Label: "Event resolved"},
		{Value: "reopened", Label: "Event reopened"}, {Value: "ignored", Label: "Nothing new"}, {Value: "waiting", Label: "Waits"}, {Value: "refused", Label: "Refused"},
	}
}

// Title returns the result of the message in words.
func (a arrival) Title() string {
	result := cmp.Or(a.Result, "refused")
	for _, option := range arrivalResults() {
		if option.Value == result {
			return option.Label
		}
	}
	return result
}

func arrivalFilter(keys []app.InboundKey) *forms.Form {
	all := forms.Option{Value: "", Label: "All"}
	filter := forms.New(arrivalsPath, "Show", &forms.Field{Kind: forms.Select, Name: "result", Label: "Result", Plain: true, Options: append([]forms.Option{all}, arrivalResults()...)})
	if len(keys) > 1 {
		options := []forms.Option{all}
		for _, key := range keys {
			options = append(options, forms.Option{Value: key.KeyID, Label: key.Name})
		}
		filter.Fields = append(filter.Fields, &forms.Field{Kind: forms.Select, Name: "keyId", Label: "Key", Plain: true, Options: options})
	}
	return filter
}

// reason is the text that says why a message was refused or ignored, or why it waits. At is the first time in the text,
// between Before and After. It is nil if the text has no time.
type reason struct {
	Before string
	At     *time.Time
	After  string
}

// Reason returns the reason, divided at the first time in its text.
func (a arrival) Reason() reason {
	text := a.Error
	for word := range strings.FieldsSeq(text) {
		if at, err := time.Parse(time.RFC3339, word); err == nil {
			before, after, _ := strings.Cut(text, word)
			return reason{before, &at, after}
		}
	}
	return reason{Before: text}
}

// inboundArrivals lists the received messages.
func (p *pages) inboundArrivals(v *visit) error {
	data := arrivalsPage{Views: v.inboundViews(arrivalsPath), First: v.Query("after") == ""}
	query := filled(map[string]string{"limit": "50", "keyId": v.Query("keyId"), "result": v.Query("result"), "nextToken": v.Query("after")})
	var logs app.InboundLogs
	var keys app.InboundKeys
	var work concurrent
	work.Go(func() (err error) {
		logs, err = v.app.InboundLogs(v.Request.Context(), query)
		return err
	})
	if v.caller.Features.Integrations {
		work.Go(func() error {
			keys, _ = v.app.InboundKeys(v.Request.Context(), url.Values{"limit": {"100"}}) // the page works without the names
			return nil
		})
	}
	err, status := work.Wait(), http.StatusOK
	data.Filter = arrivalFilter(keys.Keys)
	data.Filtered = v.readFilter(data.Filter, url.Values{})
	if refused(data.Filter, err) {
		status = http.StatusUnprocessableEntity
	} else if err != nil {
		return err
	}
	names := map[string]string{}
	for _, key := range keys.Keys {
		names[key.KeyID] = key.Name
	}
	for _, log := range logs.Logs {
		data.Rows = append(data.Rows, arrival{log, names[log.KeyID]})
	}
	data.More = nextPage(arrivalsPath, v.Request.URL.Query(), logs.NextToken)
	return v.show(status, "arrivals.html", "Arrivals", data)
}
