package edition

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"sync"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// maxMarked bounds the pages that a process remembers.
const maxMarked = 256

// Mark returns a digest of the page. It is a declared field: reading it costs much less than reading the page.
func (p *PublishedPage) Mark() string { return digest(p) }

func digest(of any) string {
	text, _ := json.Marshal(of) // strings, numbers and times: cannot fail
	sum := sha256.Sum256(text)
	return base64.RawStdEncoding.EncodeToString(sum[:])
}

// pageCache remembers pages with their marks, by dashboard. The gateway asks for the page of a busy dashboard many
// times a second, and most of that time went into decoding it. The zero value is empty.
type pageCache struct {
	mu   sync.Mutex
	byID map[string]markedPage
}

// markedPage is a page that nobody changes.
type markedPage struct {
	PublishedPage
	mark any
}

func (m *pageCache) get(id string, mark any) (PublishedPage, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, there := m.byID[id]
	return known.PublishedPage, there && known.mark == mark
}

func (m *pageCache) set(id string, page markedPage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byID == nil {
		m.byID = map[string]markedPage{}
	}
	for other := range m.byID {
		if len(m.byID) < maxMarked {
			break
		}
		delete(m.byID, other)
	}
	m.byID[id] = page
}

// OnlyDashboard returns the slug of the enabled dashboard if the installation has exactly one, else NotFound.
func (e *Editions) OnlyDashboard(ctx context.Context) (slug string, err error) {
	rows, err := e.store.Pages.Keys(ctx, find.Query{Where: []find.Condition{find.Eq(FieldEnabled, true)}, Limit: 2}, catalog.FieldSlug)
	if err == nil && len(rows) != 1 {
		err = catalog.NoDashboard()
	}
	if err != nil {
		return "", err
	}
	slug, _ = rows[0].Values[0].(string)
	return slug, nil
}

// enabledPage returns the page of an enabled dashboard, or NotFound.
func (e *Editions) enabledPage(ctx context.Context, which find.Condition) (PublishedPage, error) {
	query := find.Query{Where: []find.Condition{which}, Limit: 1}
	marks, err := e.store.Pages.Keys(ctx, query, FieldMark)
	if err != nil {
		return PublishedPage{}, err
	}
	if len(marks) == 0 {
		return PublishedPage{}, catalog.NoDashboard()
	}
	id, mark := marks[0].Key, marks[0].Values[0]
	page, known := e.pages.get(id, mark)
	if !known {
		if page, err = e.store.Pages.Get(ctx, id); fault.Is(err, fault.NotFound) {
			return PublishedPage{}, catalog.NoDashboard()
		}
		if err != nil {
			return PublishedPage{}, err
		}
		// A page that was written meanwhile has another mark.
		if marks, err = e.store.Pages.Keys(ctx, query, FieldMark); err == nil && len(marks) == 1 && marks[0].Key == id && marks[0].Values[0] == mark {
			e.pages.set(id, markedPage{page, mark})
		}
	}
	if !page.Enabled {
		return PublishedPage{}, catalog.NoDashboard()
	}
	return page, nil
}
