package api

import (
	"net/http"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/gin-gonic/gin"
)

// concerned serves peer.Recipients.Concerned.
func (a *API) concerned(c *gin.Context) error {
	query, err := web.Body[topic.RecipientQuery](c)
	if err != nil {
		return err
	}
	page, err := a.endpoints.Concerned(c.Request.Context(), web.Caller(c).Organization, query)
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, page)
	return nil
}

// resolve serves peer.Recipients.Resolve. The response holds secrets.
func (a *API) resolve(c *gin.Context) error {
	ids, err := web.Body[[]string](c)
	if err != nil {
		return err
	}
	organization := web.Caller(c).Organization
	destinations, unreadable, err := a.endpoints.Resolve(c.Request.Context(), organization, ids)
	if err != nil {
		return err
	}
	for id, err := range unreadable {
		a.log.ErrorContext(c.Request.Context(), "An endpoint cannot be decrypted: it was sealed with another BELLBUOY_SECRET, or it is damaged.",
			"endpoint", id, "organization", organization, "error", err)
	}
	c.PureJSON(http.StatusOK, destinations)
	return nil
}

// forgetComponent serves peer.Recipients.ForgetComponent.
func (a *API) forgetComponent(c *gin.Context) error {
	if err := a.endpoints.ForgetComponent(c.Request.Context(), web.Caller(c).Organization, c.Param("component")); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}
