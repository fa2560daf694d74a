package dashboards

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bellbuoy/bellbuoy/gateway/internal/message"
	memory "github.com/bellbuoy/bellbuoy/libs/cache"
	"github.com/bellbuoy/bellbuoy/libs/coalesce"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/peer"
)

const (
	maxResponse = 8 << 20 // size of a response, in bytes: an event may have texts of this size
	// Patience is the time for which a visitor waits for the events service. Then the visitor gets the last good
	// response, if there is one.
	Patience = 500 * time.Millisecond
	// moreTime is the time for which a visitor waits longer if there is no good response. A request to the events
	// service ends after Patience and moreTime together.
	moreTime = 4500 * time.Millisecond
	// restTime is the time after a failure during which visitors get responses from memory without a question to the events
	// service (subject.rests). After a question without a response in time, the gateway omits only questions for the same
	// response. A response to an earlier question ends this time. It is short, so that visitors see changes within a second
	// after the service is back.
	restTime = 500 * time.Millisecond
	// lateOfAll is the number of successive questions without a response in time after which restTime applies to all
	// responses.
	lateOfAll = 3
	// questionTime is the minimum time between a response and the next question for the same edition or list.
	// Visitors who arrive in this time share the next question. A question costs as much as serving several visitors.
	questionTime = 150 * time.Microsecond
	// maxURI is the maximum length of the path and query of a cached response, in bytes. The cache does not store a
	// response with a longer URI.
	maxURI = 1024
)

// cache stores four kinds of responses of the events service in memory: editions of dashboards, files of editions,
// legacy lists, and alias tables. For each visitor, the cache asks the events service whether the edition is current
// (If-None-Match). This question starts after the visitor's request, and visitors who wait at the same time share it.
// So a visitor sees every change that was acknowledged to its writer. A file never changes within an edition, so it
// needs no confirmation. A list needs no confirmation while Edition.List is the same, and an alias table needs none while
// Edition.Aliases is the same. While the events service is down, the cache returns the last good response from memory or
// from Redis.
type cache struct {
	fetch     Fetch
	backup    *backup
	mu        sync.Mutex // guards writes to responses
	responses *memory.Sized[cacheKey, *cached]
	runs      coalesce.Group[struct{}, *cached]
	now       func() time.Time
	patience  time.Duration             // Patience, except in tests
	rested    atomic.Pointer[time.Time] // end of the present restTime; nil if the last question succeeded
	late      atomic.Int32              // number of questions without a response in time since the last response
}

// cacheKey identifies a cached response. Only the key of a legacy list contains the query of the visitor.
type cacheKey struct {
	uri string // file: id of the dashboard; others: path and query in the events service
	// file and coding are set for a file only. The cached response contains the edition to which the file belongs.
	file, coding string
}

// newCache returns a cache for responses of together room bytes. A single response can have more.
func newCache(fetch Fetch, backup *backup, room int, now func() time.Time, patience time.Duration) *cache {
	c := &cache{fetch: fetch, backup: backup, responses: memory.NewSized[cacheKey, *cached](room, nil), now: now, patience: patience}
	c.runs.Before = c.pause
	return c
}

// errNoResponse means that the events service works, but did not return this response. Questions for other responses
// may still succeed.
var errNoResponse = errors.New("gateway: the events service did not return the page")

type cached struct {
	message.Response
	// state is, for a list, the value of Edition.List for which the list is current; empty: unknown. For an alias table,
	// state is its version.
	state string
	// edition is set if the response is an edition, or a file of the edition.
	edition *edition
	// confirmed is the time in ns at which the events service returned or confirmed the response.
	confirmed atomic.Int64
	// asked is the time in ns at which the events service last responded to a question for this response.
	asked atomic.Int64
	// saveAt is the time in ns from which the edition must be saved in Redis again. savedAt is the time in ns at which
	// it was last saved.
	saveAt, savedAt atomic.Int64
	// restedUntil is the time in ns before which visitors get this response without a question, see restTime.
	restedUntil atomic.Int64
	// sweeps is the number of sweeps since a visitor last requested the response.
	sweeps atomic.Int32
}

// get returns the current response. If the events service is down or does not respond within patience, get returns the
// last good response, if there is one, and stale is true.
func (c *cache) get(ctx context.Context, q question) (out *cached, stale bool, err error) {
	of := q.about()
	if len(of.uri) > maxURI {
		out, err = c.request(ctx, q, nil)
		return out, false, err
	}
	former, there := c.responses.Get(of.key)
	if there {
		former.use()
	}
	switch {
	case there && q.isCurrent(former):
		return former, false, nil
	case there && of.rests && (c.resting() || c.restsFor(former)):
		return former, true, nil
	}
	run := c.runs.Start(ctx, of.run, nil, func(ctx context.Context, _ []struct{}) (*cached, error) { return c.ask(ctx, q) })
	late := time.NewTimer(c.patience)
	defer late.Stop()
	for range 2 {
		select {
		case <-run.Done():
			if out, err = run.Wait(ctx); err != nil {
				return c.last(ctx, q, err)
			}
			return out, false, nil
		case <-ctx.Done():
			return nil, false, context.Cause(ctx)
		case <-late.C:
			if out, stale, err = c.last(ctx, q, context.DeadlineExceeded); err == nil {
				return out, stale, nil
			}
			late.Reset(moreTime) // there is no good response to return, so the visitor waits longer
		}
	}
	return nil, false, err
}

// last returns the last good response, from memory or from Redis, after the error failure of the events service. If
// there is no such response, it returns failure.
func (c *cache) last(ctx context.Context, q question, failure error) (out *cached, stale bool, err error) {
	of := q.about()
	out, there := c.responses.Get(of.key)
	if !there {
		if out = c.backup.load(ctx, q); out != nil && (of.confirmed || of.older || q.isCurrent(out)) {
			c.store(of.key, out, false)
		}
	}
	switch {
	case out == nil && errors.Is(failure, context.DeadlineExceeded):
		return nil, false, unreadable(failure)
	case out == nil:
		return nil, false, failure
	case errors.Is(failure, errNoResponse):
	case errors.Is(failure, context.DeadlineExceeded):
		now, until := c.now(), c.now().Add(restTime)
		if out.restedUntil.Swap(until.UnixNano()) > now.UnixNano() {
			break // another visitor, who waited for the same response, has counted the question
		}
		if c.late.Add(1) >= lateOfAll && of.confirmed { // not only one dashboard is slow
			c.rested.Store(&until)
		}
	case of.confirmed:
		until := c.now().Add(restTime)
		c.rested.Store(&until)
	}
	return out, true, nil
}

func (c *cache) resting() bool {
	until := c.rested.Load()
	return until != nil && c.now().Before(*until)
}

// restsFor reports whether the gateway sends no question for the response, because the last such question had no response
// in time.
func (c *cache) restsFor(response *cached) bool {
	return c.now().UnixNano() < response.restedUntil.Load()
}

func unreadable(err error) error {
	return fault.Wrap(fault.Unavailable, err, "The dashboard cannot be read at the moment. Try again shortly.")
}

// pause waits until questionTime has passed since the events service last responded to a question for the edition or
// list at uri.
func (c *cache) pause(uri string) {
	if former, there := c.responses.Peek(cacheKey{uri: uri}); there {
		time.Sleep(min(questionTime, questionTime-time.Since(time.Unix(0, former.asked.Load()))))
	}
}

// ask requests the current response from the events service and stores the response in the cache.
func (c *cache) ask(ctx context.Context, q question) (*cached, error) {
	key := q.about().key
	former, _ := c.responses.Get(key)
	if former != nil && q.isCurrent(former) { // another run has stored the current response
		return former, nil
	}
	fresh, err := c.request(ctx, q, former)
	if err != nil {
		return nil, err
	}
	fresh.asked.Store(time.Now().UnixNano())
	fresh.restedUntil.Store(0)
	c.rested.Store(nil)
	c.late.Store(0)
	if fresh != former {
		c.store(key, fresh, true)
		switch q := q.(type) {
		case *fileQuestion:
			c.backup.saveFile(q, fresh)
		case *editionQuestion:
			if fresh.Status == http.StatusNotFound {
				c.backup.deleteAddress(ctx, q.base)
			}
		}
	}
	return fresh, nil
}

// fresh returns the current response for a save, or an error if its status is not 200. It does not store the response in
// the cache, because no visitor has requested it.
func (c *cache) fresh(ctx context.Context, q question) (*cached, error) {
	former, _ := c.responses.Peek(q.about().key)
	if former != nil && q.isCurrent(former) {
		return former, nil
	}
	out, err := c.request(ctx, q, former)
	if err == nil && out.Status != http.StatusOK {
		err = errNoResponse
	}
	return out, err
}

// request requests the response from the events service. former is the cached response, or nil. If former is an edition
// that is still current, request returns former.
func (c *cache) request(ctx context.Context, q question, former *cached) (*cached, error) {
	ctx, cancel := context.WithTimeout(ctx, c.patience+moreTime)
	defer cancel()
	of := q.about()
	u, err := url.ParseRequestURI(of.uri)
	if err != nil {
		return nil, unreadable(err)
	}
	r := &http.Request{URL: u, Header: http.Header{}}
	if former != nil && former.ETag != "" {
		r.Header.Set("If-None-Match", former.ETag)
	}
	if of.key.coding != "" {
		r.Header.Set("Accept-Encoding", of.key.coding)
	}
	response, err := c.fetch(ctx, r, of.id)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var whole message.Response
	_, isEdition := q.(*editionQuestion)
	switch isSame := response.StatusCode == http.StatusNotModified && former != nil; {
	case isSame && isEdition:
		former.confirmed.Store(c.now().UnixNano())
		return former, nil
	case isSame: // the list or the alias table is the same as before, or the file is the same in the new edition
		whole = message.NewResponse(former.Status, former.Header, former.Body)
	default:
		most := cmp.Or(of.most, maxResponse)
		body, err := io.ReadAll(io.LimitReader(response.Body, int64(most)+1))
		if err == nil && (len(body) > most || response.StatusCode >= http.StatusInternalServerError) {
			err = errNoResponse
		}
		if err != nil {
			return nil, unreadable(err)
		}
		whole = message.NewResponse(response.StatusCode, response.Header, bytes.Clone(body)) // Clone, because the slice of ReadAll may have twice the capacity
	}
	out, err := q.received(whole, response.Header.Get(peer.ListHeader))
	if err != nil {
		return nil, unreadable(err)
	}
	out.confirmed.Store(c.now().UnixNano())
	return out, nil
}
