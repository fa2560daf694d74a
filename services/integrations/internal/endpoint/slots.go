package endpoint

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	// claimLife is the time after which any process may revoke a claim. A write takes some milliseconds.
	claimLife = 4 * time.Second
	// claimWait is the time for which a write waits for the claims of others. It is longer than claimLife, so that
	// the claim of a killed process makes no write fail.
	claimWait = 8 * time.Second
	// claimPoll is the longest time between two tries.
	claimPoll = 100 * time.Millisecond
	// revokedLife is the time for which a record keeps the id of an endpoint whose creation was revoked. A process that
	// was frozen for less than this cannot store the endpoint any more.
	revokedLife = 24 * time.Hour
)

var (
	// errWait: the claims of others exclude this one, or decide whether a slot becomes free.
	errWait = errors.New("wait for other claims")
	// errAgain: the endpoint was changed since it was read.
	errAgain = errors.New("read the endpoint again")
)

// Slots counts the unique URLs of an organization's verified endpoints of one kind, which have a limit.
//
// An endpoint and Slots are two documents, and no write changes both. Therefore a write that makes a verified endpoint
// come to a URL or leave it has a Claim from before it starts until it has ended. Used counts a URL as long as a
// verified endpoint has it or a claim names it:
//   - claim adds a Claim. If the URL is new it adds 1 to Used, or fails at the limit.
//   - release removes the Claim. If no endpoint has the URL, and no claim names it, it subtracts 1.
//
// Both find the endpoints of the URL while they hold the version of the stored Slots. These endpoints cannot change
// meanwhile, because a write of them would have added a claim and so changed Slots.
//
// A killed process leaves its claim behind. revoke first makes sure that the claimed write cannot happen any more, deletes
// the counters of an endpoint that does not exist, and then releases the claim. So the limit is exact also if the process
// was not killed, but slow. A write that waits for an old claim revokes the claim, and so does Sweep.
type Slots struct {
	OrganizationID string        `json:"organizationId"`
	Channel        topic.Channel `json:"channel"`
	Used           int           `json:"used"`
	Claims         []Claim       `json:"claims,omitempty"` // claims of the writes under way, oldest first
}

// Claim announces one write of a verified endpoint.
type Claim struct {
	ID         string `json:"id"` // random
	EndpointID string `json:"endpointId"`
	New        bool   `json:"new,omitempty"` // the write creates the endpoint
	// Version of the stored endpoint before the write (0 if New). The write fails if the stored version differs.
	Version int64     `json:"version"`
	Comes   string    `json:"comes,omitempty"`  // hash of the URL that the endpoint gets
	Leaves  string    `json:"leaves,omitempty"` // hash of the URL that the endpoint has
	At      time.Time `json:"at"`
}

// Key returns the natural key.
func (s Slots) Key() string { return slotsKey(s.OrganizationID, s.Channel) }

// ClaimedAt returns the time of the oldest claim; nil: there is none.
func (s Slots) ClaimedAt() *time.Time {
	if len(s.Claims) == 0 {
		return nil
	}
	return &s.Claims[0].At
}

func slotsKey(organization string, channel topic.Channel) string {
	return organization + "/" + string(channel)
}

func (c Claim) names(urlHash string) bool {
	return urlHash != "" && (c.Comes == urlHash || c.Leaves == urlHash)
}

// excludes reports whether c and other cannot exist at the same time. A claim that leaves a URL is the only one that
// names one of its URLs, for two reasons. The write knows whether the last endpoint leaves the URL. And at the limit the
// last endpoint of a URL may come to a new URL: if another claim came to the new URL, and then this write failed, the
// organization would have both URLs.
func (c Claim) excludes(other Claim) bool {
	return (c.Leaves != "" || other.Leaves != "") && (other.names(c.Leaves) || other.names(c.Comes))
}

// claimed calls write with a claim for an endpoint that comes to a URL and leaves another. An empty hash names no URL.
// A write of a stored endpoint must return errAgain if the version of the endpoint is not e.Version.
func (s *Endpoints) claimed(ctx context.Context, e Endpoint, comes, leaves string, write func() error) error {
	if comes == "" && leaves == "" {
		return write()
	}
	c, err := s.claim(ctx, e, Claim{
		ID: rand.Text(), EndpointID: e.ID, New: leaves == "" && e.Version == 0, Version: e.Version, Comes: comes, Leaves: leaves,
	})
	if err != nil {
		return err
	}
	err = write()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	end := s.revoke // after an unknown error the write may still happen
	if err == nil || errors.Is(err, errAgain) || fault.Is(err, fault.Conflict) || fault.Is(err, fault.NotFound) {
		end = s.release
	}
	if failure := end(ctx, e.OrganizationID, e.Channel, c); failure != nil { // a later call of revoke does it
		s.Log.WarnContext(ctx, "claim of a unique endpoint not released", "organization", e.OrganizationID, "channel", e.Channel, "error", failure)
	}
	return err
}

// claim stores c for an endpoint. It waits while other claims exclude c.
func (s *Endpoints) claim(ctx context.Context, e Endpoint, c Claim) (Claim, error) {
	limit := 0
	if c.Comes != "" {
		var err error
		if limit, err = s.Services.UniqueEndpoints(ctx, e.OrganizationID); err != nil {
			return c, err
		}
	}
	limited, cancel := context.WithTimeout(ctx, claimWait)
	defer cancel()
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, claimPoll) {
		var others []Claim
		_, err := s.Store.Slots.Upsert(limited, slotsKey(e.OrganizationID, e.Channel), func(slots *Slots, exists bool) ([]topic.Message, error) {
			if !exists {
				slots.OrganizationID, slots.Channel = e.OrganizationID, e.Channel
			}
			others = slots.Claims
			c.At = s.Now()
			return nil, s.admit(limited, slots, c, limit)
		})
		if !errors.Is(err, errWait) {
			return c, err
		}
		if err := s.revokeOld(limited, e.OrganizationID, e.Channel, others); err != nil {
			return c, err
		}
		select {
		case <-limited.Done():
			return c, fault.Wrap(fault.Unavailable, err, "Other changes of your endpoints are under way. Try again shortly.")
		case <-time.After(pause):
		}
	}
}

// admit adds c to slots. It returns errWait while another claim excludes c or may free a slot, errAgain if no endpoint
// has the URL that c leaves, and Forbidden at the limit. The only endpoint of a URL may come to a new URL at the limit,
// because the number of URLs stays.
func (s *Endpoints) admit(ctx context.Context, slots *Slots, c Claim, limit int) error {
	if slices.ContainsFunc(slots.Claims, c.excludes) {
		return errWait
	}
	if c.Leaves != "" { // else release would subtract a URL that another write has subtracted
		if held, err := s.held(ctx, *slots, c.Leaves); err != nil || !held {
			return cmp.Or(err, errAgain)
		}
	}
	if c.Comes != "" {
		held, err := s.held(ctx, *slots, c.Comes)
		if err != nil {
			return err
		}
		if !held && slots.Used >= limit {
			last, err := s.isLast(ctx, slots.OrganizationID, slots.Channel, c.Leaves)
			switch {
			case err != nil:
				return err
			case last: // counted until the claim is released
			case len(slots.Claims) > 0:
				return errWait
			default:
				return fault.New(fault.Forbidden, "Your organization may have %d unique endpoints of this kind. Delete one first.", limit)
			}
		}
		if !held {
			slots.Used++
		}
	}
	slots.Claims = append(slots.Claims, c)
	return nil
}

// release removes a claim whose write has ended.
func (s *Endpoints) release(ctx context.Context, organization string, channel topic.Channel, c Claim) error {
	_, err := s.Store.Slots.Change(ctx, slotsKey(organization, channel), func(slots *Slots) error {
		before := len(slots.Claims)
		slots.Claims = slices.DeleteFunc(slots.Claims, func(other Claim) bool { return other.ID == c.ID })
		if len(slots.Claims) == before {
			return fault.ErrUnchanged // revoked by another process
		}
		for _, urlHash := range []string{c.Comes, c.Leaves} {
			if urlHash == "" {
				continue
			}
			held, err := s.held(ctx, *slots, urlHash)
			if err != nil {
				return err
			}
			if !held {
				slots.Used--
			}
		}
		return nil
	})
	return err
}

// revoke makes sure that the claimed write has happened or never will, and releases the claim.
func (s *Endpoints) revoke(ctx context.Context, organization string, channel topic.Channel, c Claim) error {
	absent, err := s.prevent(ctx, c)
	if err == nil && absent {
		err = s.Store.Results.Delete(ctx, c.EndpointID)
	}
	if err != nil {
		return err
	}
	return s.release(ctx, organization, channel, c)
}

// prevent makes a claimed write that has not happened fail. For a new endpoint it takes the endpoint's id with a record
// that no query of an organization finds, and that Sweep deletes like the request of a visitor. For a stored endpoint it
// changes the version. It returns true if the endpoint does not exist.
func (s *Endpoints) prevent(ctx context.Context, c Claim) (absent bool, err error) {
	if c.New {
		err = s.Store.Endpoints.Insert(ctx, Endpoint{ID: c.EndpointID, Request: &Request{ExpiresAt: s.Now().Add(revokedLife)}})
		if fault.Is(err, fault.Conflict) { // with the endpoint, or with the record of another call
			return false, nil
		}
		return true, err
	}
	_, err = s.Store.Endpoints.Change(ctx, c.EndpointID, func(e *Endpoint) error {
		if e.Version != c.Version {
			return fault.ErrUnchanged
		}
		e.Version++
		return nil
	})
	return fault.Is(err, fault.NotFound), fault.UnlessMissing(err)
}

// revokeOld revokes the claims that are older than claimLife.
func (s *Endpoints) revokeOld(ctx context.Context, organization string, channel topic.Channel, claims []Claim) error {
	for _, c := range claims {
		if s.Now().Sub(c.At) < claimLife {
			continue
		}
		if err := s.revoke(ctx, organization, channel, c); err != nil {
			return err
		}
	}
	return nil
}

// held reports whether a verified endpoint has the URL or a claim names it.
func (s *Endpoints) held(ctx context.Context, slots Slots, urlHash string) (bool, error) {
	if slices.ContainsFunc(slots.Claims, func(c Claim) bool { return c.names(urlHash) }) {
		return true, nil
	}
	n, err := s.verifiedAt(ctx, slots.OrganizationID, slots.Channel, urlHash, 1)
	return n == 1, err
}

// isLast reports whether exactly one verified endpoint has the URL.
func (s *Endpoints) isLast(ctx context.Context, organization string, channel topic.Channel, urlHash string) (bool, error) {
	if urlHash == "" {
		return false, nil
	}
	n, err := s.verifiedAt(ctx, organization, channel, urlHash, 2)
	return n == 1, err
}

// verifiedAt returns the number of verified endpoints with the URL, at most limit.
func (s *Endpoints) verifiedAt(ctx context.Context, organization string, channel topic.Channel, urlHash string, limit int) (int, error) {
	page, err := s.Store.Endpoints.Find(ctx, find.Query{Where: ofKind(organization, channel, find.Eq(FieldSlot, urlHash)), Limit: limit})
	return len(page.Items), err
}

// usage returns the number of unique URLs and its limit.
func (s *Endpoints) usage(ctx context.Context, organization string, channel topic.Channel) (Usage, error) {
	limit, err := s.Services.UniqueEndpoints(ctx, organization)
	if err != nil {
		return Usage{}, err
	}
	usage := Usage{Limit: limit}
	found, err := s.Store.Slots.GetMany(ctx, []string{slotsKey(organization, channel)})
	if err != nil || len(found) == 0 {
		return usage, err
	}
	usage.UniqueEndpoints = found[0].Used
	var claimed []string // counted, but perhaps no endpoint has the URL
	for _, c := range found[0].Claims {
		claimed = append(claimed, c.Comes, c.Leaves)
	}
	for _, urlHash := range distinct(claimed) {
		if urlHash == "" {
			continue
		}
		n, err := s.verifiedAt(ctx, organization, channel, urlHash, 1)
		if err != nil {
			return usage, err
		}
		usage.UniqueEndpoints += n - 1
	}
	return usage, s.revokeOld(ctx, organization, channel, found[0].Claims)
}
