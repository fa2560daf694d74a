package site

import (
	"sync"

	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// maxTexts is the limit of rendered.size, in bytes.
const maxTexts = 8 << 20

// texts renders the texts of operators and caches the results. An edition shows mostly the same texts as the previous
// edition, in several files, and rendering the texts would take most of the time of rendering a file. texts is safe for
// concurrent use.
type texts struct{ html, plain rendered }

func newTexts() *texts {
	return &texts{
		html:  rendered{render: catalog.Rich.HTML, limit: maxTexts},
		plain: rendered{render: catalog.Rich.Plain, limit: maxTexts},
	}
}

// rendered caches the results of render. When recent is full, it becomes former, and the previous former is dropped. A
// result in former is copied to recent when it is used.
type rendered struct {
	render func(catalog.Rich) string
	limit  int // limit of size

	lock           sync.Mutex
	size           int // bytes of the texts and results in recent
	recent, former map[catalog.Rich]string
}

func (r *rendered) of(text catalog.Rich) string {
	r.lock.Lock()
	result, there := r.recent[text]
	kept := there
	if !there {
		result, there = r.former[text]
	}
	r.lock.Unlock()
	if !there {
		result = r.render(text)
	}
	if !kept {
		r.keep(text, result)
	}
	return result
}

func (r *rendered) keep(text catalog.Rich, result string) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.recent == nil || r.size >= r.limit {
		r.recent, r.former, r.size = map[catalog.Rich]string{}, r.recent, 0
	}
	if _, there := r.recent[text]; !there {
		r.recent[text] = result
		r.size += len(text.Text) + len(result)
	}
}
