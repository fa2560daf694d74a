package dashboards

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/bellbuoy/bellbuoy/gateway/internal/message"
	"github.com/bellbuoy/bellbuoy/libs/coding"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/google/uuid"
)

// aliasesQuestion is a question for the alias table of a dashboard. The edition names the version of the table, so a
// cached table of this version needs no confirmation.
type aliasesQuestion struct {
	subject
	dashboard string
	version   string
}

// newAliasesQuestion returns a question for the table that the edition names. staleEdition is true if the events service
// did not confirm the edition.
func newAliasesQuestion(of *edition, staleEdition bool, id string) *aliasesQuestion {
	uri, version := "/public/v1/aliases/"+of.DashboardID, strconv.FormatInt(of.Aliases, 10)
	return &aliasesQuestion{
		subject{key: cacheKey{uri: uri}, run: uri + " " + version, uri: uri, id: id, rests: staleEdition, older: true, most: peer.MaxAliasTable},
		of.DashboardID, version,
	}
}

func (q *aliasesQuestion) isCurrent(response *cached) bool { return response.state == q.version }

// received stores the version of the question. The table may be newer than this version, but not older.
func (q *aliasesQuestion) received(response message.Response, _ string) (*cached, error) {
	return &cached{Response: response, state: q.version}, nil
}

func (q *aliasesQuestion) place(context.Context, *backup) (key, field string) {
	return aliasesKey(q.dashboard), aliasesField
}

// sendAlias redirects to the present path if the path of the visit is an alias, or a path that every page has on Statuspage
// (peer.FormerAddresses). moveTo has further conditions. sendAlias returns false if it has sent no response.
func (d *Dashboards) sendAlias(v *dashboardVisit) bool {
	if v.In.Method != http.MethodGet && v.In.Method != http.MethodHead {
		return false
	}
	present := peer.FormerAddresses(strings.TrimSuffix(v.below, "/"))
	found := present != ""
	if !found && v.edition.Aliases > 0 {
		table, _, err := d.cache.get(v.Context, newAliasesQuestion(v.edition, v.stale, v.ID))
		if err != nil {
			d.refuse(v, err)
			return true
		}
		if table.Status == http.StatusOK {
			present, found = peer.AliasTable(table.Body).Find(v.below)
		}
	}
	return found && d.moveTo(v, present)
}

// moveTo redirects to the present path of an alias if the dashboard has a page at this path. An alias of a draft has no
// page, so visitors do not learn of the draft. The visitor's next request is for the page, so moveTo causes no additional
// question. moveTo also redirects if the events service is down and the page is not saved. It returns false if it has sent
// no response.
func (d *Dashboards) moveTo(v *dashboardVisit, present string) bool {
	for range 2 { // the second run is needed if a newer edition has replaced the edition of the first run
		page, _, err := d.fileOf(v, present)
		if err != nil || page.Status == http.StatusOK {
			v.move(v.home() + present)
			return true
		}
		former := v.edition.ID
		if !d.findEdition(v) || !d.checkAccess(v) {
			return true
		}
		if v.edition.ID == former {
			return false
		}
	}
	return false
}

// serveIncident serves the path that an incident has on Statuspage. If the path is an alias and the visitor may see the
// dashboard, serveIncident redirects to the present path. Else, if the id in the path is a UUID, it redirects to the page of
// the event with this id. Otherwise it responds 404, or 403 to a visitor who may not see the dashboard.
func (d *Dashboards) serveIncident(v *dashboardVisit) {
	if !d.findEdition(v) {
		return
	}
	if (!v.edition.private || d.admits(v)) && d.sendAlias(v) {
		return
	}
	id := strings.TrimSuffix(strings.TrimPrefix(v.below, "incidents/"), "/")
	switch {
	case len(id) == 36 && uuid.Validate(id) == nil: // not the other forms that Validate allows
		v.move(v.home() + "events/" + id)
	case d.checkAccess(v):
		d.sendMissing(v)
	}
}

// saveAliases saves the alias table of an edition in Redis, compressed.
func (c *cache) saveAliases(ctx context.Context, of *edition) error {
	b, q := c.backup, newAliasesQuestion(of, false, "save-"+of.ID)
	table, err := c.fresh(ctx, q)
	if err != nil {
		return err
	}
	var body bytes.Buffer
	w := brotli.NewWriterLevel(&body, brotli.BestSpeed)
	_, _ = w.Write(table.Body) // a bytes.Buffer cannot fail
	_ = w.Close()
	saved := &cached{Response: message.Response{Header: http.Header{"Content-Encoding": {coding.Brotli}}, Body: body.Bytes()}}
	saved.confirmed.Store(table.confirmed.Load())
	key, field := q.place(ctx, b)
	return b.run(ctx, b.saveEdition, []string{key}, q.version, field, b.seal(key, field, saved, q.version)).Err()
}
