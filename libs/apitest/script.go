package apitest

import (
	"bufio"
	"fmt"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"golang.org/x/tools/txtar"
)

// block is one request of a script with its response. response is the archive's file with the response. If a table
// follows, each is the file with the table. A block with a table has one step per row. A block without a table has
// one step.
type block struct {
	response, each *txtar.File
	columns        []string
	rows           [][]string
	steps          []*step
}

// step is a request and the response that the request must get.
type step struct {
	name    string
	request string // text in the script
	want    response

	got  []byte    // for the update mode: the received body, if the status was the expected one
	vars variables // for the update mode: the variables when the body was received
}

type response struct {
	status int
	exact  bool
	within time.Duration
	part
}

// part is the text of a request or a response, divided into its first line, header and body.
type part struct {
	first  string // first line
	header http.Header
	body   string
}

// parse returns the blocks of a script. It returns an error if the files of the archive are not in the order request,
// response, each. Otherwise a file with a misspelled name would be ignored.
func parse(archive *txtar.Archive) ([]*block, error) {
	var blocks []*block
	files := archive.Files
	for at := 0; at < len(files); at += 2 {
		request := files[at]
		kind, name, _ := strings.Cut(request.Name, " ")
		if strings.TrimSuffix(kind, ":") != "request" {
			return nil, fmt.Errorf("part %d (%s): requests and responses must alternate", at+1, request.Name)
		}
		if at+1 == len(files) {
			return nil, fmt.Errorf("the script ends without a response")
		}
		b := &block{response: &files[at+1]}
		kind, mode, _ := strings.Cut(b.response.Name, " ")
		if kind != "response" {
			return nil, fmt.Errorf("part %d (%s): requests and responses must alternate", at+2, b.response.Name)
		}
		if at+2 < len(files) && files[at+2].Name == "each" {
			b.each = &files[at+2]
			at++
		}
		if err := b.parse(name, mode, string(request.Data)); err != nil {
			return nil, fmt.Errorf("%s: %w", request.Name, err)
		}
		blocks = append(blocks, b)
	}
	if len(blocks) == 0 {
		return nil, fmt.Errorf("the script has no request")
	}
	return blocks, nil
}

// parse reads the table, if there is one, and creates the steps.
func (b *block) parse(name, mode, request string) error {
	if b.each == nil {
		return b.add(name, mode, request, string(b.response.Data))
	}
	for _, line := range strings.Split(strings.TrimSpace(string(b.each.Data)), "\n") {
		row := strings.Split(" "+line+" ", " | ")
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		if b.columns == nil {
			b.columns = row
			continue
		}
		if len(row) != len(b.columns) {
			return fmt.Errorf("the row %q has %d values for %d columns", line, len(row), len(b.columns))
		}
		b.rows = append(b.rows, row)
		fill := strings.NewReplacer(b.pairs(row)...)
		title := fmt.Sprintf("%s, row %d: %s", name, len(b.rows), strings.Join(row, " | "))
		if err := b.add(title, mode, fill.Replace(request), fill.Replace(string(b.response.Data))); err != nil {
			return fmt.Errorf("row %q: %w", line, err)
		}
	}
	if len(b.rows) == 0 {
		return fmt.Errorf("the table has no rows")
	}
	return nil
}

// pairs returns the arguments of a strings.Replacer that replaces the placeholder of each column by its value in the
// row.
func (b *block) pairs(row []string) []string {
	var pairs []string
	for i, column := range b.columns {
		pairs = append(pairs, "${"+column+"}", row[i])
	}
	return pairs
}

func (b *block) add(name, mode, request, want string) error {
	expected, err := parseResponse(mode, want)
	b.steps = append(b.steps, &step{name: name, request: request, want: expected})
	return err
}

func parsePart(text string) (part, error) {
	head, body, _ := strings.Cut(text, "\n\n")
	first, lines, _ := strings.Cut(head, "\n")
	reader := bufio.NewReader(strings.NewReader(strings.TrimSpace(lines) + "\n\n"))
	header, err := textproto.NewReader(reader).ReadMIMEHeader()
	if err != nil {
		return part{}, fmt.Errorf("a line is no header, or the empty line before the body is missing: %w", err)
	}
	return part{first: strings.TrimSpace(first), header: http.Header(header), body: strings.TrimSuffix(body, "\n")}, nil
}

func parseResponse(mode, text string) (response, error) {
	section, err := parsePart(text)
	if err != nil {
		return response{}, err
	}
	out := response{part: section, exact: mode == "exact"}
	if out.status, err = strconv.Atoi(section.first); err != nil {
		return response{}, fmt.Errorf("the first line %q is not a status", section.first)
	}
	if limit, found := strings.CutPrefix(mode, "within "); found {
		if out.within, err = time.ParseDuration(limit); err != nil {
			return response{}, fmt.Errorf("%q is not a duration", limit)
		}
	} else if mode != "" && !out.exact {
		return response{}, fmt.Errorf("there is no response %q, only exact and within 5s", mode)
	}
	return out, nil
}
