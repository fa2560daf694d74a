// Package download reads the interface of another product, and saves the responses as files that a reader of package source reads.
//
// Decisions: Only this package calls a server of another product. So a reader has no state of a connection, and a
// person can save the same files with other tools. A request goes to the host of the product only, over https and
// without redirects, because it has the person's key.
package download

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
	"github.com/bellbuoy/bellbuoy/libs/moving/pause"
)

const (
	statuspageHost = "api.statuspage.io"

	gap        = time.Second      // Statuspage admits one request a second
	usualPause = time.Minute      // after 420 or 429 without Retry-After
	maxPause   = 10 * time.Minute // longest pause, even if Retry-After is longer
	maxRepeats = 10               // tries of one request that gets 420 or 429
	maxPages   = 10_000           // pages of one list
	perPage    = 100
)

// list is a list of Statuspage: the path and the query of its pages, the number of its first page, and the start of its file names.
type list struct {
	path, query, file string
	first             int
}

// lists returns the lists of a status page, those of subscribers only if subscribers is true. Each list of subscribers
// has one state, because a subscriber does not name its state.
func lists(subscribers bool) []list {
	size := strconv.Itoa(perPage)
	all := []list{
		{"/component-groups", "per_page=" + size, "component-groups", 1},
		{"/components", "per_page=" + size, "components", 1},
		{"/incidents", "limit=" + size, "incidents", 1},
	}
	for _, state := range []string{"active", "unconfirmed", "quarantined"} {
		if subscribers {
			all = append(all, list{"/subscribers", "limit=" + size + "&state=" + state, "subscribers-" + state, 0})
		}
	}
	return all
}

// Place is the position of a request in the download of a status page. The zero Place requests the settings of the page.
type Place struct {
	List int `json:"list"` // number of the list, counted from 1; 0: the settings of the page
	Page int `json:"page"` // number of the page of the list, counted from 0
}

// File is a response, which the caller saves in a folder under Name.
type File struct {
	Name    string
	Content []byte
	Next    *Place        // place of the next request; nil: the download is complete
	Wait    time.Duration // if above 0, there is no content, and Next is the place of this request: it must be sent again after this time
}

// StatuspageFile sends one request of the download of the status page at base
// (https://api.statuspage.io/v1/pages/{id}). A program that cannot wait for the whole download calls it for each Place,
// once a second.
func StatuspageFile(ctx context.Context, client *http.Client, base, token string, at Place, subscribers bool) (File, error) {
	d, err := newStatuspage(client, base, token)
	if err != nil {
		return File{}, err
	}
	all := lists(subscribers)
	if at.List < 0 || at.List > len(all) || at.Page < 0 || at.Page >= maxPages {
		return File{}, errors.New("there is no such place in the download")
	}
	path, name, next := "", "page", &Place{List: 1}
	if at.List > 0 {
		l := all[at.List-1]
		path, name, next = l.at(at.Page), l.name(at.Page), &Place{at.List, at.Page + 1}
	}
	content, wait, err := d.get(ctx, path)
	if err != nil || wait > 0 {
		return File{Next: &at, Wait: wait}, err
	}
	if at.List > 0 && isEmpty(content) {
		if next = (&Place{List: at.List + 1}); at.List == len(all) {
			next = nil
		}
	}
	return File{Name: name + ".json", Content: content, Next: next}, nil
}

// at returns the path of page n of the list, counted from 0.
func (l list) at(n int) string { return fmt.Sprintf("%s?%s&page=%d", l.path, l.query, l.first+n) }

// name returns the file name of page n, without .json.
func (l list) name(n int) string { return fmt.Sprintf("%s-%05d", l.file, n) }

// isEmpty reports whether the content is an empty JSON array, which is the response after the last page of a list.
func isEmpty(content []byte) bool { return string(bytes.Join(bytes.Fields(content), nil)) == "[]" }

// Statuspage saves the status page at base (https://api.statuspage.io/v1/pages/{id}) to a folder: its settings, groups,
// components and incidents, and if subscribers is true also its subscribers.
func Statuspage(ctx context.Context, client *http.Client, base, token, folder string, subscribers bool) error {
	d, err := newStatuspage(client, base, token)
	if err != nil {
		return err
	}
	d.folder = folder
	if _, err := d.save(ctx, "", "page"); err != nil {
		return err
	}
	for _, l := range lists(subscribers) {
		if err := d.pages(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

func newStatuspage(client *http.Client, base, token string) (*statuspage, error) {
	address, err := url.Parse(base)
	if err != nil || address.Scheme != "https" || address.Host != statuspageHost || address.User != nil || address.RawQuery != "" {
		return nil, errors.New("the address must be https://api.statuspage.io/v1/pages/ and the id of the page")
	}
	if token == "" {
		return nil, errors.New("set IMPORT_TOKEN to the key of the interface")
	}
	one := *client
	one.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &statuspage{client: &one, base: strings.TrimRight(base, "/"), token: token}, nil
}

type statuspage struct {
	client              *http.Client
	base, token, folder string
	last                time.Time // time of the last request
}

// pages saves the pages of a list up to the first empty page.
func (d *statuspage) pages(ctx context.Context, l list) error {
	var before []byte
	for n := range maxPages {
		content, err := d.save(ctx, l.at(n), l.name(n))
		if err != nil {
			return err
		}
		if isEmpty(content) {
			return nil
		}
		if bytes.Equal(content, before) {
			return fmt.Errorf("%s returns the same page again", l.path)
		}
		before = content
	}
	return fmt.Errorf("%s has more than %d pages", l.path, maxPages)
}

// save sends a request and saves the response as a file. It waits and repeats the request if get returns a wait, with at most
// maxRepeats tries.
func (d *statuspage) save(ctx context.Context, path, file string) ([]byte, error) {
	for range maxRepeats {
		content, wait, err := d.get(ctx, path)
		if err != nil {
			return nil, err
		}
		if wait == 0 {
			return content, os.WriteFile(filepath.Join(d.folder, file+".json"), content, 0o600)
		}
		if err := pause.Wait(ctx, wait); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("GET %s is refused because of too many requests; try again later", path)
}

// get sends a request, at the earliest gap after the one before. It returns the content of the response, or how long the caller
// must wait before it sends the request again.
func (d *statuspage) get(ctx context.Context, path string) (content []byte, wait time.Duration, err error) {
	if err := pause.Wait(ctx, time.Until(d.last.Add(gap))); err != nil {
		return nil, 0, err
	}
	d.last = time.Now()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.base+path, nil)
	if err != nil {
		return nil, 0, err
	}
	request.Header.Set("Authorization", "OAuth "+d.token)
	response, err := d.client.Do(request)
	if err != nil {
		return nil, 0, err
	}
	defer response.Body.Close()
	content, err = io.ReadAll(io.LimitReader(response.Body, lines.MaxFile+1))
	switch {
	case err != nil:
		return nil, 0, fmt.Errorf("GET %s: %w", path, err)
	case response.StatusCode == 420 || response.StatusCode == http.StatusTooManyRequests:
		seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
		if err != nil || seconds < 1 {
			return nil, usualPause, nil
		}
		return nil, min(time.Duration(seconds)*time.Second, maxPause), nil
	case response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden:
		return nil, 0, fmt.Errorf("GET %s returned status %d; check IMPORT_TOKEN", path, response.StatusCode)
	case response.StatusCode != http.StatusOK:
		return nil, 0, fmt.Errorf("GET %s returned status %d; check the address", path, response.StatusCode)
	case len(content) > lines.MaxFile:
		return nil, 0, fmt.Errorf("GET %s returned more than %d bytes", path, lines.MaxFile)
	}
	return content, 0, nil
}
