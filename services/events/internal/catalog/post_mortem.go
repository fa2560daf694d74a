package catalog

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

const (
	maxPostMortemText  = 50000 // characters of each text
	maxActionItems     = 100
	maxActionItemText  = 1000
	maxActionItemOwner = 255
)

// SetPostMortem creates the post-mortem, or replaces its texts, its action items and Published without a change of Author
// and CreatedAt. It sets PublishedAt when Published becomes true, and clears PublishedAt if Published is false. It returns a
// Conflict if the event is open.
func (d *EventEdit) SetPostMortem(p PostMortem) error {
	former := cmp.Or(d.PostMortem, new(PostMortem))
	if err := p.check(former); err != nil {
		return err
	}
	if d.Open() {
		return fault.New(fault.Conflict, "The event is '%s'. A post-mortem needs an event that is resolved or completed.", d.Status)
	}
	p.Author, p.CreatedAt, p.UpdatedAt = d.author, d.Now, d.Now
	if d.PostMortem != nil {
		p.Author, p.CreatedAt, p.PublishedAt = former.Author, former.CreatedAt, former.PublishedAt
	}
	switch {
	case !p.Published:
		p.PublishedAt = nil
	case p.PublishedAt == nil:
		p.PublishedAt = &p.UpdatedAt
	}
	if d.PostMortem != nil {
		same := p
		same.UpdatedAt = former.UpdatedAt
		if reflect.DeepEqual(same, *former) {
			return nil
		}
	}
	d.PostMortem = &p
	return nil
}

// CheckPostMortem returns NotFound if the event has no post-mortem.
func (e *Event) CheckPostMortem() error {
	if e.PostMortem == nil {
		return fault.New(fault.NotFound, "The event has no post-mortem.")
	}
	return nil
}

type namedText struct {
	field string
	value *Rich
}

func (p *PostMortem) texts() []namedText {
	return []namedText{
		{"summary", &p.Summary}, {"rootCause", p.RootCause}, {"impact", p.Impact}, {"resolution", p.Resolution}, {"lessonsLearned", p.LessonsLearned},
	}
}

// check returns an Invalid fault that names the first wrong field. former is the post-mortem before the change, or empty.
func (p *PostMortem) check(former *PostMortem) error {
	before := former.texts()
	for i, text := range p.texts() {
		if text.value == nil {
			continue
		}
		if err := checkChangedText(text.field, *text.value, *cmp.Or(before[i].value, new(Rich)), maxPostMortemText); err != nil {
			return err
		}
	}
	if p.Summary.blank() {
		return fault.Field("summary", "must not be empty or only white space")
	}
	if len(p.ActionItems) > maxActionItems {
		return fault.Field("actionItems", "must be at most %d items", maxActionItems)
	}
	for i, item := range p.ActionItems {
		field := fmt.Sprintf("actionItems[%d].", i)
		if err := item.check(field); err != nil {
			return err
		}
		if slices.ContainsFunc(former.ActionItems, func(other ActionItem) bool { return other.says(item) }) {
			continue
		}
		if err := cmp.Or(CheckPlain(field+"text", item.Text, ""), CheckPlain(field+"owner", item.owner(), "")); err != nil {
			return err
		}
	}
	return nil
}

// says reports whether two items have the same text and owner.
func (a ActionItem) says(other ActionItem) bool {
	return a.Text == other.Text && a.owner() == other.owner()
}

func (a ActionItem) owner() string {
	if a.Owner == nil {
		return ""
	}
	return *a.Owner
}

func (a ActionItem) check(path string) error {
	if blank(a.Text) || utf8.RuneCountInString(a.Text) > maxActionItemText {
		return fault.Field(path+"text", "must be 1 to %d characters, and not white space only", maxActionItemText)
	}
	if a.Owner != nil && utf8.RuneCountInString(*a.Owner) > maxActionItemOwner {
		return fault.Field(path+"owner", "must be at most %d characters", maxActionItemOwner)
	}
	if a.DueDate != nil {
		if _, err := time.Parse(time.DateOnly, *a.DueDate); err != nil {
			return fault.Field(path+"dueDate", "must be a date in the form YYYY-MM-DD")
		}
	}
	return nil
}
