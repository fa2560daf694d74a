package apitest

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Update is the name of the environment variable for the update mode. If its value is 1, PlayFile rewrites scripts.
const Update = "APITEST_UPDATE"

// errorColumn is the name of the last column of a table, which the update mode adds or rewrites.
const errorColumn = "error"

// quoted matches a string in JSON. For the name of a member, the match includes the colon.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"\s*:?`)

// pin replaces the strings in the expected error body of the block by the received strings. It changes nothing if a
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
	for k := len(places) - 1; k >= 0; k-- { // from the last to the first, so that earlier positions stay valid
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
		body = body[:from+1] + b.express(body[from+1:to-1], texts) + body[to-1:]
	}
	b.response.Data = []byte(head + "\n\n" + body)
}

// express returns a pattern that matches the text of each step. It tries these patterns: the present one, the text of
// the first step, and this text with values of the first row replaced by the placeholders of their columns. If none
// matches every step, it writes the texts into the column errorColumn and returns the placeholder of that column.
func (b *block) express(pattern string, texts []string) string {
	all := texts[0]
	patterns := []string{pattern, all}
	for c, column := range b.columns {
		if value := b.rows[0][c]; value != "" {
			patterns = append(patterns, strings.ReplaceAll(texts[0], value, "${"+column+"}"))
			all = strings.ReplaceAll(all, value, "${"+column+"}")
		}
	}
	for _, pattern := range append(patterns, all) {
		if b.fits(pattern, texts) {
			return pattern
		}
	}
	b.setErrors(texts)
	return "${" + errorColumn + "}"
}

func (b *block) fits(pattern string, texts []string) bool {
	for i, text := range texts {
		filled := b.fill(i, pattern)
		if filled == "<text>" || filled == "<any>" || b.steps[i].vars.match(filled, text) != nil {
			return false
		}
	}
	return true
}

// fill returns the pattern with the placeholders of the columns replaced by the values of the row.
func (b *block) fill(row int, pattern string) string {
	if b.each == nil {
		return pattern
	}
	return strings.NewReplacer(b.pairs(b.rows[row])...).Replace(pattern)
}

// setErrors writes the texts into the column errorColumn of the table. It adds the column if there is none.
func (b *block) setErrors(texts []string) {
	lines := strings.Split(strings.TrimSpace(string(b.each.Data)), "\n")
	last := len(b.columns) - 1
	if b.columns[last] == errorColumn {
		b.columns = b.columns[:last]
		for i, line := range lines {
			lines[i] = strings.TrimRight(line[:strings.LastIndex(line, " | ")], " ")
		}
	}
	width := 0
	for _, line := range lines {
		width = max(width, utf8.RuneCountInString(line))
	}
	for i, text := range append([]string{errorColumn}, texts...) {
		lines[i] += strings.Repeat(" ", width-utf8.RuneCountInString(lines[i])) + " | " + text
	}
	b.each.Data = []byte(strings.Join(lines, "\n") + "\n")
	for i := range b.rows {
		b.rows[i] = append(b.rows[i][:len(b.columns)], texts[i])
	}
	b.columns = append(b.columns, errorColumn)
}
