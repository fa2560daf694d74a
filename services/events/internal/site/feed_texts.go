package site

import (
	"sync"

	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// maxTexts is the number of bytes of texts that each half of a store keeps.
const maxTexts = 8 << 20

// texts renders the texts of operators, and keeps the results. Each edition shows nearly the same texts as the former
// one, in several files, and rendering takes most of the time of a file. Many goroutines may use a store.
type texts struct{ html, plain rendered }

func newTexts() *texts {
	return &texts{
		html:  rendered{render: catalog.Rich.HTML, limit: maxTexts},
		plain: rendered{render: catalog.Rich.Plain, limit: maxTexts},
	}
}

// rendered keeps the results that were used lately: when recent is full, it becomes former, and the results that
// nobody has used since former became full are dropped.
type rendered struct {
	render func(catalog.Rich) string
	limit  int // limit of size, in bytes

	lock           sync.Mutex
	size           int // bytes of the texts in recent
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
