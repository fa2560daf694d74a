package apitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
)

// isPublished reports whether a document must contain the path if the path exists. Documents do not contain the paths
// below /public/v1/, which the gateway requests from services.
func isPublished(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return slices.Contains([]string{"app", "operator", "api", "d", "public", "docs", "openapi"}, first) && !strings.HasPrefix(path, "/public/v1/")
}

// check returns each difference between the exchange and the documents. It checks the response, and also the request if
// it succeeded.
func (o *OpenAPI) check(got exchange) []string {
	if o == nil {
		return nil
	}
	r := got.request
	found, known := o.find(r.URL)
	if !known {
		if isPublished(r.URL.Path) && got.status != http.StatusNotFound && got.status != http.StatusForbidden {
			return []string{"documents: no document has the path " + r.URL.Path}
		}
		return nil
	}
	method := r.Method
	if found.document == "legacy.yaml" {
		method = legacy.Method(r)
	}
	of, has := found.operations[strings.ToLower(method)]
	if !has && method == http.MethodHead {
		of, has = found.operations["get"]
	}
	switch {
	case has:
	case method == http.MethodOptions && found.document == "legacy.yaml": // only the description of the legacy document mentions OPTIONS
		return nil
	case got.status < 400:
		return []string{fmt.Sprintf("documents: %s has no method %s", found.template, method)}
	default: // another method is refused; every operation of a path documents this refusal
		of = found.operations[slices.Min(slices.Collect(maps.Keys(found.operations)))]
	}
	c := &check{documents: o, at: of.at}
	c.response(of, method, got)
	if has && got.status < 300 {
		c.request(of, found, r, got.content)
		c.carry(r, got.content, got)
	}
	return c.differences
}

// check collects the differences between an exchange and an operation of a document.
type check struct {
	documents   *OpenAPI
	at          string
	differences []string
}

func (c *check) differ(format string, args ...any) {
	c.differences = append(c.differences, c.at+": "+fmt.Sprintf(format, args...))
}

func (c *check) response(of operation, method string, got exchange) {
	status := strconv.Itoa(got.status)
	want, has := of.Responses[status]
	if !has {
		c.differ("the status %s is not documented", status)
		return
	}
	for _, name := range []string{"Allow", "ETag", "Location", "Retry-After"} {
		sent := got.header.Get(name) != ""
		header, documented := want.Headers[name]
		if sent && !documented {
			c.differ("%s: the header %s is not documented", status, name)
		}
		if !sent && header.Required {
			c.differ("%s: the header %s is missing", status, name)
		}
	}
	if len(got.body) == 0 {
		// OpenAPI has no optional response body. Only the descriptions say when a 403 has no body.
		if len(want.Content) > 0 && method != http.MethodHead && got.status != http.StatusForbidden {
			c.differ("%s: the body is missing", status)
		}
		return
	}
	media, _, _ := mime.ParseMediaType(got.header.Get("Content-Type"))
	if _, has := want.Content[media]; !has {
		c.differ("%s: the media type %q is not documented", status, media)
		return
	}
	var value any = string(got.body)
	if media == "application/json" {
		var err error
		if value, err = decode(got.body); err != nil {
			c.differ("%s: the body is not JSON: %v", status, err)
			return
		}
	}
	location := c.at + "/responses/" + status + "/content/" + escape(media) + "/schema"
	if err := c.documents.validate(c.documents.responses, location, value); err != nil {
		c.differ("%s: the response differs: %v", status, err)
	}
}

// request checks the parameters and the body of a successful request.
func (c *check) request(of operation, found path, r *http.Request, body string) {
	query := r.URL.Query()
	free := "" // location of the parameter that stands for all parameters without a name of their own
	for i, parameter := range of.Parameters {
		location := fmt.Sprintf("%s/parameters/%d/schema", c.at, i)
		var values []string
		switch parameter.In {
		case "path":
			at := slices.Index(found.segments, "{"+parameter.Name+"}")
			value, _ := url.PathUnescape(segmentsOf(r.URL.EscapedPath())[at]) // cannot fail for a URL that was parsed
			values = []string{value}
		case "query":
			values = query[parameter.Name]
			delete(query, parameter.Name)
			c.documents.members.ask(c.at, parameter.Name, len(values) > 0)
			if c.documents.validate(c.documents.requests, location, map[string]any{}) == nil {
				free = location
			}
		case "header":
			values = r.Header[http.CanonicalHeaderKey(parameter.Name)]
		}
		if len(values) == 0 && parameter.Required {
			c.differ("it succeeded without the parameter %s", parameter.Name)
		}
		c.values(parameter.Name, location, values)
	}
	for name := range query {
		if free == "" {
			c.differ("it succeeded with the parameter %s, which is not documented", name)
		}
	}
	for _, name := range []string{"Idempotency-Key", "If-Match"} {
		if r.Header.Get(name) != "" && !slices.ContainsFunc(of.Parameters, func(p parameter) bool { return p.Name == name }) {
			c.differ("it succeeded with the header %s, which is not documented", name)
		}
	}
	c.body(of, r, body)
}

// values checks the values of a parameter. The schema must accept either all of them as a list or each of them.
func (c *check) values(name, location string, values []string) {
	list := find.Values(values, func(text string) any { return text })
	if len(list) == 0 || c.documents.validate(c.documents.requests, location, list) == nil {
		return
	}
	for _, text := range values {
		if err := c.documents.validate(c.documents.requests, location, text); err != nil {
			if value, invalid := decode([]byte(text)); invalid != nil || c.documents.validate(c.documents.requests, location, value) != nil {
				c.differ("it succeeded with the parameter %s=%s, which the document refuses: %v", name, text, err)
			}
		}
	}
}

func (c *check) body(of operation, r *http.Request, body string) {
	if of.RequestBody == nil || body == "" {
		if of.RequestBody != nil && of.RequestBody.Required {
			c.differ("it succeeded without a body")
		}
		return
	}
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		media = "application/json" // the legacy interface needs no Content-Type
	}
	if _, has := of.RequestBody.Content[media]; !has {
		c.differ("it succeeded with the media type %q, which is not documented", media)
		return
	}
	value, err := formOrJSON(media, body)
	if err == nil {
		err = c.documents.validate(c.documents.requests, c.at+"/requestBody/content/"+escape(media)+"/schema", value)
	}
	if err != nil {
		c.differ("it succeeded with a body that the document refuses: %v", err)
	}
	content, _ := of.RequestBody.Content[media].(map[string]any)
	c.documents.members.send(c.at, content["schema"], value)
}

func formOrJSON(media, body string) (any, error) {
	if media != "application/x-www-form-urlencoded" {
		var value any
		decoder := json.NewDecoder(strings.NewReader(body))
		decoder.UseNumber()
		return value, decoder.Decode(&value)
	}
	form, err := url.ParseQuery(body)
	object := map[string]any{}
	for name := range form {
		object[name] = form.Get(name)
	}
	return object, err
}
