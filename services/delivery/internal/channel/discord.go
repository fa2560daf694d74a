package channel

import (
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

const (
	// discordGap is the minimum time between two requests to one webhook. Discord accepts five requests in two seconds. The
	// 50 ms above 400 ms allow for different transmission times.
	discordGap = 450 * time.Millisecond
	// discordHostGap is the minimum time between two requests to Discord. Discord accepts 50 requests a second from one
	// address. 45 a second leave room for different transmission times.
	discordHostGap = time.Second / 45

	leastHostPause = time.Minute // minimum pause of the host after a 429 that is not about one webhook
	// Discord blocks an address that gets 10,000 of the refusals 401, 403 and 429 within 10 minutes. After maxRefusals
	// within refusalMemory, nothing is sent for refusalMemory.
	maxRefusals   = 1_000
	refusalMemory = 10 * time.Minute
)

// discord counts the refusals 401, 403 and 429 of Discord, because after too many of them Discord blocks an address.
type discord struct {
	log *slog.Logger
	now func() time.Time

	mu       sync.Mutex
	refusals [maxRefusals]time.Time // the times of the newest refusals
	next     int                    // index of the oldest
}

func newDiscord(log *slog.Logger) *discord { return &discord{log: log, now: time.Now} }

// refine sets RetryAfter, Rest, HostPause, Code and Final of the result by Discord's response.
func (d *discord) refine(ctx context.Context, result *dispatch.Result) {
	var body struct {
		Code       int
		Global     bool
		RetryAfter float64 `json:"retry_after"`
	}
	header := http.Header(result.Received.Header)
	understood := json.Unmarshal(result.Received.Body, &body) == nil
	if header.Get("X-RateLimit-Remaining") == "0" {
		after, _ := strconv.ParseFloat(header.Get("X-RateLimit-Reset-After"), 64)
		result.Rest = seconds(after)
	}
	switch result.HTTPStatus {
	case http.StatusTooManyRequests:
		result.RetryAfter = max(result.RetryAfter, seconds(body.RetryAfter))
		if !understood || body.Global || strings.EqualFold(header.Get("X-RateLimit-Scope"), "global") {
			result.RetryAfter = max(result.RetryAfter, leastHostPause)
			result.HostPause = result.RetryAfter
		}
	case http.StatusNotFound:
		result.Code = deliverylog.CodeGone
	case http.StatusUnauthorized:
		const invalidToken = 50027
		if body.Code == invalidToken {
			result.Code = deliverylog.CodeGone
		}
		result.Final = true
	case http.StatusBadRequest, http.StatusForbidden:
		result.Final = true
	}
	switch result.HTTPStatus {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		if d.refused() {
			result.HostPause = max(result.HostPause, refusalMemory)
			d.log.ErrorContext(ctx, "Discord has refused too many requests. Nothing is sent to it for 10 minutes, because it would block this address. Delete the endpoints that fail.", "refusals", maxRefusals)
		}
	}
}

// seconds returns a number of seconds that a receiver has sent, at most one hour.
func seconds(n float64) time.Duration {
	if !(n > 0) { // also true for NaN
		return 0
	}
	return time.Duration(math.Ceil(min(n, 3600)*1000)) * time.Millisecond
}

// refused counts a refusal. It returns true, and deletes all refusals, if there were maxRefusals within refusalMemory.
func (d *discord) refused() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	d.refusals[d.next] = now
	d.next = (d.next + 1) % maxRefusals
	oldest := d.refusals[d.next]
	if oldest.IsZero() || now.Sub(oldest) >= refusalMemory {
		return false
	}
	d.refusals = [maxRefusals]time.Time{}
	return true
}
