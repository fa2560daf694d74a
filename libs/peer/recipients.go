package peer

import (
	"context"
	"net/http"
	"net/url"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Recipients is the client of a service that stores recipients: integrations stores endpoints, subscribers stores
// mail addresses and phone numbers, identity stores members. Identity offers only Resolve.
type Recipients struct{ *Client }

// destinations is the response type that Client.call decodes with topic.Unpack.
type destinations []topic.Destination

// Concerned returns one page of the recipients that the change in query concerns.
func (r Recipients) Concerned(ctx context.Context, organization string, query topic.RecipientQuery) (topic.RecipientPage, error) {
	return post[topic.RecipientPage](ctx, r.Client, organization, "/recipients/concerned", query)
}

// Count returns the number of recipients to which a message about the change in query would be sent, at most query.Limit. It
// does not count paused and suppressed recipients. Only the subscribers service offers Count. query.After has no effect.
func (r Recipients) Count(ctx context.Context, organization string, query topic.RecipientQuery) (topic.RecipientCount, error) {
	return post[topic.RecipientCount](ctx, r.Client, organization, "/recipients/count", query)
}

// Explain returns the recipients that have the address or the URL of the query. For each recipient and each change of the
// query, it returns whether the change concerns the recipient, and if not, why. Only integrations and subscribers offer Explain.
func (r Recipients) Explain(ctx context.Context, organization string, query topic.ExplainQuery) (topic.Explanation, error) {
	return post[topic.Explanation](ctx, r.Client, organization, "/recipients/explain", query)
}

// Resolve returns the current destinations of the recipients, in the order of query.IDs. The destination of a
// deleted recipient has the state topic.RecipientGone.
func (r Recipients) Resolve(ctx context.Context, organization string, query topic.ResolveQuery) ([]topic.Destination, error) {
	return post[destinations](ctx, r.Client, organization, "/recipients/resolve", query)
}

// Version returns the version of the organization's recipients. Only integrations offers Version.
func (r Recipients) Version(ctx context.Context, organization string, query topic.VersionQuery) (topic.RecipientsVersion, error) {
	return post[topic.RecipientsVersion](ctx, r.Client, organization, "/recipients/version", query)
}

// ForgetComponent removes a deleted component from all recipients. The events service calls it before it
// responds to the deletion. If the call fails, the message topic.ComponentDeleted has the same effect later.
func (r Recipients) ForgetComponent(ctx context.Context, organization, component string) error {
	return r.call(ctx, organization, http.MethodDelete, organizationPath(organization, "/recipients/components/"+url.PathEscape(component)), nil, nil)
}

// Endpoints is the client of integrations for questions about endpoints.
type Endpoints struct{ *Client }

// IsOnlyComponent reports whether a verified endpoint of the organization names this component and no other.
func (e Endpoints) IsOnlyComponent(ctx context.Context, organization, component string) (bool, error) {
	return get[bool](ctx, e.Client, organization, "/endpoints/components/"+url.PathEscape(component)+"/only")
}
