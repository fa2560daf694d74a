package pages

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/sheet"
)

// exportTime bounds the time of a download.
const exportTime = 15 * time.Minute

// export writes the subscribers of a channel as a list, which an import reads again.
type export struct {
	app     *app.Caller
	channel app.Channel
	query   url.Values
	named   map[string]int               // number of dashboards by name or id, from countNames
	names   map[string]string            // names of dashboards by id; the id itself if an import would not find the name
	choices map[string][]sheet.Component // components of each dashboard
	labels  map[string]map[string]string // labels of components, by the ids of the dashboard and the component
	page    bytes.Buffer                 // the rows that are sent next
}

// subscribersExport returns the handler of the download of a channel's subscribers. The handler uses the filter of the list.
// It reads a page of the list only after it has written the page before.
func (p *pages) subscribersExport(channel app.Channel) func(*visit) error {
	return func(v *visit) error {
		e := &export{app: v.app, channel: channel, query: v.subscriberFilter(), names: map[string]string{}, choices: map[string][]sheet.Component{}, labels: map[string]map[string]string{}}
		e.query.Set("limit", "100")
		ctx := v.Request.Context()
		all, err := allDashboards(ctx, v.app)
		if err != nil {
			return err
		}
		e.named = countNames(all)
		for _, d := range all {
			e.know(d)
		}
		e.page.WriteString("\ufeff") // without this mark, Excel does not read the file as UTF-8
		column := "phone"
		if channel == app.Email {
			column = "email"
		}
		list := sheet.NewWriter(&e.page)
		_ = list.Write(column, "components", "confirmed", "locale", "dashboard", "paused", "locked", "suppressed", "source", "since") // a Buffer never fails
		_ = list.Flush()
		next, err := e.read(ctx, nil)
		if err != nil {
			return err
		}
		v.Header("Content-Type", "text/csv; charset=utf-8; header=present")
		v.Header("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{
			"filename": fileName("subscribers", string(channel), p.Process.Now().In(v.zone()).Format(time.DateOnly)) + ".csv",
		}))
		v.Status(http.StatusOK)
		if v.Request.Method == http.MethodHead {
			v.Writer.WriteHeaderNow()
			return nil
		}
		stream, end := web.NewStream(v.Context, exportTime)
		defer end()
		if err := e.send(stream, next); err != nil {
			if !errors.Is(stream.Err(), context.Canceled) { // a canceled stream means that the client has left
				p.Process.Log.WarnContext(ctx, "export broke off", slog.Any("error", err))
			}
			stream.Break()
		}
		return nil
	}
}

// send writes e.page, and then the rows of the pages of the list, from the token next on.
func (e *export) send(stream web.Stream, next *string) error {
	e.app = app.Lasting(e.app)
	for {
		if _, err := stream.Write(e.page.Bytes()); err != nil {
			return err
		}
		if next == nil {
			return nil
		}
		e.page.Reset()
		var err error
		if next, err = e.read(stream, next); err != nil {
			return err
		}
	}
}

// read reads the page of the list with the token next, or the first page for nil, and adds its subscribers to e.page. It
// returns the token of the following page, or nil.
func (e *export) read(ctx context.Context, next *string) (*string, error) {
	if next != nil {
		e.query.Set("nextToken", *next)
	}
	listed, err := e.app.Subscribers(ctx, e.channel, e.query)
	if err != nil {
		return nil, err
	}
	list := sheet.NewWriter(&e.page)
	for _, s := range listed.Subscribers {
		if err := e.learn(ctx, s.DashboardID); err != nil {
			return nil, err
		}
		locale, suppressed := s.Locale, s.SuppressedReason
		if locale == "" {
			locale = sheet.Default
		}
		if suppressed == "" {
			suppressed = yesOrNo(s.Suppressed)
		}
		confirmed := yesOrNo(s.Confirmed)
		if s.PartlyConfirmed { // for an empty cell, an import leaves the confirmation of each component as it is
			confirmed = ""
		}
		_ = list.Write(s.Address(), sheet.Cell(s.ComponentIDs, e.choices[s.DashboardID], e.labels[s.DashboardID]), confirmed, locale, e.names[s.DashboardID],
			yesOrNo(s.Paused), yesOrNo(s.Locked), suppressed, s.Source, s.CreatedAt.UTC().Format(time.RFC3339)) // a Buffer never fails
	}
	_ = list.Flush()
	return listed.NextToken, nil
}

// learn reads a dashboard, unless it is known already. The list names a dashboard that does not exist any more by its id.
func (e *export) learn(ctx context.Context, id string) error {
	if _, known := e.names[id]; known {
		return nil
	}
	found, err := e.app.Dashboard(ctx, id)
	if failed := app.As(err); failed != nil && failed.Status == http.StatusNotFound {
		err = nil
	}
	found.Dashboard.ID = id
	e.know(found.Dashboard)
	return err
}

func (e *export) know(d app.Dashboard) {
	components := componentsOf(d)
	e.names[d.ID], e.choices[d.ID], e.labels[d.ID] = strings.TrimSpace(d.Name), components, sheet.Labels(components)
	if e.named[dashboardCell(d.Name)] != 1 || !sheet.Readable(d.Name) {
		e.names[d.ID] = d.ID
	}
}

func yesOrNo(is bool) string {
	if is {
		return sheet.Yes
	}
	return sheet.No
}
