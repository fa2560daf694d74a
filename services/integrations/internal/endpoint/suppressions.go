package endpoint

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/outcome"
)

// SuppressedURL is a suppression as users see it. Dashboards are those on which a verified endpoint has the URL.
type SuppressedURL struct {
	Suppression
	Dashboards []topic.Dashboard
}

// Suppressions returns one page of the organization's suppressions of a kind, oldest first. If no verified endpoint has
// the URL of a suppression any more, because a process was killed, the page omits the suppression, and Suppressions
// deletes it.
func (s *Endpoints) Suppressions(ctx context.Context, organization string, kind Kind, limit int, after string) (find.Page[SuppressedURL], error) {
	found, err := s.Store.Suppressions.Find(ctx, find.Query{
		Where: ofKind(organization, kind.Channel), Order: []find.Order{{Field: FieldSuppressedAt}}, Limit: limit, After: after,
	})
	page := find.Page[SuppressedURL]{Next: found.Next}
	if err != nil || len(found.Items) == 0 {
		return page, err
	}
	dashboards, err := s.dashboardsOf(ctx, organization, kind.Channel, found.Items)
	if err != nil {
		return page, err
	}
	for _, suppression := range found.Items {
		if len(dashboards[suppression.URLHash]) == 0 {
			if err := s.reconcile(ctx, organization, kind.Channel, suppression.URLHash); err != nil {
				return page, err
			}
			continue
		}
		page.Items = append(page.Items, SuppressedURL{suppression, dashboards[suppression.URLHash]})
	}
	return page, nil
}

// dashboardsOf returns the dashboards on which a verified endpoint has a suppressed URL, by urlHash.
func (s *Endpoints) dashboardsOf(ctx context.Context, organization string, channel topic.Channel, suppressions []Suppression) (map[string][]topic.Dashboard, error) {
	hashes := find.Values(suppressions, func(s Suppression) string { return s.URLHash })
	found, err := s.Store.Endpoints.Find(ctx, find.Query{Where: ofKind(organization, channel, find.In(FieldSlot, hashes...))})
	if err != nil {
		return nil, err
	}
	endpoints, err := s.named(ctx, organization, found.Items)
	dashboards := map[string][]topic.Dashboard{}
	for _, e := range endpoints {
		dashboards[e.URLHash] = append(dashboards[e.URLHash], topic.Dashboard{ID: e.DashboardID, Name: e.DashboardName})
	}
	return dashboards, err
}

// Clear deletes the suppression of a URL and resets the counters of each verified endpoint with the URL. After that, failures
// that ended before Clear do not count, even if their outcomes arrive later. So they do not suppress the URL again.
func (s *Endpoints) Clear(ctx context.Context, organization string, kind Kind, urlHash string) error {
	if err := s.reconcile(ctx, organization, kind.Channel, urlHash); err != nil {
		return err
	}
	key := suppressionKey(organization, kind.Channel, urlHash)
	if _, err := s.Store.Suppressions.Get(ctx, key); err != nil {
		return fault.IfMissing(err, notSuppressed())
	}
	// The counters are reset first. A failure that is counted before the suppression is deleted then finds the URL
	// suppressed.
	if err := s.resetCounters(ctx, organization, kind.Channel, urlHash); err != nil {
		return err
	}
	err := s.Store.Suppressions.Delete(ctx, key, func(suppression *Suppression) ([]topic.Message, error) {
		return audit.Entry(audit.From(ctx), "", s.Now(), suppression, nil), nil
	})
	return fault.IfMissing(err, notSuppressed())
}

func (s *Endpoints) resetCounters(ctx context.Context, organization string, channel topic.Channel, urlHash string) error {
	page, err := s.Store.Endpoints.Find(ctx, find.Query{Where: ofURL(organization, channel, urlHash)})
	if err != nil {
		return err
	}
	ids, now := find.Values(page.Items, endpointKey), s.Now()
	return s.Store.Results.Counters.UpdateMany(ctx, ids, func(counters []*outcome.Counters) (map[string][]topic.Message, error) {
		for _, c := range counters {
			c.Reset(now)
		}
		return nil, nil
	})
}

func notSuppressed() error {
	return fault.New(fault.NotFound, "There is no suppression of this URL.")
}
