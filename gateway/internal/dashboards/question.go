package dashboards

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/bellbuoy/bellbuoy/gateway/internal/message"
)

// question is a request to the events service: for an edition, a file or a list.
type question interface {
	about() *subject
	// isCurrent reports whether a cached response needs no confirmation.
	isCurrent(response *cached) bool
	// received returns the response for the cache. state is the value of peer.ListHeader.
	received(response message.Response, state string) (*cached, error)
	// place returns where the backup has the response; an empty key: nowhere.
	place(ctx context.Context, b *backup) (key, field string)
}

// subject is what all questions have.
type subject struct {
	key cacheKey
	run string // key of the shared run
	uri string
	id  string // X-Request-Id
	// confirmed is set if the events service confirms the response for each visitor: for an edition and a list.
	confirmed bool
	// rests is set if the last response serves visitors while the events service rests.
	rests bool
}

func (s *subject) about() *subject { return s }

// editionQuestion asks for the edition of a dashboard.
type editionQuestion struct {
	subject
	base string // path of the dashboard in the events service
}

func newEditionQuestion(base, id string) *editionQuestion {
	uri := base + "/edition"
	return &editionQuestion{subject{key: cacheKey{uri: uri}, run: uri, uri: uri, id: id, confirmed: true, rests: true}, base}
}

func (*editionQuestion) isCurrent(*cached) bool { return false }

func (*editionQuestion) received(response message.Response, _ string) (out *cached, err error) {
	out = &cached{Response: response}
	if response.Status == http.StatusOK {
		if out.edition, err = parseEdition(response.Body); err != nil {
			err = errors.Join(errNoResponse, err)
		}
	}
	return out, err
}

func (q *editionQuestion) place(ctx context.Context, b *backup) (key, field string) {
	return filesKey(b.read(b.redis.Client().HGet(ctx, addressKey(q.base), dashboardField))), editionField
}

// listQuestion asks for a legacy list of a dashboard.
type listQuestion struct {
	subject
	base  string
	query string
	state string // Edition.List of the dashboard; empty: unknown
}

func newListQuestion(base, query string, of *edition, id string) *listQuestion {
	uri := base + "/list"
	if query != "" {
		uri += "?" + query
	}
	return &listQuestion{subject{key: cacheKey{uri: uri}, run: uri, uri: uri, id: id, confirmed: true, rests: true}, base, query, of.List}
}

func (q *listQuestion) isCurrent(response *cached) bool {
	return q.state != "" && response.state == q.state
}

// received returns the list in its own state: the list may be newer than the edition.
func (*listQuestion) received(response message.Response, state string) (*cached, error) {
	return &cached{Response: response, state: state}, nil
}

func (q *listQuestion) place(context.Context, *backup) (key, field string) {
	if q.query != "" {
		return "", ""
	}
	return addressKey(q.base), listField
}

// fileQuestion asks for a file of an edition in a content coding.
type fileQuestion struct {
	subject
	edition *edition
}

// newFileQuestion returns the question. staleEdition is set if the events service did not confirm the edition.
func newFileQuestion(of *edition, staleEdition bool, name, coding, id string) *fileQuestion {
	uri := (&url.URL{Path: "/public/v1/editions/" + of.ID + "/files/" + name}).EscapedPath()
	key := cacheKey{uri: of.DashboardID, file: name, coding: coding}
	return &fileQuestion{subject{key: key, run: coding + " " + uri, uri: uri, id: id, rests: staleEdition}, of}
}

func (q *fileQuestion) isCurrent(response *cached) bool { return response.edition.ID == q.edition.ID }

func (q *fileQuestion) received(response message.Response, _ string) (*cached, error) {
	response.Header.Del("Cache-Control") // the Cache-Control of the visitor's response depends on the access
	response.Header.Set("X-Content-Type-Options", "nosniff")
	return &cached{Response: response, edition: q.edition}, nil
}

func (q *fileQuestion) place(context.Context, *backup) (key, field string) {
	if q.edition.isSaved(q.key.file) {
		return filesKey(q.key.uri), fileField(q.key.file, codingBrotli)
	}
	return othersKey(q.key.uri), fileField(q.key.file, q.key.coding)
}
