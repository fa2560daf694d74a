package pages

import (
	"net/http"
	"net/url"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

// suppressionsPage is the data of suppressions.html.
type suppressionsPage struct {
	At      string
	Words   kindWords
	Views   []view
	List    string // path of the list of endpoints; empty: the plan has no integrations
	Entries []app.Suppression
	More    string // address of the next page; empty: there is none
	First   bool
}

// suppressionsOf returns the handler of the list of the suppressed URLs of a kind.
func (p *pages) suppressionsOf(kind app.EndpointKind) func(*visit) error {
	return func(v *visit) error {
		data := suppressionsPage{At: integrationsAt(kind), Words: wordsOfKind(kind), First: v.Query("after") == ""}
		for _, one := range app.EndpointKinds() {
			data.Views = append(data.Views, view{integrationsAt(one) + "/suppression", wordsOfKind(one).Label, one == kind})
		}
		if v.caller.Features.Integrations {
			data.List = data.At
		}
		query := filled(map[string]string{"limit": "50", "nextToken": v.Query("after")})
		found, err := v.app.Suppressions(v.Request.Context(), kind, query)
		if err != nil {
			return err
		}
		data.Entries, data.More = found.Entries, nextPage(data.At+"/suppression", url.Values{}, found.NextToken)
		return v.show(http.StatusOK, "suppressions.html", "Suppressed URLs", data)
	}
}

// suppressionReason returns why nothing is sent to a URL.
func suppressionReason(s app.Suppression) string {
	if s.Reason == "gone" {
		return "The receiver says that the address no longer exists."
	}
	return amount(s.ConsecutiveFailures, false) + " messages in a row did not arrive."
}

// suppression returns the suppression of a URL, or errNotFound.
func (v *visit) suppression(kind app.EndpointKind, hash string) (app.Suppression, error) {
	return findIn(func(query url.Values) ([]app.Suppression, *string, error) {
		found, err := v.app.Suppressions(v.Request.Context(), kind, query)
		return found.Entries, found.NextToken, err
	}, func(s app.Suppression) bool { return s.URLHash == hash })
}

// suppressionClear returns the handler of the page that ends the suppression of a URL.
func (p *pages) suppressionClear(kind app.EndpointKind) func(*visit) error {
	return func(v *visit) error {
		s, err := v.suppression(kind, v.Param("hash"))
		if err != nil {
			return v.notSuppressed(kind, err)
		}
		at := integrationsAt(kind) + "/" + url.PathEscape(s.URLHash)
		points := []string{"The next message is sent again, and failures count from 0.", "Messages that were kept back are not sent. Send one again from its delivery."}
		if len(s.Dashboards) > 1 {
			points = append(points, "This concerns all endpoints with the URL: "+dashboardNames(s.Dashboards)+".")
		}
		return v.ask("Send to “"+isolate(s.URLDisplay)+"” again?", confirm{
			Back: at, BackLabel: s.URLDisplay, Text: suppressionReason(s) + " Make sure that the cause is gone.", Points: points, Form: forms.New(at+"/clear", "End the suppression"),
		}, func() error {
			if _, err := v.app.ClearSuppression(v.Request.Context(), kind, app.SuppressedURL{URLHash: s.URLHash}); err != nil {
				return v.notSuppressed(kind, err)
			}
			v.notify("cleared", s.URLDisplay, "")
			return v.redirect(at)
		})
	}
}

// notSuppressed sets the status line "not suppressed" and redirects to the page of the URL in the path. If err is not about a
// missing suppression, or no endpoint of the URL can be read, it returns err.
func (v *visit) notSuppressed(kind app.EndpointKind, err error) error {
	if !isGone(err) && !fault.Is(err, fault.NotFound) {
		return err
	}
	found, failed := v.app.Endpoints(v.Request.Context(), kind, url.Values{"urlHash": {v.Param("hash")}, "limit": {"1"}})
	if failed != nil || len(found.Endpoints) == 0 {
		return err
	}
	v.notify("not-suppressed", found.Endpoints[0].URLDisplay, "")
	return v.redirect(integrationsAt(kind) + "/" + url.PathEscape(v.Param("hash")))
}

func dashboardNames(dashboards []app.SuppressedDashboard) string {
	var names []string
	for _, d := range dashboards {
		names = append(names, isolate(d.Name))
	}
	return andList(names)
}
