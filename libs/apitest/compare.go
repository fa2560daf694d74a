package apitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/textproto"
	"slices"
	"strings"
)

// compare returns the differences between the response that came and the expected one.
func (r response) compare(got exchange, vars variables) []string {
	var differences []string
	if got.status != r.status {
		differences = append(differences, fmt.Sprintf("status: expected %d, got %d", r.status, got.status))
	}
	for _, h := range r.headers {
		values, present := got.header[textproto.CanonicalMIMEHeaderKey(h.name)]
		var err error
		switch value := strings.Join(values, ", "); {
		case h.value == "<none>" && present:
			err = fmt.Errorf("expected none, got %q", value)
		case h.value != "<none>" && !present:
			err = fmt.Errorf("expected %q, there is none", h.value)
		case present:
			err = vars.match(h.value, value)
		}
		if err != nil {
			differences = append(differences, fmt.Sprintf("header %s: %v", h.name, err))
		}
	}
	return append(differences, r.compareBody(got.body, vars)...)
}

func (r response) compareBody(got []byte, vars variables) []string {
	switch {
	case !r.hasBody && len(got) > 0:
		return []string{fmt.Sprintf("body: expected none, got %d bytes", len(got))}
	case !r.hasBody || r.body == "<any>":
		return nil
	case r.exact:
		want, err := vars.replace(r.body)
		if err != nil {
			return []string{"body: " + err.Error()}
		}
		if want != strings.TrimSuffix(string(got), "\n") {
			return []string{"body: expected byte for byte\n" + want + "\ngot\n" + string(got)}
		}
		return nil
	}
	want, err := decode([]byte(r.body))
	if err != nil {
		if err := vars.match(r.body, strings.TrimSuffix(string(got), "\n")); err != nil {
			return []string{"body: " + err.Error()}
		}
		return nil
	}
	value, err := decode(got)
	if err != nil {
		return []string{fmt.Sprintf("body: expected JSON, got %q (%v)", shorten(string(got)), err)}
	}
	return compareValues("body", want, value, vars)
}

func decode(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if decoder.More() {
		return nil, fmt.Errorf("more than one value")
	}
	return value, nil
}

func compareValues(path string, want, got any, vars variables) []string {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			return differ(path, want, got)
		}
		return compareObjects(path, want, object, vars)
	case []any:
		list, ok := got.([]any)
		if !ok {
			return differ(path, want, got)
		}
		return compareLists(path, want, list, vars)
	case string:
		return compareText(path, want, got, vars)
	}
	if want != got {
		return differ(path, want, got)
	}
	return nil
}

func compareObjects(path string, want, got map[string]any, vars variables) []string {
	var differences []string
	_, open := want["..."]
	for _, name := range slices.Sorted(maps.Keys(want)) {
		value, present := got[name]
		switch {
		case name == "...":
		case !present:
			differences = append(differences, fmt.Sprintf("%s.%s: expected %s, it is missing", path, name, text(want[name])))
		default:
			differences = append(differences, compareValues(path+"."+name, want[name], value, vars)...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, expected := want[name]; !expected && !open {
			differences = append(differences, fmt.Sprintf("%s.%s: not expected, it is %s", path, name, text(got[name])))
		}
	}
	return differences
}

func compareLists(path string, want, got []any, vars variables) []string {
	if n := len(want); n > 0 && want[n-1] == "..." {
		want = want[:n-1]
		got = got[:min(len(got), len(want))]
	}
	if len(want) != len(got) {
		return append(differ(path, want, got), fmt.Sprintf("%s: expected %d elements, got %d", path, len(want), len(got)))
	}
	var differences []string
	for i := range want {
		differences = append(differences, compareValues(fmt.Sprintf("%s[%d]", path, i), want[i], got[i], vars)...)
	}
	return differences
}

// compareText compares any value with an expected text, which may be a matcher or a variable.
func compareText(path, want string, got any, vars variables) []string {
	var err error
	switch value := got.(type) {
	case string:
		if want == "<number>" || want == "<text>" && value == "" {
			return differ(path, want, got)
		}
		err = vars.match(want, value)
	case json.Number, bool:
		if !takesScalar(want, got) {
			return differ(path, want, got)
		}
		err = vars.match(want, fmt.Sprint(value))
	default:
		if want != "<any>" {
			return differ(path, want, got)
		}
	}
	if err != nil {
		return []string{path + ": " + err.Error()}
	}
	return nil
}

// takesScalar reports whether the expected text stands for a number or boolean: a lone
// variable, <any>, or <number>.
func takesScalar(want string, got any) bool {
	parts := placeholder.FindStringSubmatch(want)
	if parts == nil || parts[0] != want {
		return false
	}
	_, number := got.(json.Number)
	return parts[1] != "" || parts[3] == "any" || parts[3] == "number" && number
}

func differ(path string, want, got any) []string {
	return []string{fmt.Sprintf("%s: expected %s, got %s", path, text(want), text(got))}
}

func text(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(encoded)
}
