package apitest

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/txtar"
)

// pause is between two tries of an answer that may take a while.
const pause = 20 * time.Millisecond

// PlayFile plays one script file. The error names the step that failed, with the
// request, the answer and every difference.
func PlayFile(ctx context.Context, target Target, file string) error {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		return fmt.Errorf("reading the script: %w", err)
	}
	return Play(ctx, target, file, archive)
}

// Play plays a parsed script.
func Play(ctx context.Context, target Target, name string, archive *txtar.Archive) error {
	steps, err := parse(archive)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if target.Handler != nil {
		server := httptest.NewServer(target.Handler)
		defer server.Close()
		target.URL = server.URL
	}
	if target.Client == nil {
		transport := &http.Transport{DisableCompression: true}
		defer transport.CloseIdleConnections()
		target.Client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}}
	}
	p := player{target: target, vars: variables{"base": target.URL}}
	maps.Copy(p.vars, target.Vars)
	for i, step := range steps {
		if err := p.play(ctx, step); err != nil {
			return fmt.Errorf("%s: step %d %q: %w", name, i+1, step.name, err)
		}
	}
	return nil
}

type player struct {
	target Target
	vars   variables
}

// exchange is one request and what came back.
type exchange struct {
	sent   string
	status int
	header http.Header
	body   []byte
}

// play sends a step's request until its answer fits, at the longest as long as the
// answer allows.
func (p *player) play(ctx context.Context, s step) error {
	deadline := time.Now().Add(s.answer.within)
	for {
		got, err := p.send(ctx, s)
		if err != nil {
			return err
		}
		vars := maps.Clone(p.vars)
		differences := s.answer.compare(got, vars)
		if len(differences) == 0 {
			p.vars = vars
			return nil
		}
		if !time.Now().Add(pause).Before(deadline) {
			return mismatch(s.answer, got, differences)
		}
		select {
		case <-ctx.Done():
			return mismatch(s.answer, got, append(differences, ctx.Err().Error()))
		case <-time.After(pause):
		}
	}
}

func (p *player) send(ctx context.Context, s step) (exchange, error) {
	request, body, err := p.request(ctx, s)
	if err != nil {
		return exchange{}, err
	}
	sent := s.method + " " + request.URL.String() + "\n" + headerText(request.Header) + "\n" + shorten(body)
	response, err := p.target.Client.Do(request)
	if err != nil {
		return exchange{}, fmt.Errorf("%w\n--- request\n%s", err, sent)
	}
	defer func() { _ = response.Body.Close() }() // read to its end below
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return exchange{}, fmt.Errorf("reading the answer: %w\n--- request\n%s", err, sent)
	}
	return exchange{sent: sent, status: response.StatusCode, header: response.Header, body: content}, nil
}

func (p *player) request(ctx context.Context, s step) (*http.Request, string, error) {
	url, err := p.vars.fill(s.url)
	if err != nil {
		return nil, "", err
	}
	if !strings.Contains(strings.SplitN(url, "?", 2)[0], "://") {
		url = p.target.URL + url
	}
	body, err := p.vars.fill(s.body)
	if err != nil {
		return nil, "", err
	}
	request, err := http.NewRequestWithContext(ctx, s.method, url, strings.NewReader(body))
	if err != nil {
		return nil, "", fmt.Errorf("making the request: %w", err)
	}
	maps.Copy(request.Header, p.target.Header.Clone())
	for _, h := range s.headers {
		value, err := p.vars.fill(h.value)
		switch {
		case err != nil:
			return nil, "", err
		case value == "<none>":
			request.Header.Del(h.name)
		case strings.EqualFold(h.name, "Host"):
			request.Host = value
		default:
			request.Header.Set(h.name, value)
		}
	}
	return request, body, nil
}

func mismatch(want answer, got exchange, differences []string) error {
	expected := want.first
	for _, h := range want.headers {
		expected += "\n" + h.name + ": " + h.value
	}
	return fmt.Errorf("the answer differs\n--- request\n%s\n--- expected\n%s\n\n%s\n--- got\n%d\n%s\n%s\n--- differences\n%s",
		got.sent, expected, want.body, got.status, headerText(got.header), shorten(string(got.body)), strings.Join(differences, "\n"))
}

func headerText(header http.Header) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(header)) {
		text.WriteString(name + ": " + strings.Join(header[name], ", ") + "\n")
	}
	return text.String()
}

// shorten keeps an error readable where a body is very long.
func shorten(body string) string {
	const most = 4000
	if len(body) <= most {
		return body
	}
	return fmt.Sprintf("%s... (%d bytes)", body[:most], len(body))
}
