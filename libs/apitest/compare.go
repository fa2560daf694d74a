package apitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// comparison collects the differences between the expected and the received response.
type comparison struct {
	vars        variables
	differences []string
}

func (c *comparison) differ(format string, args ...any) {
	c.differences = append(c.differences, fmt.Sprintf(format, args...))
}

// match adds a difference unless the text matches the pattern.
func (c *comparison) match(place, pattern, text string) {
	if err := c.vars.match(pattern, text); err != nil {
		c.differ("%s: %v", place, err)
	}
}

// compare returns the differences between the expected and the received response.
func (r response) compare(got exchange, vars variables) []string {
	c := &comparison{vars: vars}
	if got.status != r.status {
		c.differ("status: expected %d, got %d", r.status, got.status)
	}
	for _, name := range slices.Sorted(maps.Keys(r.header)) {
		values, present := got.header[name]
		expected, value := r.header.Get(name), strings.Join(values, ", ")
		switch {
		case expected == "<none>" && present:
			c.differ("header %s: expected none, got %q", name, value)
		case expected != "<none>" && !present:
			c.differ("header %s: expected %q, there is none", name, expected)
		case present:
			c.match("header "+name, expected, value)
		}
	}
	c.body(r, got.body)
	return c.differences
}

func (c *comparison) body(r response, content []byte) {
	got := strings.TrimSuffix(string(content), "\n")
	switch {
	case r.body == "" && len(content) > 0:
		c.differ("body: expected none, got %d bytes", len(content))
		return
	case r.body == "" || r.body == "<any>":
		return
	case r.exact:
		want, err := c.vars.replace(r.body)
		if err != nil || want != got {
			c.differ("body: expected byte for byte\n%s\ngot\n%s (%v)", want, got, err)
		}
		return
	}
	want, err := decode([]byte(r.body))
	if err != nil {
		c.match("body", r.body, got)
		return
	}
	value, err := decode(content)
	if err != nil {
		c.differ("body: expected JSON, got %q (%v)", shorten(got), err)
		return
	}
	c.value("body", want, value)
}

func decode(text []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err = decoder.Decode(&value); err == nil && decoder.More() {
		err = fmt.Errorf("more than one value")
	}
	return value, err
}

func (c *comparison) value(path string, want, got any) {
	switch expected := want.(type) {
	case map[string]any:
		if object, ok := got.(map[string]any); ok {
			c.object(path, expected, object)
			return
		}
	case []any:
		if list, ok := got.([]any); ok {
			c.list(path, expected, list)
			return
		}
	case string:
		if expected == "<any>" {
			return
		}
		if takes(expected, got) {
			c.match(path, expected, fmt.Sprint(got))
			return
		}
	default:
		if want == got {
			return
		}
	}
	c.differ("%s: expected %s, got %s", path, text(want), text(got))
}

func (c *comparison) object(path string, want, got map[string]any) {
	_, open := want["..."]
	for _, name := range slices.Sorted(maps.Keys(want)) {
		value, present := got[name]
		switch {
		case name == "...":
		case !present:
			c.differ("%s.%s: expected %s, it is missing", path, name, text(want[name]))
		default:
			c.value(path+"."+name, want[name], value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, expected := want[name]; !expected && !open {
			c.differ("%s.%s: not expected, it is %s", path, name, text(got[name]))
		}
	}
}

func (c *comparison) list(path string, want, got []any) {
	if n := len(want); n > 0 && want[n-1] == "..." {
		want = want[:n-1]
		got = got[:min(len(got), len(want))]
	}
	if len(want) != len(got) {
		c.differ("%s: expected %s, got %s", path, text(want), text(got))
		c.differ("%s: expected %d elements, got %d", path, len(want), len(got))
		return
	}
	for i := range want {
		c.value(fmt.Sprintf("%s[%d]", path, i), want[i], got[i])
	}
}

// takes reports whether the JSON value got can match the expected text want. A string cannot match <number>. A number
// matches only <number> or a single variable. A boolean matches only a single variable.
func takes(want string, got any) bool {
	parts := placeholder.FindStringSubmatch(want)
	variable := parts != nil && parts[0] == want && parts[1] != ""
	switch got.(type) {
	case string:
		return want != "<number>"
	case json.Number:
		return variable || want == "<number>"
	case bool:
		return variable
	}
	return false
}

func text(value any) string {
	encoded, _ := json.Marshal(value) // cannot fail for a value decoded from JSON
	return string(encoded)
}
