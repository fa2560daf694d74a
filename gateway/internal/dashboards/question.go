package dashboards

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/bellbuoy/bellbuoy/gateway/internal/message"
	"github.com/bellbuoy/bellbuoy/libs/coding"
)

// question is a request to the events service for an edition, a file, a list or the aliases of a dashboard.
type question interface {
	about() *subject
	// isCurrent reports whether a cached response is known to be current without asking the events service.
	isCurrent(response *cached) bool
	// received converts the response of the events service to a cached response. state is the value of its header
	// peer.ListHeader.
	received(response message.Response, state string) (*cached, error)
	// place returns the Redis key and the field of the saved response. An empty key means that the response is not
	// saved.
	place(ctx context.Context, b *backup) (key, field string)
}

// subject has the fields that all questions have in common.
type subject struct {
	key cacheKey
	run string // concurrent questions with the same run share one request
	uri string
	id  string // X-Request-Id
	// confirmed is true for an edition and a list. After a failed question for one of them, the gateway sends no question
	// with rests during restTime (see cache.last). A response from Redis is also stored in memory when it is not current.
	confirmed bool
	// rests is true if visitors get the last response without a request to the events service during restTime.
	rests bool
	// older is true if a response from Redis is also stored in memory when it is not current.
	older bool
	most  int // maximum size of a response, in bytes; 0: maxResponse
}

func (s *subject) about() *subject { return s }

// editionQuestion is a question for the edition of a dashboard.
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
	return filesKey(b.read(b.redis.Client().HGet(ctx, b.redis.Tag()+addressKey(q.base), dashboardField))), editionField
}

// listQuestion is a question for a legacy list of a dashboard.
type listQuestion struct {
	subject
	base  string
	query string
	state string // value of Edition.List in the dashboard's edition; empty: unknown
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

// received stores the state from the response and not q.state, because the list may be newer than the edition.
func (*listQuestion) received(response message.Response, state string) (*cached, error) {
	return &cached{Response: response, state: state}, nil
}

func (q *listQuestion) place(context.Context, *backup) (key, field string) {
	if q.query != "" {
		return "", ""
	}
	return addressKey(q.base), listField
}

// fileQuestion is a question for a file of an edition in a content coding.
type fileQuestion struct {
	subject
	edition *edition
}

// newFileQuestion returns a question for a file of the edition. staleEdition is true if the events service did not
// confirm the edition.
func newFileQuestion(of *edition, staleEdition bool, name, coding, id string) *fileQuestion {
	uri := (&url.URL{Path: "/public/v1/editions/" + of.ID + "/files/" + name}).EscapedPath()
	key := cacheKey{uri: of.DashboardID, file: name, coding: coding}
	return &fileQuestion{subject{key: key, run: coding + " " + uri, uri: uri, id: id, rests: staleEdition}, of}
}

func (q *fileQuestion) isCurrent(response *cached) bool { return response.edition.ID == q.edition.ID }

func (q *fileQuestion) received(response message.Response, _ string) (*cached, error) {
	response.Header.Del("Cache-Control") // setCache sets it, because it depends on who may see the dashboard
	response.Header.Set("X-Content-Type-Options", "nosniff")
	return &cached{Response: response, edition: q.edition}, nil
}

func (q *fileQuestion) place(context.Context, *backup) (key, field string) {
	if q.edition.isSaved(q.key.file) {
		return filesKey(q.key.uri), fileField(q.key.file, coding.Brotli)
	}
	return othersKey(q.key.uri), fileField(q.key.file, q.key.coding)
}
