package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// importedHTML returns an HTML text for storage, with the changes of richtext.Text. It makes a text without a tag a
// paragraph, because such a text would count as plain text. For a blank text it returns an empty text.
func importedHTML(text string) Rich {
	text = richtext.Text(text)
	switch {
	case blank(text):
		return Rich{Format: richtext.Plain}
	case !strings.Contains(text, "<"):
		text = paragraph + text + endOfParagraph
	}
	return Rich{text, richtext.Rich}
}

// checkImportedText checks a text as it was sent. It assigns the stored form of the text to *checked. So Check does not
// check the text again, and does not count the tags of the paragraph that importedHTML adds.
func checkImportedText(field, text string, most int, checked *Rich) error {
	stored := importedHTML(text)
	*checked = stored
	if err := checkLength(field, text, most); err != nil {
		return err
	}
	return checkText(field, stored, most+len(paragraph)+len(endOfParagraph))
}

// checkLength returns a fault if a text, as it was sent, has more than most characters.
func checkLength(field, text string, most int) error {
	if utf8.RuneCountInString(text) > most {
		return fault.Field(field, "must be at most %d characters", most)
	}
	return nil
}

func (f *importFill) postMortem() error {
	in := f.in.PostMortem
	if in == nil {
		return nil
	}
	p := PostMortem{
		Summary: importedHTML(in.HTML), RootCause: importedText(in.RootCause), Impact: importedText(in.Impact), Resolution: importedText(in.Resolution),
		LessonsLearned: importedText(in.LessonsLearned), ActionItems: importedItems(in.ActionItems),
		Published: in.PublishedAt != nil, PublishedAt: in.PublishedAt, Author: f.author,
	}
	p.CreatedAt = *cmp.Or(in.PublishedAt, f.EndAt, &f.StartAt)
	p.UpdatedAt = p.CreatedAt
	err := checkLength("html", in.HTML, maxPostMortemText)
	switch {
	case blank(in.HTML):
		err = fault.Field("html", "must not be empty or only white space")
	case in.PublishedAt != nil && beforeHistory(*in.PublishedAt):
		err = errBeforeHistory("publishedAt")
	case in.PublishedAt != nil && in.PublishedAt.After(f.Now):
		err = fault.Field("publishedAt", "must not be in the future")
	case f.Open():
		return fault.Field("postMortem", "needs an event that is resolved or completed")
	case err == nil:
		err = p.check(new(PostMortem))
	}
	f.PostMortem = &p
	return fault.Within("postMortem", err)
}

// importedText is importedHTML, but returns nil for a blank text.
func importedText(text string) *Rich {
	if blank(text) {
		return nil
	}
	return new(importedHTML(text))
}

// importedItems returns a copy of the items for storage, whose texts and owners have the changes of richtext.Text.
func importedItems(sent []ActionItem) []ActionItem {
	items := append([]ActionItem{}, sent...)
	for i := range items {
		items[i].Text = richtext.Text(items[i].Text)
		if owner := items[i].Owner; owner != nil {
			items[i].Owner = new(richtext.Text(*owner))
		}
	}
	return items
}

// notes replaces the notes of former imports by the notes of this import. It keeps the notes of members.
func (f *importFill) notes() error {
	kept := slices.DeleteFunc(slices.Clone(f.Notes), func(note Note) bool { return note.Imported })
	if len(f.in.Notes)+len(kept) > maxNotes {
		return fault.Field("notes", "must be at most %d notes", maxNotes-len(kept))
	}
	f.Notes = nil
	for n, text := range f.in.Notes {
		text = richtext.Text(text)
		if err := checkNote(text); err != nil {
			return fault.Field(fmt.Sprintf("notes[%d]", n), "%s", fault.As(err).Message)
		}
		f.Notes = append(f.Notes, Note{ID: topic.NewID(), Text: text, Author: f.author, CreatedAt: f.createdAt(), Imported: true})
	}
	f.Notes = append(f.Notes, kept...)
	return nil
}
