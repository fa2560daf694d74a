package pages

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

const problemsPath = inboundPath + "/problems"

// inboundWaitFields returns the fields of the rules of a key, such as the time after which a problem opens an event.
func inboundWaitFields(set app.InboundRules) []*forms.Field {
	sources := []forms.Option{{Value: "1", Label: "1 source"}}
	for n := 2; n <= 10; n++ {
		sources = append(sources, forms.Option{Value: strconv.Itoa(n), Label: strconv.Itoa(n) + " sources"})
	}
	return []*forms.Field{
		{Kind: forms.Tick, Name: "bearer", Label: "Accept the secret as a token", Hint: "For tools that cannot sign: Alertmanager, Gatus, Grafana, Uptime Kuma, Zabbix.", Values: ticked(set.Bearer)},
		{Kind: forms.Select, Name: "openAfter", Label: "Open an event", Required: true, Options: waitOptions(set.OpenAfter), Values: []string{set.OpenAfter}, Hint: "A problem that is over by then opens none."},
		{Kind: forms.Select, Name: "resolveAfter", Label: "Resolve the event", Required: true, Options: waitOptions(set.ResolveAfter), Values: []string{set.ResolveAfter}, Hint: "A problem that is back by then keeps its event open."},
		{Kind: forms.Select, Name: "minSources", Label: "Sources that must report a problem", Required: true, Options: sources, Values: []string{strconv.Itoa(set.MinSources)}, Hint: "A source is one probe of a monitoring tool, which its address names: ?source=frankfurt."},
		{Kind: forms.Select, Name: "expectEvery", Label: "Tell me if it is silent", Plain: true, Options: silenceOptions(string(set.ExpectEvery)), Values: []string{string(set.ExpectEvery)}, Hint: "The page never changes because of that."},
		{Kind: forms.Email, Name: "managementEmail", Label: "Contact", Max: 254, Hint: "This address gets a mail if the tool is silent.", Values: []string{string(set.ManagementEmail)}},
	}
}

// silenceOptions returns the times that a tool may be silent. present, the stored time, is among them.
func silenceOptions(present string) []forms.Option {
	options := []forms.Option{
		{Value: "", Label: "Never"}, {Value: "5m", Label: "After 5 minutes"}, {Value: "15m", Label: "After 15 minutes"}, {Value: "1h", Label: "After 1 hour"},
		{Value: "6h", Label: "After 6 hours"}, {Value: "24h", Label: "After 24 hours"},
	}
	return withOption(options, present)
}

// waitOptions returns the times to wait. present, the stored time, is among them.
func waitOptions(present string) []forms.Option {
	options := []forms.Option{
		{Value: "0s", Label: "At once"}, {Value: "1m", Label: "After 1 minute"}, {Value: "2m", Label: "After 2 minutes"}, {Value: "5m", Label: "After 5 minutes"},
		{Value: "10m", Label: "After 10 minutes"}, {Value: "15m", Label: "After 15 minutes"}, {Value: "30m", Label: "After 30 minutes"}, {Value: "1h", Label: "After 1 hour"},
	}
	return withOption(options, present)
}

// afterWait returns a time to wait within a sentence, such as "after 2 minutes".
func afterWait(wait string) string {
	options := waitOptions(wait)
	at := slices.IndexFunc(options, func(o forms.Option) bool { return o.Value == wait })
	return strings.ToLower(options[at].Label)
}

// withOption returns the options. If present is none of them, because a program has set another time, it adds present.
func withOption(options []forms.Option, present string) []forms.Option {
	if slices.ContainsFunc(options, func(o forms.Option) bool { return o.Value == present }) {
		return options
	}
	wait, err := time.ParseDuration(present)
	if err != nil {
		return append(options, forms.Option{Value: present, Label: "After " + present})
	}
	label, left := "After", wait
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		switch n := left / unit.length; n {
		case 0:
		case 1:
			label += " 1 " + unit.name
		default:
			label += " " + strconv.FormatInt(int64(n), 10) + " " + unit.name + "s"
		}
		left %= unit.length
	}
	return append(options, forms.Option{Value: present, Label: label})
}

// inboundKeyOf returns the values of the form of a key for the App interface.
func inboundKeyOf(form *forms.Form) app.NewInboundKey {
	sources, _ := strconv.Atoi(form.Value("minSources")) // the service refuses 0
	return app.NewInboundKey{
		Name:     form.Value("name"),
		Defaults: app.InboundDefaults{Publish: form.Ticked("publish"), Notify: form.Ticked("notify"), Severity: app.Nullable(form.Value("severity"))},
		InboundRules: app.InboundRules{Bearer: form.Ticked("bearer"), OpenAfter: form.Value("openAfter"), ResolveAfter: form.Value("resolveAfter"), MinSources: sources,
			ExpectEvery: app.Nullable(form.Value("expectEvery")), ManagementEmail: app.Nullable(form.Value("managementEmail"))},
	}
}

// inboundEdit shows the form of a key and changes the key. A revoked key gives 404.
func (p *pages) inboundEdit(v *visit) error {
	return entitled(func(v *visit) error {
		key, err := v.findInboundKey(v.Param("id"))
		if err != nil {
			return err
		}
		if key.RevokedAt != nil {
			return errNotFound
		}
		form := inboundKeyForm(key)
		v.fill(form)
		show := func(status int) error {
			return v.show(status, "form.html", "Change the key", formPage{Back: inboundPath, BackLabel: "Inbound webhook", Form: form})
		}
		if !v.isPost() {
			return show(http.StatusOK)
		}
		return v.submit(form, func() error {
			if stored := inboundKeyForm(key); form.Version != 0 && form.Version != stored.Version {
				return v.conflict(form, stored, key.KeyID, key.Name)
			}
			if _, err := v.app.ChangeInboundKey(v.Request.Context(), key.KeyID, inboundKeyOf(form)); err != nil {
				return err
			}
			return v.done(inboundPath, "saved")
		}, show)
	})(v)
}

// problemsPage is the data of inbound_problems.html.
type problemsPage struct {
	Views []view
	Rows  []reportedProblem
	More  string // address of the next page; empty: there is none
	First bool
}

// reportedProblem is a problem that a tool reports.
type reportedProblem struct {
	app.InboundProblem
	Key string // name of the key; empty: unknown
}

// Title returns the state of the problem in words.
func (r reportedProblem) Title() string {
	switch {
	case r.State == "waiting" && r.DueAt == nil:
		return "Too few sources"
	case r.State == "waiting":
		return "Opens soon"
	}
	return map[string]string{"quiet": "Over", "open": "Open", "closing": "Resolves soon"}[r.State]
}

// inboundProblems lists the reported problems.
func (p *pages) inboundProblems(v *visit) error {
	data := problemsPage{Views: v.inboundViews(problemsPath), First: v.Query("after") == ""}
	query := filled(map[string]string{"limit": "50", "nextToken": v.Query("after")})
	found, err := v.app.InboundProblems(v.Request.Context(), query)
	if err != nil {
		return err
	}
	names := map[string]string{}
	if v.caller.Features.Integrations && len(found.Problems) > 0 {
		keys, _ := v.app.InboundKeys(v.Request.Context(), url.Values{"limit": {"100"}}) // the page works without the names
		for _, key := range keys.Keys {
			names[key.KeyID] = key.Name
		}
	}
	for _, problem := range found.Problems {
		data.Rows = append(data.Rows, reportedProblem{problem, names[problem.KeyID]})
	}
	data.More = nextPage(problemsPath, url.Values{}, found.NextToken)
	return v.show(http.StatusOK, "inbound_problems.html", "Problems", data)
}
