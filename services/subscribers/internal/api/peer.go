package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
)

// concerned answers peer.Recipients.Concerned.
func (a *API) concerned(c *gin.Context) error {
	in, err := web.Body[peer.Concern](c)
	if err != nil {
		return err
	}
	ids, err := a.audience.Concerned(c.Request.Context(), web.Caller(c).Organization, in.Channel, in.Components, in.After, in.Limit)
	if err != nil {
		return err
	}
	page := peer.RecipientPage{Recipients: make([]peer.Recipient, len(ids))}
	for i, id := range ids {
		page.Recipients[i] = peer.Recipient{ID: id, Destination: audience.Destination(in.Channel, id)}
	}
	if len(ids) == in.Limit {
		page.Next = ids[len(ids)-1]
	}
	c.PureJSON(http.StatusOK, page)
	return nil
}

// resolve answers peer.Recipients.Resolve.
func (a *API) resolve(c *gin.Context) error {
	ids, err := web.Body[[]string](c)
	if err != nil {
		return err
	}
	reaches, err := a.audience.Resolve(c.Request.Context(), web.Caller(c).Organization, ids)
	if err != nil {
		return err
	}
	destinations := make([]peer.Destination, len(reaches))
	for i, reach := range reaches {
		destinations[i] = a.destination(reach)
	}
	c.PureJSON(http.StatusOK, destinations)
	return nil
}

func (a *API) destination(reach audience.Reach) peer.Destination {
	d := peer.Destination{ID: reach.ID, Channel: reach.Address.Channel, State: peer.Active, Components: []string{}}
	switch {
	case !reach.Found:
		d.State = peer.Gone
	case reach.Address.Blocked:
		d.State = peer.Suppressed
	default:
		d.Address, d.Components = reach.Address.Text, reach.Components
		d.Dashboard = peer.Dashboard{ID: reach.Dashboard.ID, Name: reach.Dashboard.Name, URL: reach.Dashboard.URL}
		if d.Channel == topic.Email {
			d.Manage = a.passes.link(pass{reach.Address.OrganizationID, reach.ID, reach.Address.Edition()})
		}
	}
	return d
}

// forgetComponent answers peer.Recipients.ForgetComponent.
func (a *API) forgetComponent(c *gin.Context) error {
	if err := a.audience.ForgetComponent(c.Request.Context(), web.Caller(c).Organization, c.Param("component")); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}
