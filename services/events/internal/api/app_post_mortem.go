package api

import (
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

func (a api) postMortemOperations() []web.Operation {
	const items = `"actionItems": [{"text": "Watch the certificates.", "owner": "Ada", "dueDate": "2026-02-28", "done": false}]`
	const response = `{"postMortem": {"summary": "A certificate had expired.", "rootCause": "Nobody had renewed it.", "impact": null,
		"resolution": null, "lessonsLearned": null, ` + items + `, "published": true, "publishedAt": "2026-02-01T10:00:00.000Z", "author": ` + authorExample + `,
		"createdAt": "2026-02-01T09:00:00.000Z", "updatedAt": "2026-02-01T10:00:00.000Z"}}`
	const path = "/{id}/post-mortem"
	get := eventOperation("GET", path, "getPostMortem", "Get the post-mortem of an event", "", 200)
	replace := eventOperation("PUT", path, "replacePostMortem", "Create or replace the post-mortem of an event",
		"The event must be resolved or completed. Members that are not sent are cleared. The ETag is that of the event. A reopened event keeps its post-mortem.", 200)
	remove := eventOperation("DELETE", path, "deletePostMortem", "Delete the post-mortem of an event", "", 204)
	get.Example.Response = response
	replace.Example = web.Example{Response: response,
		Request: `{"summary": "A certificate had expired.", "rootCause": "Nobody had renewed it.", ` + items + `, "published": true}`}
	return []web.Operation{web.Declare(get, a.getPostMortem), web.Declare(replace, a.replacePostMortem), web.Declare(remove, a.deletePostMortem)}
}

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

type onePostMortemView struct {
	PostMortem postMortemView `json:"postMortem"`
	version    int64          // version of the event
}

// RecordVersion implements web.Versioned.
func (v onePostMortemView) RecordVersion() int64 { return v.version }

func (a api) getPostMortem(c *web.Call[eventParameters, web.None]) (onePostMortemView, error) {
	detail, err := a.catalog.Event(c, c.Caller.Organization, c.Parameters.ID)
	if err == nil {
		err = detail.CheckPostMortem()
	}
	return onePostMortemViewOf(&detail, err)
}

type postMortemBody struct {
	Summary        optional.Value[string]           `json:"summary" required:"true" minLength:"1" maxLength:"50000" description:"Rich text."`
	RootCause      optional.Value[string]           `json:"rootCause" nullable:"true" maxLength:"50000" description:"Rich text."`
	Impact         optional.Value[string]           `json:"impact" nullable:"true" maxLength:"50000" description:"Rich text."`
	Resolution     optional.Value[string]           `json:"resolution" nullable:"true" maxLength:"50000" description:"Rich text."`
	LessonsLearned optional.Value[string]           `json:"lessonsLearned" nullable:"true" maxLength:"50000" description:"Rich text."`
	ActionItems    optional.Value[[]actionItemBody] `json:"actionItems" maxItems:"100"`
	Published      optional.Value[bool]             `json:"published" default:"false" description:"True: visitors see it."`
	Notify         optional.Value[web.Notify]       `json:"notify"`
}

type actionItemBody struct {
	Text    optional.Value[string] `json:"text" required:"true" minLength:"1" maxLength:"1000"`
	Owner   optional.Value[string] `json:"owner" nullable:"true" maxLength:"255"`
	DueDate optional.Value[string] `json:"dueDate" nullable:"true" format:"date"`
	Done    optional.Value[bool]   `json:"done" default:"false"`
}

func (a api) replacePostMortem(c *web.Call[eventParameters, postMortemBody]) (onePostMortemView, error) {
	changed, err := a.catalog.ChangeEvent(c, appCommand(c).As(catalog.ActionPostMortemUpdate), c.Parameters.ID, withBody(c, func(d *catalog.EventEdit, in postMortemBody) error {
		d.Notify(in.Notify.Value.Wording())
		return d.SetPostMortem(in.postMortem())
	}))
	return onePostMortemViewOf(&changed, err)
}

func (a api) deletePostMortem(c *web.Call[eventParameters, web.None]) (web.None, error) {
	_, err := changePart(a, c, c.Parameters.ID, catalog.ActionPostMortemDelete, func(d *catalog.EventEdit) error {
		d.PostMortem = nil
		return nil
	}, func(d *catalog.EventEdit) error { return d.CheckPostMortem() })
	return web.None{}, err
}

func (b *postMortemBody) postMortem() catalog.PostMortem {
	return catalog.PostMortem{
		Summary: catalog.Rich{Text: b.Summary.Value, Format: richtext.Rich}, RootCause: richOf(b.RootCause), Impact: richOf(b.Impact),
		Resolution: richOf(b.Resolution), LessonsLearned: richOf(b.LessonsLearned),
		ActionItems: actionItems(b.ActionItems.Value), Published: b.Published.Value,
	}
}

func actionItems(sent []actionItemBody) []catalog.ActionItem {
	return find.Values(sent, func(item actionItemBody) catalog.ActionItem {
		return catalog.ActionItem{Text: item.Text.Value, Owner: item.Owner.Pointer(), DueDate: item.DueDate.Pointer(), Done: item.Done.Value}
	})
}

// richOf returns nil for a text that is absent, null or empty.
func richOf(text optional.Value[string]) *catalog.Rich {
	if text.Value == "" {
		return nil
	}
	return &catalog.Rich{Text: text.Value, Format: richtext.Rich}
}

func onePostMortemViewOf(event *catalog.EventDetail, err error) (onePostMortemView, error) {
	if err != nil {
		return onePostMortemView{}, err
	}
	return onePostMortemView{*viewPostMortem(event.PostMortem), event.Version}, nil
}

// viewPostMortem returns nil, which is null in JSON, for an event without a post-mortem.
func viewPostMortem(p *catalog.PostMortem) *postMortemView {
	if p == nil {
		return nil
	}
	return &postMortemView{
		Summary: p.Summary.Text, RootCause: textOf(p.RootCause), Impact: textOf(p.Impact), Resolution: textOf(p.Resolution),
		LessonsLearned: textOf(p.LessonsLearned), ActionItems: find.Values(p.ActionItems, func(i catalog.ActionItem) actionItemView { return actionItemView(i) }),
		Published: p.Published, PublishedAt: web.TimeOf(p.PublishedAt), Author: viewAuthor(p.Author),
		CreatedAt: web.Time(p.CreatedAt), UpdatedAt: web.Time(p.UpdatedAt),
	}
}
