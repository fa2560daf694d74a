package apitest

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// errNoValue is the error of a request that names a variable without a value.
var errNoValue = errors.New("has no value yet")

// variables are the values by name while a script is played.
type variables map[string]string

// shape returns the expression of a matcher; ${name:matcher} uses the same names.
func shape(name string) (expression string, known bool) {
	expression, known = map[string]string{
		"any":    `.*?`,
		"text":   `.+?`,
		"uuid":   `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`,
		"number": `-?[0-9]+(?:\.[0-9]+)?`,
		"time":   `[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})?`,
		"hex64":  `[0-9a-f]{64}`,
	}[name]
	return expression, known
}

var (
	placeholder = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(?::([a-z0-9]+))?\}|<(any|text|uuid|number|time|hex64)>`)
	repetition  = regexp.MustCompile(`<chars:([0-9]+)(?::(.))?>`)
)

// fill replaces the variables and repetitions in a request's text.
func (v variables) fill(text string) (string, error) {
	text, err := v.replace(text)
	if err != nil {
		return "", err
	}
	return repetition.ReplaceAllStringFunc(text, func(found string) string {
		parts := repetition.FindStringSubmatch(found)
		count, err := strconv.Atoi(parts[1])
		if err != nil {
			return found
		}
		if parts[2] == "" {
			parts[2] = "x"
		}
		return strings.Repeat(parts[2], count)
	}), nil
}

// replace replaces ${name} and leaves matchers alone.
func (v variables) replace(text string) (string, error) {
	var unknown error
	text = placeholder.ReplaceAllStringFunc(text, func(found string) string {
		name := placeholder.FindStringSubmatch(found)[1]
		value, known := v[name]
		if name == "" {
			return found
		}
		if !known {
			unknown = fmt.Errorf("the variable %s %w", found, errNoValue)
		}
		return value
	})
	return text, unknown
}

// match compares a text with a pattern of literals, matchers and variables, and sets the unknown variables.
func (v variables) match(pattern, text string) error {
	var expression strings.Builder
	var names []string
	end := 0
	for _, at := range placeholder.FindAllStringSubmatchIndex(pattern, -1) {
		expression.WriteString(regexp.QuoteMeta(pattern[end:at[0]]))
		end = at[1]
		part := placeholder.FindStringSubmatch(pattern[at[0]:at[1]])
		piece, name, err := v.expression(part[1], part[2]+part[3])
		if err != nil {
			return err
		}
		expression.WriteString(piece)
		if name != "" {
			names = append(names, name)
		}
	}
	expression.WriteString(regexp.QuoteMeta(pattern[end:]))
	found := regexp.MustCompile(`(?s)\A` + expression.String() + `\z`).FindStringSubmatch(text)
	if found == nil {
		filled := pattern
		if plain, err := v.replace(pattern); err == nil {
			filled = plain
		}
		return fmt.Errorf("expected %q, got %q", filled, text)
	}
	return v.take(names, found[1:])
}

// expression returns the expression of one placeholder; capture names the unknown variable that it sets.
func (v variables) expression(variable, matcher string) (expression, capture string, err error) {
	if matcher == "" {
		matcher = "text"
	}
	expression, known := shape(matcher)
	if !known {
		return "", "", fmt.Errorf("there is no matcher %q", matcher)
	}
	if variable == "" {
		return expression, "", nil
	}
	if value, known := v[variable]; known {
		return regexp.QuoteMeta(value), "", nil
	}
	return "(" + expression + ")", variable, nil
}

// take sets captured values. A name that is captured twice must have one value.
func (v variables) take(names, values []string) error {
	for i, name := range names {
		if earlier, known := v[name]; known && earlier != values[i] {
			return fmt.Errorf("${%s} is %q here and %q there", name, earlier, values[i])
		}
		v[name] = values[i]
	}
	return nil
}
