package api

import (
	"net/http"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
	"github.com/gin-gonic/gin"
)

// maxResolved bounds one question; a shard holds 256 recipients.
const maxResolved = 5000

// concerned answers peer.Recipients.Concerned.
func (a *API) concerned(c *gin.Context) error {
	body, err := web.Body[peer.Concern](c)
	if err != nil {
		return err
	}
	page, err := a.endpoints.Concerned(c.Request.Context(), web.Caller(c).Organization, endpoint.Concern{
		Kind: body.Kind, Channel: body.Channel, Components: body.Components,
		LegacyIDs: body.Endpoints, After: body.After, Limit: body.Limit,
	})
	if err != nil {
		return err
	}
	answer := peer.RecipientPage{Recipients: make([]peer.Recipient, len(page.Items)), Next: page.Next}
	for i, e := range page.Items {
		answer.Recipients[i] = peer.Recipient{ID: e.ID, Destination: e.URLHash}
	}
	c.PureJSON(http.StatusOK, answer)
	return nil
}

// resolve answers peer.Recipients.Resolve. Its answer holds secrets.
func (a *API) resolve(c *gin.Context) error {
	ids, err := web.Body[[]string](c)
	if err != nil {
		return err
	}
	if len(ids) > maxResolved {
		return fault.New(fault.Invalid, "at most %d recipients can be asked for at once", maxResolved)
	}
	found, err := a.endpoints.Resolve(c.Request.Context(), web.Caller(c).Organization, ids)
	if err != nil {
		return err
	}
	answer := make([]peer.Destination, len(found))
	for i, d := range found {
		if d.Unreadable != nil {
			a.log.ErrorContext(c.Request.Context(), "an endpoint cannot be sent to: it was sealed with another BELLBUOY_SECRET, or damaged",
				"endpoint", d.ID, "organization", d.Endpoint.OrganizationID, "error", d.Unreadable)
		}
		answer[i] = destination(d)
	}
	c.PureJSON(http.StatusOK, answer)
	return nil
}

func destination(d endpoint.Destination) peer.Destination {
	e := d.Endpoint
	components := e.ComponentIDs
	if components == nil {
		components = []string{} // none; for a peer, nil is all
	}
	return peer.Destination{
		ID: d.ID, Channel: e.Channel, State: peer.State(d.State),
		Dashboard: peer.Dashboard{
			ID: d.Dashboard.ID, LegacyID: d.Dashboard.LegacyID, Name: d.Dashboard.Name, Slug: d.Dashboard.Slug, URL: d.Dashboard.URL,
		},
		Components: components, URL: d.URL, URLHash: e.URLHash, URLDisplay: e.URLDisplay, Secrets: d.Secrets,
	}
}

// forgetComponent answers peer.Recipients.ForgetComponent.
func (a *API) forgetComponent(c *gin.Context) error {
	if err := a.endpoints.ForgetComponent(c.Request.Context(), web.Caller(c).Organization, c.Param("component")); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}
