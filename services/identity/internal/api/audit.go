package api

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"

	"github.com/bellbuoy/bellbuoy/services/identity/internal/account"
)

func (a api) auditOperations() []web.Operation {
	return []web.Operation{web.Declare(web.Operation{
		Method: "GET", Path: "/app/audit", ID: "listAuditEntries", Tag: "audit", Summary: "List audit entries, newest first",
		Description: "Every successful write on every interface leaves one entry. A sign-in to the console that is refused because of too many tries, or because there may be a copy of a passkey, leaves one with the action user.sign_in.refuse, at most one of a member in 15 minutes. A large record is cut; it has the member truncated then. A page with large records has fewer entries than limit.",
		Roles:       []string{passport.RoleAdmin}, Status: 200,
		Example: web.Example{Response: `{"entries": [{"id": "01890a5d-ac96-774b-bcce-b302099a8064", "occurredAt": "2026-01-31T09:30:00.000Z",
			"actor": {"type": "user", "id": "01890a5d-ac96-774b-bcce-b302099a8057", "email": "ada@example.com", "keyId": "01890a5d-ac96-774b-bcce-b302099a8059"},
			"action": "component.update", "entityType": "component", "entityId": "01890a5d-ac96-774b-bcce-b302099a8061", "entityName": "Checkout",
			"changedFields": ["name"], "before": {"name": "Chekcout"}, "after": {"name": "Checkout"}, "ip": "192.0.2.1",
			"requestId": "01890a5d-ac96-774b-bcce-b302099a8065", "surface": "app"}], "nextToken": null}`},
	}, a.listAuditEntries)}
}

// actorView shows the operator, a visitor and the scheduler only by their type.
type actorView struct {
	Type  topic.ActorType `json:"type" enum:"user,operator,visitor,scheduler,inbound_key"`
	ID    string          `json:"id,omitempty" format:"uuid"`
	Email string          `json:"email,omitempty"`
	KeyID string          `json:"keyId,omitempty" format:"uuid" description:"The key of the request."`
}

type auditEntryView struct {
	ID            string         `json:"id" format:"uuid"`
	OccurredAt    web.Time       `json:"occurredAt"`
	Actor         actorView      `json:"actor"`
	Action        string         `json:"action"`
	EntityType    string         `json:"entityType" description:"The first part of the action."`
	EntityID      string         `json:"entityId"`
	EntityName    string         `json:"entityName"`
	ChangedFields []string       `json:"changedFields"`
	Before        map[string]any `json:"before" nullable:"true" description:"Null for a create."`
	After         map[string]any `json:"after" nullable:"true" description:"Null for a delete."`
	IP            *string        `json:"ip" description:"Of the client's connection; null for the scheduler."`
	RequestID     *string        `json:"requestId" description:"X-Request-Id of the response; null for the scheduler."`
	Surface       string         `json:"surface" enum:"app,console,legacy,inbound,operator,public,scheduler"`
}

type auditView struct {
	Entries   []auditEntryView `json:"entries"`
	NextToken *string          `json:"nextToken"`
}

type auditParameters struct {
	web.Paging
	ActorID    *string    `query:"actorId" format:"uuid"`
	Action     *string    `query:"action"`
	EntityType *string    `query:"entityType"`
	EntityID   *string    `query:"entityId"`
	From       *time.Time `query:"from" description:"Only entries at or after this time."`
	To         *time.Time `query:"to" description:"Only entries before this time."`
}

func (a api) listAuditEntries(c *web.Call[auditParameters, web.None]) (auditView, error) {
	in := c.Parameters
	after, err := a.pages.Position(c.List, in.Paging)
	if err != nil {
		return auditView{}, err
	}
	page, err := a.accounts.AuditEntries(c, c.Caller.Organization, account.AuditFilter{
		ActorID: optional.OrZero(in.ActorID), Action: optional.OrZero(in.Action), EntityType: optional.OrZero(in.EntityType), EntityID: strings.ToLower(optional.OrZero(in.EntityID)),
		From: in.From, To: in.To,
	}, in.Limit, after)
	view := auditView{Entries: make([]auditEntryView, len(page.Items)), NextToken: a.pages.Token(c.List, page.Next)}
	for i := range page.Items {
		if err == nil {
			view.Entries[i], err = viewAuditEntry(&page.Items[i])
		}
	}
	return view, err
}

func viewAuditEntry(e *topic.AuditEntry) (auditEntryView, error) {
	view := auditEntryView{
		ID: e.ID, OccurredAt: web.Time(e.OccurredAt), Actor: actorView(e.Actor), Action: e.Action,
		EntityType: e.EntityType, EntityID: e.EntityID, EntityName: e.EntityName, ChangedFields: append([]string{}, e.ChangedFields...),
		IP: optional.OrNull(e.IP), RequestID: optional.OrNull(e.RequestID), Surface: e.Surface,
	}
	for side, text := range map[*map[string]any]json.RawMessage{&view.Before: e.Before, &view.After: e.After} {
		if err := json.Unmarshal(text, side); err != nil {
			return view, fault.Wrap(fault.Internal, err, "An audit entry cannot be decoded.")
		}
	}
	return view, nil
}
