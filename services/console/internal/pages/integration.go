package pages

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

// endpointPage is the data of integration.html.
type endpointPage struct {
	endpointRow
	Words       kindWords
	List        string // path of the list
	Dashboard   app.Dashboard
	Gone        bool // the dashboard cannot be read
	Form        *forms.Form
	Suppression *app.Suppression // nil: the URL is not suppressed, or this cannot be read
	Others      []endpointRow    // endpoints with the same URL on other dashboards
	Recent      endpointMessages
	Verify      string // program that checks a signature
}

// Why returns the path of the page that explains why a message is missing.
func (d endpointPage) Why() string {
	return whyAt(string(d.Kind), url.Values{"endpoint": {d.URLHash}})
}

// Do returns a form that is only a button. what is the action of the button, such as pause or test.
func (d endpointPage) Do(what, label string) *forms.Form { return forms.New(d.At()+"/"+what, label) }

// Signed reports whether messages of the kind are signed.
func (d endpointPage) Signed() bool { return d.Kind == app.Webhook }

// Sends reports whether the endpoint gets messages.
func (d endpointPage) Sends() bool { return d.Verified && !d.Paused && !d.Suppressed }

// Reasons returns why the endpoint gets no messages.
func (d endpointPage) Reasons() (reasons []string) {
	if d.Suppressed {
		reason := "Too many messages in a row did not arrive."
		if d.Suppression != nil {
			reason = suppressionReason(*d.Suppression)
		}
		reasons = append(reasons, "The URL is suppressed. "+reason)
	}
	if !d.Verified {
		reasons = append(reasons, "A visitor has added the endpoint, and has not confirmed it with the link in the mail.")
	}
	if d.Paused {
		reasons = append(reasons, "Messages are paused.")
	}
	return reasons
}

// endpointMessages is the part of the page of an endpoint with its newest messages.
type endpointMessages struct {
	At, All string // At: path of the part. All: path of the list of all messages.
	Rows    []deliveryRow
	Missing bool         // the messages cannot be read
	Test    string       // id of the delivery of a test message; empty: the address names none
	Tested  *deliveryRow // newest log of the delivery of the test message; nil: none
}

// Waiting reports whether the address names a test message that has no log yet.
func (m endpointMessages) Waiting() bool { return m.Test != "" && m.Tested == nil }

// LastError returns the newest message in Rows that failed or waits for a retry, or nil.
func (m endpointMessages) LastError() *deliveryRow {
	for i := range m.Rows {
		if m.Rows[i].ErrorCode != "" && (m.Rows[i].Status == "failed" || m.Rows[i].Status == "retrying") {
			return &m.Rows[i]
		}
	}
	return nil
}

const shownMessages = 5

// messagesOf returns the newest messages to an endpoint, and the test message that the address names.
func (v *visit) messagesOf(r endpointRow) endpointMessages {
	out := endpointMessages{At: "/parts" + r.At(), All: deliveriesAt(string(r.Kind)) + "?endpoint=" + url.QueryEscape(r.URLHash), Test: v.Query("test")}
	found, err := v.app.DeliveryLogs(v.Request.Context(), string(r.Kind), url.Values{"urlHash": {r.URLHash}, "dashboardId": {r.DashboardID}, "limit": {"25"}})
	out.Missing = err != nil
	for _, log := range found.Logs {
		row := deliveryRow{log, string(r.Kind)}
		if out.Test != "" && log.DeliveryID == out.Test && out.Tested == nil {
			out.Tested = &row
		}
		if len(out.Rows) < shownMessages {
			out.Rows = append(out.Rows, row)
		}
	}
	return out
}

// findEndpoint returns the endpoint of the dashboard and the URL in the path, or errNotFound.
func (v *visit) findEndpoint(kind app.EndpointKind) (endpointRow, error) {
	found, err := v.app.Endpoints(v.Request.Context(), kind, url.Values{"urlHash": {v.Param("hash")}, "dashboardId": {v.Param("dashboard")}, "limit": {"1"}})
	if err != nil {
		return endpointRow{}, notFound(err)
	}
	if len(found.Endpoints) == 0 {
		return endpointRow{}, errNotFound
	}
	return endpointRow{found.Endpoints[0], kind}, nil
}

// readAround reads the data of an endpoint's page besides the endpoint. The page works without any part that cannot be read.
func (v *visit) readAround(data *endpointPage) {
	ctx := v.Request.Context()
	var work concurrent
	work.Go(func() error {
		found, err := v.app.Dashboard(ctx, data.DashboardID)
		data.Dashboard, data.Gone = found.Dashboard, err != nil
		return nil
	})
	work.Go(func() error {
		found, _ := v.app.Endpoints(ctx, data.Kind, url.Values{"urlHash": {data.URLHash}, "limit": {"100"}})
		data.Others = endpointRows(data.Kind, slices.DeleteFunc(found.Endpoints, func(e app.Endpoint) bool { return e.DashboardID == data.DashboardID }))
		return nil
	})
	work.Go(func() error {
		data.Recent = v.messagesOf(data.endpointRow)
		return nil
	})
	if data.Suppressed {
		work.Go(func() error {
			if found, err := v.suppression(data.Kind, data.URLHash); err == nil {
				data.Suppression = &found
			}
			return nil
		})
	}
	_ = work.Wait()
}

// endpoint returns the handler of the page of an endpoint.
func (p *pages) endpoint(kind app.EndpointKind) func(*visit) error {
	return func(v *visit) error {
		r, err := v.findEndpoint(kind)
		if err != nil {
			return err
		}
		data := endpointPage{endpointRow: r, Words: wordsOfKind(kind), List: integrationsAt(kind), Verify: verifyProgram}
		v.readAround(&data)
		form := endpointForm(r, data.Dashboard)
		v.fill(form)
		data.Form = form
		show := func(status int) error { return v.show(status, "integration.html", r.URLDisplay, data) }
		if !v.isPost() {
			return show(http.StatusOK)
		}
		if data.Gone { // the form needs the components of the dashboard
			return &app.Error{Status: http.StatusServiceUnavailable, Service: "events"}
		}
		return v.submit(form, func() error {
			in := app.EndpointChange{EndpointTarget: r.target(), ManagementEmail: new(form.Value("managementEmail"))}
			// A component that is not on the dashboard now stays, unless the member chooses others.
			if chosen := form.Field("componentIds"); !sameChoice(chosen.Values, shownOf(chosen, r.ComponentIDs)) {
				in.ComponentIDs = chosen.Values
			}
			if form.Value("url") != "" {
				in.URL = new(form.Value("url"))
			}
			if kind == app.Webhook && !sameChoice(form.Field("eventKinds").Values, r.EventKinds) {
				in.EventKinds = form.Field("eventKinds").Values
			}
			if kind == app.Webhook {
				in.WebhookForm = webhookFormOf(form, r.Endpoint)
			}
			changed, err := v.app.ChangeEndpoint(v.Request.Context(), kind, form.Version, in)
			if outdated(err, form.Version, r.Version) {
				return v.conflict(form, endpointForm(r, data.Dashboard), "", r.URLDisplay)
			}
			if err != nil {
				return atURL(err)
			}
			return v.done(endpointRow{changed.Endpoint, kind}.At(), "saved")
		}, show)
	}
}

func (r endpointRow) target() app.EndpointTarget {
	return app.EndpointTarget{DashboardID: r.DashboardID, URLHash: r.URLHash}
}

// atURL sets the Field of an error to url and the status to 409, if the plan allows no other URL or the dashboard has the URL
// already. It returns any other error unchanged.
func atURL(err error) error {
	if failed := app.As(err); failed != nil && failed.Field == "" && (failed.Status == http.StatusForbidden && !failed.Again || failed.Status == http.StatusConflict) {
		failed.Status, failed.Field = http.StatusConflict, "url"
	}
	return err
}

// endpointPart returns the handler of the part with the newest messages. The script reads this part every 2 seconds while the
// test message has no log.
func (p *pages) endpointPart(kind app.EndpointKind) func(*visit) error {
	return func(v *visit) error {
		r, err := v.findEndpoint(kind)
		if err != nil {
			return err
		}
		return v.renderPart("part-endpoint", endpointPage{Recent: v.messagesOf(r)})
	}
}

// endpointAct returns the handler of a button of the page of an endpoint. The last part of the path names the change: pause,
// resume, lock or unlock.
func (p *pages) endpointAct(kind app.EndpointKind) func(*visit) error {
	return func(v *visit) error {
		at := endpointAt(kind, v.Param("hash"), v.Param("dashboard"))
		what := v.Request.URL.Path[strings.LastIndex(v.Request.URL.Path, "/")+1:]
		return v.act(at, func() error {
			in, undo := app.EndpointChange{EndpointTarget: app.EndpointTarget{DashboardID: v.Param("dashboard"), URLHash: v.Param("hash")}}, ""
			switch what {
			case "pause", "resume":
				in.Paused, undo = new(what == "pause"), map[string]string{"pause": "/resume", "resume": "/pause"}[what]
			case "lock", "unlock":
				in.Locked, undo = new(what == "lock"), map[string]string{"lock": "/unlock", "unlock": "/lock"}[what]
			}
			changed, err := v.app.ChangeEndpoint(v.Request.Context(), kind, 0, in)
			if err != nil {
				return notFound(err)
			}
			v.notify(what, changed.Endpoint.URLDisplay, at+undo)
			return v.redirect(at)
		})
	}
}

// endpointTest returns the handler that sends a test message. It redirects to the page of the endpoint, which shows the
// result.
func (p *pages) endpointTest(kind app.EndpointKind) func(*visit) error {
	return func(v *visit) error {
		at := endpointAt(kind, v.Param("hash"), v.Param("dashboard"))
		return v.act(at, func() error {
			sent, err := v.app.TestEndpoint(v.Request.Context(), kind, app.EndpointTarget{DashboardID: v.Param("dashboard"), URLHash: v.Param("hash")})
			if failed := app.As(err); failed != nil && failed.Status == http.StatusTooManyRequests {
				v.notify("not-tested", tryAgain(failed.Wait), "")
				return v.redirect(at)
			} else if err != nil {
				return notFound(err)
			}
			return v.redirect(at + "?test=" + url.QueryEscape(sent.DeliveryID) + "#messages")
		})
	}
}

// endpointDelete returns the handler of the page that deletes an endpoint.
func (p *pages) endpointDelete(kind app.EndpointKind) func(*visit) error {
	return func(v *visit) error {
		r, err := v.findEndpoint(kind)
		if err != nil {
			return err
		}
		form := forms.New(r.At()+"/delete", "Delete the endpoint")
		form.Danger, form.Version = true, r.Version
		points := []string{"The URL gets no more messages about “" + isolate(r.DashboardName) + "”.", "Its secret and its failures are deleted.", "Deliveries stay in the list for 30 days, and cannot be sent again."}
		if kind != app.Webhook {
			points[1] = "Its failures are deleted."
		}
		return v.ask("Delete “"+isolate(r.URLDisplay)+"”?", confirm{
			Back: r.At(), BackLabel: r.URLDisplay, Text: "This cannot be reversed. To stop the messages only, pause the endpoint.", Points: points, Form: form,
		}, func() error {
			_, err := v.app.DeleteEndpoint(v.Request.Context(), kind, form.Version, r.target())
			if outdated(err, form.Version, r.Version) {
				form.Version = r.Version
				return &app.Error{Status: http.StatusConflict, Message: "Somebody else has changed the endpoint meanwhile. Look at it before you go on."}
			}
			if err != nil {
				return err
			}
			v.notify("deleted", r.URLDisplay, "")
			return v.redirect(integrationsAt(kind))
		})
	}
}
