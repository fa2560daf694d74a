package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	tokenSetting = "BELLBUOY_OPERATOR_TOKEN"
	callTimeout  = 30 * time.Second
	maxResponse  = 16 << 20 // in bytes
)

type connection struct {
	URL  string `name:"url" env:"BELLBUOY_URL" default:"http://127.0.0.1:8080" help:"Address of the platform. The token of the interface comes from BELLBUOY_OPERATOR_TOKEN."`
	JSON bool   `name:"json" help:"Print the JSON of the interface."`
}

// Validate checks the settings. The parser calls it.
func (c connection) Validate() error {
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || strings.ContainsAny(c.URL, "?#") {
		return errors.New("BELLBUOY_URL must be a URL that starts with http:// or https://, without user info, query or fragment")
	}
	if os.Getenv(tokenSetting) == "" {
		return errors.New(tokenSetting + " must be set to the operator token; make run writes the token to data/operator-token")
	}
	return nil
}

// address returns the path below /operator/v1 that consists of the segments.
func address(segments ...string) string {
	path := "/operator/v1"
	for _, segment := range segments {
		path += "/" + url.PathEscape(segment)
	}
	return path
}

// call sends a request. It decodes the response into out, unless out is nil, and returns the body of the response.
func (c connection) call(ctx context.Context, method, path string, in, out any) ([]byte, error) {
	body := &bytes.Buffer{}
	if in != nil {
		if err := json.NewEncoder(body).Encode(in); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.URL, "/")+path, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Operator "+os.Getenv(tokenSetting))
	if in != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	// If the client followed a redirect, it would send the token to another address.
	client := http.Client{Timeout: callTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("the platform does not respond; check BELLBUOY_URL: %w", err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the response to %s %s: %w", method, path, err)
	case len(content) > maxResponse:
		return nil, fmt.Errorf("the response to %s %s is longer than %d bytes", method, path, maxResponse)
	case response.StatusCode >= http.StatusMultipleChoices:
		return nil, refusal(method, path, response, content)
	case out == nil:
		return content, nil
	}
	if err := json.Unmarshal(content, out); err != nil {
		return nil, fmt.Errorf("%s does not return the JSON of the operator interface; check BELLBUOY_URL", c.URL)
	}
	return content, nil
}

// show sends a request and prints the response: as JSON with --json, else as a table. table builds the rows from out,
// into which show decodes the response.
func (c connection) show(ctx context.Context, method, path string, in, out any, table func() [][]string) error {
	content, err := c.call(ctx, method, path, in, out)
	if err != nil {
		return err
	}
	if c.JSON {
		return printBody(content)
	}
	return printTable(table())
}

// refusal returns the error for a response with an error status.
func refusal(method, path string, response *http.Response, content []byte) error {
	var said struct{ Error string }
	wait, err := strconv.Atoi(response.Header.Get("Retry-After"))
	switch {
	case response.StatusCode == http.StatusForbidden && len(content) == 0 && err == nil:
		return fmt.Errorf("too many wrong operator tokens came from this address; check %s and try again in %d s", tokenSetting, wait)
	case response.StatusCode == http.StatusForbidden && len(content) == 0:
		return fmt.Errorf("the operator token is refused; check %s", tokenSetting)
	case json.Unmarshal(content, &said) == nil && said.Error != "":
		return errors.New(plain(said.Error))
	}
	return fmt.Errorf("%s %s returned status %d", method, path, response.StatusCode)
}
