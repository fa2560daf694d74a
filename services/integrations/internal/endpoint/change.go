package endpoint

import (
	"context"
	"errors"
	"reflect"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Patch is the input of Change. A field that is nil does not change the stored value.
type Patch struct {
	ComponentIDs    []string
	URL             *string
	ManagementEmail *string
	EventKinds      []topic.Kind
	Paused          *bool
	Locked          *bool
	RotateSecret    bool
	Format          *topic.Format
	MinIntervalMs   *int
	Template        *TemplateInput
}

// check checks the patch. It returns the patch with the lists in the form in which they are stored.
func (p Patch) check() (Patch, error) {
	if p.ComponentIDs == nil && p.URL == nil && p.ManagementEmail == nil && p.EventKinds == nil &&
		p.Paused == nil && p.Locked == nil && !p.RotateSecret && p.Format == nil && p.MinIntervalMs == nil && p.Template == nil {
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
		if err = CheckEmail(*p.ManagementEmail); err != nil {
			return p, err
		}
	}
	return p, checkInterval(p.MinIntervalMs)
}

func (p Patch) apply(e *Endpoint) {
	if p.ComponentIDs != nil {
		e.ComponentIDs = p.ComponentIDs
	}
	if p.EventKinds != nil {
		e.EventKinds = p.EventKinds
	}
	optional.Assign(&e.ManagementEmail, p.ManagementEmail)
	optional.Assign(&e.Paused, p.Paused)
	optional.Assign(&e.Locked, p.Locked)
	optional.Assign(&e.Format, p.Format)
	if p.MinIntervalMs != nil {
		e.MinIntervalMs = p.MinIntervalMs
	}
}

// Change changes an endpoint. After Change has found the endpoint, it calls read, which returns the input. If the input
// changes nothing, Change stores nothing. If the input rotates the secret, the view has the new secret.
func (s *Endpoints) Change(ctx context.Context, organization string, kind Kind, target Target, read func() (Patch, error)) (View, error) {
	dashboard, err := s.dashboard(ctx, organization, target.DashboardID)
	if err != nil {
		return View{}, err
	}
	e, err := s.one(ctx, organization, kind.Channel, target)
	if err != nil {
		return View{}, err
	}
	patch, err := read()
	if err != nil {
		return View{}, err
	}
	address, err := s.checkPatch(kind, dashboard, &patch)
	if err != nil {
		return View{}, err
	}
	secret := ""
	if patch.RotateSecret {
		secret = seal.SigningSecret()
	}
	change := func(e *Endpoint, alter func(*Endpoint)) ([]topic.Message, error) {
		if err := target.match(*e); err != nil {
			return nil, err
		}
		before, now := *e, s.Now()
		patch.apply(e)
		if patch.Format != nil || patch.Template != nil {
			if err := e.setTemplate(patch.Template, s.Box, now); err != nil {
				return nil, err
			}
		}
		if err := patch.Template.known(before, e.Template, address); err != nil {
			return nil, err
		}
		alter(e)
		if secret != "" {
			if err := e.rotate(s.Box.Seal(secret, e.ID), now); err != nil {
				return nil, err
			}
		}
		if reflect.DeepEqual(before, *e) {
			return nil, fault.ErrUnchanged
		}
		e.DashboardName, e.Version, e.UpdatedAt = dashboard.Name, e.Version+1, now
		return audit.Entry(audit.From(ctx), "", now, &before, e), nil
	}
	if address == (Address{}) || address.Hash() == target.URLHash {
		e, err = s.Store.Endpoints.Update(ctx, e.ID, func(e *Endpoint) ([]topic.Message, error) { return change(e, func(*Endpoint) {}) })
	} else {
		tried := e // a refused move must not begin, because the end of its claim would increase the version
		if _, err := change(&tried, func(*Endpoint) {}); err != nil && !errors.Is(err, fault.ErrUnchanged) {
			return View{}, err
		}
		e, err = s.move(ctx, e, target, address, change)
	}
	if err != nil {
		return View{}, err
	}
	if patch.ComponentIDs != nil {
		if e, err = s.dropDeleted(ctx, e); err != nil {
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

// checkPatch checks the patch of an endpoint, and replaces its lists by the form in which they are stored. It returns the new
// URL, or the zero Address if the patch has no URL.
func (s *Endpoints) checkPatch(kind Kind, dashboard topic.DashboardRecord, patch *Patch) (address Address, err error) {
	if *patch, err = patch.check(); err != nil {
		return address, err
	}
	if patch.URL != nil {
		if address, err = s.addressOf(kind, *patch.URL); err != nil {
			return address, err
		}
	}
	return address, onDashboard(dashboard, patch.ComponentIDs)
}

// move changes the URL of the endpoint. If no other verified endpoint has the former URL, the suppression of the former
// URL becomes MovedSuppression of the endpoint, and cleanUp decides whether it applies to the new URL.
func (s *Endpoints) move(ctx context.Context, e Endpoint, target Target, address Address,
	change func(*Endpoint, func(*Endpoint)) ([]topic.Message, error)) (Endpoint, error) {
	for {
		moved := e
		err := s.claimed(ctx, e, e.claims(address.Hash()), e.claims(e.URLHash), func() error {
			if err := s.reconcile(ctx, e.OrganizationID, e.Channel, address.Hash()); err != nil {
				return err
			}
			if err := s.dropRequest(ctx, e.OrganizationID, e.Channel, e.DashboardID, address.Hash()); err != nil {
				return err
			}
			former, err := s.leaving(ctx, e)
			if err != nil {
				return err
			}
			if err := s.dropRequest(ctx, e.OrganizationID, e.Channel, e.DashboardID, address.Hash()); err != nil {
				return err
			}
			moved, err = s.Store.Endpoints.Update(ctx, e.ID, func(current *Endpoint) ([]topic.Message, error) {
				if current.Version != e.Version {
					return nil, errAgain
				}
				return change(current, func(e *Endpoint) {
					s.setURL(e, address)
					if former != nil {
						suppression := former.movedTo(*e)
						e.MovedSuppression = &suppression
					}
				})
			})
			if err != nil {
				return err
			}
			return s.cleanUp(ctx, e, moved.URLHash, e.URLHash)
		})
		if fault.Is(err, fault.Conflict) {
			return e, s.conflict(ctx, e, address.Hash(), err)
		}
		if !errors.Is(err, errAgain) {
			return moved, err
		}
		if e, err = s.one(ctx, e.OrganizationID, e.Channel, target); err != nil {
			return e, err
		}
	}
}

// leaving returns the suppression that must move with e when the URL of e changes. If e is the only verified endpoint with
// its URL, this is the suppression of the URL. Otherwise, or without a suppression, leaving returns nil.
func (s *Endpoints) leaving(ctx context.Context, e Endpoint) (*Suppression, error) {
	last, err := s.isLast(ctx, e.OrganizationID, e.Channel, e.claims(e.URLHash))
	if err != nil || !last {
		return nil, err
	}
	suppressions, err := s.suppressions(ctx, e)
	if suppression, suppressed := suppressions[e.suppressionKey()]; suppressed {
		return &suppression, err
	}
	return nil, err
}

// claims returns urlHash, for the Claim of a write that gives this URL to the endpoint or takes it away. It returns "" if the
// endpoint is not verified, because such an endpoint needs no Claim.
func (e Endpoint) claims(urlHash string) string {
	if e.VerifiedAt == nil {
		return ""
	}
	return urlHash
}

// HashOf returns the urlHash of a URL, or an error if parseAddress refuses the URL.
func (s *Endpoints) HashOf(url string) (string, error) {
	address, err := parseAddress(url, s.Hosts)
	if err != nil {
		return "", err
	}
	return address.Hash(), nil
}
