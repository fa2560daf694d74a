package bodytemplate

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"text/template/parse"
	"unicode/utf8"
)

// Payload is a decoded payload. It does not change.
type Payload struct{ root map[string]any }

// Decode reads the payload of a webhook.
func Decode(text []byte) (Payload, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // so that numbers are written as they are
	var p Payload
	return p, decoder.Decode(&p.root)
}

// With returns the payload with one more member.
func (p Payload) With(name string, value any) Payload {
	root := make(map[string]any, len(p.root)+1)
	for member, value := range p.root {
		root[member] = value
	}
	root[name] = value
	return Payload{root}
}

// renderer runs a template. Parse has checked that the template has only nodes that the renderer can run.
type renderer struct {
	t         *Template
	secrets   map[string]string
	variables []binding
	out       []byte
	steps     int
	at        parse.Node // the node that runs
	marks     []mark     // the nodes that wrote to out, in order
}

type binding struct {
	name  string
	value any
}

// mark says which node has written the output from an offset on.
type mark struct {
	offset int
	node   parse.Node
}

// written is JSON that is written without escaping.
type written []byte

func (t *Template) renderer(payload Payload, secrets map[string]string) *renderer {
	return &renderer{t: t, secrets: secrets, variables: []binding{{"$", payload.root}}}
}

// Render returns the body for a payload. The error is an *Error.
func (t *Template) Render(payload Payload, secrets map[string]string) ([]byte, error) {
	return t.renderer(payload, secrets).render()
}

// Masked returns the body for a payload as logs show it: mask replaces each secret. The body may be invalid JSON.
func (t *Template) Masked(payload Payload, mask string) ([]byte, error) {
	secrets := make(map[string]string)
	for _, use := range t.uses {
		secrets[use.name] = mask
	}
	r := t.renderer(payload, secrets)
	err := r.list(payload.root, t.root)
	return r.out, err
}

func (r *renderer) render() ([]byte, error) {
	if err := r.list(r.variables[0].value, r.t.root); err != nil {
		return nil, err
	}
	var value json.RawMessage
	err := json.Unmarshal(r.out, &value)
	if err == nil {
		return r.out, nil
	}
	text, offset := "it ends too early", len(r.out)
	if syntax, is := errors.AsType[*json.SyntaxError](err); is && syntax.Error() != "unexpected end of JSON input" {
		text, offset = "it has a wrong character", int(syntax.Offset)-1
	}
	return nil, r.t.failAt(r.positionOf(offset), "the result is not one JSON value: %s", text)
}

// positionOf returns the position in the template of the text or node that wrote the byte at the offset of the result.
func (r *renderer) positionOf(offset int) int {
	position := 0
	for _, mark := range r.marks {
		if mark.offset > offset {
			break
		}
		position = int(mark.node.Position())
		if _, isText := mark.node.(*parse.TextNode); isText {
			position += offset - mark.offset
		}
	}
	return position
}

// step counts n steps. It returns an error if there are more than maxSteps.
func (r *renderer) step(n int) error {
	if r.steps += n; r.steps > maxSteps {
		return r.t.fail(r.at, "the template takes too many steps")
	}
	return nil
}

// write appends text to the result, without escaping. It returns an error if the result is longer than MaxOutput.
func (r *renderer) write(text string) error {
	if len(r.out)+len(text) > MaxOutput {
		return r.t.fail(r.at, "the result has more than %d bytes; shorten texts with cut", MaxOutput)
	}
	r.marks = append(r.marks, mark{len(r.out), r.at})
	r.out = append(r.out, text...)
	return r.step(len(text) / bytesOfStep)
}

func (r *renderer) list(dot any, list *parse.ListNode) error {
	if list == nil {
		return nil
	}
	for _, node := range list.Nodes {
		if r.at = node; r.steps >= maxSteps {
			return r.step(1)
		}
		r.steps++
		if err := r.node(dot, node); err != nil {
			return err
		}
	}
	return nil
}

func (r *renderer) node(dot any, node parse.Node) error {
	switch node := node.(type) {
	case *parse.TextNode:
		return r.write(string(node.Text))
	case *parse.ActionNode:
		value, err := r.pipeline(dot, node.Pipe)
		if err != nil || len(node.Pipe.Decl) > 0 {
			return err
		}
		if raw, is := value.(written); is {
			return r.write(string(raw))
		}
		return r.write(escape(textOf(value)))
	case *parse.IfNode:
		return r.branch(&node.BranchNode, dot, func(any) any { return dot })
	case *parse.WithNode:
		return r.branch(&node.BranchNode, dot, func(value any) any { return value })
	case *parse.RangeNode:
		return r.loop(node, dot)
	}
	return r.t.fail(node, "is not allowed") // Parse has refused the node
}

// branch runs an if or with node. enter gets the value of the pipeline, and returns dot for node.List.
func (r *renderer) branch(node *parse.BranchNode, dot any, enter func(any) any) error {
	visible := len(r.variables)
	defer func() { r.variables = r.variables[:visible] }()
	value, err := r.pipeline(dot, node.Pipe)
	if err != nil {
		return err
	}
	if isTrue(value) {
		return r.list(enter(value), node.List)
	}
	return r.list(dot, node.ElseList)
}

func (r *renderer) loop(node *parse.RangeNode, dot any) error {
	value, err := r.commands(dot, node.Pipe.Cmds)
	if err != nil {
		return err
	}
	elements, _ := value.([]any) // null is an empty list
	if len(elements) == 0 {
		return r.list(dot, node.ElseList)
	}
	visible := len(r.variables)
	defer func() { r.variables = r.variables[:visible] }()
	for i, element := range elements {
		r.at = node
		if err := r.step(1); err != nil {
			return err
		}
		r.variables = r.variables[:visible]
		for at, declared := range node.Pipe.Decl {
			value := any(json.Number(strconv.Itoa(i)))
			if at == len(node.Pipe.Decl)-1 {
				value = element
			}
			r.variables = append(r.variables, binding{declared.Ident[0], value})
		}
		if err := r.list(element, node.List); err != nil {
			return err
		}
	}
	return nil
}

// pipeline returns the value of a pipeline, and sets its variables.
func (r *renderer) pipeline(dot any, pipe *parse.PipeNode) (any, error) {
	value, err := r.commands(dot, pipe.Cmds)
	if err != nil {
		return nil, err
	}
	for _, declared := range pipe.Decl {
		if pipe.IsAssign {
			r.variable(declared.Ident[0]).value = value
		} else {
			r.variables = append(r.variables, binding{declared.Ident[0], value})
		}
	}
	return value, nil
}

func (r *renderer) commands(dot any, commands []*parse.CommandNode) (value any, err error) {
	for i, command := range commands {
		if err := r.step(1); err != nil {
			return nil, err
		}
		if function(command) == "" {
			value, err = r.operand(dot, command.Args[0])
		} else {
			value, err = r.call(dot, command, value, i > 0)
		}
		if err != nil {
			return nil, err
		}
	}
	return value, nil
}

func (r *renderer) variable(name string) *binding {
	for i := len(r.variables) - 1; i > 0; i-- {
		if r.variables[i].name == name {
			return &r.variables[i]
		}
	}
	return &r.variables[0]
}

func (r *renderer) operand(dot any, node parse.Node) (any, error) {
	switch node := node.(type) {
	case *parse.FieldNode:
		return member(dot, node.Ident), nil
	case *parse.VariableNode:
		if err := r.step(1 + len(r.variables)/variablesOfStep); err != nil {
			return nil, err
		}
		return member(r.variable(node.Ident[0]).value, node.Ident[1:]), nil
	case *parse.StringNode:
		return node.Text, nil
	case *parse.NumberNode:
		return json.Number(node.Text), nil
	case *parse.BoolNode:
		return node.True, nil
	case *parse.PipeNode:
		return r.commands(dot, node.Cmds)
	}
	return dot, nil
}

// member returns the member at a path. A member of null is null.
func member(value any, path []string) any {
	for _, name := range path {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return value
}

// call calls a function. piped is the last argument if isPiped is set.
func (r *renderer) call(dot any, command *parse.CommandNode, piped any, isPiped bool) (any, error) {
	name, arguments := function(command), command.Args[1:]
	count := len(arguments)
	if isPiped {
		count++
	}
	value := func(i int) (any, error) {
		if i == len(arguments) {
			return piped, nil
		}
		if err := r.step(1); err != nil {
			return nil, err
		}
		return r.operand(dot, arguments[i])
	}
	switch name {
	case "and", "or":
		return choose(name == "or", count, value)
	case "eq", "ne":
		return r.compare(name == "ne", count, value)
	}
	of, err := value(count - 1)
	if err != nil {
		return nil, err
	}
	switch name {
	case "not":
		return !isTrue(of), nil
	case "secret":
		return r.secrets[textOf(of)], nil
	case "json":
		return r.json(of)
	}
	text, work := textOf(of), bytesOfCase
	if name == "cut" {
		work = bytesOfStep
	}
	if err := r.step(len(text) / work); err != nil {
		return nil, err
	}
	switch name {
	case "lower":
		return strings.ToLower(text), nil
	case "upper":
		return strings.ToUpper(text), nil
	}
	return cut(text, int(arguments[0].(*parse.NumberNode).Int64)), nil
}

// choose returns the first value for which isTrue returns wanted, else the last value. wanted is true for or, and false
// for and.
func choose(wanted bool, count int, value func(int) (any, error)) (of any, err error) {
	for i := range count {
		if of, err = value(i); err != nil || isTrue(of) == wanted {
			return of, err
		}
	}
	return of, nil
}

// compare reports whether the first value is equal to one of the others. With negate it reports the opposite. Two values
// are equal if their texts are equal, so null is equal to the empty text.
func (r *renderer) compare(negate bool, count int, value func(int) (any, error)) (any, error) {
	first, err := value(0)
	if err != nil {
		return nil, err
	}
	text := textOf(first)
	for i := 1; i < count; i++ {
		other, err := value(i)
		if err != nil {
			return nil, err
		}
		if err := r.step(len(text) / bytesOfStep); err != nil {
			return nil, err
		}
		if textOf(other) == text {
			return !negate, nil
		}
	}
	return negate, nil
}

// json returns the whole value as JSON.
func (r *renderer) json(value any) (any, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, r.t.fail(r.at, "the value cannot be written as JSON")
	}
	return written(bytes.TrimSpace(out.Bytes())), r.step(out.Len() / bytesOfJSON)
}

// The amounts of work that count as one step.
const (
	bytesOfStep     = 16 // bytes of a text that is copied, compared or cut
	bytesOfCase     = 4  // bytes of a text that lower or upper changes
	bytesOfJSON     = 8
	variablesOfStep = 8
)

// isTrue reports whether a value is neither null, false, 0 nor empty.
func isTrue(value any) bool {
	switch value := value.(type) {
	case []any:
		return len(value) > 0
	case map[string]any:
		return len(value) > 0
	case bool:
		return value
	case json.Number:
		number, err := value.Float64()
		return err != nil || number != 0
	}
	return textOf(value) != ""
}

// textOf returns the text of a single value. The text of null is empty.
func textOf(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case json.Number:
		return value.String()
	case bool:
		return strconv.FormatBool(value)
	}
	return ""
}

// cut returns at most n characters of the text. If the text is longer, the last character of the result is an ellipsis. It
// is not richtext.Shorten, because this package imports no other one of the project than topic.
func cut(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	end := 0
	for range n - 1 {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	return text[:end] + "…"
}

// escape returns the text as the inside of a JSON string.
func escape(text string) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // every string can be encoded
	return strings.TrimSuffix(out.String(), "\"\n")[1:]
}

// Escaped returns the text as a template writes it.
func Escaped(text string) string { return escape(text) }
