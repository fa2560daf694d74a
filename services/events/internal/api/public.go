package api

import (
	"net/http"

	"github.com/bellbuoy/bellbuoy/libs/etag"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
	"github.com/gin-gonic/gin"
)

// The bounds of the public list (specification, "Limits").
const (
	publicLimit    = 100
	publicMaxLimit = 1000
	publicPath     = "/api/v1/dashboard/" // below the URL of a dashboard
)

type rowView struct {
	Description string               `json:"description"`
	Group       string               `json:"group"`
	ID          int64                `json:"id"`
	ServiceName string               `json:"service_name"`
	Status      edition.ListedStatus `json:"status" enum:"operational,active incident,active maintenance"`
}

type rowsView struct {
	Meta    legacy.Meta `json:"meta"`
	Objects []rowView   `json:"objects"`
}

type rowsParameters struct {
	Limit  int `query:"limit" minimum:"0" default:"100" description:"Number of rows. 0 and values above 1000 mean 1000."`
	Offset int `query:"offset" minimum:"0" default:"0" description:"Number of rows to skip."`
	web.Conditional
}

// Public declares the public list of a dashboard, once with the slug in its path and once for a host of the dashboard,
// and the other files of a dashboard.
func Public() []web.Public {
	bySlug := web.Public{
		Method: "GET", Path: "/d/{slug}" + publicPath, ID: "listRows", Tag: "dashboard", Summary: "List a dashboard's services",
		Parameters: struct {
			Slug string `path:"slug" pattern:"^[a-z0-9-]{3,63}$" description:"The slug of the dashboard."`
			rowsParameters
		}{},
		Responses: []web.Response{
			{Status: 200, Description: "The services that are not hidden, by group, then by name.", Headers: []string{"ETag"},
				Contents: []web.Content{{Media: "application/json", Of: rowsView{}, Example: `{"meta": {"limit": 100, "next": null, "offset": 0,
					"previous": null, "total_count": 1}, "objects": [{"description": "Payments of the shop", "group": "Core", "id": 1,
					"service_name": "Checkout", "status": "operational"}]}`}}},
			web.NotModified(),
		},
		Errors: []int{400, 404, 503},
	}
	byHost := bySlug
	byHost.Path, byHost.ID, byHost.Summary = publicPath, "listRowsOnOwnHost", "List the services of the dashboard that owns the host"
	byHost.Description, byHost.Parameters = "Exists on a dashboard's own host only.", rowsParameters{}
	return append([]web.Public{bySlug, byHost}, filesPublic()...)
}

// publicList handles GET {dashboard_url}/api/v1/dashboard/. It responds with the rows that limit and offset select.
func (a api) publicList(c *gin.Context) error {
	at := addressOf(c)
	page, err := a.editions.Public(c.Request.Context(), at)
	if err != nil {
		return err
	}
	asked, err := legacy.ReadPage(c.Request.URL.RawQuery, publicLimit, publicMaxLimit)
	if err != nil {
		return err
	}
	total := int64(len(page.Rows))
	from := min(asked.Offset, total)
	to := min(from+asked.Limit, total)
	envelope := legacy.Envelope{Meta: asked.Meta(pathOf(at)+publicPath, total), Objects: []any{}}
	for _, row := range page.Rows[from:to] {
		envelope.Objects = append(envelope.Objects, rowView{
			Description: row.Description, Group: legacy.ShortName(row.Group), ID: row.LegacyID, ServiceName: legacy.ShortName(row.Name), Status: row.Status,
		})
	}
	body, err := legacy.Encode(envelope)
	if err != nil {
		return err
	}
	tag := etag.Of(body)
	header := c.Writer.Header()
	header.Set("ETag", tag)
	header.Set(peer.ListHeader, page.List)
	header.Set("Cache-Control", "no-cache")
	header.Set("Vary", "Accept")
	if etag.Match(c.Request.Header.Values("If-None-Match"), tag) {
		c.Status(http.StatusNotModified)
		c.Writer.WriteHeaderNow()
		return nil
	}
	legacy.WriteJSON(c.Writer, c.Request, http.StatusOK, body)
	return nil
}
