package transfer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
)

// Undone says what Undo has done with a record.
type Undone struct {
	Outcome Outcome
	Gone    bool   // the record is deleted, or as it was before the import
	Before  bool   // Gone was true before Undo
	Text    string // reason why the record is kept
}

// UndoneEvents says what UndoEvents has done.
type UndoneEvents struct {
	Deleted   int `json:"deleted"`
	Kept      int `json:"kept"`      // events that a member has changed after the import
	Remaining int `json:"remaining"` // events that are left for the next calls
}

// UndoEvents deletes up to 200 events of a run that no member has changed after the import. It must be called until Remaining
// is 0, before Undo, because the platform does not delete a component of an active event.
func (e *Engine) UndoEvents(ctx context.Context, runID string) (UndoneEvents, error) {
	var undone UndoneEvents
	err := e.Sender.Send(ctx, Request{Method: http.MethodDelete, Path: eventsPath + "/" + url.PathEscape(runID)}, &undone)
	return undone, err
}

// UndoOrder returns the kinds of outcomes in the order in which Undo takes them back.
func UndoOrder() []string {
	return []string{"alias", "subscriber", "endpoint", "placement", "component", "dashboard"}
}

// Undo deletes what the import has created, and restores what it has updated, unless a member has changed the record
// after the import. outcomes are those of Write for which Undoable returns true. Undo may be repeated, also with a part of the
// outcomes, if the dashboards come last. A record that is missing counts as gone. Undo calls report for each outcome.
func (e *Engine) Undo(ctx context.Context, outcomes []Outcome, report func(Undone)) error {
	ordered := slices.Clone(outcomes)
	order := UndoOrder()
	slices.SortStableFunc(ordered, func(a, b Outcome) int { return slices.Index(order, a.Kind) - slices.Index(order, b.Kind) })
	for at := 0; at < len(ordered); at++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		o := ordered[at]
		if o.Kind == "alias" {
			same := at
			for same < len(ordered) && same-at < maxAliases && ordered[same].Kind == "alias" && ordered[same].DashboardID == o.DashboardID {
				same++
			}
			if err := e.undoAliases(ctx, ordered[at:same], report); err != nil {
				return err
			}
			at = same - 1
			continue
		}
		undo := map[string]func(context.Context, *Outcome) error{
			"subscriber": e.undoSubscriber, "endpoint": e.undoEndpoint, "placement": e.undoPlacement, "component": e.undoComponent, "dashboard": e.undoDashboard,
		}[o.Kind]
		if undo == nil {
			continue
		}
		err := undo(ctx, &o)
		text, is := declined(err)
		changed, kept := errors.AsType[kept](err)
		switch {
		case err == nil:
			report(Undone{Outcome: o, Gone: true})
		case isMissing(err) || errors.Is(err, errRestored):
			report(Undone{Outcome: o, Gone: true, Before: true})
		case kept:
			report(Undone{Outcome: o, Text: changed.text})
		case is:
			report(Undone{Outcome: o, Text: text})
		default:
			return err
		}
	}
	return nil
}

// kept is the error for a record that Undo keeps, with the reason.
type kept struct{ text string }

func (k kept) Error() string { return k.text }

// errRestored is the error for a record that already is as it was before the import.
var errRestored = errors.New("is as it was before the import")

var errChanged = kept{"was changed after the import"}

func isMissing(err error) bool { return statusOf(err) == http.StatusNotFound }

// undoAliases deletes aliases of one dashboard, unless a member has changed their targets. The platform returns how
// many aliases it has deleted, and not which ones: undoAliases reports Before for the last ones.
func (e *Engine) undoAliases(ctx context.Context, outcomes []Outcome, report func(Undone)) error {
	var there map[string]alias
	if slices.ContainsFunc(outcomes, func(o Outcome) bool { return o.Mark != "" }) {
		var err error
		if there, err = e.aliasesOfDashboard(ctx, outcomes[0].DashboardID); err != nil && !isMissing(err) {
			return err
		}
	}
	outcomes = slices.DeleteFunc(slices.Clone(outcomes), func(o Outcome) bool {
		a, is := there[o.Key]
		changed := is && o.Mark != "" && a.target() != o.Mark
		if changed {
			report(Undone{Outcome: o, Text: errChanged.text})
		}
		return changed
	})
	if len(outcomes) == 0 {
		return nil
	}
	paths := make([]string, len(outcomes))
	for i, o := range outcomes {
		paths[i] = o.Key
	}
	request := Request{Method: http.MethodDelete, Path: dashboardsPath + "/" + outcomes[0].DashboardID + "/aliases", Body: map[string]any{"paths": paths}}
	var gone struct{ Deleted int }
	if err := e.Sender.Send(ctx, request, &gone); err != nil && !isMissing(err) {
		return err
	}
	for i, o := range outcomes {
		report(Undone{Outcome: o, Gone: true, Before: i >= gone.Deleted})
	}
	return nil
}

// undoSubscriber deletes a subscriber of an import whom nobody has changed. The person's own confirmation is a change.
func (e *Engine) undoSubscriber(ctx context.Context, o *Outcome) error {
	path := "/app/subscribers/" + o.Channel + "/" + o.ID
	var there struct{ Subscriber subscriber }
	if err := e.Sender.Send(ctx, Request{Method: http.MethodGet, Path: path}, &there); err != nil {
		return err
	}
	switch s := there.Subscriber; {
	case s.Source != "import":
		return kept{"was not created by the import"}
	case s.CreatedAt != s.UpdatedAt:
		return errChanged
	}
	return e.Sender.Send(ctx, Request{Method: http.MethodDelete, Path: path, Query: url.Values{"undo": {"true"}}}, nil)
}

func (e *Engine) undoEndpoint(ctx context.Context, o *Outcome) error {
	if o.Since != nil {
		switch there, err := e.endpointOf(ctx, o.Channel, o.DashboardID, o.ID); {
		case err != nil:
			return err
		case there == nil:
			return errRestored
		case o.foreign(there.CreatedAt) != nil:
			return o.foreign(there.CreatedAt)
		}
	}
	query := url.Values{"dashboardId": {o.DashboardID}, "urlHash": {o.ID}}
	err := e.versioned(ctx, o, Request{Method: http.MethodDelete, Path: endpointsPath(o.Channel), Query: query})
	if !isConflict(err) {
		return err
	}
	failed := each(ctx, e.Sender, endpointsPath(o.Channel), "endpoints", url.Values{"urlHash": {o.ID}}, func(there endpoint) error {
		if there.DashboardID == o.DashboardID && there.mark() != o.Mark {
			err = errChanged
		}
		return nil
	})
	return cmp.Or(failed, err)
}

func (e *Engine) undoComponent(ctx context.Context, o *Outcome) error {
	path := componentsPath + "/" + o.ID
	request := Request{Method: http.MethodDelete, Path: path}
	if o.Status == Updated {
		request.Method, request.Body = http.MethodPatch, o.Before
	}
	err := e.versioned(ctx, o, request)
	if !isConflict(err) {
		return err
	}
	var there struct{ Component settings }
	if failed := e.Sender.Send(ctx, Request{Method: http.MethodGet, Path: path}, &there); failed != nil {
		return failed
	}
	switch version := strconv.FormatInt(int64(there.Component.number("version")), 10); {
	case o.Status == Updated && restored(there.Component, o.Before):
		return errRestored
	case version != o.Mark:
		return errChanged
	}
	return err // another reason, such as an active event
}

// undoPlacement removes a component that existed before the import from a dashboard of the run, unless a member has put
// it into another group there.
func (e *Engine) undoPlacement(ctx context.Context, o *Outcome) error {
	r := run{Engine: e}
	there, err := r.dashboard(ctx, o.DashboardID)
	if err != nil {
		return err
	}
	all := there.placements()
	at := slices.IndexFunc(all, func(p placement) bool { return p.ComponentID == o.ID })
	switch {
	case at < 0:
		return errRestored
	case all[at].GroupName != o.Mark:
		return errChanged
	}
	if _, err = r.putPlacements(ctx, o.DashboardID, int64(there.number("version")), slices.Delete(all, at, at+1)); isConflict(err) {
		return kept{"stays on the dashboard, which was changed during the undo"}
	}
	return err
}

// foreign returns an error if no response says that the run has created the record, so that Since is set, and createdAt is
// before Since or no time.
func (o *Outcome) foreign(createdAt string) error {
	at, err := time.Parse(time.RFC3339, createdAt)
	if o.Since != nil && (err != nil || at.Before(*o.Since)) {
		return kept{"was not created by the import"}
	}
	return nil
}

// versioned sends a request for the version that the record had after the import. It returns a conflict if the record has
// another version now.
func (e *Engine) versioned(ctx context.Context, o *Outcome, request Request) error {
	version, err := strconv.ParseInt(o.Mark, 10, 64)
	if err != nil {
		return kept{"the run does not say which version the import left"}
	}
	request.Version = version
	return e.Sender.Send(ctx, request, nil)
}

// undoDashboard deletes a dashboard that has the settings of the import and no records, or restores its settings. The
// platform deletes a dashboard with its subscribers and endpoints, so undoDashboard checks right before the deletion
// that there are none.
func (e *Engine) undoDashboard(ctx context.Context, o *Outcome) error {
	r := run{Engine: e}
	there, err := r.dashboard(ctx, o.ID)
	if err != nil {
		return err
	}
	if err := o.foreign(there.text("createdAt")); err != nil {
		return err
	}
	settingsMark, wanted, hasContent := strings.Cut(o.Mark, "+")
	switch {
	case o.Status == Updated && restored(there, o.Before):
		return errRestored
	case o.Since != nil && there["enabled"] == true: // the run creates disabled dashboards only
		return errChanged
	case there.mark() != settingsMark:
		return errChanged
	case o.Status == Updated:
		return e.Sender.Send(ctx, Request{Method: http.MethodPatch, Path: dashboardsPath + "/" + o.ID, Body: o.Before}, nil)
	case len(there.components()) > 0:
		return kept{"has components that the import did not create, or that were kept"}
	}
	if hasContent {
		content, err := r.contentMark(ctx, o.ID)
		if err != nil {
			return err
		}
		if content != wanted {
			return errChanged
		}
	}
	aliases, err := e.aliasesOfDashboard(ctx, o.ID)
	if err != nil {
		return err
	}
	for _, a := range aliases {
		if a.File != "" { // any other alias leads to an event or a component that the dashboard does not show
			return kept{"has old addresses that the import did not create, or that were kept"}
		}
	}
	for _, list := range listsOfDashboard() {
		var page map[string]any
		query := url.Values{"dashboardId": {o.ID}, "limit": {"1"}}
		if err := e.Sender.Send(ctx, Request{Method: http.MethodGet, Path: list.path, Query: query}, &page); err != nil {
			return err
		}
		if rows, _ := page[list.member].([]any); len(rows) > 0 {
			return kept{"has " + list.text + " that the import did not create, or that were kept"}
		}
	}
	return e.Sender.Send(ctx, Request{Method: http.MethodDelete, Path: dashboardsPath + "/" + o.ID}, nil)
}

// listOfDashboard is a list of the App interface that the parameter dashboardId restricts.
type listOfDashboard struct{ path, member, text string }

// listsOfDashboard returns the lists of all records that a dashboard can have, except components.
func listsOfDashboard() []listOfDashboard {
	all := []listOfDashboard{{"/app/events", "events", "events"}}
	for _, channel := range lines.SubscriberChannels() {
		all = append(all, listOfDashboard{"/app/subscribers/" + channel, "subscribers", "subscribers by " + channel})
	}
	for _, channel := range lines.EndpointChannels() {
		all = append(all, listOfDashboard{endpointsPath(channel), "endpoints", "endpoints of " + channel})
	}
	return all
}

// restored reports whether the members of before have their former values, because an earlier Undo has restored them.
func restored(there settings, before any) bool {
	var former map[string]any
	if remarshal(before, &former) != nil {
		return false
	}
	for member, value := range former {
		present, _ := json.Marshal(there[member])
		wanted, _ := json.Marshal(value)
		if string(present) != string(wanted) {
			return false
		}
	}
	return true
}
