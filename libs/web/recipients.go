package web

import (
	"context"
	"net/http"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/gin-gonic/gin"
)

// Recipients is the domain of a service that stores recipients. peer.Recipients is its client and
// describes the three operations.
type Recipients interface {
	Concerned(ctx context.Context, organization string, query topic.RecipientQuery) (topic.RecipientPage, error)
	Resolve(ctx context.Context, organization string, query topic.ResolveQuery) ([]topic.Destination, error)
	ForgetComponent(ctx context.Context, organization, component string) error
}

// VersionedRecipients is implemented by Recipients that can tell whether destinations have changed. The change must be in the
// version before the response to it.
type VersionedRecipients interface {
	Version(ctx context.Context, organization string, query topic.VersionQuery) (topic.RecipientsVersion, error)
}

// MountRecipients adds the routes that peer.Recipients calls. It checks topic.MaxPage and topic.MaxRecipients.
func MountRecipients(engine *gin.Engine, recipients Recipients) {
	peers := engine.Group(peer.Prefix+"/organizations/:"+OrganizationParam+"/recipients", Surface(passport.Peer))
	peers.POST("/concerned", Handle(func(c *gin.Context) error {
		query, err := Body[topic.RecipientQuery](c)
		if err != nil {
			return err
		}
		if query.Limit < 1 || query.Limit > topic.MaxPage {
			return fault.Field("limit", "must be from 1 to %d", topic.MaxPage)
		}
		page, err := recipients.Concerned(c.Request.Context(), Caller(c).Organization, query)
		if err != nil {
			return err
		}
		c.PureJSON(http.StatusOK, page)
		return nil
	}))
	peers.POST("/resolve", Handle(func(c *gin.Context) error {
		query, err := Body[topic.ResolveQuery](c)
		if err != nil {
			return err
		}
		if len(query.IDs) > topic.MaxRecipients {
			return fault.New(fault.Invalid, "At most %d recipients can be resolved in one request.", topic.MaxRecipients)
		}
		destinations, err := recipients.Resolve(c.Request.Context(), Caller(c).Organization, query)
		if err != nil {
			return err
		}
		if c.GetHeader("Accept") == topic.PackedDestinations {
			c.Data(http.StatusOK, topic.PackedDestinations, topic.Pack(destinations))
		} else {
			c.PureJSON(http.StatusOK, destinations)
		}
		return nil
	}))
	if versioned, is := recipients.(VersionedRecipients); is {
		peers.POST("/version", Handle(func(c *gin.Context) error {
			query, err := Body[topic.VersionQuery](c)
			if err != nil {
				return err
			}
			if len(query.Dashboards) > topic.MaxRecipients {
				return fault.New(fault.Invalid, "At most %d dashboards can be named in one request.", topic.MaxRecipients)
			}
			version, err := versioned.Version(c.Request.Context(), Caller(c).Organization, query)
			if err != nil {
				return err
			}
			c.PureJSON(http.StatusOK, version)
			return nil
		}))
	}
	peers.DELETE("/components/:component", Handle(func(c *gin.Context) error {
		if err := recipients.ForgetComponent(c.Request.Context(), Caller(c).Organization, c.Param("component")); err != nil {
			return err
		}
		c.Status(http.StatusNoContent)
		return nil
	}))
}
