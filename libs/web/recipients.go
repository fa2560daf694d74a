package web

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Recipients is implemented by a service that stores recipients. peer.Recipients is the client of these operations
// and describes them.
type Recipients interface {
	Concerned(ctx context.Context, organization string, query topic.RecipientQuery) (topic.RecipientPage, error)
	Resolve(ctx context.Context, organization string, query topic.ResolveQuery) ([]topic.Destination, error)
	ForgetComponent(ctx context.Context, organization, component string) error
}

// VersionedRecipients is implemented by Recipients that have a version. A service must change the version before it
// responds to a request that changes a destination.
type VersionedRecipients interface {
	Version(ctx context.Context, organization string, query topic.VersionQuery) (topic.RecipientsVersion, error)
}

// CountedRecipients is implemented by Recipients that can count the recipients of a change.
type CountedRecipients interface {
	Count(ctx context.Context, organization string, query topic.RecipientQuery) (topic.RecipientCount, error)
}

// ExplainedRecipients is implemented by Recipients that users find by an address or a URL.
type ExplainedRecipients interface {
	Explain(ctx context.Context, organization string, query topic.ExplainQuery) (topic.Explanation, error)
}

// MountRecipients adds the routes that peer.Recipients calls. The routes enforce topic.MaxPage and
// topic.MaxRecipients.
func MountRecipients(engine *gin.Engine, recipients Recipients) {
	MountResolve(engine, recipients.Resolve)
	peers := recipientRoutes(engine)
	bounded := func(query topic.RecipientQuery) error {
		if query.Limit < 1 || query.Limit > topic.MaxPage {
			return fault.Field("limit", "must be from 1 to %d", topic.MaxPage)
		}
		return nil
	}
	peers.POST("/concerned", answer(recipients.Concerned, bounded))
	if counted, is := recipients.(CountedRecipients); is {
		peers.POST("/count", answer(counted.Count, bounded))
	}
	if explained, is := recipients.(ExplainedRecipients); is {
		peers.POST("/explain", answer(explained.Explain, func(query topic.ExplainQuery) error {
			if len(query.Changes) > topic.MaxExplained {
				return fault.New(fault.Invalid, "At most %d changes can be explained in one request.", topic.MaxExplained)
			}
			return nil
		}))
	}
	if versioned, is := recipients.(VersionedRecipients); is {
		peers.POST("/version", answer(versioned.Version, func(query topic.VersionQuery) error {
			if len(query.Dashboards) > topic.MaxRecipients {
				return fault.New(fault.Invalid, "At most %d dashboards can be named in one request.", topic.MaxRecipients)
			}
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

// recipientRoutes returns the group of the routes that peer.Recipients calls.
func recipientRoutes(engine *gin.Engine) *gin.RouterGroup {
	return engine.Group(peer.Prefix+"/organizations/:"+OrganizationParam+"/recipients", Surface(passport.Peer))
}

// MountResolve adds the route of peer.Recipients.Resolve. A service whose recipients get only notices needs no other
// route of peer.Recipients.
func MountResolve(engine *gin.Engine, resolve func(ctx context.Context, organization string, query topic.ResolveQuery) ([]topic.Destination, error)) {
	recipientRoutes(engine).POST("/resolve", answer(func(ctx context.Context, organization string, query topic.ResolveQuery) (packed, error) {
		destinations, err := resolve(ctx, organization, query)
		return packed(destinations), err
	}, func(query topic.ResolveQuery) error {
		if len(query.IDs) > topic.MaxRecipients {
			return fault.New(fault.Invalid, "At most %d recipients can be resolved in one request.", topic.MaxRecipients)
		}
		return nil
	}))
}

// packed is a list of destinations. answer sends the list in the form of topic.Pack if the caller accepts this form, otherwise
// as JSON.
type packed []topic.Destination

// answer returns a handler that reads a query, checks it, and responds with the result of do.
func answer[Q, R any](do func(ctx context.Context, organization string, query Q) (R, error), check func(Q) error) gin.HandlerFunc {
	return Handle(func(c *gin.Context) error {
		query, err := Body[Q](c)
		if err == nil {
			err = check(query)
		}
		if err != nil {
			return err
		}
		result, err := do(c.Request.Context(), Caller(c).Organization, query)
		if err != nil {
			return err
		}
		if destinations, is := any(result).(packed); is && c.GetHeader("Accept") == topic.PackedDestinations {
			c.Data(http.StatusOK, topic.PackedDestinations, topic.Pack(destinations))
		} else {
			c.PureJSON(http.StatusOK, result)
		}
		return nil
	})
}
