package site

import (
	"github.com/bellbuoy/bellbuoy/libs/cache"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

const (
	// maxTexts is the limit for the cached texts of one kind and their results, in bytes.
	maxTexts = 16 << 20
	// entrySize is the approximate memory of an entry of the cache without its texts, in bytes.
	entrySize = 200
)

// texts renders the texts of operators and caches the results. An edition shows mostly the same texts as the previous
// edition, in several files, and rendering the texts would take most of the time of rendering a file. texts is safe for
// concurrent use.
type texts struct{ html, plain rendered }

func newTexts() *texts {
	return &texts{html: newRendered(catalog.Rich.HTML, maxTexts), plain: newRendered(catalog.Rich.Plain, maxTexts)}
}

// rendered caches the results of render.
type rendered struct {
	render  func(catalog.Rich) string
	results *cache.Sized[catalog.Rich, string]
}

func newRendered(render func(catalog.Rich) string, limit int) rendered {
	return rendered{render, cache.NewSized[catalog.Rich, string](limit, nil)}
}

func (r *rendered) of(text catalog.Rich) string {
	if result, is := r.results.Get(text); is {
		return result
	}
	result := r.render(text)
	return r.results.GetOrAdd(text, result, entrySize+len(text.Text)+len(result))
}
