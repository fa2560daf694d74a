package pages

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

const subscribersPath = "/subscribers"

func subscribersAt(channel app.Channel) string { return subscribersPath + "/" + string(channel) }

// channelWords has the texts of the pages about a channel and its addresses.
type channelWords struct{ Label, Address, By, Icon string }

func wordsOf(channel app.Channel) channelWords {
	return map[app.Channel]channelWords{
		app.Email:    {"Mail", "Mail address", "by mail", "mail"},
		app.SMS:      {"SMS", "Phone number", "by SMS", "phone"},
		app.WhatsApp: {"WhatsApp", "Phone number", "by WhatsApp", "message"},
	}[channel]
}

// subscribersPage is the data of subscribers.html.
type subscribersPage struct {
	Channel     app.Channel
	Words       channelWords
	Views       []view
	Missing     string // what the operator must do before the channel sends messages; empty: nothing
	Unread      bool   // the numbers cannot be read
	Tallies     []tally
	Total       int
	State       string
	Query       string
	Dashboard   string
	Dashboards  []app.Dashboard
	Filter      *forms.Form // shows the problems of the filter
	Filtered    bool
	Subscribers []app.Subscriber
	More        string // address of the next page; empty: there is none
	First       bool
}

// At returns the path of the list.
func (d subscribersPage) At() string { return subscribersAt(d.Channel) }

// NameOf returns the name of a dashboard. It is empty if the dashboard is not known.
func (d subscribersPage) NameOf(id string) string { return dashboardName(d.Dashboards, id) }

func dashboardName(dashboards []app.Dashboard, id string) string {
	if at := slices.IndexFunc(dashboards, func(d app.Dashboard) bool { return d.ID == id }); at >= 0 {
		return dashboards[at].Name
	}
	return ""
}

// subscriberStates returns the states that the list can be filtered by.
func subscriberStates() []string {
	return []string{"confirmed", "unconfirmed", "paused", "suppressed", "unsubscribed"}
}

// subscribersOf returns the handler of the list of a channel. The filter is in the address.
func (p *pages) subscribersOf(channel app.Channel) func(*visit) error {
	return func(v *visit) error {
		data := subscribersPage{
			Channel: channel, Words: wordsOf(channel), State: v.Query("state"), Query: strings.TrimSpace(v.Query("q")), Dashboard: v.Query("dashboard"), First: v.Query("after") == "",
		}
		query := v.subscriberFilter()
		data.State, data.Filtered = query.Get("state"), len(query) > 0
		query.Set("limit", "50")
		if !data.First {
			query.Set("nextToken", v.Query("after"))
		}
		data.Filter = forms.New(data.At(), "Search", &forms.Field{Kind: forms.Text, Name: "q", Label: "Search addresses"},
			&forms.Field{Kind: forms.Select, Name: "dashboard", Label: "Dashboard", Members: []string{"dashboardId"}})
		err, status := v.readSubscribers(&data, query), http.StatusOK
		switch failed := app.As(err); {
		case failed != nil && failed.Status == http.StatusBadRequest && failed.Field == "state":
			status, data.State, data.Filter.Problem = http.StatusUnprocessableEntity, "", noSuchState
		case refused(data.Filter, err):
			status = http.StatusUnprocessableEntity
		case err != nil:
			return err
		}
		return v.show(status, "subscribers.html", "Subscribers "+data.Words.By, data)
	}
}

// subscriberFilter returns the filter in the address as the parameters of the App interface.
func (v *visit) subscriberFilter() url.Values {
	return filled(map[string]string{"q": strings.TrimSpace(v.Query("q")), "state": v.Query("state"), "dashboardId": v.Query("dashboard")})
}

// readSubscribers reads the list with its numbers. The page works without the numbers, the dashboards and the setup.
func (v *visit) readSubscribers(data *subscribersPage, query url.Values) error {
	var counts app.SubscriberCounts
	var setup map[string]app.ChannelSetup
	var listed app.Subscribers
	var unlisted error
	var work concurrent
	ctx := v.Request.Context()
	work.Go(func() error {
		listed, unlisted = v.app.Subscribers(ctx, data.Channel, query)
		return nil
	})
	work.Go(func() error {
		found, err := v.app.SubscriberCounts(ctx, data.Channel, data.Dashboard)
		counts, data.Unread = found.Counts, err != nil
		return nil
	})
	work.Go(func() error {
		found, _ := v.app.Channels(ctx)
		setup = found.Channels
		return nil
	})
	work.Go(func() error {
		found, _ := v.firstDashboards()
		data.Dashboards = found.Dashboards
		return nil
	})
	_ = work.Wait() // no read returns an error
	data.Subscribers, data.Total = listed.Subscribers, counts.Total
	data.Views, data.Missing = channelViews(setup, data.Channel)
	for i, count := range []int{counts.Total, counts.Confirmed, counts.Unconfirmed, counts.Paused, counts.Suppressed, counts.Unsubscribed} {
		state := append([]string{""}, subscriberStates()...)[i]
		data.Tallies = append(data.Tallies, tally{data.with(state), []string{"All", "Confirmed", "Not confirmed", "Paused", "Suppressed", "Unsubscribed"}[i], []string{"", "o", "d", "m", "x", "x"}[i], count, state == data.State})
	}
	data.More = nextPage(data.At(), v.Request.URL.Query(), listed.NextToken)
	return unlisted
}

// Export returns the path of the download, with the filter of the list.
func (d subscribersPage) Export() string {
	path, query, _ := strings.Cut(d.with(d.State), "?")
	if query != "" {
		query = "?" + query
	}
	return path + "/export" + query
}

// with returns the path of the list with the state, and with the search and the dashboard of this list.
func (d subscribersPage) with(state string) string {
	return withQuery(d.At(), filled(map[string]string{"state": state, "q": d.Query, "dashboard": d.Dashboard}))
}

// channelViews returns the tabs of the channels. The tab of a channel that is not set up says so. If the channel at is not
// set up, missing is a text about this.
func channelViews(setup map[string]app.ChannelSetup, at app.Channel) (views []view, missing string) {
	for _, channel := range app.AddressChannels() {
		one, known := setup[string(channel)]
		label := wordsOf(channel).Label
		if known && !one.Configured {
			label += " (not set up)"
			if channel == at {
				missing = "The operator of this installation has not set the channel up, so its messages are written to files instead of sent."
				if one.Missing != nil {
					missing += " Missing: " + *one.Missing + "."
				}
			}
		}
		views = append(views, view{subscribersAt(channel), label, channel == at})
	}
	return views, missing
}
