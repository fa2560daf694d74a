// Package transfer writes interchange lines (package lines) to a platform, and reads a dashboard of a platform as lines.
// The command bellbuoy and the web console use it.
//
// The engine calls the platform by one method, which sends a request of the App interface. The caller keeps the lines,
// the State and the outcomes between two pieces. So a web page can run an import piece after piece.
//
//	set, err := source.Read(...)               // or lines.Read
//	err = transfer.Prepare(set, slug)          // the records that go to this dashboard
//	pieces := transfer.Split(set)              // in the order in which they must be written
//	for _, piece := range pieces {             // the plan: nothing is written
//		outcomes, err := engine.Plan(ctx, &plan, piece)
//	}
//	for _, piece := range pieces {
//		outcomes, err := engine.Write(ctx, &state, piece)
//	}
//	err = engine.Undo(ctx, outcomes, report)   // later, with the outcomes of Write
//
// Decisions: Each record has a permanent key on the platform: the importKey of an event, an externalRef of a component,
// the slug of a dashboard, the address of a subscriber, the URL of an endpoint. So each piece may be repeated at any
// time, also after a killed process: a record that exists is not created again. Without Force, a record that a member has
// changed after the import is kept. A refused record is reported, and the import continues with the others.
package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
)

// Request is a request of the App interface.
type Request struct {
	Method  string
	Path    string // begins with /app
	Query   url.Values
	Version int64 // sent as If-Match; 0: any
	Body    any   // sent as JSON, unless nil
}

// Sender sends a request. It decodes the response into out, unless out is nil. If the response has an error status, the
// error is a *Refused.
type Sender interface {
	Send(ctx context.Context, r Request, out any) error
}

// Refused is the error of a response with an error status.
type Refused struct {
	Status int
	Text   string        // text for the person, which begins with the field if one is wrong; empty: none
	Wait   time.Duration // Retry-After; 0 if absent
}

// Error returns Text, or a text with the status if Text is empty.
func (e *Refused) Error() string {
	if e.Text == "" {
		return fmt.Sprintf("the platform returned status %d", e.Status)
	}
	return e.Text
}

// declined returns the text of a response by which the platform declined one record, such as one with a wrong member.
// It returns false for any other error: the other records would fail, too.
func declined(err error) (string, bool) {
	r, is := errors.AsType[*Refused](err)
	if is && (r.Status == http.StatusBadRequest || r.Status == http.StatusConflict || r.Status == http.StatusRequestEntityTooLarge) {
		return r.Error(), true
	}
	return "", false
}

// statusOf returns the status of a *Refused, and 0 for another error.
func statusOf(err error) int {
	if r, is := errors.AsType[*Refused](err); is {
		return r.Status
	}
	return 0
}

func isConflict(err error) bool { return statusOf(err) == http.StatusConflict }

// Engine writes lines to a platform.
type Engine struct {
	Sender Sender
	Ask    bool // the owners of unconfirmed addresses are asked for a confirmation; else these subscribers are dropped
	Force  bool // records that a member has changed become as their lines

	aliasesOf map[string]map[string]alias // aliases by dashboard and path, which a plan has read
}

// State is what a piece needs to know about the pieces before it. A browser can keep the State as JSON between two requests. The
// platform checks the ids, so a wrong State changes nothing that the member may not change. A State with a RunID alone
// is the start of a run. A plan needs a State of its own.
type State struct {
	RunID      string            `json:"runId"`      // uuid that names the run; a plan needs none
	Dashboards map[string]string `json:"dashboards"` // id by key; empty: the import will create the dashboard
	Components map[string]string `json:"components"` // id by key; empty: the import will create the component
	Made       map[string]bool   `json:"made"`       // ids of the dashboards that this run has created
	// Own is true once a component of the lines was on a dashboard of the import.
	Own bool `json:"own,omitempty"`
	// Planned has the keys of components that this run was about to create, and whose outcomes it has not recorded.
	// Such a component may exist without the StatusOverride of its line.
	Planned map[string]bool `json:"planned,omitempty"`
}

// Kinds returns the kind of each known key, for lines.ReadPiece.
func (s *State) Kinds() map[string]string {
	kinds := make(map[string]string, len(s.Dashboards)+len(s.Components))
	for key := range s.Dashboards {
		kinds[key] = "dashboard"
	}
	for key := range s.Components {
		kinds[key] = "component"
	}
	return kinds
}

// Status says what an import has done with a record, or will do.
type Status string

// Statuses of a record. The person must know of those from Kept on.
const (
	Created   Status = "created"
	Updated   Status = "updated"
	Unchanged Status = "unchanged"
	Kept      Status = "kept"    // a member has changed or deleted the record, or it differs from its line; Force replaces it, unless it is an alias
	Declined  Status = "refused" // the platform or this package has refused the record
	Dropped   Status = "dropped" // an unconfirmed subscriber, without Ask
)

// Outcome is what an import has done with a record, or will do. The caller keeps the outcomes for which Undoable returns true,
// because Undo needs them.
type Outcome struct {
	// Kind is dashboard, component, event, subscriber or endpoint; alias, whose key is the path; or placement: a
	// component that existed, which was put on a dashboard of the run.
	Kind        string `json:"kind"`
	Key         string `json:"key"`
	Status      Status `json:"status"`
	Text        string `json:"text,omitempty"` // reason for Kept, Declined and Dropped, or what else the person must know
	ID          string `json:"id,omitempty"`
	DashboardID string `json:"dashboardId,omitempty"` // dashboard of a subscriber, endpoint, alias or placement
	Dashboard   string `json:"dashboard,omitempty"`   // key of this dashboard, which may have no id in a plan
	Channel     string `json:"channel,omitempty"`     // channel of a subscriber or endpoint
	Mark        string `json:"mark,omitempty"`        // state of the record after the write; Undo keeps a record that has another state
	Was         string `json:"was,omitempty"`         // state of an updated record before the write
	Before      any    `json:"before,omitempty"`      // body of the PATCH that restores an updated record
	Find        string `json:"find,omitempty"`        // slug, hash of the URL or addressMark, by which Settle finds a dashboard, endpoint or subscriber
	// Since is set for a dashboard or endpoint if no response says that the run has created the record. Then Undo keeps a
	// record that was created before this time.
	Since *time.Time `json:"since,omitempty"`
}

// Name returns a text that names the record of the outcome within a run. The plan and the write of a record give the
// same name. The name of an alias or placement has the dashboard, because the path or component may be on several.
func (o *Outcome) Name() string {
	if o.Kind == "alias" || o.Kind == "placement" {
		return o.Kind + " " + o.Key + " " + cmp.Or(o.Dashboard, o.DashboardID)
	}
	return o.Kind + " " + o.Key
}

// Undoable reports whether Undo needs the outcome. Undo needs no outcomes of events, because UndoEvents finds the events of a run.
func (o *Outcome) Undoable() bool {
	return o.Kind != "event" && (o.Status == Created || o.Status == Updated && o.Before != nil)
}

// Warns reports whether something was lost, kept or refused.
func (o *Outcome) Warns() bool {
	return o.Text != "" || o.Status == Kept || o.Status == Declined || o.Status == Dropped
}

// Plan returns what Write would do. It writes nothing on the platform. It changes s for the plans of the pieces after this piece.
func (e *Engine) Plan(ctx context.Context, s *State, piece *lines.Set) ([]Outcome, error) {
	return e.run(ctx, s, piece, true)
}

// Write writes a piece. It adds to s what the pieces after this piece need. A piece may be written again: Write does not create
// a record that exists. Write returns an error if the import cannot go on. Then it also returns the outcomes of the records that
// it has finished, and the caller can write the piece again later. If ctx ends, Write returns after the request in flight.
func (e *Engine) Write(ctx context.Context, s *State, piece *lines.Set) ([]Outcome, error) {
	return e.run(ctx, s, piece, false)
}
