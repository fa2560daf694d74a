package api

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"io"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/inbound"
)

// formatDescription describes the operation receiveMonitorMessage in the OpenAPI document.
//
//go:embed inbound_format.md
var formatDescription string

// formatPublic declares the operation of the inbound webhook whose path has the format. Its requests have a token or a
// signature of Grafana.
func formatPublic(response string, failed []web.Content) web.Public {
	media := func(of any) web.Content { return web.Content{Media: "application/json", Of: of, Open: true} }
	return web.Public{
		Method: "POST", Path: inboundPath + "/{format}", ID: "receiveMonitorMessage", Tag: "inbound webhook", Summary: "Open or resolve an incident from a monitoring tool, with a token",
		Description: strings.TrimSpace(formatDescription), Parameters: formatParameters{}, Token: true,
		Bodies: []web.Content{
			{Media: "application/json", Of: inboundBody{}, Example: `{"action": "trigger", "externalId": "checkout-latency", "title": "Checkout is slow", "components": ["checkout"]}`},
			{Media: "application/json", Of: heartbeatBody{}}, media(inbound.AlertGroup{}), media(inbound.Kuma{}), media(inbound.Gatus{}), media(inbound.Zabbix{}),
		},
		Responses: []web.Response{
			{Status: 200, Description: "The message was applied, waits or is ignored.", Contents: []web.Content{{Media: "application/json", Of: inboundView{}, Example: response}}},
			{Status: 403, Description: "The credential is missing or wrong, the key is revoked or has no bearer, or the plan does not include integrations. No body."},
			{Status: 404, Description: "The format is unknown.", Contents: failed},
			{Status: 409, Description: "The key has 10,000 problems, or the event cannot take the change.", Contents: failed},
			{Status: 413, Description: "The body is larger than 65,536 bytes.", Contents: failed},
		},
		Errors: []int{400, 503},
	}
}

type formatParameters struct {
	Format    string  `path:"format" enum:"alertmanager,grafana,uptime-kuma,gatus,zabbix,generic"`
	Source    *string `query:"source" default:"default" pattern:"^[A-Za-z0-9._-]{1,64}$" description:"The probe that reports. See minSources of the key."`
	KeyID     *string `query:"keyId" format:"uuid" description:"Of the key that signs, for grafana only."`
	Signature *string `header:"X-Grafana-Alerting-Signature" description:"For grafana, instead of a token: the hexadecimal HMAC-SHA256 of the body, keyed with the whole secret."`
	Timestamp *string `header:"X-Grafana-Alerting-Timestamp" description:"With it, Grafana signs the timestamp, a colon and the body. At most 300 s from the present time."`
}

// heartbeatBody is a body of the format generic that only reports that the tool works.
type heartbeatBody struct {
	Action optional.Value[string] `json:"action" required:"true" enum:"heartbeat"`
}

var sourceName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// receiveFormat handles a request whose path names the format.
func (a *API) receiveFormat(c *gin.Context) error {
	if !slices.Contains(formats(), c.Param("format")) {
		return fault.New(fault.NotFound, "There is no such format.")
	}
	body, err := readMessage(c)
	if err != nil {
		return err
	}
	in := inbound.Request{
		Format: c.Param("format"), Body: body, IP: web.Caller(c).IP, RequestID: c.GetHeader("X-Request-Id"), Source: inbound.DefaultSource,
	}
	query, err := url.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		in.Wrong = fault.Wrap(fault.Invalid, err, "The query must be URL-encoded parameters.")
	} else {
		in.Wrong = checkFormatQuery(in.Format, query)
	}
	in.KeyID, in.Token = bearer(c.GetHeader("Authorization"))
	if in.Format == "grafana" && in.KeyID == "" {
		in.KeyID, in.Signature, in.Timestamp = query.Get("keyId"), c.GetHeader("X-Grafana-Alerting-Signature"), c.GetHeader("X-Grafana-Alerting-Timestamp")
	}
	if source := query.Get("source"); sourceName.MatchString(source) {
		in.Source = source
	}
	in.Read = func(out *inbound.Report) error { return a.readFormat(c, in.Format, body, out) }
	response, err := a.inbound.Receive(c.Request.Context(), in)
	return answer(c, response, err)
}

// bearer returns the key id and the secret of a token, which a colon separates. It returns "" for both if the scheme of the
// header is not Bearer.
func bearer(authorization string) (keyID, secret string) {
	scheme, token, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", ""
	}
	keyID, secret, _ = strings.Cut(strings.TrimSpace(token), ":")
	return keyID, secret
}

// checkFormatQuery returns a fault if source is not valid, or if the query has a repeated parameter or a parameter other than
// source and, for the format grafana, keyId. So a token in the query is refused, because logs of proxies contain the query.
func checkFormatQuery(format string, query url.Values) error {
	for _, name := range slices.Sorted(maps.Keys(query)) {
		switch {
		case name != "source" && (name != "keyId" || format != "grafana"):
			return fault.Field(name, "is not a query parameter of this request")
		case len(query[name]) > 1:
			return fault.Field(name, "must be sent once")
		case name == "source" && !sourceName.MatchString(query.Get(name)):
			return fault.Field(name, "must be 1 to 64 letters, digits, dots, hyphens and underscores")
		}
	}
	return nil
}

// formats returns the formats that the path may name.
func formats() []string {
	return []string{"alertmanager", "grafana", "uptime-kuma", "gatus", "zabbix", "generic"}
}

// readFormat decodes the body into out, in the format that the path names.
func (a *API) readFormat(c *gin.Context, format string, body []byte, out *inbound.Report) error {
	switch format {
	case "alertmanager":
		return a.inbound.ReadAlerts(body, "4", out)
	case "grafana":
		return a.inbound.ReadAlerts(body, "", out)
	case "uptime-kuma":
		return a.inbound.ReadKuma(body, out)
	case "gatus":
		return a.inbound.ReadGatus(body, out)
	case "zabbix":
		return a.inbound.ReadZabbix(body, out)
	}
	c.Request.Body = io.NopCloser(bytes.NewReader(body))
	c.Request.Header.Set("Content-Type", "application/json") // the media type is ignored
	var of struct{ Action string }
	_ = json.Unmarshal(body, &of) // web.Body below reports the error
	if of.Action == "heartbeat" {
		_, err := web.Body[heartbeatBody](c)
		out.Ignored = "The action is heartbeat."
		return err
	}
	in, err := web.Body[inboundBody](c)
	in.addTo(&out.InboundMessage)
	return err
}
