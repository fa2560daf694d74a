package apitest

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Update names the environment variable of the update mode: with the value 1, PlayFile rewrites scripts.
const Update = "APITEST_UPDATE"

// errorColumn is the column that the update mode adds to a table and rewrites. It is the last column.
const errorColumn = "error"

// quoted matches a JSON text; a name ends in a colon.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"\s*:?`)

// pin replaces the texts in the error body of the block's response by the texts that came. It changes nothing if a
// step got another status, or a body with other members or in another order.
func (b *block) pin() {
	head, body, _ := strings.Cut(string(b.response.Data), "\n\n")
	if !strings.HasPrefix(body, `{"error":`) {
		return
	}
	places := quoted.FindAllStringIndex(body, -1)
	came := make([][]string, len(b.steps))
	for i, s := range b.steps {
		if came[i] = quoted.FindAllString(string(s.got), -1); len(came[i]) != len(places) {
			return
		}
	}
	renewed := false
	for k := len(places) - 1; k >= 0; k-- { // from the last, so that earlier places stay valid
		from, to := places[k][0], places[k][1]
		texts := make([]string, len(b.steps))
		for i := range texts {
			texts[i] = came[i][k][1:strings.LastIndex(came[i][k], `"`)]
			name, expected := strings.HasSuffix(came[i][k], ":"), strings.HasSuffix(body[from:to], ":")
			if name != expected || name && b.fill(i, body[from:to]) != came[i][k] {
				return
			}
		}
		if strings.HasSuffix(body[from:to], ":") {
			continue
		}
		body = body[:from+1] + b.express(body[from+1:to-1], texts, &renewed) + body[to-1:]
	}
	b.response.Data = []byte(head + "\n\n" + body)
}

// express returns the pattern that stands for the texts, one per step: the present pattern if it fits, a text that
// all steps share, a column with the same surroundings in each row, or at last the column of errors, which it
// rewrites once.
func (b *block) express(pattern string, texts []string, renewed *bool) string {
	fits, same := true, true
	for i, text := range texts {
		filled := b.fill(i, pattern)
		fits = fits && filled != "<text>" && filled != "<any>" && b.steps[i].vars.match(filled, text) == nil
		same = same && text == texts[0]
	}
	switch {
	case fits:
		return pattern
	case same:
		return texts[0]
	}
	for c, column := range b.columns {
		if found := b.surround(c, texts); found != "" && (column != errorColumn || *renewed) {
			return found
		}
		pattern := "${" + column + "}: ${" + errorColumn + "}"
		if *renewed && !slices.ContainsFunc(texts, func(text string) bool { return b.fill(slices.Index(texts, text), pattern) != text }) {
			return pattern
		}
	}
	if *renewed {
		return pattern
	}
	*renewed = true
	b.setErrors(texts)
	return "${" + errorColumn + "}"
}

// surround returns the texts' common pattern with the placeholder of the column, and "" if the patterns differ by row.
func (b *block) surround(column int, texts []string) string {
	var common string
	for i, text := range texts {
		value := b.rows[i][column]
		pattern := strings.ReplaceAll(text, value, "${"+b.columns[column]+"}")
		if value == "" || pattern == text || i > 0 && pattern != common {
			return ""
		}
		common = pattern
	}
	return common
}

// fill returns the pattern with the values of a row.
func (b *block) fill(row int, pattern string) string {
	if b.each == nil {
		return pattern
	}
	return strings.NewReplacer(b.pairs(b.rows[row])...).Replace(pattern)
}

// setErrors sets the last column of the table, and adds the column if it is missing.
func (b *block) setErrors(texts []string) {
	last := len(b.columns) - 1
	present := b.columns[last] == errorColumn
	lines := strings.Split(strings.TrimSpace(string(b.each.Data)), "\n")
	width := 0
	for i, line := range lines {
		if present {
			line = line[:strings.LastIndex(line, " | ")]
		}
		lines[i] = strings.TrimRight(line, " ")
		width = max(width, utf8.RuneCountInString(lines[i]))
	}
	for i, text := range append([]string{errorColumn}, texts...) {
		lines[i] += strings.Repeat(" ", width-utf8.RuneCountInString(lines[i])) + " | " + text
	}
	b.each.Data = []byte(strings.Join(lines, "\n") + "\n")
	if !present {
		b.columns = append(b.columns, errorColumn)
	}
	for i := range b.rows {
		b.rows[i] = append(b.rows[i][:min(len(b.rows[i]), len(b.columns)-1)], texts[i])
	}
}
