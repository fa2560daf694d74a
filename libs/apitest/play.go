package apitest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"golang.org/x/tools/txtar"
)

// pause is the wait between two tries of a step with a time limit ("within").
const pause = 20 * time.Millisecond

// PlayFile runs the script in a file. The error contains each failed step with its request, its response and every
// difference. In update mode, PlayFile then rewrites the error texts in the file.
func PlayFile(ctx context.Context, target Target, file string) error {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		return fmt.Errorf("reading the script: %w", err)
	}
	before := txtar.Format(archive)
	err = Play(ctx, target, file, archive)
	if after := txtar.Format(archive); !bytes.Equal(before, after) {
		return errors.Join(err, os.WriteFile(file, after, 0o644))
	}
	return err
}

// Play runs a parsed script. In update mode, it then rewrites the error texts of the script.
func Play(ctx context.Context, target Target, name string, archive *txtar.Archive) error {
	blocks, err := parse(archive)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if target.Handler != nil {
		server := httptest.NewServer(target.Handler)
		defer server.Close()
		target.URL = server.URL
	}
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	p := player{target: target, client: client, vars: variables{"base": target.URL}}
	maps.Copy(p.vars, target.Vars)
	var failed []error
	number := 0
	for _, b := range blocks {
		for _, step := range b.steps {
			number++
			err := p.play(ctx, step)
			if errors.Is(err, errNoValue) && len(failed) > 0 {
				err = fmt.Errorf("not played, because a step before it failed: %w", err)
			}
			if err != nil {
				failed = append(failed, fmt.Errorf("%s: step %d %q: %w", name, number, step.name, err))
			}
		}
		if os.Getenv(Update) == "1" {
			b.pin()
		}
	}
	return errors.Join(failed...)
}

type player struct {
	target Target
	client *http.Client
	vars   variables
}

type exchange struct {
	sent    string
	request *http.Request
	content string // body of the request
	status  int
	header  http.Header
	body    []byte
}

// play sends the request of a step until the response matches or the step's time limit is over. If a response has the
// expected status, play keeps its variables even if other parts differ, so that later steps can run.
func (p *player) play(ctx context.Context, s *step) error {
	deadline := time.Now().Add(s.want.within)
	for {
		got, err := p.send(ctx, s)
		if err != nil {
			return err
		}
		vars := maps.Clone(p.vars)
		differences := append(s.want.compare(got, vars), p.target.OpenAPI.check(got)...)
		if len(differences) > 0 && ctx.Err() == nil && time.Now().Add(pause).Before(deadline) {
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
			continue
		}
		if got.status == s.want.status {
			p.vars, s.got, s.vars = vars, got.body, vars
		}
		if len(differences) > 0 {
			return fmt.Errorf("the response differs\n--- request\n%s\n--- expected\n%s\n%s\n%s\n--- got\n%d\n%s\n%s\n--- differences\n%s",
				got.sent, s.want.first, headerText(s.want.header), s.want.body, got.status, headerText(got.header),
				shorten(string(got.body)), strings.Join(differences, "\n"))
		}
		return nil
	}
}

func (p *player) send(ctx context.Context, s *step) (exchange, error) {
	request, body, err := p.request(ctx, s)
	if err != nil {
		return exchange{}, err
	}
	sent := request.Method + " " + request.URL.String() + "\n" + headerText(request.Header) + "\n" + shorten(body)
	response, err := p.client.Do(request)
	if err != nil {
		return exchange{}, fmt.Errorf("%w\n--- request\n%s", err, sent)
	}
	defer func() { _ = response.Body.Close() }() // the body is read to its end below
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return exchange{}, fmt.Errorf("reading the response: %w\n--- request\n%s", err, sent)
	}
	return exchange{sent: sent, request: request, content: body, status: response.StatusCode, header: response.Header, body: content}, nil
}

func (p *player) request(ctx context.Context, s *step) (*http.Request, string, error) {
	text, err := p.vars.fill(s.request)
	if err != nil {
		return nil, "", err
	}
	written, err := parsePart(text)
	if err != nil {
		return nil, "", err
	}
	method, url, found := strings.Cut(written.first, " ")
	if !found {
		return nil, "", fmt.Errorf("the first line %q is not METHOD PATH", written.first)
	}
	if strings.HasPrefix(url, "/") {
		url = p.target.URL + url
	}
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(written.body))
	if err != nil {
		return nil, "", fmt.Errorf("making the request: %w", err)
	}
	maps.Copy(request.Header, p.target.Header.Clone())
	maps.Copy(request.Header, written.header)
	maps.DeleteFunc(request.Header, func(_ string, values []string) bool { return values[0] == "<none>" })
	request.Host = request.Header.Get("Host")
	return request, written.body, nil
}

func headerText(header http.Header) string {
	var text strings.Builder
	_ = header.Write(&text) // a Builder returns no error
	return strings.ReplaceAll(text.String(), "\r\n", "\n")
}

// shorten shortens a very long body, so that an error stays readable.
func shorten(body string) string {
	const most = 4000
	if len(body) <= most {
		return body
	}
	return fmt.Sprintf("%s... (%d bytes)", body[:most], len(body))
}
