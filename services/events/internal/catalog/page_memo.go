package catalog

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"sync"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// maxMarked bounds the pages that a process remembers.
const maxMarked = 256

// Mark returns a digest of the page. It is a declared field: reading it costs much less than reading the page.
func (p *Page) Mark() string { return digest(p) }

func digest(of any) string {
	text, _ := json.Marshal(of) // strings, numbers and times: cannot fail
	sum := sha256.Sum256(text)
	return base64.RawStdEncoding.EncodeToString(sum[:])
}

// pageMemo remembers pages with their marks, by dashboard. The gateway asks for the page of a busy dashboard many
// times a second, and most of that time went into decoding it. The zero value is empty.
type pageMemo struct {
	mu   sync.Mutex
	byID map[string]markedPage
}

// markedPage is a page that nobody changes.
type markedPage struct {
	Page
	mark any
}

func (m *pageMemo) get(id string, mark any) (Page, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, there := m.byID[id]
	return known.Page, there && known.mark == mark
}

func (m *pageMemo) set(id string, page markedPage) {
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
func (c *Catalog) OnlyDashboard(ctx context.Context) (slug string, err error) {
	rows, err := c.store.Pages.Keys(ctx, find.Query{Where: []find.Condition{find.Eq(FieldEnabled, true)}, Limit: 2}, FieldSlug)
	if err == nil && len(rows) != 1 {
		err = noDashboard()
	}
	if err != nil {
		return "", err
	}
	slug, _ = rows[0].Values[0].(string)
	return slug, nil
}

// enabledPage returns the page of an enabled dashboard, or NotFound.
func (c *Catalog) enabledPage(ctx context.Context, which find.Condition) (Page, error) {
	query := find.Query{Where: []find.Condition{which}, Limit: 1}
	marks, err := c.store.Pages.Keys(ctx, query, FieldMark)
	if err != nil {
		return Page{}, err
	}
	if len(marks) == 0 {
		return Page{}, noDashboard()
	}
	id, mark := marks[0].Key, marks[0].Values[0]
	page, known := c.marked.get(id, mark)
	if !known {
		if page, err = c.store.Pages.Get(ctx, id); fault.Is(err, fault.NotFound) {
			return Page{}, noDashboard()
		}
		if err != nil {
			return Page{}, err
		}
		// A page that was written meanwhile has another mark.
		if marks, err = c.store.Pages.Keys(ctx, query, FieldMark); err == nil && len(marks) == 1 && marks[0].Key == id && marks[0].Values[0] == mark {
			c.marked.set(id, markedPage{page, mark})
		}
	}
	if !page.Enabled {
		return Page{}, noDashboard()
	}
	return page, nil
}
