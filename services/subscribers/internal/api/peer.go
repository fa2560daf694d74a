package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
)

// concerned serves peer.Recipients.Concerned.
func (a *API) concerned(c *gin.Context) error {
	query, err := web.Body[topic.RecipientQuery](c)
	if err != nil {
		return err
	}
	page, err := a.audience.Concerned(c.Request.Context(), web.Caller(c).Organization, query)
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, page)
	return nil
}

// resolve serves peer.Recipients.Resolve.
func (a *API) resolve(c *gin.Context) error {
	ids, err := web.Body[[]string](c)
	if err != nil {
		return err
	}
	destinations, err := a.audience.Resolve(c.Request.Context(), web.Caller(c).Organization, ids, func(address audience.Address) string {
		return a.passes.link(pass{address.OrganizationID, address.ID, address.Edition()})
	})
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, destinations)
	return nil
}

// forgetComponent serves peer.Recipients.ForgetComponent.
func (a *API) forgetComponent(c *gin.Context) error {
	if err := a.audience.ForgetComponent(c.Request.Context(), web.Caller(c).Organization, c.Param("component")); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}
