package api

import (
	"net/http"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/gin-gonic/gin"
)

// peerIngest applies a message of a monitoring tool, or only checks the message if Check is set. The actor of the audit
// entries is the key that signed the message.
func (a api) peerIngest(c *gin.Context) error {
	in, err := web.Body[topic.InboundMessage](c)
	if err != nil {
		return err
	}
	if in.Check {
		if err := a.catalog.CheckInbound(c.Request.Context(), c.Param(web.OrganizationParam), inboundOf(in)); err != nil {
			return err
		}
		c.PureJSON(http.StatusOK, topic.InboundResult{})
		return nil
	}
	ctx := audit.WithInboundKey(c.Request.Context(), in.KeyID, in.IP, in.RequestID)
	outcome, err := a.catalog.Ingest(ctx, catalog.Command{
		Organization: c.Param(web.OrganizationParam), Source: catalog.SourceInbound, Author: catalog.Author{Name: in.KeyName},
	}, inboundOf(in))
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, topic.InboundResult{Result: string(outcome.Result), EventID: outcome.EventID})
	return nil
}

func inboundOf(in topic.InboundMessage) catalog.Inbound {
	out := catalog.Inbound{
		ID: in.ID, Action: catalog.InboundAction(in.Action), ExternalID: in.ExternalID, Title: in.Title, Description: in.Description,
		Message: in.Message, Status: catalog.Status(in.Status), Severity: in.Severity, DefaultSeverity: in.DefaultSeverity,
		Components: in.Components, Impact: catalog.Impact(in.Impact), Timestamp: in.Timestamp, ReceivedAt: in.ReceivedAt, Publish: in.Publish,
	}
	if in.Named != nil {
		out.Named = &catalog.NamedComponent{Group: in.Named.Group, Name: in.Named.Name}
	}
	if in.Notify != nil {
		out.Notify = web.Notify(*in.Notify).Wording()
	}
	return out
}
