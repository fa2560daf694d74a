package api

import (
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

type postMortemView struct {
	Summary        string           `json:"summary" description:"Rich text."`
	RootCause      *string          `json:"rootCause" description:"Rich text."`
	Impact         *string          `json:"impact" description:"Rich text."`
	Resolution     *string          `json:"resolution" description:"Rich text."`
	LessonsLearned *string          `json:"lessonsLearned" description:"Rich text."`
	ActionItems    []actionItemView `json:"actionItems"`
	Published      bool             `json:"published"`
	PublishedAt    *web.Time        `json:"publishedAt"`
	Author         authorView       `json:"author"`
	CreatedAt      web.Time         `json:"createdAt"`
	UpdatedAt      web.Time         `json:"updatedAt"`
}

type actionItemView struct {
	Text    string  `json:"text"`
	Owner   *string `json:"owner"`
	DueDate *string `json:"dueDate" format:"date"`
	Done    bool    `json:"done"`
}

// viewPostMortem returns nil, so null, for an event without a post-mortem.
func viewPostMortem(p *catalog.PostMortem) *postMortemView {
	if p == nil {
		return nil
	}
	view := &postMortemView{
		Summary: p.Summary.Text, RootCause: textOf(p.RootCause), Impact: textOf(p.Impact), Resolution: textOf(p.Resolution),
		LessonsLearned: textOf(p.LessonsLearned), ActionItems: make([]actionItemView, len(p.ActionItems)),
		Published: p.Published, PublishedAt: web.TimeOf(p.PublishedAt), Author: viewAuthor(p.Author),
		CreatedAt: web.Time(p.CreatedAt), UpdatedAt: web.Time(p.UpdatedAt),
	}
	for i, item := range p.ActionItems {
		view.ActionItems[i] = actionItemView(item)
	}
	return view
}
