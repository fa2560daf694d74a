package main

import (
	"fmt"
	"reflect"
	"strconv"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/declared"
	"github.com/bellbuoy/bellbuoy/libs/web"
)

const publicDescription = `Everything that needs no API key: the page of a dashboard with its files, the forms of visitors, the links in messages, the inbound
webhook, whose requests are signed or have a token, and the documents of the interfaces.
A dashboard's own host serves its paths without /d/{slug}. A path that has GET also has HEAD. Scripts of any
origin may read the JSON, feeds and badges of public dashboards, and the documents.`

func writePublic() ([]byte, error) {
	d := newDocument()
	for _, operation := range declared.Public() {
		if err := d.describePublic(operation); err != nil {
			return nil, fmt.Errorf("%s %s: %w", operation.Method, operation.Path, err)
		}
	}
	return d.write("Bellbuoy public interface", publicDescription, nil)
}

func (d *document) describePublic(of declared.PublicOperation) (err error) {
	out := operation{
		path: of.Path, method: of.Method, id: of.ID, tag: of.Tag, summary: of.Summary, description: of.Description, service: of.Service, token: of.Token,
	}
	if of.Token {
		d.schemes = d.schemes.set(inboundToken, object{{"type", "http"}, {"scheme", "bearer"}, {"description", "The keyId of a signing key with bearer, a colon, and the secret of the key."}})
	}
	if of.Parameters != nil {
		if out.parameters, err = d.parametersOf(reflect.TypeOf(of.Parameters)); err != nil {
			return err
		}
	}
	if len(of.Bodies) > 0 {
		content, err := d.contents(of.Bodies, true)
		if err != nil {
			return err
		}
		out.body = object{{"required", !of.BodyOptional}, {"content", content}}
	}
	for _, response := range of.Responses {
		content, err := d.contents(response.Contents, false)
		if err != nil {
			return err
		}
		out.responses = append(out.responses, entry{strconv.Itoa(response.Status), d.response(response.Description, content, response.Headers...)})
	}
	out.responses = d.fails(out.responses, publicFailures(), append(of.Errors, 405)...)
	d.add(out)
	return nil
}

func (d *document) contents(contents []web.Content, body bool) (object, error) {
	var out object
	for _, content := range contents {
		var schema any = object{{"type", "string"}}
		var example any
		switch content.Of.(type) {
		case nil:
			schema = d.errorSchema()
		case string:
			if content.Media == "application/yaml" { // the schema describes the parsed YAML, not its text
				schema = object{{"description", "Any value."}}
			}
		default:
			typed, err := d.content(reflect.TypeOf(content.Of), body && !content.Open, content.Example)
			if err != nil {
				return nil, err
			}
			one := typed[0].value.(object)
			if last := len(out) - 1; last >= 0 && out[last].key == content.Media {
				first := out[last].value.(object)
				first[0].value = object{{"anyOf", []any{first[0].value, one[0].value}}}
				continue
			}
			out = append(out, entry{content.Media, one})
			continue
		}
		out = append(out, entry{content.Media, media(schema, example)})
	}
	return out, nil
}

func publicFailures() map[int]failure {
	return map[int]failure{
		400: {description: "The query or the body is wrong.", example: "limit: must be a whole number of at least 0, not 'x'"},
		404: {description: "There is no such dashboard or link.", example: "There is nothing at this path."},
		405: {description: "The path does not have the method that was sent.", example: "The path does not have this method.", headers: []string{"Allow"}},
		413: {description: "The body is too large.", example: "The body must be at most 1048576 bytes."},
		503: {description: "The response cannot be made at the moment.", example: "The platform is not available at the moment.", headers: []string{"Retry-After"}},
	}
}
