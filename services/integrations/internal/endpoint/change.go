package endpoint

import (
	"context"
	"reflect"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// cleanupTimeout bounds cleanUp, which runs to its end even if the client disconnects.
const cleanupTimeout = 5 * time.Second

// Patch is the input of Change. A nil field keeps the stored value.
type Patch struct {
	ComponentIDs    []string
	URL             *string
	ManagementEmail *string
	EventKinds      []topic.Kind
	Paused          *bool
	Locked          *bool
	RotateSecret    bool
}

// check returns the patch with the lists in the form in which they are stored.
func (p Patch) check() (Patch, error) {
	if p.ComponentIDs == nil && p.URL == nil && p.ManagementEmail == nil && p.EventKinds == nil &&
		p.Paused == nil && p.Locked == nil && !p.RotateSecret {
		return p, fault.New(fault.Invalid, "Send at least one field to change.")
	}
	var err error
	if p.ComponentIDs != nil {
		if p.ComponentIDs, err = componentSet(p.ComponentIDs); err != nil {
			return p, err
		}
	}
	if p.EventKinds, err = kindSet(p.EventKinds); err != nil {
		return p, err
	}
	if p.ManagementEmail != nil {
		err = checkEmail(*p.ManagementEmail)
	}
	return p, err
}

func (p Patch) apply(e *Endpoint) {
	if p.ComponentIDs != nil {
		e.ComponentIDs = p.ComponentIDs
	}
	if p.EventKinds != nil {
		e.EventKinds = p.EventKinds
	}
	set(&e.ManagementEmail, p.ManagementEmail)
	set(&e.Paused, p.Paused)
	set(&e.Locked, p.Locked)
}

// set stores *value in *field if value is not nil.
func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

// Change changes the endpoint of a URL on a dashboard. It stores nothing if the endpoint stays as it is. The view has
// the secret if the secret was rotated.
// With a new URL the endpoint keeps its counters and its suppression (see reconcile).
func (s *Endpoints) Change(ctx context.Context, organization string, kind Kind, dashboardID, urlHash string, patch Patch) (View, error) {
	patch, err := patch.check()
	if err != nil {
		return View{}, err
	}
	var address Address // empty if the URL stays
	if patch.URL != nil {
		if address, err = s.addressOf(kind, *patch.URL); err != nil {
			return View{}, err
		}
		if address.Hash() == urlHash {
			address = Address{}
		}
	}
	dashboard, err := s.dashboard(ctx, organization, dashboardID)
	if err != nil {
		return View{}, err
	}
	e, err := s.one(ctx, organization, kind.Channel, dashboardID, urlHash)
	if err != nil {
		return View{}, err
	}
	if err := onDashboard(dashboard, patch.ComponentIDs); err != nil {
		return View{}, err
	}
	moved := address != Address{}
	var former map[string]Suppression
	if moved {
		if former, err = s.prepareMove(ctx, e, address.Hash()); err != nil {
			return View{}, err
		}
	}
	now, secret := s.Now(), ""
	if patch.RotateSecret {
		secret = newSecret()
	}
	e, err = s.Store.Endpoints.Update(ctx, e.ID, func(e *Endpoint) ([]topic.Message, error) {
		if e.URLHash != urlHash {
			return nil, missing()
		}
		before := *e
		patch.apply(e)
		if moved {
			s.move(e, address, former)
		}
		if secret != "" {
			e.rotate(s.Box.Seal(secret, e.ID), now)
		}
		if reflect.DeepEqual(before, *e) {
			return nil, fault.ErrUnchanged
		}
		e.DashboardName, e.UpdatedAt = dashboard.Name, now
		return audit.Entry(audit.From(ctx), "", now, &before, e), nil
	})
	if err != nil {
		return View{}, taken(err)
	}
	if patch.ComponentIDs != nil {
		if e, err = s.dropDeleted(ctx, e); err != nil {
			return View{}, err
		}
	}
	if moved {
		if err := s.cleanUp(ctx, e, e.URLHash, urlHash); err != nil {
			return View{}, err
		}
	}
	views, err := s.views(ctx, organization, e)
	if err != nil {
		return View{}, err
	}
	views[0].Secret = secret
	return views[0], nil
}

// prepareMove checks the limit for an endpoint's new URL. It returns the suppression of the former URL.
func (s *Endpoints) prepareMove(ctx context.Context, e Endpoint, urlHash string) (map[string]Suppression, error) {
	if err := s.checkLimit(ctx, e.OrganizationID, e.Channel, urlHash, e.URLHash); err != nil {
		return nil, err
	}
	if err := s.reconcile(ctx, e.OrganizationID, e.Channel, urlHash); err != nil {
		return nil, err
	}
	return s.suppressions(ctx, e)
}

// move stores a new URL in the endpoint, with the suppression of the former URL.
func (s *Endpoints) move(e *Endpoint, address Address, former map[string]Suppression) {
	suppression, suppressed := former[e.suppressionKey()]
	if e.MovedSuppression != nil { // an earlier move was not reconciled yet
		suppression, suppressed = *e.MovedSuppression, true
	}
	s.setURL(e, address)
	if suppressed {
		suppression = suppression.movedTo(*e)
		e.MovedSuppression = &suppression
	}
}

// Delete removes the endpoint of a URL on a dashboard.
func (s *Endpoints) Delete(ctx context.Context, organization string, kind Kind, dashboardID, urlHash string) error {
	e, err := s.one(ctx, organization, kind.Channel, dashboardID, urlHash)
	if err != nil {
		return err
	}
	err = s.Store.Endpoints.Delete(ctx, e.ID, func(e *Endpoint) ([]topic.Message, error) {
		if e.URLHash != urlHash {
			return nil, missing()
		}
		return audit.Entry(audit.From(ctx), "", s.Now(), e, nil), nil
	})
	if fault.Is(err, fault.NotFound) {
		return missing()
	}
	if err != nil {
		return err
	}
	if err := s.deleteCounters(context.WithoutCancel(ctx), e.ID); err != nil {
		return err
	}
	return s.cleanUp(ctx, e, urlHash)
}

// cleanUp reconciles the URLs to which an endpoint came or which it left.
func (s *Endpoints) cleanUp(ctx context.Context, e Endpoint, urlHashes ...string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	for _, hash := range urlHashes {
		if err := s.reconcile(ctx, e.OrganizationID, e.Channel, hash); err != nil {
			return err
		}
	}
	return nil
}

// HashOf returns the urlHash of a URL.
func (s *Endpoints) HashOf(url string) (string, error) {
	address, err := parseAddress(url, s.Hosts)
	if err != nil {
		return "", err
	}
	return address.Hash(), nil
}

// one returns the endpoint of a URL on a dashboard.
func (s *Endpoints) one(ctx context.Context, organization string, channel topic.Channel, dashboardID, urlHash string) (Endpoint, error) {
	where := append(ofURL(organization, channel, urlHash), find.Eq(FieldDashboard, dashboardID))
	page, err := s.Store.Endpoints.Find(ctx, find.Query{Where: where, Limit: 1})
	if err != nil {
		return Endpoint{}, err
	}
	if len(page.Items) == 0 {
		return Endpoint{}, missing()
	}
	return page.Items[0], nil
}

func missing() error {
	return fault.New(fault.NotFound, "There is no such endpoint on this dashboard.")
}
