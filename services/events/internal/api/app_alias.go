package api

import (
	"fmt"

	"github.com/bellbuoy/bellbuoy/libs/etag"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/gin-gonic/gin"
)

func (a api) aliasOperations(writers []string) []web.Operation {
	const path = "/{id}/aliases"
	alias := func(method, id, summary, description string, status int, errors ...int) web.Operation {
		operation := operation("dashboards", writers, method, path, id, summary, description, status, errors...)
		operation.Versioned, operation.Repeatable = false, method != "GET"
		return operation
	}
	list := alias("GET", "listAliases", "List the aliases of a dashboard", "By path.", 200)
	list.Example.Response = `{"aliases": [{"path": "incidents/kctm8q1h0v7z", "eventId": "01890a5d-ac96-774b-bcce-b302099a8064", "componentId": null, "file": null},
		{"path": "status/main/rss", "eventId": null, "componentId": null, "file": "/feed.rss"}], "nextToken": null}`
	set := alias("POST", "setAliases", "Set aliases of a dashboard", `An alias is a former path below the address of the dashboard: visitors of it are redirected (308) to the event,
the component or the file, unless the dashboard does not show it (404). An alias of a known path is changed, or kept with keepExisting. An alias of an unknown event or component is refused; a refused alias does not affect the others. Any other wrong alias: 400, and nothing is stored.
The same request may be repeated. Deleting an event or a component deletes its aliases. 409 if the dashboard would have more than 100,000 aliases.`, 200, 409)
	set.Example = web.Example{
		Request: `{"aliases": [{"path": "incidents/kctm8q1h0v7z", "eventId": "01890a5d-ac96-774b-bcce-b302099a8064"}, {"path": "status/main/rss", "file": "/feed.rss"}]}`,
		Response: `{"results": [{"path": "incidents/kctm8q1h0v7z", "status": "created", "error": null},
			{"path": "status/main/rss", "status": "unchanged", "error": null}]}`,
	}
	remove := alias("DELETE", "deleteAliases", "Delete aliases of a dashboard", "A path that is no alias is ignored.", 200)
	remove.Example = web.Example{Request: `{"paths": ["incidents/kctm8q1h0v7z"]}`, Response: `{"deleted": 1}`}
	return []web.Operation{web.Declare(list, a.listAliases), web.Declare(set, a.setAliases), web.Declare(remove, a.deleteAliases)}
}

type aliasView struct {
	Path        string  `json:"path" description:"Below the address of the dashboard."`
	EventID     *string `json:"eventId" format:"uuid"`
	ComponentID *string `json:"componentId" format:"uuid"`
	File        *string `json:"file"`
}

type aliasesView struct {
	Aliases   []aliasView `json:"aliases"`
	NextToken *string     `json:"nextToken"`
}

type aliasListParameters struct {
	dashboardParameters
	web.Paging
}

func (a api) listAliases(c *web.Call[aliasListParameters, web.None]) (aliasesView, error) {
	aliases, next, err := web.Listed(a.Pages, c.List, c.Parameters.Paging, func(limit int, after string) (find.Page[catalog.Alias], error) {
		return a.catalog.PageOfAliases(c, c.Caller.Organization, c.Parameters.ID, limit, after)
	}, func(alias catalog.Alias) aliasView {
		return aliasView{alias.Path, optional.OrNull(alias.EventID), optional.OrNull(alias.ComponentID), optional.OrNull(alias.File)}
	})
	return aliasesView{aliases, next}, err
}

type aliasBody struct {
	Path        optional.Value[string] `json:"path" required:"true" minLength:"1" maxLength:"200" pattern:"^[A-Za-z0-9._/-]+$" description:"Without a slash at its start or end and without \"..\". It must not be an address that each dashboard has; below incidents/ it may be any."`
	EventID     optional.Value[string] `json:"eventId" format:"uuid" description:"Exactly one of eventId, componentId and file is required."`
	ComponentID optional.Value[string] `json:"componentId" format:"uuid"`
	File        optional.Value[string] `json:"file" description:"A file of the dashboard, such as / or /feed.rss."`
}

type aliasesBody struct {
	Aliases      optional.Value[[]aliasBody] `json:"aliases" required:"true" minItems:"1" maxItems:"1000"`
	KeepExisting optional.Value[bool]        `json:"keepExisting" description:"true: an alias that leads elsewhere is kept. Default: false."`
}

type aliasResultsView struct {
	Results []aliasResultView `json:"results" description:"In the order of the aliases."`
}

type aliasResultView struct {
	Path   string  `json:"path"`
	Status string  `json:"status" enum:"created,updated,unchanged,kept,refused"`
	Error  *string `json:"error" description:"Why the alias is kept or refused."`
}

func (a api) setAliases(c *web.Call[dashboardParameters, aliasesBody]) (aliasResultsView, error) {
	if _, err := a.catalog.Dashboard(c, c.Caller.Organization, c.Parameters.ID); err != nil {
		return aliasResultsView{}, err
	}
	in, err := c.Body()
	if err != nil {
		return aliasResultsView{}, err
	}
	aliases, err := aliasesOf(in.Aliases.Value)
	if err != nil {
		return aliasResultsView{}, err
	}
	results, err := a.catalog.SetAliases(c, appCommand(c), c.Parameters.ID, aliases, in.KeepExisting.Value)
	out := aliasResultsView{Results: make([]aliasResultView, len(results))}
	for i, result := range results {
		out.Results[i] = aliasResultView{aliases[i].Path, string(result.Status), optional.OrNull(result.Error)}
	}
	return out, err
}

// aliasesOf returns the aliases of a body, or the fault of the first wrong alias.
func aliasesOf(sent []aliasBody) ([]catalog.Alias, error) {
	if err := checkAliasCount("aliases", len(sent)); err != nil {
		return nil, err
	}
	aliases := make([]catalog.Alias, len(sent))
	first := map[string]int{}
	for i, one := range sent {
		field := fmt.Sprintf("aliases[%d].", i)
		targets := 0
		for _, target := range []optional.Value[string]{one.EventID, one.ComponentID, one.File} {
			if target.Sent {
				targets++
			}
		}
		if err := peer.CheckAlias(field+"path", one.Path.Value); err != nil {
			return nil, err
		}
		before, twice := first[one.Path.Value]
		_, isFile := peer.AliasTarget(one.File.Value)
		switch {
		case twice:
			return nil, fault.Field(field+"path", "must differ from aliases[%d].path", before)
		case targets != 1:
			return nil, fault.Field(field+"eventId", "must be sent, or componentId, or file, and only one of them")
		case one.File.Sent && !isFile:
			return nil, fault.Field(field+"file", "must be a file of the dashboard, such as / or /feed.rss")
		}
		first[one.Path.Value] = i
		aliases[i] = catalog.Alias{Path: one.Path.Value, EventID: one.EventID.Value, ComponentID: one.ComponentID.Value, File: one.File.Value}
	}
	return aliases, nil
}

func checkAliasCount(field string, count int) error {
	if count < 1 || count > catalog.MaxAliases {
		return fault.Field(field, "must have from 1 to %d items", catalog.MaxAliases)
	}
	return nil
}

type aliasPathsBody struct {
	Paths optional.Value[[]string] `json:"paths" required:"true" minItems:"1" maxItems:"1000"`
}

type deletedAliasesView struct {
	Deleted int `json:"deleted" description:"Number of aliases that the request has deleted."`
}

func (a api) deleteAliases(c *web.Call[dashboardParameters, aliasPathsBody]) (out deletedAliasesView, err error) {
	if _, err := a.catalog.Dashboard(c, c.Caller.Organization, c.Parameters.ID); err != nil {
		return out, err
	}
	in, err := c.Body()
	if err != nil {
		return out, err
	}
	if err := checkAliasCount("paths", len(in.Paths.Value)); err != nil {
		return out, err
	}
	for i, path := range in.Paths.Value {
		if err := peer.CheckAlias(fmt.Sprintf("paths[%d]", i), path); err != nil {
			return out, err
		}
	}
	out.Deleted, err = a.catalog.DeleteAliases(c, appCommand(c), c.Parameters.ID, in.Paths.Value)
	return out, err
}

// aliasTable handles the gateway's request for all aliases of a dashboard.
func (a api) aliasTable(c *gin.Context) error {
	var table peer.AliasTable
	err := a.catalog.EachAlias(c.Request.Context(), c.Param("dashboard"), func(path, present string) { table = table.Add(path, present) })
	if err != nil {
		return err
	}
	return send(c, peer.PlainText, "", etag.Of(table), table)
}
