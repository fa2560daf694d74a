package transfer

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
)

// perPage is the maximum number of records in one response to each, unless the query of the call has another limit.
const perPage = "100"

// run is the state of a plan or a write of one piece.
type run struct {
	*Engine
	state *State
	dry   bool
	begun time.Time
	out   []Outcome
}

// since returns the start of the run, for Outcome.Since.
func (r *run) since() *time.Time { return &r.begun }

func (e *Engine) run(ctx context.Context, s *State, piece *lines.Set, dry bool) ([]Outcome, error) {
	if s.Dashboards == nil {
		s.Dashboards = map[string]string{}
	}
	if s.Components == nil {
		s.Components = map[string]string{}
	}
	if s.Made == nil {
		s.Made = map[string]bool{}
	}
	r := &run{Engine: e, state: s, dry: dry, begun: time.Now().UTC().Truncate(time.Millisecond)}
	for _, step := range []func() error{
		func() error { return r.dashboards(ctx, piece.Dashboards) },
		func() error { return r.components(ctx, piece.Components) },
		func() error { return r.events(ctx, piece.Events) },
		func() error { return r.subscribers(ctx, piece.Subscribers) },
		func() error { return r.endpoints(ctx, piece.Endpoints) },
	} {
		if err := step(); err != nil {
			return r.out, err
		}
	}
	return r.out, nil
}

func (r *run) add(o Outcome) { r.out = append(r.out, o) }

// each calls visit for each record of a list of the App interface. name is the member of the response that has the records.
func each[T any](ctx context.Context, s Sender, path, name string, query url.Values, visit func(T) error) error {
	asked := url.Values{"limit": {perPage}}
	for key, values := range query {
		asked[key] = values
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		var page map[string]any
		if err := s.Send(ctx, Request{Method: http.MethodGet, Path: path, Query: asked}, &page); err != nil {
			return err
		}
		var records struct {
			Records   []T    `json:"records"`
			NextToken string `json:"nextToken"`
		}
		if err := remarshal(map[string]any{"records": page[name], "nextToken": page["nextToken"]}, &records); err != nil {
			return err
		}
		for _, record := range records.Records {
			if err := visit(record); err != nil {
				return err
			}
		}
		if records.NextToken == "" {
			return nil
		}
		asked.Set("nextToken", records.NextToken)
	}
}

// missing returns the texts of wanted that the list there does not contain.
func missing(wanted, there []string) []string {
	return slices.DeleteFunc(slices.Clone(wanted), func(one string) bool { return slices.Contains(there, one) })
}
