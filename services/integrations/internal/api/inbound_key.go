package api

import (
	"errors"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/inbound"
)

// inboundOperations declares the operations for the signing keys, the problems and the logs of the inbound webhook.
func (a *API) inboundOperations() []web.Operation {
	const key = `"keyId": "01890a5d-ac96-774b-bcce-b302099a8070", "name": "Alertmanager",
		"createdBy": {"userId": "01890a5d-ac96-774b-bcce-b302099a8057", "name": "Ada Lovelace"}, "createdAt": "2026-01-31T09:30:00.000Z",
		"lastUsedAt": null, "revokedAt": null, "defaults": {"publish": true, "notify": true, "severity": null},
		"bearer": false, "openAfter": "2m", "resolveAfter": "0s", "minSources": 1,
		"expectEvery": null, "managementEmail": null, "silentSince": null`
	declared := func(method, path, id, summary, description string, status int) web.Operation {
		return web.Operation{
			Method: method, Path: "/app/integrations/webhooks/inbound" + path, ID: id, Tag: "inbound webhook", Summary: summary, Description: description,
			Roles: []string{passport.RoleAdmin}, Entitlement: web.Integrations, Status: status,
		}
	}
	list := declared("GET", "/keys", "listInboundKeys", "List signing keys", "Oldest first, with the revoked ones. No secrets.", 200)
	list.Example.Response = `{"keys": [{` + key + `}], "nextToken": null}`
	create := declared("POST", "/keys", "createInboundKey", "Create a signing key",
		"The secret is shown in this response only. An organization has at most 20 active keys.", 201)
	create.Example = web.Example{
		Request:  `{"name": "Alertmanager", "defaults": {"severity": "minor_outage"}, "openAfter": "2m"}`,
		Response: `{"key": {` + key + `, "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="}}`,
	}
	change := declared("PATCH", "/keys/{keyId}", "changeInboundKey", "Change a signing key", "At least one member is required. Problems that wait keep their time.", 200)
	change.Example = web.Example{Request: `{"openAfter": "2m"}`, Response: `{"key": {` + key + `}}`}
	problems := declared("GET", "/problems", "listInboundProblems", "List the problems that monitoring tools report",
		"Ordered by since, newest first. A problem that no source reports is listed for 24 h, any other for 30 days after its last message.", 200)
	problems.Entitlement = web.NoEntitlement
	problems.Example.Response = `{"problems": [{"keyId": "01890a5d-ac96-774b-bcce-b302099a8070", "externalId": "checkout-latency", "state": "waiting", "sources": ["default"],
		"since": "2026-01-31T09:30:00.000Z", "dueAt": "2026-01-31T09:32:00.000Z", "eventId": null}], "nextToken": null}`
	revoke := declared("DELETE", "/keys/{keyId}", "revokeInboundKey", "Revoke a signing key", "The revocation is permanent. The list still shows the key.", 204)
	logs := declared("GET", "/logs", "listInboundLogs", "List the requests to the inbound webhook",
		"Newest first, for 30 days. A repeated request whose response was kept, and refusals above 20 in a minute for one key, have no row.", 200)
	logs.Entitlement = web.NoEntitlement
	logs.Example.Response = `{"logs": [{"logId": "01890a5d-ac96-774b-bcce-b302099a8071", "receivedAt": "2026-01-31T09:30:00.000Z",
		"keyId": "01890a5d-ac96-774b-bcce-b302099a8070", "remoteIp": "192.0.2.1", "format": "alertmanager", "source": "default", "action": "trigger", "externalId": "checkout-latency",
		"eventId": "01890a5d-ac96-774b-bcce-b302099a8062", "result": "created", "httpStatus": 200, "error": null}], "nextToken": null}`
	return []web.Operation{
		web.Declare(list, a.listKeys), web.Declare(create, web.WithBody(a.createKey)), web.Declare(change, a.changeKey), web.Declare(revoke, a.revokeKey), web.Declare(logs, a.listLogs), web.Declare(problems, a.listProblems),
	}
}

type inboundKeyView struct {
	KeyID      string          `json:"keyId" format:"uuid"`
	Name       string          `json:"name"`
	Secret     string          `json:"secret,omitempty" description:"On create only: whsec_ and Base64, for Standard Webhooks."`
	CreatedBy  createdByView   `json:"createdBy"`
	CreatedAt  web.Time        `json:"createdAt"`
	LastUsedAt *web.Time       `json:"lastUsedAt" description:"To the minute."`
	RevokedAt  *web.Time       `json:"revokedAt"`
	Defaults   keyDefaultsView `json:"defaults"`

	Bearer       bool   `json:"bearer"`
	OpenAfter    string `json:"openAfter"`
	ResolveAfter string `json:"resolveAfter"`
	MinSources   int    `json:"minSources"`

	ExpectEvery     *string   `json:"expectEvery"`
	ManagementEmail *string   `json:"managementEmail" format:"email"`
	SilentSince     *web.Time `json:"silentSince" description:"The last request, if none has arrived for longer than expectEvery."`
}

type createdByView struct {
	UserID string `json:"userId" format:"uuid"`
	Name   string `json:"name"`
}

type keyDefaultsView struct {
	Publish  bool    `json:"publish"`
	Notify   bool    `json:"notify"`
	Severity *string `json:"severity" enum:"minor_performance,major_performance,minor_outage,major_outage"`
}

type oneInboundKeyView struct {
	Key inboundKeyView `json:"key"`
}

type inboundKeysView struct {
	Keys      []inboundKeyView `json:"keys"`
	NextToken *string          `json:"nextToken"`
}

func viewInboundKey(k inbound.Key, secret string) inboundKeyView {
	out := inboundKeyView{
		KeyID: k.ID, Name: k.Name, Secret: secret, CreatedBy: createdByView(k.CreatedBy), CreatedAt: web.Time(k.CreatedAt),
		LastUsedAt: web.TimeOf(k.LastUsedAt), RevokedAt: web.TimeOf(k.RevokedAt),
		Defaults: keyDefaultsView{k.Defaults.Publish, k.Defaults.Notify, optional.OrNull(k.Defaults.Severity)},
		Bearer:   k.Bearer, OpenAfter: k.OpenAfter.String(), ResolveAfter: k.ResolveAfter.String(), MinSources: k.MinSources,
		ManagementEmail: optional.OrNull(k.ManagementEmail), SilentSince: web.TimeOf(k.SilentSince),
	}
	if k.ExpectEvery != 0 {
		every := k.ExpectEvery.String()
		out.ExpectEvery = &every
	}
	return out
}

type inboundKeyBody struct {
	Name optional.Value[string] `json:"name" required:"true" minLength:"1" maxLength:"80"`
	inboundKeyMembers
}

type inboundKeyPatch struct {
	Name optional.Value[string] `json:"name" minLength:"1" maxLength:"80"`
	inboundKeyMembers
}

// inboundKeyMembers are the members that create and PATCH have in common.
type inboundKeyMembers struct {
	Defaults     optional.Value[keyDefaultsBody] `json:"defaults" description:"For messages that are silent about it."`
	Bearer       optional.Value[bool]            `json:"bearer" default:"false" description:"Tools may send the secret as a token, instead of signing."`
	OpenAfter    optional.Value[string]          `json:"openAfter" default:"0s" pattern:"^([0-9]+h)?([0-9]+m)?([0-9]+s)?$" description:"How long a problem must be reported before its event opens: 0s to 1h."`
	ResolveAfter optional.Value[string]          `json:"resolveAfter" default:"0s" pattern:"^([0-9]+h)?([0-9]+m)?([0-9]+s)?$" description:"How long a problem must be over before its event is resolved: 0s to 1h."`
	MinSources   optional.Value[int]             `json:"minSources" default:"1" minimum:"1" maximum:"10" description:"How many sources must report a problem."`

	ExpectEvery     optional.Value[string] `json:"expectEvery" nullable:"true" pattern:"^([0-9]+h)?([0-9]+m)?([0-9]+s)?$" description:"How often a request is expected: 5m to 24h. With managementEmail, or both null. Downtime of the service does not count."`
	ManagementEmail optional.Value[string] `json:"managementEmail" nullable:"true" format:"email" maxLength:"254" description:"Gets one mail if no request arrives for expectEvery, and the next after a new request."`
}

type keyDefaultsBody struct {
	Publish  optional.Value[bool]   `json:"publish" default:"true" description:"False: new events are drafts."`
	Notify   optional.Value[bool]   `json:"notify" default:"true" description:"False: nobody is notified. True: as for any other write."`
	Severity optional.Value[string] `json:"severity" nullable:"true" enum:"minor_performance,major_performance,minor_outage,major_outage" description:"Of new events."`
}

// setOn sets the members of k that were sent. It returns a fault if a duration or the management address is wrong.
func (in inboundKeyMembers) setOn(k *inbound.Key) error {
	sent := in.Defaults.Value
	optional.Assign(&k.Defaults.Publish, sent.Publish.Pointer())
	optional.Assign(&k.Defaults.Notify, sent.Notify.Pointer())
	if sent.Severity.Sent {
		k.Defaults.Severity = sent.Severity.Value
	}
	optional.Assign(&k.Bearer, in.Bearer.Pointer())
	optional.Assign(&k.MinSources, in.MinSources.Pointer())
	if in.ExpectEvery.Sent {
		k.ExpectEvery = 0
	}
	if every := in.ExpectEvery.Pointer(); every != nil {
		wait, err := inbound.ParseWait("expectEvery", *every, inbound.Wait(5*time.Minute), inbound.Wait(24*time.Hour))
		if err != nil {
			return err
		}
		k.ExpectEvery = wait
	}
	if email := in.ManagementEmail.Pointer(); email != nil {
		if err := endpoint.CheckEmail(*email); err != nil {
			return err
		}
	}
	if in.ManagementEmail.Sent {
		k.ManagementEmail = in.ManagementEmail.Value
	}
	return errors.Join(setWait(&k.OpenAfter, in.OpenAfter, "openAfter"), setWait(&k.ResolveAfter, in.ResolveAfter, "resolveAfter"))
}

func setWait(field *inbound.Wait, in optional.Value[string], name string) (err error) {
	if in.Sent {
		*field, err = inbound.ParseWait(name, in.Value, 0, inbound.Wait(time.Hour))
	}
	return err
}

func (a *API) createKey(c *web.Call[web.None, inboundKeyBody], in inboundKeyBody) (oneInboundKeyView, error) {
	key, secret, err := a.inbound.CreateKey(c, c.Caller.Organization, inbound.Author{UserID: c.Caller.User, Name: c.Caller.Username}, func(k *inbound.Key) error {
		k.Name = in.Name.Value
		return in.setOn(k)
	})
	return oneInboundKeyView{viewInboundKey(key, secret)}, err
}

// changeKey finds the key before it reads the body. So if the key is unknown and the body is wrong, the error is about the key.
func (a *API) changeKey(c *web.Call[inboundKeyParameters, inboundKeyPatch]) (oneInboundKeyView, error) {
	key, err := a.inbound.ChangeKey(c, c.Caller.Organization, c.Parameters.KeyID, func(k *inbound.Key) error {
		in, err := c.Body()
		if err != nil {
			return err
		}
		if in == (inboundKeyPatch{}) {
			return fault.New(fault.Invalid, "Send at least one field to change.")
		}
		optional.Assign(&k.Name, in.Name.Pointer())
		return in.setOn(k)
	})
	return oneInboundKeyView{viewInboundKey(key, "")}, err
}

func (a *API) listKeys(c *web.Call[web.Paging, web.None]) (inboundKeysView, error) {
	keys, next, err := web.Listed(a.pages, c.List, c.Parameters, func(limit int, after string) (find.Page[inbound.Key], error) {
		return a.inbound.Keys(c, c.Caller.Organization, limit, after)
	}, func(k inbound.Key) inboundKeyView { return viewInboundKey(k, "") })
	return inboundKeysView{keys, next}, err
}

type inboundKeyParameters struct {
	KeyID string `path:"keyId" format:"uuid"`
}

func (a *API) revokeKey(c *web.Call[inboundKeyParameters, web.None]) (web.None, error) {
	return web.None{}, a.inbound.RevokeKey(c, c.Caller.Organization, c.Parameters.KeyID)
}

type inboundLogView struct {
	LogID      string   `json:"logId" format:"uuid"`
	ReceivedAt web.Time `json:"receivedAt"`
	KeyID      string   `json:"keyId" format:"uuid"`
	RemoteIP   string   `json:"remoteIp"`
	Format     *string  `json:"format" enum:"alertmanager,grafana,uptime-kuma,gatus,zabbix,generic" description:"Of the path. Null for a signed message."`
	Source     *string  `json:"source" description:"Null for a signed message."`
	Action     *string  `json:"action" enum:"trigger,update,resolve" description:"Null if the message was not read."`
	ExternalID *string  `json:"externalId"`
	EventID    *string  `json:"eventId" format:"uuid"`
	Result     *string  `json:"result" enum:"created,updated,resolved,reopened,ignored,waiting" description:"Null for an error."`
	HTTPStatus int      `json:"httpStatus"`
	Error      *string  `json:"error" description:"Why the request failed, was ignored or waits."`
}

type inboundLogsView struct {
	Logs      []inboundLogView `json:"logs"`
	NextToken *string          `json:"nextToken"`
}

type inboundLogParameters struct {
	web.Paging
	KeyID  *string `query:"keyId" format:"uuid"`
	Result *string `query:"result" enum:"created,updated,resolved,reopened,ignored,waiting,refused" description:"Refused are the requests with an error."`
}

func (a *API) listLogs(c *web.Call[inboundLogParameters, web.None]) (inboundLogsView, error) {
	filter := inbound.LogFilter{KeyID: optional.OrZero(c.Parameters.KeyID), Result: optional.OrZero(c.Parameters.Result)}
	logs, next, err := web.Listed(a.pages, c.List, c.Parameters.Paging, func(limit int, after string) (find.Page[inbound.Log], error) {
		return a.inbound.Logs(c, c.Caller.Organization, filter, limit, after)
	}, func(log inbound.Log) inboundLogView {
		return inboundLogView{
			LogID: log.ID, ReceivedAt: web.Time(log.ReceivedAt), KeyID: log.KeyID, RemoteIP: log.RemoteIP, Format: optional.OrNull(log.Format), Source: optional.OrNull(log.Source), Action: optional.OrNull(log.Action),
			ExternalID: optional.OrNull(log.ExternalID), EventID: optional.OrNull(log.EventID), Result: optional.OrNull(log.Result), HTTPStatus: log.HTTPStatus, Error: optional.OrNull(log.Error),
		}
	})
	return inboundLogsView{logs, next}, err
}

type inboundProblemView struct {
	KeyID      string    `json:"keyId" format:"uuid"`
	ExternalID string    `json:"externalId"`
	State      string    `json:"state" enum:"quiet,waiting,open,closing"`
	Sources    []string  `json:"sources" description:"Those that report the problem."`
	Since      web.Time  `json:"since" description:"Of the state."`
	DueAt      *web.Time `json:"dueAt" description:"When the event opens or is resolved, if the sources do not change."`
	EventID    *string   `json:"eventId" format:"uuid" description:"Of the last event."`
}

type inboundProblemsView struct {
	Problems  []inboundProblemView `json:"problems"`
	NextToken *string              `json:"nextToken"`
}

func (a *API) listProblems(c *web.Call[web.Paging, web.None]) (inboundProblemsView, error) {
	problems, next, err := web.Listed(a.pages, c.List, c.Parameters, func(limit int, after string) (find.Page[inbound.Problem], error) {
		return a.inbound.Problems(c, c.Caller.Organization, limit, after)
	}, func(p inbound.Problem) inboundProblemView {
		return inboundProblemView{p.KeyID, p.ExternalID, string(p.State), p.Reporting(), web.Time(p.Since), web.TimeOf(p.DueAt), optional.OrNull(p.EventID)}
	})
	return inboundProblemsView{problems, next}, err
}
