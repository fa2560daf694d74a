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
	// claimLife is the age after which any process may revoke a claim. A write usually takes some milliseconds.
	claimLife = 4 * time.Second
	// claimWait is how long a write waits for the claims of other writes. It is longer than claimLife, so that no write
	// fails because of a claim of a killed process.
	claimWait = 8 * time.Second
	// claimPoll is the longest time between two tries of claim.
	claimPoll = 100 * time.Millisecond
	// revokedLife is how long a record occupies the id of an endpoint whose creation was revoked. During this time a
	// process that was frozen cannot store the endpoint after all.
	revokedLife = 24 * time.Hour
)

var (
	// errWait means that a claim must wait, because another claim excludes it or may free a slot.
	errWait = errors.New("wait for other claims")
	// errAgain means that the endpoint was changed after it was read.
	errAgain = errors.New("read the endpoint again")
)

// Slots counts the different URLs of an organization's verified endpoints of one kind. This number has a limit.
//
// An endpoint and Slots are two documents, and no write changes both. So before a write gives a URL to a verified
// endpoint or takes the URL away, a Claim is stored in Slots. After the write the Claim is removed. Used counts a URL
// as long as a verified endpoint has it or a claim names it:
//   - claim adds a Claim. If the URL is not counted yet, claim adds 1 to Used, or fails at the limit.
//   - release removes the Claim. If then no verified endpoint has the URL and no claim names it, release
//     subtracts 1 from Used.
//
// Both read the endpoints with the URL after they have read Slots, and both fail and start again if Slots was changed
// before their write. So no endpoint can get or lose the URL meanwhile, because such a write would have added a claim
// to Slots.
//
// The claim of a killed process remains. revoke ends such a claim. First it makes sure that the claimed write cannot
// happen any more. If the endpoint does not exist, revoke deletes the counters. Then it releases the claim. So the limit is
// exact even if the process was only slow and not killed. Sweep, usage and a write that waits for claims revoke the claims
// that are older than claimLife.
type Slots struct {
	OrganizationID string        `json:"organizationId"`
	Channel        topic.Channel `json:"channel"`
	Used           int           `json:"used"`
	Claims         []Claim       `json:"claims,omitempty"` // claims of the writes in progress, oldest first
}

// Claim announces a write that gives a verified endpoint a URL, takes its URL from it, or both.
type Claim struct {
	ID         string `json:"id"` // random
	EndpointID string `json:"endpointId"`
	New        bool   `json:"new,omitempty"` // the write creates the endpoint
	// Version is the version of the stored endpoint before the write, and 0 if New. The write fails if the stored
	// version differs.
	Version int64     `json:"version"`
	Comes   string    `json:"comes,omitempty"`  // hash of the URL that the write gives to the endpoint
	Leaves  string    `json:"leaves,omitempty"` // hash of the URL that the write takes from the endpoint
	At      time.Time `json:"at"`
}

// Key returns the key of the record.
func (s Slots) Key() string { return slotsKey(s.OrganizationID, s.Channel) }

// ClaimedAt returns the time of the oldest claim, or nil without a claim.
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

// excludes reports whether c and other must not exist at the same time. If a claim has Leaves, no other claim may name
// one of its URLs, for two reasons. First, the write must know whether the endpoint is the last one with the URL.
// Second, at the limit, the last endpoint with a URL may get a new URL. If another claim for the new URL were added,
// and then the write of this claim failed, the organization would have one URL too many.
func (c Claim) excludes(other Claim) bool {
	return (c.Leaves != "" || other.Leaves != "") && (other.names(c.Leaves) || other.names(c.Comes))
}

// claimed stores a claim, calls write, and ends the claim. comes is the hash of the URL that e gets, leaves that of the
// URL that e loses. If both are "", claimed only calls write. write must return errAgain if the stored version of e is not
// e.Version.
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
	end := s.revoke // after an error other than those below, the write may still happen
	if err == nil || errors.Is(err, errAgain) || fault.Is(err, fault.Conflict) || fault.Is(err, fault.NotFound) {
		end = s.release
	}
	if failure := end(ctx, e.OrganizationID, e.Channel, c); failure != nil { // revokeOld revokes the claim later
		s.Log.WarnContext(ctx, "claim of a unique endpoint not released", "organization", e.OrganizationID, "channel", e.Channel, "error", failure)
	}
	return err
}

// claim stores the claim c of an endpoint. While admit returns errWait, claim revokes the claims that are older than
// claimLife, and tries again. It returns Unavailable after claimWait.
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

// admit adds c to slots. It returns errWait if another claim excludes c, or if the limit is reached and another claim
// may free a slot. It returns errAgain if no endpoint has the URL c.Leaves, and Forbidden at the limit. The only
// endpoint with a URL may get a new URL at the limit, because the number of URLs does not change.
func (s *Endpoints) admit(ctx context.Context, slots *Slots, c Claim, limit int) error {
	if slices.ContainsFunc(slots.Claims, c.excludes) {
		return errWait
	}
	if c.Leaves != "" { // without this check, release would subtract a URL that Used does not count
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
			case last: // release subtracts the former URL
			case len(slots.Claims) > 0:
				return errWait
			default:
				noun := "endpoints"
				if limit == 1 {
					noun = "endpoint"
				}
				return fault.New(fault.Forbidden, "Your organization may have %d unique %s of this kind. Delete one first.", limit, noun)
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
			return fault.ErrUnchanged // another process has revoked the claim
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

// revoke makes sure that the claimed write either has happened or can never happen, and then releases the claim.
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

// prevent makes a claimed write fail if it has not happened yet. For a new endpoint it stores a record with the id of
// the endpoint. No query of an organization finds this record. Sweep deletes it like an expired request of a visitor.
// For a stored endpoint, prevent increases the version. absent is true if the endpoint does not exist, except if another call
// has stored the record.
func (s *Endpoints) prevent(ctx context.Context, c Claim) (absent bool, err error) {
	if c.New {
		err = s.Store.Endpoints.Insert(ctx, Endpoint{ID: c.EndpointID, Request: &Request{ExpiresAt: s.Now().Add(revokedLife)}})
		if fault.Is(err, fault.Conflict) { // the endpoint, or a record of another call, has the id
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

// held reports whether Used must count the URL: a verified endpoint has it, or a claim names it.
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

// usage returns the number of different URLs of verified endpoints, and the limit. It revokes the claims that are older than
// claimLife.
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
	var claimed []string // URLs that Used counts although perhaps no endpoint has them
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
