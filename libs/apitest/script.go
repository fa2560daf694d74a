package apitest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/tools/txtar"
)

// step is a request and the answer it must get.
type step struct {
	name   string
	method string
	url    string
	part   // headers and body as written
	answer answer
}

type answer struct {
	status int
	exact  bool
	within time.Duration
	part
}

// part is a section of a script: its first line, its headers, its body.
type part struct {
	first   string
	headers []header
	body    string
	hasBody bool
}

type header struct{ name, value string }

// parse reads the steps of a script. A part that is neither a request nor the answer
// to one is an error, so that a typing mistake does not silently test nothing.
func parse(archive *txtar.Archive) ([]step, error) {
	var steps []step
	for i, file := range archive.Files {
		section, err := parsePart(string(file.Data))
		if err != nil {
			return nil, fmt.Errorf("part %d (%s): %w", i+1, file.Name, err)
		}
		kind, rest, _ := strings.Cut(file.Name, " ")
		switch {
		case strings.TrimSuffix(kind, ":") == "request" && i%2 == 0:
			steps = append(steps, step{name: rest, part: section})
			err = steps[len(steps)-1].request()
		case kind == "answer" && i%2 == 1:
			steps[len(steps)-1].answer, err = parseAnswer(rest, section)
		default:
			err = fmt.Errorf("requests and answers must alternate")
		}
		if err != nil {
			return nil, fmt.Errorf("part %d (%s): %w", i+1, file.Name, err)
		}
	}
	if len(archive.Files)%2 != 0 || len(steps) == 0 {
		return nil, fmt.Errorf("the script ends without an answer")
	}
	return steps, nil
}

func parsePart(text string) (part, error) {
	head, body, hasBody := strings.Cut(text, "\n\n")
	lines := strings.Split(strings.TrimRight(head, "\n"), "\n")
	out := part{first: strings.TrimSpace(lines[0]), body: strings.TrimSuffix(body, "\n")}
	out.hasBody = hasBody && out.body != ""
	for _, line := range lines[1:] {
		name, value, found := strings.Cut(line, ":")
		if !found {
			return part{}, fmt.Errorf("%q is no header; is an empty line missing before the body?", line)
		}
		out.headers = append(out.headers, header{name: strings.TrimSpace(name), value: strings.TrimSpace(value)})
	}
	return out, nil
}

func (s *step) request() error {
	method, url, found := strings.Cut(s.first, " ")
	if !found {
		return fmt.Errorf("the first line %q is not METHOD PATH", s.first)
	}
	s.method, s.url = method, strings.TrimSpace(url)
	return nil
}

func parseAnswer(mode string, section part) (answer, error) {
	out := answer{part: section, exact: mode == "exact"}
	status, err := strconv.Atoi(section.first)
	if err != nil {
		return answer{}, fmt.Errorf("the first line %q is not a status", section.first)
	}
	out.status = status
	if limit, found := strings.CutPrefix(mode, "within "); found {
		if out.within, err = time.ParseDuration(limit); err != nil {
			return answer{}, fmt.Errorf("%q is not a duration", limit)
		}
	} else if mode != "" && !out.exact {
		return answer{}, fmt.Errorf("there is no answer %q, only exact and within 5s", mode)
	}
	return out, nil
}
