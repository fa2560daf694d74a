package api

import (
	"slices"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
)

// appChannel serves the subscribers of one channel on the App interface.
type appChannel struct {
	*API
	channel topic.Channel
	title   string // part of the operations' ids
}

// mail reports whether an address of the channel is a mail address, not a phone number.
func (a appChannel) mail() bool { return a.channel == topic.Email }

// Operations declares what the service offers on the App interface.
func Operations() []web.Operation { return (&API{}).operations() }

func (a *API) operations() []web.Operation {
	var operations []web.Operation
	for _, of := range []appChannel{{a, topic.Email, "Email"}, {a, topic.SMS, "SMS"}, {a, topic.WhatsApp, "WhatsApp"}} {
		operations = append(operations, of.operations()...)
	}
	return operations
}

// declared returns an operation of the channel. path is appended to the path of the list.
func (a appChannel) declared(method, path, id, summary, description string, status int, errors ...int) web.Operation {
	return web.Operation{
		Method: method, Path: "/app/subscribers/" + string(a.channel) + path, ID: id, Tag: string(a.channel) + " subscribers",
		Summary: summary, Description: description, Roles: []string{passport.RoleSubscriber}, Status: status, Errors: errors,
	}
}

func (a appChannel) operations() []web.Operation {
	list := a.declared("GET", "", "list"+a.title+"Subscribers", "List subscribers", "By address. An unknown dashboard or component has no subscribers.", 200)
	list.Example.Response = `{"subscribers": [` + a.example() + `], "nextToken": null}`
	create := a.declared("POST", "", "create"+a.title+"Subscriber", "Create a subscriber",
		"Unless confirmed is true, the owner of the address is asked for a confirmation. Nothing is sent to a suppressed address, or if locked is true. 409 if the dashboard has a subscriber with the address.", 201, 409)
	create.Example = web.Example{
		Request: `{"dashboardId": "01890a5d-ac96-774b-bcce-b302099a8060", ` + a.exampleAddress() + `,
			"componentIds": ["01890a5d-ac96-774b-bcce-b302099a8061"], "confirmed": true, "locale": "de"}`,
		Response: `{"subscriber": ` + a.example() + `}`,
	}
	get := a.declared("GET", "/{id}", "get"+a.title+"Subscriber", "Get a subscriber", "", 200, 404)
	get.Example.Response = create.Example.Response
	change := a.declared("PATCH", "/{id}", "change"+a.title+"Subscriber", "Change a subscriber",
		"At least one member is required. The address cannot be changed. confirmed sets the confirmation of each component. A component that is new is confirmed if the subscriber is. suppressed can be set to false only; that ends the suppression of the address on all dashboards.", 200, 404)
	change.Example = web.Example{Request: `{"paused": true, "locale": null}`, Response: create.Example.Response}
	remove := a.declared("DELETE", "/{id}", "delete"+a.title+"Subscriber", "Delete a subscriber", "The address's subscribers of other dashboards stay. A later import does not create the subscriber again, unless it has force. 409 with undo if no import has created the subscriber.", 204, 404, 409)
	resend := a.declared("POST", "/{id}/resend-confirmation", "resend"+a.title+"Confirmation", "Send the confirmation again",
		"With a new link; the former ones end. 409 if the subscriber is confirmed or locked, or its address is suppressed.", 202, 404, 409)
	resend.Example.Response = `{"deliveryId": "01890a5d-ac96-874b-bcce-b302099a8070"}`
	counts := a.declared("GET", "/counts", "count"+a.title+"Subscribers", "Count subscribers", "A subscriber can be in several states.", 200)
	counts.Example.Response = `{"counts": {"total": 3, "confirmed": 2, "unconfirmed": 1, "paused": 0, "suppressed": 1, "unsubscribed": 1}}`
	operations := []web.Operation{
		web.Declare(list, a.list), web.Declare(get, a.get), web.Declare(change, a.change), web.Declare(remove, a.remove),
		web.Declare(resend, a.resend), web.Declare(counts, a.counts), a.importOperation(),
	}
	if a.mail() {
		return append(operations, web.Declare(create, createFrom[mailBody](a)))
	}
	return append(operations, web.Declare(create, createFrom[phoneBody](a)))
}

func (a appChannel) exampleAddress() string {
	if a.mail() {
		return `"email": "ada@example.com"`
	}
	return `"phone": "+4915112345678"`
}

func (a appChannel) example() string {
	return `{"id": "01890a5d-ac96-774b-bcce-b302099a8062", "channel": "` + string(a.channel) + `", "dashboardId": "01890a5d-ac96-774b-bcce-b302099a8060", ` + a.exampleAddress() + `,
		"componentIds": ["01890a5d-ac96-774b-bcce-b302099a8061"], "confirmed": true, "partlyConfirmed": false, "confirmedAt": "2026-01-31T09:30:00.000Z", "paused": false, "locked": false,
		"suppressed": false, "suppressedReason": null, "locale": "de", "source": "app", "createdAt": "2026-01-31T09:30:00.000Z", "updatedAt": "2026-01-31T09:30:00.000Z"}`
}

type subscriberView struct {
	ID               string                     `json:"id" format:"uuid"`
	Channel          topic.Channel              `json:"channel"`
	DashboardID      string                     `json:"dashboardId" format:"uuid"`
	Email            string                     `json:"email,omitempty"`
	Phone            string                     `json:"phone,omitempty" description:"E.164."`
	ComponentIDs     []string                   `json:"componentIds" nullable:"true" description:"Null: all components of the dashboard, also future ones. A component that the dashboard no longer has is not shown, and no message is sent about it."`
	Confirmed        bool                       `json:"confirmed" description:"The owner of the address has confirmed all components."`
	PartlyConfirmed  bool                       `json:"partlyConfirmed" description:"The owner has confirmed some of the components only. No message is sent about the others."`
	ConfirmedAt      *web.Time                  `json:"confirmedAt"`
	Paused           bool                       `json:"paused"`
	Locked           bool                       `json:"locked" description:"Its owner cannot subscribe again, confirm or manage it, but unsubscribe."`
	Suppressed       bool                       `json:"suppressed" description:"Nothing is sent to the address."`
	SuppressedReason *audience.SuppressedReason `json:"suppressedReason" enum:"bounce,complaint,invalid,unsubscribed" description:"unsubscribed: the owner unsubscribed on the page from which an import took the address. The owner's own confirmation ends the suppression."`
	Locale           *string                    `json:"locale" description:"Null: the dashboard's."`
	Source           audience.SubscriberSource  `json:"source" enum:"app,legacy,import,public"`
	CreatedAt        web.Time                   `json:"createdAt"`
	UpdatedAt        web.Time                   `json:"updatedAt"`
}

type oneSubscriberView struct {
	Subscriber subscriberView `json:"subscriber"`
}

func subscriberViewOf(s audience.Subscriber) subscriberView {
	out := subscriberView{
		ID: s.ID, Channel: s.Channel, DashboardID: s.DashboardID, ComponentIDs: s.ComponentIDs(),
		Confirmed: s.Confirmed(), PartlyConfirmed: s.PartlyConfirmed(), ConfirmedAt: web.TimeOf(s.ConfirmedAt()), Paused: s.Paused, Locked: s.Locked, Locale: optional.OrNull(s.Locale),
		Source: s.Source, CreatedAt: web.Time(s.CreatedAt), UpdatedAt: web.Time(s.UpdatedAt),
	}
	if out.Phone = s.Address.Text; s.Channel == topic.Email {
		out.Email, out.Phone = s.Address.Text, ""
	}
	if suppression := s.Address.Suppression; suppression != nil {
		out.Suppressed, out.SuppressedReason = true, &suppression.Reason
	}
	return out
}

type subscriberList struct {
	web.Paging
	DashboardID *string `query:"dashboardId" format:"uuid"`
	ComponentID *string `query:"componentId" format:"uuid" description:"Also finds subscribers of all components, on dashboards with the component."`
	Q           *string `query:"q" maxLength:"254" description:"Part of the address, in any case."`
	State       *string `query:"state" enum:"confirmed,unconfirmed,paused,suppressed,unsubscribed" description:"unsubscribed: suppressed with this reason."`
}

type subscribersView struct {
	Subscribers []subscriberView `json:"subscribers"`
	NextToken   *string          `json:"nextToken"`
}

func (a appChannel) list(c *web.Call[subscriberList, web.None]) (subscribersView, error) {
	in := c.Parameters
	filter := audience.Filter{
		DashboardID: optional.OrZero(in.DashboardID), ComponentID: optional.OrZero(in.ComponentID), Text: optional.OrZero(in.Q), State: audience.State(optional.OrZero(in.State)),
	}
	subscribers, next, err := web.Listed(a.pages, c.List, in.Paging, func(limit int, after string) (find.Page[audience.Subscriber], error) {
		filter.Limit, filter.After = limit, after
		return a.audience.List(c, c.Caller.Organization, a.channel, filter)
	}, subscriberViewOf)
	return subscribersView{subscribers, next}, err
}

type countParameters struct {
	DashboardID *string `query:"dashboardId" format:"uuid"`
}

type countsView struct {
	Counts struct {
		Total        int64 `json:"total"`
		Confirmed    int64 `json:"confirmed"`
		Unconfirmed  int64 `json:"unconfirmed"`
		Paused       int64 `json:"paused"`
		Suppressed   int64 `json:"suppressed"`
		Unsubscribed int64 `json:"unsubscribed" description:"Suppressed with this reason."`
	} `json:"counts"`
}

func (a appChannel) counts(c *web.Call[countParameters, web.None]) (countsView, error) {
	counts, err := a.audience.Counts(c, c.Caller.Organization, a.channel, optional.OrZero(c.Parameters.DashboardID))
	var out countsView
	out.Counts.Total, out.Counts.Confirmed, out.Counts.Unconfirmed = counts.Total, counts.In[audience.Confirmed], counts.In[audience.Unconfirmed]
	out.Counts.Paused, out.Counts.Suppressed = counts.In[audience.Paused], counts.In[audience.Suppressed]
	out.Counts.Unsubscribed = counts.In[audience.Unsubscribed]
	return out, err
}

// draftMembers are the members of the body of a create, without the address.
type draftMembers struct {
	DashboardID  optional.Value[string]   `json:"dashboardId" required:"true" format:"uuid"`
	ComponentIDs optional.Value[[]string] `json:"componentIds" nullable:"true" minItems:"1" maxItems:"500" description:"Components of the dashboard. Null or absent: all components, also future ones."`
	Confirmed    optional.Value[bool]     `json:"confirmed" default:"false" description:"True: no confirmation is asked for."`
	Paused       optional.Value[bool]     `json:"paused" default:"false"`
	Locked       optional.Value[bool]     `json:"locked" default:"false"`
	Locale       optional.Value[string]   `json:"locale" nullable:"true" maxLength:"35" minLength:"1" description:"BCP 47. Null or absent: the dashboard's."`
}

func (b draftMembers) draft(address string) audience.Draft {
	draft := audience.Draft{
		DashboardID: b.DashboardID.Value, Address: address, Confirmed: b.Confirmed.Value, Paused: b.Paused.Value, Locked: b.Locked.Value, Locale: b.Locale,
	}
	if b.ComponentIDs.Sent && !b.ComponentIDs.Null {
		draft.ComponentIDs = append([]string{}, b.ComponentIDs.Value...)
	}
	return draft
}

type mailBody struct {
	draftMembers
	Email optional.Value[string] `json:"email" required:"true" maxLength:"254" format:"idn-email"`
}

func (b mailBody) from() audience.Draft { return b.draft(b.Email.Value) }

type phoneBody struct {
	draftMembers
	Phone optional.Value[string] `json:"phone" required:"true" maxLength:"40" description:"With a plus sign and the country code. It is stored in E.164."`
}

func (b phoneBody) from() audience.Draft { return b.draft(b.Phone.Value) }

// createFrom returns the handler of a create with the body B.
func createFrom[B interface{ from() audience.Draft }](a appChannel) func(*web.Call[web.None, B]) (oneSubscriberView, error) {
	return web.WithBody(func(c *web.Call[web.None, B], in B) (oneSubscriberView, error) {
		created, err := a.audience.Create(c, c.Caller.Organization, a.channel, in.from())
		return oneSubscriberView{subscriberViewOf(created)}, err
	})
}

type subscriberPath struct {
	ID string `path:"id" format:"uuid"`
}

type removedSubscriber struct {
	ID   string `path:"id" format:"uuid"`
	Undo *bool  `query:"undo" description:"True: undoes the import that created the subscriber: a later import may create it again."`
}

func (a appChannel) get(c *web.Call[subscriberPath, web.None]) (oneSubscriberView, error) {
	found, err := a.audience.Subscriber(c, c.Caller.Organization, a.channel, c.Parameters.ID)
	return oneSubscriberView{subscriberViewOf(found)}, err
}

type subscriberPatch struct {
	ComponentIDs optional.Value[[]string] `json:"componentIds" nullable:"true" minItems:"1" maxItems:"500" description:"Components of the dashboard. Null: all components, also future ones."`
	Confirmed    optional.Value[bool]     `json:"confirmed"`
	Paused       optional.Value[bool]     `json:"paused"`
	Locked       optional.Value[bool]     `json:"locked"`
	Locale       optional.Value[string]   `json:"locale" nullable:"true" maxLength:"35" minLength:"1" description:"BCP 47. Null: the dashboard's."`
	Suppressed   optional.Value[bool]     `json:"suppressed" description:"False only."`
}

func (b subscriberPatch) patch() (audience.SubscriberPatch, error) {
	sent := []bool{b.ComponentIDs.Sent, b.Confirmed.Sent, b.Paused.Sent, b.Locked.Sent, b.Locale.Sent, b.Suppressed.Sent}
	if !slices.Contains(sent, true) {
		return audience.SubscriberPatch{}, fault.New(fault.Invalid, "Send at least one field to change.")
	}
	if b.Suppressed.Value {
		return audience.SubscriberPatch{}, fault.Field("suppressed", "must be false: only delivery suppresses an address. Pause the subscriber instead.")
	}
	patch := audience.SubscriberPatch{
		ComponentIDs: b.ComponentIDs, Confirmed: b.Confirmed.Pointer(), Paused: b.Paused.Pointer(), Locked: b.Locked.Pointer(), Locale: b.Locale, Clear: b.Suppressed.Sent,
	}
	if b.ComponentIDs.Sent && !b.ComponentIDs.Null && b.ComponentIDs.Value == nil {
		patch.ComponentIDs.Value = []string{}
	}
	return patch, nil
}

func (a appChannel) change(c *web.Call[subscriberPath, subscriberPatch]) (oneSubscriberView, error) {
	changed, err := a.audience.ChangeSubscriber(c, c.Caller.Organization, a.channel, c.Parameters.ID, func() (audience.SubscriberPatch, error) {
		in, err := c.Body()
		if err != nil {
			return audience.SubscriberPatch{}, err
		}
		return in.patch()
	})
	return oneSubscriberView{subscriberViewOf(changed)}, err
}

func (a appChannel) remove(c *web.Call[removedSubscriber, web.None]) (web.None, error) {
	return web.None{}, a.audience.RemoveSubscriber(c, c.Caller.Organization, a.channel, c.Parameters.ID, optional.OrZero(c.Parameters.Undo))
}

type confirmationView struct {
	DeliveryID string `json:"deliveryId" format:"uuid" description:"Of the delivery in the logs."`
}

func (a appChannel) resend(c *web.Call[subscriberPath, web.None]) (confirmationView, error) {
	id, err := a.audience.Resend(c, c.Caller.Organization, a.channel, c.Parameters.ID)
	return confirmationView{id}, err
}

// rowMembers are the members of a row of an import, without the address.
type rowMembers struct {
	ComponentIDs optional.Value[[]string]  `json:"componentIds" nullable:"true" minItems:"1" maxItems:"500" description:"Components of the dashboard. Null: all. Absent: all, and of a known subscriber as before."`
	Confirmed    optional.Value[bool]      `json:"confirmed" description:"Absent: false, and of a known subscriber as before."`
	State        optional.Value[string]    `json:"state" enum:"confirmed,unconfirmed,quarantined,unsubscribed" description:"The state on the page from which the subscriber comes; not beside confirmed. See the operation."`
	ConfirmedAt  optional.Value[time.Time] `json:"confirmedAt" description:"When the owner confirmed there: not before 1970 and not in the future. Absent: now."`
	Locale       optional.Value[string]    `json:"locale" nullable:"true" maxLength:"35"`
}

func (m rowMembers) row(address string) audience.Row {
	row := audience.Row{
		Address: address, Confirmed: m.Confirmed.Pointer(), ConfirmedAt: m.ConfirmedAt.Pointer(), State: audience.RowState(m.State.Value), ComponentIDs: m.ComponentIDs, Locale: m.Locale,
	}
	if m.ComponentIDs.Sent && !m.ComponentIDs.Null && m.ComponentIDs.Value == nil {
		row.ComponentIDs.Value = []string{}
	}
	return row
}

type mailRow struct {
	Email optional.Value[string] `json:"email" required:"true" maxLength:"254" format:"idn-email"`
	rowMembers
}

func (r mailRow) from() audience.Row { return r.row(r.Email.Value) }

type phoneRow struct {
	Phone optional.Value[string] `json:"phone" required:"true" description:"With a plus sign and the country code."`
	rowMembers
}

func (r phoneRow) from() audience.Row { return r.row(r.Phone.Value) }

// importMembers are the members of the body of an import, without the rows.
type importMembers struct {
	DashboardID       optional.Value[string] `json:"dashboardId" required:"true" format:"uuid"`
	SendConfirmations optional.Value[bool]   `json:"sendConfirmations" default:"false" description:"The owners of unconfirmed addresses are asked for a confirmation, unless they were asked already."`
	Force             optional.Value[bool]   `json:"force" default:"false" description:"Also creates subscribers again whom the owner or a member has deleted, or whose address a member has changed. Else their rows are refused."`
	DryRun            optional.Value[bool]   `json:"dryRun" default:"false" description:"Nothing is stored and nobody is asked. The results are those that the import would have."`
}

// importOf is the body of an import with rows of type R.
type importOf[R interface{ from() audience.Row }] struct {
	importMembers
	Rows optional.Value[[]web.Row[R]] `json:"rows" required:"true" minItems:"1" maxItems:"1000"`
}

type mailImport struct{ importOf[mailRow] }

type phoneImport struct{ importOf[phoneRow] }

// from returns the other members of the body, and the rows. If a row cannot be decoded, its audience.Row has the error
// in Wrong.
func (b importOf[R]) from() (importMembers, []audience.Row) {
	return b.importMembers, find.Values(b.Rows.Value, func(sent web.Row[R]) audience.Row {
		row, err := sent.Read()
		if err != nil {
			return audience.Row{Wrong: err}
		}
		return row.from()
	})
}

type importedView struct {
	Results []importResultView `json:"results" description:"One for each row, in order."`
}

type importResultView struct {
	Row    int     `json:"row" description:"From 1."`
	Status string  `json:"status" enum:"created,updated,refused"`
	ID     *string `json:"id" format:"uuid" description:"Null for a refused row, and for one that a dry run would create."`
	Error  *string `json:"error" description:"Why the row is refused."`
}

func (a appChannel) importOperation() web.Operation {
	operation := a.declared("POST", "/import", "import"+a.title+"Subscribers", "Import subscribers",
		"Each row creates a subscriber, changes the one with its address, or is refused; a refused row does not affect others. A row of another shape is refused too. At most 1,000 rows and 1 MiB (1,048,576 bytes) of body; split a longer list. It may be repeated after an error: nobody is created or asked twice.\n\n"+
			"state is for subscribers of another page. confirmed: confirmed since confirmedAt; by SMS as unconfirmed, because messages come from a new number. unconfirmed: refused, or asked with sendConfirmations. "+
			"quarantined: the address is suppressed (bounce). unsubscribed: the address is suppressed (unsubscribed), unless its owner has confirmed another subscription; the owner's own confirmation ends this. "+
			"An address whose suppression a member or its owner has ended is not suppressed again, and a state never ends the confirmation of a subscriber that no import has created.", 200)
	operation.Example = web.Example{
		Request: `{"dashboardId": "01890a5d-ac96-774b-bcce-b302099a8060", "rows": [{` + a.exampleAddress() + `, "confirmed": true}, {` +
			strings.NewReplacer("@", "", "+", "").Replace(a.exampleAddress()) + `}]}`,
		Response: `{"results": [{"row": 1, "status": "created", "id": "01890a5d-ac96-774b-bcce-b302099a8062", "error": null},
			{"row": 2, "status": "refused", "id": null, "error": "The address is not valid."}]}`,
	}
	if a.mail() {
		return web.Declare(operation, importFrom[mailImport](a))
	}
	return web.Declare(operation, importFrom[phoneImport](a))
}

func importFrom[B interface {
	from() (importMembers, []audience.Row)
}](a appChannel) func(*web.Call[web.None, B]) (importedView, error) {
	return web.WithBody(func(c *web.Call[web.None, B], body B) (importedView, error) {
		in, rows := body.from()
		results, err := a.audience.Import(c, c.Caller.Organization, a.channel, in.DashboardID.Value, rows, audience.ImportOptions{Asks: in.SendConfirmations.Value, Force: in.Force.Value, DryRun: in.DryRun.Value})
		out := importedView{Results: make([]importResultView, len(results))}
		for i, result := range results {
			out.Results[i] = importResultView{Row: i + 1, Status: string(result.Status)}
			out.Results[i].ID, out.Results[i].Error = optional.OrNull(result.ID), optional.OrNull(result.Error)
		}
		return out, err
	})
}
