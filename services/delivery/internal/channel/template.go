package channel

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/bodytemplate"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

// hidden replaces the values of a request that logs do not show.
const hidden = "***"

// sendTemplate makes one attempt with the request that the owner of the webhook has composed. A body that cannot be rendered
// within the limits is not sent, and not tried again.
//
// The log shows a body that is rendered without the secrets, and the headers of the template without their values. So no
// secret is logged, however the template uses it.
func (w webhook) sendTemplate(ctx context.Context, message dispatch.Message) dispatch.Result {
	var template topic.Template
	refused := dispatch.Result{Code: codeUnsendable, Final: true}
	if json.Unmarshal([]byte(message.To.Template), &template) != nil {
		return refused
	}
	shared, err := sharedPayload(message)
	if err != nil {
		return dispatch.Result{Code: codeUnsendable}
	}
	body, shown, err := renderTemplate(message, &template, shared)
	if err != nil {
		return refused
	}
	header, err := signedHeader(message, body)
	if err != nil {
		return dispatch.Result{Code: codeUnsendable}
	}
	for name, value := range template.Headers {
		header[http.CanonicalHeaderKey(name)] = []string{value}
	}
	address := message.To.URL
	if template.IDInPath {
		address = withID(address, message.DeliveryID)
	}
	result := w.caller.send(ctx, template.Method, address, header, body)
	result.Sent.Hidden = hiddenTexts(&template)
	if result.Sent.Header == nil {
		return result
	}
	result.Sent.Header, result.Sent.Body = maps.Clone(result.Sent.Header), shown
	for name := range template.Headers {
		result.Sent.Header[http.CanonicalHeaderKey(name)] = []string{hidden}
	}
	return result
}

// renderTemplate returns the body, and the body that logs show. Deliveries of one change with the same dashboard and components
// share the decoded payload. Those with the same template share the parsed template.
func renderTemplate(message dispatch.Message, template *topic.Template, shared []byte) (body, shown []byte, err error) {
	payload, err := dispatch.Rendered(message.Change, "payload "+textKey(message), func(bodytemplate.Payload) int { return 8 * len(shared) },
		func() (bodytemplate.Payload, error) { return bodytemplate.Decode(shared) })
	if err != nil {
		return nil, nil, err
	}
	digest := sha256.Sum256([]byte(template.Body))
	parsed, err := dispatch.Rendered(message.Change, "template "+hex.EncodeToString(digest[:]), func(*bodytemplate.Template) int { return 32 * len(template.Body) },
		func() (*bodytemplate.Template, error) { return bodytemplate.Parse(template.Body) })
	if err != nil {
		return nil, nil, err
	}
	payload = payload.With("id", message.DeliveryID)
	if body, err = parsed.Render(payload, template.Secrets); err != nil {
		return nil, nil, err
	}
	if len(template.Secrets) == 0 {
		return body, body, nil
	}
	shown, err = parsed.Masked(payload, hidden)
	return body, shown, err
}

// withID returns the URL with the id as the last segment of its path.
func withID(address, id string) string {
	path, query, queried := strings.Cut(address, "?")
	path = strings.TrimSuffix(path, "/") + "/" + id
	if queried {
		path += "?" + query
	}
	return path
}

// hiddenTexts returns the texts of a request that logs hide in its response: the values of headers, the credentials in these
// values, and the secrets, also as the body spells them.
func hiddenTexts(template *topic.Template) []string {
	var texts []string
	for _, value := range template.Headers {
		texts = append(texts, value)
		if _, credentials, found := strings.Cut(value, " "); found {
			texts = append(texts, credentials)
		}
	}
	for _, secret := range template.Secrets {
		texts = append(texts, secret, bodytemplate.Escaped(secret))
	}
	slices.SortFunc(texts, func(a, b string) int { return len(b) - len(a) }) // a text precedes its parts
	return texts
}
