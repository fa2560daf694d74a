package api

import (
	"cmp"
	"context"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

func (a api) previewOperations(readers []string) []web.Operation {
	preview := operation("dashboards", readers, "POST", "/{id}/preview", "previewDashboard", "Preview the page of a dashboard",
		"The page that visitors would get after a change of the dashboard, of its components and of its content, without script. Nothing is stored. Absent members are as stored.", 200)
	preview.Versioned = false
	preview.Example = web.Example{
		Request: `{"dashboard": {"name": "Acme", "branding": {"primaryColor": "#1a73e8"}}, "components": [{"componentId": "01890a5d-ac96-774b-bcce-b302099a8061"}]}`,
		Response: `{"html": "<!doctype html><html lang=\"en\">...</html>",
			"policy": "default-src 'none'; style-src 'sha256-RL3ie0nH+Lzz2YNqQN83mnU0J1ot4QL7b99vMdIX99w='; base-uri 'none'; frame-ancestors 'none'"}`,
	}
	return []web.Operation{web.Declare(preview, a.previewDashboard)}
}

type previewBody struct {
	Dashboard  optional.Value[dashboardChanges] `json:"dashboard" description:"As in a change of the dashboard."`
	Components optional.Value[[]placementBody]  `json:"components" description:"As in a replacement of its components."`
	Content    optional.Value[contentBody]      `json:"content" description:"As in a replacement of its content."`
}

type previewView struct {
	HTML   string `json:"html" description:"The page. Its links are relative to the address of the dashboard."`
	Policy string `json:"policy" description:"The Content-Security-Policy of the page."`
}

func (a api) previewDashboard(c *web.Call[dashboardParameters, previewBody]) (previewView, error) {
	dashboard, err := a.catalog.Dashboard(c, c.Caller.Organization, c.Parameters.ID)
	if err != nil {
		return previewView{}, err
	}
	in, err := c.Body()
	if err == nil {
		err = a.applyPreview(c, &dashboard, in)
	}
	if err != nil {
		return previewView{}, err
	}
	html, policy, err := a.editions.Preview(c, dashboard)
	return previewView{html, policy}, err
}

// applyPreview sets the fields of d whose members were sent, and checks them as the operations that store them do.
func (a api) applyPreview(ctx context.Context, d *catalog.Dashboard, in previewBody) (err error) {
	changes, former := in.Dashboard.Value, *d
	optional.Assign(&d.Name, changes.Name.Pointer())
	if err := cmp.Or(changes.apply(d), a.catalog.CheckDashboard(d, &former)); err != nil {
		return fault.Within("dashboard", err)
	}
	if in.Components.Sent {
		if d.Components, err = a.catalog.Place(ctx, d.OrganizationID, former.Components, placements(in.Components.Value)); err != nil {
			return err
		}
	}
	if in.Content.Sent {
		d.Content = in.Content.Value.content()
		return fault.Within("content", d.Content.Check(&former.Content))
	}
	return nil
}
