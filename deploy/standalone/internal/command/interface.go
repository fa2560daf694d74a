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

	"github.com/bellbuoy/bellbuoy/libs/etag"
)

const (
	callTimeout = 30 * time.Second
	maxResponse = 64 << 20 // in bytes
)

// credential describes the token or key that an interface of the platform requires. Its value is in the environment variable
// setting.
type credential struct{ setting, name, scheme, source string }

func operatorToken() credential {
	return credential{"BELLBUOY_OPERATOR_TOKEN", "operator token", "Operator", "make run writes the token to data/operator-token"}
}

func appKey() credential {
	return credential{"BELLBUOY_APP_KEY", "key", "Bearer", "a member creates a key in the console, the operator with key create"}
}

// platform contains the address of the platform to which a command sends requests.
type platform struct {
	URL string `name:"url" env:"BELLBUOY_URL" default:"http://127.0.0.1:8080" help:"Address of the platform. The token of the operator interface comes from BELLBUOY_OPERATOR_TOKEN, the key of import and export from BELLBUOY_APP_KEY."`
}

// check returns an error if URL is not valid, or if the environment does not contain the credential.
func (p platform) check(with credential) error {
	u, err := url.Parse(p.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || strings.ContainsAny(p.URL, "?#") {
		return errors.New("BELLBUOY_URL must be a URL that starts with http:// or https://, without user info, query or fragment")
	}
	if os.Getenv(with.setting) == "" {
		return fmt.Errorf("%s must be set to the %s; %s", with.setting, with.name, with.source)
	}
	return nil
}

// connection contains the settings of a command that calls the operator interface.
type connection struct {
	platform
	JSON bool `name:"json" help:"Print the JSON of the interface."`
}

// Validate checks the settings. The parser calls it.
func (c connection) Validate() error { return c.check(operatorToken()) }

// address returns the path below /operator/v1 that consists of the segments.
func address(segments ...string) string {
	path := "/operator/v1"
	for _, segment := range segments {
		path += "/" + url.PathEscape(segment)
	}
	return path
}

// call sends a request to the operator interface as platform.call does.
func (c connection) call(ctx context.Context, method, path string, in, out any) ([]byte, error) {
	return c.platform.call(ctx, operatorToken(), method, path, in, out)
}

// call sends a request. It decodes the response into out, unless out is nil, and returns the body of the response. For a
// status of 300 or higher it returns the error that refusal returns.
func (p platform) call(ctx context.Context, with credential, method, path string, in, out any) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	response, content, err := p.exchange(ctx, with, method, path, 0, in)
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode >= http.StatusMultipleChoices:
		return nil, refusal(with, method, path, response, content)
	case out == nil:
		return content, nil
	}
	return content, p.decode(content, out)
}

// decode decodes a response into out.
func (p platform) decode(content []byte, out any) error {
	if err := json.Unmarshal(content, out); err != nil {
		return fmt.Errorf("%s does not return the JSON of the platform; check BELLBUOY_URL", p.URL)
	}
	return nil
}

// exchange sends a request and returns the response and its whole body. version is the version that the record must have;
// 0: any version.
func (p platform) exchange(ctx context.Context, with credential, method, path string, version int64, in any) (*http.Response, []byte, error) {
	body := &bytes.Buffer{}
	if in != nil {
		if err := json.NewEncoder(body).Encode(in); err != nil {
			return nil, nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(p.URL, "/")+path, body)
	if err != nil {
		return nil, nil, err
	}
	request.Header.Set("Authorization", with.scheme+" "+os.Getenv(with.setting))
	if in != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if version > 0 {
		request.Header.Set("If-Match", etag.Version(version))
	}
	// If the client followed a redirect, it could send the credential to another address.
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		return nil, nil, fmt.Errorf("the platform does not respond; check BELLBUOY_URL: %w", err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("read the response to %s %s: %w", method, path, err)
	case len(content) > maxResponse:
		return nil, nil, fmt.Errorf("the response to %s %s is longer than %d bytes", method, path, maxResponse)
	}
	return response, content, nil
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
func refusal(with credential, method, path string, response *http.Response, content []byte) error {
	var said struct{ Error string }
	wait, err := strconv.Atoi(response.Header.Get("Retry-After"))
	switch {
	case response.StatusCode == http.StatusForbidden && len(content) == 0 && err == nil:
		return fmt.Errorf("too many wrong %ss came from this address; check %s and try again in %d s", with.name, with.setting, wait)
	case response.StatusCode == http.StatusForbidden && len(content) == 0:
		return fmt.Errorf("the %s is refused; check %s", with.name, with.setting)
	case json.Unmarshal(content, &said) == nil && said.Error != "":
		return errors.New(plain(said.Error))
	}
	return fmt.Errorf("%s %s returned status %d", method, path, response.StatusCode)
}
