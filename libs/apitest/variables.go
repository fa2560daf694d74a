package apitest

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// errNoValue is the error for a variable in a request that has no value yet.
var errNoValue = errors.New("has no value yet")

type variables map[string]string

// shape returns the regular expression for the name of a matcher, as in <uuid> or ${name:uuid}.
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

// fill returns the text of a request with its variables and its repetitions (<chars:50>) replaced. It returns
// errNoValue if a variable has no value.
func (v variables) fill(text string) (string, error) {
	text, err := v.replace(text)
	if err != nil {
		return "", err
	}
	return repetition.ReplaceAllStringFunc(text, func(found string) string {
		parts := repetition.FindStringSubmatch(found)
		count, _ := strconv.Atoi(parts[1]) // cannot fail, because the regular expression matches digits only
		return strings.Repeat(cmp.Or(parts[2], "x"), count)
	}), nil
}

// replace returns the text with each ${name} replaced by the value of the variable. It does not change matchers. It
// returns errNoValue if a variable has no value.
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

// match returns an error if the text does not match the pattern of literals, matchers and variables. If it matches, the
// variables in the pattern that have no value yet get one.
func (v variables) match(pattern, text string) error {
	var names []string
	expression, rest := "", pattern
	for _, found := range placeholder.FindAllStringSubmatch(pattern, -1) {
		literal, behind, _ := strings.Cut(rest, found[0])
		name, matcher := found[1], cmp.Or(found[2], found[3], "text")
		piece, known := shape(matcher)
		if !known {
			return fmt.Errorf("there is no matcher %q", matcher)
		}
		if value, known := v[name]; known {
			piece = regexp.QuoteMeta(value)
		} else if name != "" {
			piece = "(" + piece + ")"
			names = append(names, name)
		}
		expression += regexp.QuoteMeta(literal) + piece
		rest = behind
	}
	found := regexp.MustCompile(`(?s)\A` + expression + regexp.QuoteMeta(rest) + `\z`).FindStringSubmatch(text)
	if found == nil {
		filled, err := v.replace(pattern)
		if err != nil {
			filled = pattern
		}
		return fmt.Errorf("expected %q, got %q", filled, text)
	}
	for i, name := range names {
		if earlier, known := v[name]; known && earlier != found[i+1] {
			return fmt.Errorf("${%s} is %q here and %q there", name, earlier, found[i+1])
		}
		v[name] = found[i+1]
	}
	return nil
}
