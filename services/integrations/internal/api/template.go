package api

import (
	"github.com/bellbuoy/bellbuoy/libs/bodytemplate"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
)

// templateMember is a member of the bodies that create or change an endpoint of a signed kind. It sets the template of the
// request that is sent to the endpoint.
type templateMember struct {
	Template optional.Value[webhookTemplateBody] `json:"template" description:"Required with the format template. A change merges its members, headers and secrets with the present ones."`
}

// webhookTemplateBody describes the request that is sent to a webhook endpoint.
type webhookTemplateBody struct {
	Method   optional.Value[string]             `json:"method" enum:"POST,PUT" description:"POST if absent from a create."`
	IDInPath optional.Value[bool]               `json:"idInPath" description:"Appends the delivery's id to the path of the URL."`
	Headers  optional.Value[map[string]*string] `json:"headers" description:"Up to 10, of 1 to 1024 visible ASCII characters. Never shown again. null removes one."`
	Secrets  optional.Value[map[string]*string] `json:"secrets" description:"Up to 10 texts of 4 to 1024 characters for the body, by name. Never shown again. null removes one."`
	Body     optional.Value[string]             `json:"body" maxLength:"8192" description:"Required on create. The template of one JSON value of at most 20,480 bytes, over the payload of the format bellbuoy: {{.event.title}}. In the syntax of Go templates, with fields, variables, if, with, range over a list, and eq ne and or not cut lower upper json secret. Values are written as the inside of a JSON string; cut 100 .x shortens, json writes a whole value, secret writes a secret."`
}

func (m templateMember) template() *endpoint.TemplateInput {
	sent := m.Template.Pointer()
	if sent == nil {
		return nil
	}
	return &endpoint.TemplateInput{
		Method: sent.Method.Pointer(), IDInPath: sent.IDInPath.Pointer(), Headers: sent.Headers.Value, Secrets: sent.Secrets.Value, Body: sent.Body.Pointer(),
	}
}

// webhookTemplateView shows a template without the values of its headers and secrets.
type webhookTemplateView struct {
	Method      string   `json:"method" enum:"POST,PUT"`
	IDInPath    bool     `json:"idInPath"`
	HeaderNames []string `json:"headerNames"`
	SecretNames []string `json:"secretNames"`
	Body        string   `json:"body"`
}

func viewTemplate(t *endpoint.Template) *webhookTemplateView {
	if t == nil {
		return nil
	}
	return &webhookTemplateView{t.Method, t.IDInPath, endpoint.Names(t.Headers), endpoint.Names(t.Secrets), t.Body}
}

type shippedTemplateView struct {
	Name     string                     `json:"name"`
	Template shippedWebhookTemplateView `json:"template"`
}

// shippedWebhookTemplateView has the members of webhookTemplateBody, so that a client can replace the placeholders and send
// the view as a webhookTemplateBody.
type shippedWebhookTemplateView struct {
	Method   string            `json:"method" enum:"POST,PUT"`
	IDInPath bool              `json:"idInPath"`
	Headers  map[string]string `json:"headers"`
	Secrets  map[string]string `json:"secrets"`
	Body     string            `json:"body"`
}

type webhookTemplatesView struct {
	Templates []shippedTemplateView `json:"templates"`
}

func (r resource) templatesOperation() web.Operation {
	list := r.declared("GET", "/templates", "list", "Templates", "List templates to start from",
		"For the format template of a webhook: pagerduty (Events API v2), ntfy (publishing as JSON, to the root of the server), zulip (the Slack-compatible webhook) and matrix (the path of a room up to send/m.room.message). "+
			"The values of headers and secrets are placeholders. Choose only kinds of incidents as eventKinds of an endpoint with pagerduty: a maintenance that starts would open an alert of the severity info.", 200)
	list.Example.Response = `{"templates": [{"name": "matrix", "template": {"method": "PUT", "idInPath": true, "headers": {"Authorization": "Bearer YOUR_ACCESS_TOKEN"}, "secrets": {},
		"body": "{\"msgtype\": \"m.notice\", \"body\": \"{{.event.title}}\"}"}}]}`
	return web.Declare(list, func(*web.Call[web.None, web.None]) (webhookTemplatesView, error) {
		return webhookTemplatesView{find.Values(bodytemplate.AllShipped(), viewShipped)}, nil
	})
}

func viewShipped(one bodytemplate.Shipped) shippedTemplateView {
	texts := func(texts map[string]string) map[string]string {
		if texts == nil {
			return map[string]string{}
		}
		return texts
	}
	return shippedTemplateView{one.Name, shippedWebhookTemplateView{one.Method, one.IDInPath, texts(one.Headers), texts(one.Secrets), one.Body}}
}
