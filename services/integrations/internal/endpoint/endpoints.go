package endpoint

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// cleanupTimeout is the time limit of cleanUp and of the end of a claim. Both continue if the client disconnects.
const cleanupTimeout = 5 * time.Second

// Endpoints has the operations of the domain, and their dependencies and settings.
type Endpoints struct {
	Store         Store
	Services      Services
	Hosts         Hosts
	Box           seal.Box
	AlertAfter    int // consecutive failures after which the management address is notified
	SuppressAfter int // consecutive failures after which the URL is suppressed
	Kinds         []Kind
	Links         Links
	Quota         Quota
	ConfirmWithin time.Duration // time in which a visitor can verify an endpoint
	Log           *slog.Logger
	Now           func() time.Time // UTC, whole milliseconds
}

func (s *Endpoints) setURL(e *Endpoint, address Address) {
	e.URL, e.URLHash, e.URLDisplay = s.Box.Seal(address.URL(), e.ID), address.Hash(), address.Display()
	e.Paced = pacedBy(e.Channel, address)
}

func (s *Endpoints) dashboard(ctx context.Context, organization, id string) (topic.DashboardRecord, error) {
	dashboard, err := s.Services.Dashboard(ctx, organization, id)
	if fault.Is(err, fault.NotFound) {
		return topic.DashboardRecord{}, fault.Wrap(fault.NotFound, err, "There is no such dashboard.")
	}
	return dashboard, err
}

func ofKind(organization string, channel topic.Channel, more ...find.Condition) []find.Condition {
	return append([]find.Condition{find.Eq(FieldOrganization, organization), find.Eq(FieldChannel, string(channel))}, more...)
}

// ofURL returns the conditions for the verified endpoints with a URL. Endpoints that a visitor has requested and not
// verified are not selected, because they must not affect others.
func ofURL(organization string, channel topic.Channel, urlHash string) []find.Condition {
	return ofKind(organization, channel, find.Eq(FieldSlot, urlHash))
}

// Target identifies an endpoint by its dashboard and URL.
type Target struct {
	DashboardID string
	URLHash     string
	// IfMatch returns an error if the client does not want to change this version of the endpoint. nil allows any
	// version.
	IfMatch func(version int64) error
}

func (t Target) match(e Endpoint) error {
	switch {
	case e.URLHash != t.URLHash:
		return missing()
	case t.IfMatch == nil:
		return nil
	}
	return t.IfMatch(e.Version)
}

// one returns the endpoint that target identifies, or NotFound. It returns the error of IfMatch if IfMatch refuses the version.
func (s *Endpoints) one(ctx context.Context, organization string, channel topic.Channel, target Target) (Endpoint, error) {
	where := ofKind(organization, channel, find.Eq(FieldURLHash, target.URLHash), find.Eq(FieldDashboard, target.DashboardID))
	page, err := s.Store.Endpoints.Find(ctx, find.Query{Where: where, Limit: 1})
	if err != nil {
		return Endpoint{}, err
	}
	if len(page.Items) == 0 {
		return Endpoint{}, missing()
	}
	return page.Items[0], target.match(page.Items[0])
}

func missing() error {
	return fault.New(fault.NotFound, "There is no such endpoint on this dashboard.")
}

// addressOf parses and checks the URL of an endpoint of the kind.
func (s *Endpoints) addressOf(kind Kind, text string) (Address, error) {
	address, err := parseAddress(text, s.Hosts)
	if err != nil {
		return Address{}, err
	}
	return address, kind.Rule.check(address)
}

// kind returns the Kind of a channel. The Kind of an unknown channel has only Channel.
func (s *Endpoints) kind(channel topic.Channel) Kind {
	at := slices.IndexFunc(s.Kinds, func(kind Kind) bool { return kind.Channel == channel })
	if at < 0 {
		return Kind{Channel: channel}
	}
	return s.Kinds[at]
}
