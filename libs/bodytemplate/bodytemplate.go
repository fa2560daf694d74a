// Package bodytemplate renders the body of a webhook from a template of an operator: the JSON that the operator's
// receiver expects, with values of our own payload.
//
// Operators of different organizations share the processes that render. So a template can do little, and Parse checks
// all of it before it runs. The syntax is that of text/template, of which only the parser is used:
//
//   - Allowed are fields, variables, if, with, range over a list of the payload, and the functions eq, ne, and, or,
//     not, cut, lower, upper, json and secret. Everything else is refused, with its line.
//   - Each path of fields must exist in the payload, also in a branch that no sample reaches. Parse follows the types of
//     dot and of variables through with and range.
//   - A value is written as the inside of a JSON string, so a title cannot end the JSON string around it. Only json writes
//     a whole JSON value. A member that is null is written as empty text, and its members are null.
//   - No loop is long: range only takes a list of the payload, at most maxRanges deep. A rendering fails after maxSteps
//     steps. The limit is not a time, so that a busy machine does not refuse a template that it accepted before.
//     BenchmarkTheLongestRendering measures the time that maxSteps take: less than 50 ms.
//   - An action with secret writes only the secret. No condition and no other function can use a secret. So a rendering
//     with other secrets differs only in the places of the secrets, and logs show a rendering with masked secrets.
//   - The result is one JSON value of at most MaxOutput bytes.
package bodytemplate

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"text/template/parse"
	"unicode/utf8"
)

const (
	// MaxText is the maximum size of a template, in bytes.
	MaxText = 8 << 10
	// MaxOutput is the maximum size of a rendered body, in bytes. The bodies of all samples together are below 1 MiB.
	MaxOutput = 20 << 10

	maxRanges = 2       // depth of nested ranges
	maxDepth  = 32      // depth of nested blocks and parentheses
	maxSteps  = 200_000 // limit for one rendering, and for the renderings of all samples together
)

// Error says what is wrong with a template, or with its result. Its text never contains a secret or a value of an event.
type Error struct {
	Line int // line of the template, beginning with 1; 0: the whole template
	Text string
}

// Error implements error.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Text
	}
	return "line " + strconv.Itoa(e.Line) + ": " + e.Text
}

// Template is a checked template. It is safe for concurrent use.
type Template struct {
	text string
	root *parse.ListNode
	uses []use
}

// use is a place in the template at which a secret is written.
type use struct {
	name string
	line int
}

// Parse checks a template. The error is an *Error.
func Parse(text string) (*Template, error) {
	switch {
	case strings.TrimSpace(text) == "":
		return nil, &Error{Text: "must not be empty"}
	case len(text) > MaxText:
		return nil, &Error{Text: fmt.Sprintf("must be at most %d bytes, and has %d", MaxText, len(text))}
	case !utf8.ValidString(text):
		return nil, &Error{Text: "must be UTF-8"}
	}
	tree := parse.New(parserName)
	tree.Mode = parse.SkipFuncCheck // the checker refuses unknown functions, like the other functions that are not allowed
	others := make(map[string]*parse.Tree)
	if _, err := tree.Parse(text, "", "", others); err != nil {
		return nil, parserError(err)
	}
	t := &Template{text: text, root: tree.Root}
	for _, other := range others {
		if other != tree {
			return nil, t.fail(other.Root, "define and block are not allowed")
		}
	}
	c := &checker{t: t, dot: payloadShape(), variables: []variable{{"$", payloadShape()}}}
	if err := c.list(tree.Root); err != nil {
		return nil, err
	}
	return t, nil
}

// parserName is the name of the template in errors of the parser.
const parserName = "body"

var parserPrefix = regexp.MustCompile(`^template: ` + parserName + `:(\d+): `)

// parserError returns the error of the parser as an Error.
func parserError(err error) *Error {
	text := err.Error()
	found := parserPrefix.FindStringSubmatch(text)
	if found == nil {
		return &Error{Text: strings.TrimPrefix(text, "template: ")}
	}
	line, _ := strconv.Atoi(found[1]) // digits only
	return &Error{Line: line, Text: strings.ReplaceAll(strings.TrimPrefix(text, found[0]), " at "+parserName+":", " at line ")}
}

// fail returns an Error with the line of a node.
func (t *Template) fail(at parse.Node, format string, values ...any) *Error {
	return t.failAt(int(at.Position()), format, values...)
}

func (t *Template) failAt(position int, format string, values ...any) *Error {
	return &Error{Line: t.lineAt(position), Text: fmt.Sprintf(format, values...)}
}

func (t *Template) lineAt(position int) int {
	return 1 + strings.Count(t.text[:min(max(position, 0), len(t.text))], "\n")
}

// CheckSecrets returns an error if has returns false for a secret that the template uses.
func (t *Template) CheckSecrets(has func(name string) bool) error {
	for _, use := range t.uses {
		if !has(use.name) {
			return &Error{Line: use.line, Text: fmt.Sprintf("there is no secret %q", use.name)}
		}
	}
	return nil
}

// CheckSamples renders each sample. It returns the first error, with the sample that caused it.
func (t *Template) CheckSamples(secrets map[string]string) error {
	steps := 0
	for _, sample := range Samples() {
		r := t.renderer(sample.Payload, secrets)
		r.steps = steps
		_, err := r.render()
		if failed, is := err.(*Error); is { //nolint:errorlint // render returns nothing else
			failed.Text += fmt.Sprintf(" (for %s with %s)", sample.Kind, sample.Name)
			return failed
		}
		steps = r.steps
	}
	return nil
}
