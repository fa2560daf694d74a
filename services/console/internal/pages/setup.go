package pages

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

const (
	setupPath = "/setup"
	// setupPatience is the time limit for reading the states of the parts.
	setupPatience = 4 * time.Second
	// testPatience is the time to wait for the result of a test message, and testPause the time between two reads of the log.
	testPatience = 4 * time.Second
	testPause    = 400 * time.Millisecond
)

// setupPage is the data of setup.html.
type setupPage struct {
	Findings []finding
	Unknown  bool // the channels cannot be read
	Wrong    *forms.Form
	Channels []setupChannel
	Links    boot.Links
	Arrival  passport.Arrival
	Arrived  bool // Arrival is known
	Parts    []setupPart
	Backup   backupState
}

// setupChannel is a channel with its test.
type setupChannel struct {
	forms.Option
	app.ChannelSetup
	Test     *forms.Form // nil: the channel is not Ready, or this page has no test of it
	Result   *testResult
	Endpoint string // path of the list of endpoints, of which each has a test; empty: there is no list, or the plan does not allow it
}

// Ready reports whether the channel sends messages, possibly with restrictions.
func (c setupChannel) Ready() bool { return c.Configured || c.Server != nil }

// Encryption returns in words how the connection to the server is encrypted.
func (c setupChannel) Encryption() string {
	return map[string]string{"tls": "encrypted", "startTLSIfOffered": "encrypted if the server offers it", "none": "not encrypted"}[c.Server.Security]
}

// setupTable returns the routes of the setup.
func (p *pages) setupTable(role string) []route {
	routes := []route{{get, setupPath, signedIn, role, p.setup}}
	for _, kind := range []string{"email", "sms", "whatsapp"} {
		routes = append(routes, route{post, setupPath + "/" + kind, signedIn, role, p.setupTest(kind)})
	}
	return routes
}

// setup shows whether the installation is set up right, and whether each part works.
func (p *pages) setup(v *visit) error { return v.showSetup(http.StatusOK, nil) }

// testForm returns the form that sends a test message. It returns nil for any other channel than mail, SMS and WhatsApp.
func testForm(kind string) *forms.Form {
	var form *forms.Form
	switch kind {
	case "email":
		form = forms.New(setupPath+"/"+kind, "Send a test mail")
	case "sms", "whatsapp":
		form = forms.New(setupPath+"/"+kind, "Send a test", &forms.Field{
			Kind: forms.Tel, Name: "phone", Label: "Phone number", Required: true, Max: 39, Autocomplete: "tel", Placeholder: "+49 151 12345678", Prefix: kind + "-",
			Missing: "Enter a phone number with a plus sign and the country code.",
		})
	default:
		return nil
	}
	form.Page = setupPath
	return form
}

// setupTest returns the handler that sends a test message by the channel kind, and redirects to the page that shows its result.
func (p *pages) setupTest(kind string) func(*visit) error {
	return func(v *visit) error {
		form := testForm(kind)
		return v.submit(form, func() (err error) {
			began, ctx := p.Process.Now(), v.Request.Context()
			var sent app.TestSent
			switch kind {
			case "sms":
				sent, err = v.app.TestSMS(ctx, app.TestPhone{Phone: form.Value("phone")})
			case "whatsapp":
				sent, err = v.app.TestWhatsApp(ctx, app.TestPhone{Phone: form.Value("phone")})
			default:
				sent, err = v.app.TestMail(ctx)
			}
			if err != nil {
				return err
			}
			v.setCookie(testCookie, sent.DeliveryID, stepLife)
			query := url.Values{"sent": {sent.DeliveryID}, "by": {kind}, "at": {strconv.FormatInt(began.UnixMilli(), 10)}}
			return v.redirect(setupPath + "?" + query.Encode() + "#" + kind)
		}, func(status int) error { return v.showSetup(status, form) })
	}
}

// showSetup reads the state of all parts at the same time, and shows the page. wrong is the form that the member must
// correct, or nil.
func (v *visit) showSetup(status int, wrong *forms.Form) error {
	data := setupPage{Wrong: wrong, Links: v.pages.Links}
	data.Arrival, data.Arrived = passport.ArrivalOf(v.Request.Header)
	ctx, cancel := context.WithTimeout(v.Request.Context(), cmp.Or(v.pages.SetupPatience, setupPatience))
	defer cancel()
	services := app.Services()
	states := make([]app.ServiceStateResult, len(services))
	failures := make([]error, len(services))
	var channels app.ChannelsResult
	var result *testResult
	var work concurrent
	for i, service := range services {
		work.Go(func() error {
			states[i], failures[i] = v.app.ServiceSetup(ctx, service)
			return nil
		})
	}
	work.Go(func() (err error) {
		channels, err = v.app.Channels(ctx)
		return err
	})
	work.Go(func() error {
		result = v.testResult()
		return nil
	})
	data.Unknown = work.Wait() != nil
	for i, service := range services {
		data.Parts = append(data.Parts, partOf(string(service), states[i].Service, failures[i]))
	}
	data.Parts = append(data.ownParts(), data.Parts...)
	data.Backup = backupOf(states, v.pages.Process.Now())
	if !data.Unknown {
		data.Channels = v.setupChannels(channels.Channels, wrong, result)
	}
	data.Findings = data.findings(v.pages.Process.Now())
	return v.show(status, "setup.html", "Setup", data)
}

// setupChannels returns the channels with their forms.
func (v *visit) setupChannels(found map[string]app.ChannelSetup, wrong *forms.Form, result *testResult) (out []setupChannel) {
	for _, option := range channels() {
		channel := setupChannel{Option: option, ChannelSetup: found[option.Value]}
		if channel.Ready() {
			channel.Test = testForm(option.Value)
		}
		if wrong != nil && wrong.Action == setupPath+"/"+option.Value {
			channel.Test = wrong
		}
		if result != nil && result.Kind == option.Value {
			channel.Result = result
		}
		page := integrationsPath + "/" + option.Value
		open := func(r route) bool { return r.method == get && r.path == page }
		if v.caller.Features.Integrations && slices.ContainsFunc(v.pages.routes, open) {
			channel.Endpoint = page
		}
		out = append(out, channel)
	}
	return out
}

// testResult is the result of a test message.
type testResult struct {
	app.DeliveryLog
	Kind    string
	Waiting bool   // the result is not known yet
	Answer  string // response of the server to a message that was not delivered, without secrets; empty: none
	Again   string // address of this page, which reads the result again
}

// Path returns the path of the page of the delivery.
func (r testResult) Path() string { return deliveryAt(r.Kind, r.LogID, r.SentAt) }

// testResult returns the result of the test message that the address names. It waits at most testPatience for the result. It
// returns nil unless this browser has sent the message within stepLife, and no test message after it, so that a link of
// somebody else shows no result. After a POST it also returns nil.
func (v *visit) testResult() *testResult {
	query := v.Request.URL.Query()
	at, err := strconv.ParseInt(query.Get("at"), 10, 64)
	if testForm(query.Get("by")) == nil || query.Get("sent") == "" || query.Get("sent") != v.cookie(testCookie) || err != nil || v.isPost() {
		return nil
	}
	result := &testResult{Kind: query.Get("by"), Waiting: true, Again: v.Request.URL.RequestURI()}
	ctx, cancel := context.WithTimeout(v.Request.Context(), testPatience)
	defer cancel()
	from := url.Values{"from": {time.UnixMilli(at).Add(-time.Second).UTC().Format(isoTime)}, "limit": {"100"}}
	for ctx.Err() == nil {
		logs, err := v.app.DeliveryLogs(ctx, result.Kind, from)
		if err != nil {
			return result
		}
		found := slices.IndexFunc(logs.Logs, func(log app.DeliveryLog) bool { return log.DeliveryID == query.Get("sent") && log.Attempt > 0 })
		if found >= 0 {
			result.DeliveryLog, result.Waiting = logs.Logs[found], false
			exchange, err := v.app.DeliveryLog(ctx, result.Kind, result.LogID, result.SentAt.UTC().Format(isoTime))
			if err == nil && exchange.Log.Response != nil && result.Status != "delivered" {
				result.Answer = strings.TrimSpace(exchange.Log.Response.Body)
			}
			return result
		}
		select {
		case <-ctx.Done():
		case <-time.After(testPause):
		}
	}
	return result
}
