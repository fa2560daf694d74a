package api

import (
	"bytes"
	_ "embed"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/inbound"
)

const (
	inboundPath = "/public/webhooks/inbound"
	maxMessage  = 65_536 // bytes
)

// inboundDescription describes the operation receiveInboundMessage in the OpenAPI document.
//
//go:embed inbound.md
var inboundDescription string

// inboundPublic declares the operations of the inbound webhook.
func inboundPublic() []web.Public {
	const response = `{"result": "created", "eventId": "01890a5d-ac96-774b-bcce-b302099a8062", "logId": "01890a5d-ac96-774b-bcce-b302099a8071", "duplicate": false}`
	failed := []web.Content{{Media: "application/json"}}
	return []web.Public{{
		Method: "POST", Path: inboundPath, ID: "receiveInboundMessage", Tag: "inbound webhook", Summary: "Open, update or resolve an incident from a monitoring tool",
		Description: strings.TrimSpace(inboundDescription), Parameters: inboundParameters{},
		Bodies: []web.Content{{Media: "application/json", Of: inboundBody{}, Example: `{"action": "trigger", "externalId": "checkout-latency",
			"title": "Checkout is slow", "severity": "minor_performance", "components": ["checkout"], "message": "Payments take up to 30 s."}`}, {Media: "application/json", Of: inbound.AlertGroup{}, Open: true}},
		Responses: []web.Response{
			{Status: 200, Description: "The message was applied.", Contents: []web.Content{{Media: "application/json", Of: inboundView{}, Example: response}}},
			{Status: 403, Description: "The key, the signature or the time is wrong, or the plan does not include integrations. No body."},
			{Status: 404, Description: "An update or a resolve of an unknown externalId.", Contents: failed},
			{Status: 409, Description: "The event cannot take the change, for example because its timeline is full.", Contents: failed},
			{Status: 413, Description: "The body is larger than 65,536 bytes.", Contents: failed},
		},
		Errors: []int{400, 503},
	}, formatPublic(response, failed)}
}

type inboundParameters struct {
	Format    *string `query:"format" enum:"alertmanager,grafana" description:"The format of the body. Absent: InboundBody."`
	KeyID     string  `header:"webhook-key-id" required:"true" format:"uuid" description:"The keyId of the signing key."`
	ID        string  `header:"webhook-id" required:"true" minLength:"1" maxLength:"255" description:"Of the message, the same for each attempt."`
	Timestamp string  `header:"webhook-timestamp" required:"true" description:"Seconds since 1970, at most 300 s from the present time."`
	Signature string  `header:"webhook-signature" required:"true" description:"v1, and the base64 of HMAC-SHA256 over {webhook-id}.{webhook-timestamp}.{body}; several are separated by spaces."`
}

type inboundBody struct {
	Action      optional.Value[string]     `json:"action" required:"true" enum:"trigger,update,resolve"`
	ExternalID  optional.Value[string]     `json:"externalId" required:"true" minLength:"1" maxLength:"255" description:"The problem, as the tool calls it."`
	Title       optional.Value[string]     `json:"title" minLength:"1" maxLength:"255" description:"Required for a trigger. Of a new event."`
	Description optional.Value[string]     `json:"description" nullable:"true" maxLength:"20000" description:"Rich text. Of a new event."`
	Status      optional.Value[string]     `json:"status" enum:"investigating,identified,monitoring,resolved" description:"By default investigating for a trigger that opens an event, and resolved for a resolve."`
	Severity    optional.Value[string]     `json:"severity" nullable:"true" enum:"minor_performance,major_performance,minor_outage,major_outage"`
	Components  optional.Value[[]string]   `json:"components" minItems:"1" maxItems:"100" description:"Ids or externalRefs. Required for a trigger. The event gets those that it does not have."`
	Impact      optional.Value[string]     `json:"impact" enum:"operational,degraded_performance,partial_outage,major_outage,under_maintenance" description:"On the components. By default it follows from the severity."`
	Message     optional.Value[string]     `json:"message" minLength:"1" maxLength:"20000" description:"Rich text of a timeline entry."`
	Timestamp   optional.Value[time.Time]  `json:"timestamp" description:"Not in the future. The start of a new event, and the time of the entry of an update or a resolve."`
	Publish     optional.Value[bool]       `json:"publish" description:"False: a new event is a draft. By default as the key says."`
	Notify      optional.Value[web.Notify] `json:"notify"`
}

type inboundView struct {
	Result    string  `json:"result" enum:"created,updated,resolved,reopened,ignored,waiting"`
	EventID   *string `json:"eventId" format:"uuid" description:"Null if there is no event yet."`
	LogID     string  `json:"logId" format:"uuid"`
	Duplicate bool    `json:"duplicate" description:"An earlier request had the same webhook-id. This is its response."`
}

func (a *API) receive(c *gin.Context) error {
	body, err := readMessage(c)
	if err != nil {
		return err
	}
	response, err := a.inbound.Receive(c.Request.Context(), inbound.Request{
		KeyID: c.GetHeader("webhook-key-id"), ID: c.GetHeader("webhook-id"), Timestamp: c.GetHeader("webhook-timestamp"),
		Signature: c.GetHeader("webhook-signature"), Body: body, IP: web.Caller(c).IP, RequestID: c.GetHeader("X-Request-Id"),
		Read: func(out *inbound.Report) error { return a.read(c, body, out) },
	})
	return answer(c, response, err)
}

func answer(c *gin.Context, response inbound.Response, err error) error {
	if err == nil {
		c.PureJSON(http.StatusOK, inboundView{response.Result, optional.OrNull(response.EventID), response.ID, response.Duplicate})
	}
	return err
}

func readMessage(c *gin.Context) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, maxMessage))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, fault.New(fault.TooLarge, "The body must be at most %d bytes.", maxMessage)
	}
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "The body could not be read.")
	}
	return body, nil
}

// read decodes the body into out, in the format that the query names. Without a format, the body is an inboundBody. read
// returns a fault for an unknown format and for any other parameter of the query.
func (a *API) read(c *gin.Context, body []byte, out *inbound.Report) error {
	query := c.Request.URL.Query()
	for name := range query {
		if name != "format" {
			return fault.Field(name, "is not a query parameter of this request")
		}
	}
	switch format := query.Get("format"); {
	case format == "alertmanager":
		return a.inbound.ReadAlerts(body, "4", out)
	case format == "grafana":
		return a.inbound.ReadAlerts(body, "", out)
	case query.Has("format"):
		return fault.Field("format", "must be alertmanager or grafana")
	}
	c.Request.Body = io.NopCloser(bytes.NewReader(body))
	in, err := web.Body[inboundBody](c)
	in.addTo(&out.InboundMessage)
	return err
}

func (in inboundBody) addTo(out *topic.InboundMessage) {
	out.Action, out.ExternalID, out.Title, out.Description = in.Action.Value, in.ExternalID.Value, in.Title.Value, in.Description.Value
	out.Message, out.Status, out.Components, out.Impact = in.Message.Pointer(), in.Status.Value, in.Components.Value, in.Impact.Value
	out.Timestamp = in.Timestamp.Pointer()
	if in.Publish.Sent {
		out.Publish = in.Publish.Value
	}
	if in.Severity.Sent {
		out.Severity = &in.Severity.Value // "" if the member is null
	}
	if in.Notify.Sent {
		out.Notify = (*map[topic.Channel]bool)(&in.Notify.Value)
	}
}
