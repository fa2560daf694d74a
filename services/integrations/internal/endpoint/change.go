package endpoint

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Patch changes what is not nil.
type Patch struct {
	ComponentIDs    *[]string
	URL             *string
	ManagementEmail *string
	EventKinds      *[]topic.Kind
	Paused          *bool
	Locked          *bool
	RotateSecret    bool
}

func (p Patch) empty() bool {
	return p.ComponentIDs == nil && p.URL == nil && p.ManagementEmail == nil && p.EventKinds == nil &&
		p.Paused == nil && p.Locked == nil && !p.RotateSecret
}

// revision is a Patch whose values have been read.
type revision struct {
	Patch
	components []string
	kinds      []topic.Kind
	address    *Address
}

func (s *Endpoints) read(kind Kind, p Patch) (revision, error) {
	r := revision{Patch: p}
	if p.empty() {
		return r, fault.New(fault.Invalid, "The body has no field to update.")
	}
	var err error
	if p.ComponentIDs != nil {
		if r.components, err = componentSet(*p.ComponentIDs); err != nil {
			return r, err
		}
	}
	if p.EventKinds != nil {
		if r.kinds, err = kindSet(*p.EventKinds); err != nil {
			return r, err
		}
	}
	if p.ManagementEmail != nil {
		if err := checkEmail(*p.ManagementEmail); err != nil {
			return r, err
		}
	}
	if p.URL != nil {
		address, err := s.addressOf(kind, "url", *p.URL)
		if err != nil {
			return r, err
		}
		r.address = &address
	}
	return r, nil
}

// Change alters the endpoint of a URL on a dashboard. The record shows the secret
// when one was asked for. With a new URL it is the same record: it keeps its failures and
// its last success, and its suppression goes along (see settle).
func (s *Endpoints) Change(ctx context.Context, organization string, kind Kind, dashboardID, urlHash string, patch Patch) (Record, error) {
	revision, err := s.read(kind, patch)
	if err != nil {
		return Record{}, err
	}
	dashboard, err := s.dashboard(ctx, organization, dashboardID)
	if err != nil {
		return Record{}, err
	}
	e, err := s.one(ctx, organization, kind.Channel, dashboardID, urlHash)
	if err != nil {
		return Record{}, err
	}
	if err := onDashboard(dashboard, revision.components); err != nil {
		return Record{}, err
	}
	moved := revision.address != nil && revision.address.Hash() != urlHash
	var former map[string]Suppression
	if moved {
		if err := s.mayMove(ctx, e, kind, revision.address.Hash()); err != nil {
			return Record{}, err
		}
		if former, err = s.suppressions(ctx, []Endpoint{e}); err != nil {
			return Record{}, err
		}
	}
	var record Record
	if patch.RotateSecret {
		record.Secret = newSecret()
	}
	now := s.now()
	record.Endpoint, err = s.store.Change(ctx, e.ID, func(e *Endpoint) error {
		if e.URLHash != urlHash {
			return unknown()
		}
		e.DashboardName, e.UpdatedAt = dashboard.Name, now
		revision.apply(e)
		if moved {
			s.move(e, *revision.address, former)
		}
		if record.Secret != "" {
			e.rotate(s.box.Seal(record.Secret, e.ID), now)
		}
		return nil
	})
	if err != nil {
		return Record{}, taken(err)
	}
	if revision.components != nil {
		if record.Endpoint, err = s.without(ctx, record.Endpoint); err != nil {
			return Record{}, err
		}
	}
	if moved {
		// What the move leaves behind must go although the client has left.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		for _, hash := range []string{record.Endpoint.URLHash, urlHash} {
			if err := s.settle(ctx, organization, kind.Channel, hash); err != nil {
				return Record{}, err
			}
		}
	}
	return s.judge(ctx, record)
}

// move gives the endpoint another URL, and the suppression of its former one to carry.
func (s *Endpoints) move(e *Endpoint, address Address, former map[string]Suppression) {
	suppression, suppressed := former[e.suppression()]
	if e.Carried != nil { // it moved on before it was settled where it is
		suppression, suppressed = *e.Carried, true
	}
	s.place(e, address)
	if suppressed {
		suppression = suppression.follow(*e)
		e.Carried = &suppression
	}
}

func (r revision) apply(e *Endpoint) {
	if r.components != nil {
		e.ComponentIDs = r.components
	}
	if r.kinds != nil {
		e.EventKinds = r.kinds
	}
	if r.ManagementEmail != nil {
		e.ManagementEmail = *r.ManagementEmail
	}
	if r.Paused != nil {
		e.Paused = *r.Paused
	}
	if r.Locked != nil {
		e.Locked = *r.Locked
	}
}

// mayMove checks the limit for an endpoint's new URL; the slot of the old one counts
// as given back when no other endpoint has it.
func (s *Endpoints) mayMove(ctx context.Context, e Endpoint, kind Kind, urlHash string) error {
	others, err := s.subscribed(ctx, e.OrganizationID, kind.Channel, e.URLHash, 2)
	if err != nil {
		return err
	}
	released := 0
	if others == 1 {
		released = 1
	}
	if err := s.fits(ctx, e.OrganizationID, kind, urlHash, released); err != nil {
		return err
	}
	return s.settle(ctx, e.OrganizationID, kind.Channel, urlHash)
}

// Delete removes the endpoint of a URL on a dashboard.
func (s *Endpoints) Delete(ctx context.Context, organization string, kind Kind, dashboardID, urlHash string) error {
	e, err := s.one(ctx, organization, kind.Channel, dashboardID, urlHash)
	if err != nil {
		return err
	}
	err = s.store.Remove(ctx, e.ID, func(e Endpoint) error {
		if e.URLHash != urlHash {
			return unknown()
		}
		return nil
	})
	if err != nil {
		if fault.Is(err, fault.NotFound) {
			return unknown()
		}
		return err
	}
	// The endpoint is gone; what is left of it must go although the client has left too.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if err := s.store.RemoveTally(ctx, e.ID); err != nil {
		return err
	}
	return s.settle(ctx, organization, kind.Channel, urlHash)
}

const cleanupTimeout = 5 * time.Second

// HashOf is the identifier of a URL given in full.
func (s *Endpoints) HashOf(field, text string) (string, error) {
	address, err := parseAddress(field, text, s.hosts)
	if err != nil {
		return "", err
	}
	return address.Hash(), nil
}

// one finds the endpoint of a URL on a dashboard.
func (s *Endpoints) one(ctx context.Context, organization string, channel topic.Channel, dashboardID, urlHash string) (Endpoint, error) {
	where := append(ofURL(organization, channel, urlHash), find.Eq(FieldDashboard, dashboardID))
	page, err := s.store.Find(ctx, find.Query{Where: where, Limit: 1})
	if err != nil {
		return Endpoint{}, err
	}
	if len(page.Items) == 0 {
		return Endpoint{}, unknown()
	}
	return page.Items[0], nil
}

func unknown() error {
	return fault.New(fault.NotFound, "There is no such endpoint on this dashboard.")
}
