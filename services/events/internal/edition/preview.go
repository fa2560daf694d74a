package edition

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

const (
	// previewsAtOnce is how many previews a process makes at the same time. Other requests wait.
	previewsAtOnce = 2
	// previewTime bounds the time of a preview, including the time that its request waits.
	previewTime = 5 * time.Second
	// maxPreview bounds the page of a preview, in bytes.
	maxPreview = 8 << 20
)

// Preview returns the page that visitors would get if the dashboard were stored as given, and its
// Content-Security-Policy. It stores nothing. The page has no script, because it is shown in frames that allow none. The
// links of a private page to its feeds have no key.
func (e *Editions) Preview(ctx context.Context, dashboard catalog.Dashboard) (html, policy string, err error) {
	ctx, cancel := context.WithTimeout(ctx, previewTime)
	defer cancel()
	select {
	case e.drawing <- struct{}{}:
	case <-ctx.Done():
		return "", "", ctx.Err()
	}
	defer func() { <-e.drawing }()
	snapshot, err := e.snapshotFor(ctx, dashboard)
	if err != nil {
		return "", "", err
	}
	page, policy, err := e.Renderer.Page(&snapshot)
	if err == nil && len(page) > maxPreview {
		err = fault.New(fault.TooLarge, "The page has more than %d MiB, which is too large for a preview.", maxPreview>>20)
	}
	return string(page), policy, err
}

// snapshotFor composes the next snapshot of a dashboard from its current edition.
func (e *Editions) snapshotFor(ctx context.Context, dashboard catalog.Dashboard) (Snapshot, error) {
	former, err := e.store.Pages.Get(ctx, dashboard.ID)
	if fault.UnlessMissing(err) != nil {
		return Snapshot{}, err
	}
	var current *decodedEdition
	if former.EditionID != "" {
		if current, err = e.edition(ctx, former.EditionID); fault.UnlessMissing(err) != nil {
			return Snapshot{}, err
		}
	}
	m, _, err := e.prepareFrom(ctx, &former, current, dashboard, nil, e.Now())
	if err == nil {
		err = m.follow(ctx, nil, former.Seen, true)
	}
	if err != nil {
		return Snapshot{}, err
	}
	m.finish()
	m.state.Snapshot.FeedKey, m.state.Snapshot.Edition = "", former.Edition
	return m.state.shown(), nil
}
