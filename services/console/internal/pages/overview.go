package pages

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
)

// step is an item of the checklist. Stored data decide whether it is done.
type step struct {
	Done               bool
	Title, Text        string
	Path, Action, Icon string
	Public             string // address of the public page to look at; empty: none
}

// checklist is the list of steps from an empty installation to an installation that is in use.
type checklist struct {
	Steps []step
	Done  int
	Next  int // index of the first step that is not done; -1: all are
}

// overviewPage is the data of overview.html.
type overviewPage struct {
	Start    checklist
	Open     []openEvent
	MoreOpen bool
	Troubled []app.Component
	Upcoming []app.Event
	Failing  []failingEndpoint
	Messages *messages // nil: the member may not read the logs, or they cannot be read
	Calm     bool
	Missing  []string // parts that cannot be read
}

// openEvent is an open event with the statuses that it may have next.
type openEvent struct {
	app.Event
	Next []string
}

// overviewState is the data that the overview reads.
type overviewState struct {
	members    app.Users
	open       app.Events
	upcoming   []app.Event
	any        app.Events
	counts     app.ComponentCounts
	troubled   []app.Component
	dashboards app.Dashboards
	failing    []failingEndpoint
	messages   *messages
	mail       *app.ChannelSetup // setup of mail; nil: unknown, or the member is no administrator
	missing    []string
}

// failingEndpoint is an endpoint with failures since its last success.
type failingEndpoint struct {
	endpointRow
	Label string // name of its kind
}

// messages counts the messages of the last 24 hours.
type messages struct {
	All      app.DayCounts
	Channels []channelDay // channels with messages
}

type channelDay struct {
	app.DayCounts
	Label, Kind string
}

// overview shows what needs attention, and the checklist until all steps are done.
func (p *pages) overview(v *visit) error {
	return v.showOverview("overview.html")
}

// overviewPart responds with the part of the overview that the script reads again every 20 to 40 seconds.
func (p *pages) overviewPart(v *visit) error { return v.showOverview("part-overview") }

func (v *visit) showOverview(name string) error {
	profile, err := v.profile()
	if err != nil {
		return err
	}
	whole := name == "overview.html"
	found, err := v.readOverview(whole)
	if err != nil {
		return err
	}
	data := overviewPage{Upcoming: found.upcoming, Failing: found.failing, Messages: found.messages, Troubled: found.troubled, Missing: found.missing, MoreOpen: found.open.NextToken != nil}
	for _, e := range found.open.Events {
		data.Open = append(data.Open, openEvent{e, nextStatuses(e.Status)})
	}
	slices.SortFunc(data.Upcoming, func(a, b app.Event) int { return a.StartAt.Compare(b.StartAt) })
	data.Upcoming = data.Upcoming[:min(5, len(data.Upcoming))]
	data.Calm = len(data.Open)+len(data.Troubled)+len(data.Missing)+len(data.Failing) == 0
	if !whole {
		return v.renderPart(name, data)
	}
	data.Start = v.checklist(profile, found)
	return v.show(http.StatusOK, name, "Overview", data)
}

// readOverview calls the operations at the same time. If a service is down, its part is in missing. If whole is true,
// readOverview also reads the data of the checklist.
func (v *visit) readOverview(whole bool) (found overviewState, err error) {
	ctx := v.Request.Context()
	var work concurrent
	missing := make(chan string, 16)
	read := func(part, role string, call func() error) {
		if role != "" && !v.caller.Has(role) {
			return
		}
		work.Go(func() error {
			if err := call(); err != nil {
				if failed := app.As(err); failed == nil || failed.Status < http.StatusInternalServerError {
					return err
				}
				missing <- part
			}
			return nil
		})
	}
	list := func(into *app.Events, query url.Values) func() error {
		return func() (err error) {
			*into, err = v.app.Events(ctx, query)
			return err
		}
	}
	read("events", passport.RoleEvent, list(&found.open, url.Values{"active": {"true"}, "limit": {"20"}}))
	read("events", passport.RoleEvent, func() (err error) {
		found.upcoming, err = v.upcoming()
		return err
	})
	read("messages", passport.RoleSubscriber, func() (err error) {
		found.messages, err = v.messagesOfDay()
		return err
	})
	if v.caller.Features.Integrations {
		read("endpoints", passport.RoleSubscriber, func() (err error) {
			found.failing, err = v.failingEndpoints()
			return err
		})
	}
	if whole {
		read("members", passport.RoleAdmin, func() (err error) {
			found.members, err = v.app.Users(ctx)
			return err
		})
		read("messages", passport.RoleAdmin, func() error {
			setup, err := v.app.Channels(ctx)
			if mail, known := setup.Channels["email"]; known {
				found.mail = &mail
			}
			return err
		})
		read("events", passport.RoleEvent, list(&found.any, url.Values{"limit": {"10"}}))
		read("dashboards", passport.RoleEvent, func() (err error) {
			found.dashboards, err = v.app.Dashboards(ctx, url.Values{"limit": {"10"}})
			return err
		})
	}
	if v.caller.Has(passport.RoleEvent, passport.RoleSubscriber) {
		read("components", "", func() (err error) {
			found.counts, found.troubled, err = v.troubled()
			return err
		})
	}
	err = work.Wait()
	close(missing)
	for part := range missing {
		if !slices.Contains(found.missing, part) {
			found.missing = append(found.missing, part)
		}
	}
	return found, err
}

// upcomingPages is the maximum number of pages of planned maintenance that the overview reads.
const upcomingPages = 10

// upcoming returns the published maintenance that is planned. The list begins with the latest start, so the last page has the
// next maintenance. upcoming reads at most upcomingPages pages.
func (v *visit) upcoming() (events []app.Event, err error) {
	query := url.Values{"status": {planning}, "publish": {"true"}, "limit": {"100"}}
	for range upcomingPages {
		found, err := v.app.Events(v.Request.Context(), query)
		if err != nil {
			return nil, err
		}
		if events = append(events, found.Events...); found.NextToken == nil {
			break
		}
		query.Set("nextToken", *found.NextToken)
	}
	return events, nil
}

// troubled returns the components that are not operational, the worst first, at most 20 of each state. If all are
// operational, it makes only one call.
func (v *visit) troubled() (counts app.ComponentCounts, troubled []app.Component, err error) {
	result, err := v.app.ComponentCounts(v.Request.Context())
	counts = result.Counts
	if err != nil || counts.Operational == counts.Total {
		return counts, nil, err
	}
	states := []struct {
		status string
		count  int
	}{{"major_outage", counts.MajorOutage}, {"partial_outage", counts.PartialOutage}, {"degraded_performance", counts.DegradedPerformance}, {"under_maintenance", counts.UnderMaintenance}}
	lists := make([][]app.Component, len(states))
	var work concurrent
	for i, state := range states {
		if state.count == 0 {
			continue
		}
		work.Go(func() error {
			found, err := v.app.Components(v.Request.Context(), url.Values{"status": {state.status}, "limit": {"20"}})
			lists[i] = found.Components
			return err
		})
	}
	err = work.Wait()
	return counts, slices.Concat(lists...), err
}

// messagesOfDay counts the messages of the last 24 hours, in total and by channel.
func (v *visit) messagesOfDay() (*messages, error) {
	found, err := v.app.MessageCounts(v.Request.Context())
	if err != nil {
		return nil, err
	}
	out := &messages{}
	for _, channel := range channels() {
		counts := found.Counts[channel.Value]
		if counts == (app.DayCounts{}) {
			continue
		}
		out.Channels = append(out.Channels, channelDay{counts, channel.Label, channel.Value})
		out.All.Delivered += counts.Delivered
		out.All.Retrying += counts.Retrying
		out.All.Failed += counts.Failed
		out.All.Skipped += counts.Skipped
		out.All.Suppressed += counts.Suppressed
	}
	return out, nil
}

// shownFailing is the maximum number of failing endpoints of a kind that the overview shows.
const shownFailing = 10

// failingEndpoints returns the endpoints with failures since their last success, at most shownFailing of each kind. If there
// are none, it makes only one call.
func (v *visit) failingEndpoints() ([]failingEndpoint, error) {
	ctx := v.Request.Context()
	found, err := v.app.EndpointCounts(ctx)
	if err != nil {
		return nil, err
	}
	kinds := channels()
	lists := make([][]failingEndpoint, len(kinds))
	var work concurrent
	for i, kind := range kinds {
		if found.Counts[kind.Value].Failing == 0 {
			continue
		}
		work.Go(func() error {
			page, err := v.app.Endpoints(ctx, app.EndpointKind(kind.Value), url.Values{"state": {"failing"}, "limit": {strconv.Itoa(shownFailing)}})
			for _, e := range page.Endpoints {
				lists[i] = append(lists[i], failingEndpoint{endpointRow{e, app.EndpointKind(kind.Value)}, kind.Label})
			}
			return err
		})
	}
	err = work.Wait()
	return slices.Concat(lists...), err
}

// checklist returns the steps for the member's roles, with the number of done steps and the next step.
func (v *visit) checklist(profile app.Profile, found overviewState) checklist {
	var steps []step
	if v.caller.Has(passport.RoleEvent) && !slices.Contains(found.missing, "events") && !slices.Contains(found.missing, "dashboards") {
		steps = v.eventSteps(profile, found)
	}
	steps = append(steps,
		step{profile.HasPassword || profile.SignOn, "Set a password", "With it you can sign in from every device.", "/profile/security/password", "Set a password", "lock", ""},
		step{profile.SecondFactors.TOTP || profile.SecondFactors.Passkeys > 0, "Add a second factor", "A stolen password alone is then worth nothing.", "/profile/security/app", "Set up an app", "phone", ""},
		step{profile.SecondFactors.Passkeys > 0, "Add a passkey", "Sign in with your fingerprint, your face or a security key, in one tap.", "/profile/security/passkeys/new", "Add a passkey", "passkey", ""})
	if found.mail != nil {
		text := "The operator of this installation has not set up a mail server."
		if found.mail.Missing != nil {
			text += " Missing: " + *found.mail.Missing + "."
		}
		steps = append(steps, step{found.mail.Configured, "Set up mail", text, setupPath, "Show the setup", "mail", ""})
	}
	if v.caller.Has(passport.RoleAdmin) && !slices.Contains(found.missing, "members") {
		steps = append(steps, step{len(found.members.Users) > 1, "Invite a colleague", "Incidents are easier to handle together.", "/users/new", "Invite", "people", ""})
	}
	out := checklist{Steps: steps, Next: -1}
	for i, s := range steps {
		if s.Done {
			out.Done++
		} else if out.Next < 0 {
			out.Next = i
		}
	}
	return out
}

// eventSteps returns the steps from the first dashboard to the first incident that is resolved.
func (v *visit) eventSteps(profile app.Profile, found overviewState) []step {
	var steps []step
	if v.caller.Has(passport.RoleAdmin) && len(found.dashboards.Dashboards) > 0 {
		board := found.dashboards.Dashboards[0]
		// At its creation, the first dashboard gets the name of the organization. The first start of the platform may change this
		// dashboard within a minute after that.
		named := len(found.dashboards.Dashboards) > 1 || board.Name != profile.Organization.Name || board.UpdatedAt.Sub(board.CreatedAt) > time.Minute
		steps = append(steps,
			step{named, "Name the dashboard", "It is called " + board.Name + " now.", "/dashboards/" + board.ID, "Open it", "screen", ""},
			step{found.counts.Total > 0, "Add your components", "What your customers use, such as the website or the API.", "/components", "Show components", "list", ""})
	}
	reported := slices.ContainsFunc(found.any.Events, func(e app.Event) bool { return e.Type == incident && e.Publish })
	open := slices.IndexFunc(found.open.Events, func(e app.Event) bool { return e.Type == incident })
	resolve := step{reported && open < 0, "Resolve it", "Its components become operational again.", eventsPath, "Show events", "done", ""}
	if open >= 0 {
		resolve.Path, resolve.Action = eventAt(found.open.Events[open].ID)+"?status=resolved#update", "Resolve"
		if len(found.dashboards.Dashboards) > 0 {
			resolve.Public = found.dashboards.Dashboards[0].URL
		}
	}
	return append(steps, step{reported, "Report a first incident", "It is filled in, and nobody is notified.", newEventPath + "?first=1", "Report", "pulse", ""}, resolve)
}
