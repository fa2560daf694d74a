package catalog

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	maxNote  = 5000 // characters
	maxNotes = 200  // notes of an event; the record of the event contains all of them
)

// AddNote appends a note by the author of the write, and returns it.
func (d *EventEdit) AddNote(text string) (Note, error) {
	if err := cmp.Or(checkNote(text), CheckPlain("note", text, "")); err != nil {
		return Note{}, err
	}
	if len(d.Notes) >= maxNotes {
		return Note{}, fault.New(fault.Conflict, "The event has %d notes, and cannot have more. Delete a note first.", maxNotes)
	}
	note := Note{ID: topic.NewID(), Text: text, Author: d.author, CreatedAt: d.Now}
	d.Notes = append(slices.Clone(d.Notes), note) // a copy, because d.before shares the former slice
	return note, nil
}

// EditNote replaces the text of the note with the id, or returns NotFound.
func (d *EventEdit) EditNote(id, text string) error {
	note, err := d.NoteOf(id)
	if err = cmp.Or(err, checkNote(text), CheckPlain("note", text, note.Text)); err != nil || text == note.Text {
		return err
	}
	d.Notes = slices.Clone(d.Notes)
	for i := range d.Notes {
		if d.Notes[i].ID == id {
			d.Notes[i].Text, d.Notes[i].EditedAt = text, new(d.Now)
		}
	}
	return nil
}

func (d *EventEdit) RemoveNote(id string) {
	d.Notes = slices.DeleteFunc(slices.Clone(d.Notes), func(note Note) bool { return note.ID == id })
}

// NoteOf returns the event's note with the id, or NotFound.
func (e *Event) NoteOf(id string) (Note, error) {
	at := slices.IndexFunc(e.Notes, func(note Note) bool { return note.ID == id })
	if at < 0 {
		return Note{}, fault.New(fault.NotFound, "The event has no such note.")
	}
	return e.Notes[at], nil
}

func checkNote(text string) error {
	if blank(text) || utf8.RuneCountInString(text) > maxNote {
		return fault.Field("note", "must be 1 to %d characters, and not white space only", maxNote)
	}
	return nil
}

// PageOfNotes returns a page of notes of the organization's event, in the order of their ids. A later note has a greater
// id. after is the id of the last note of the previous page, or empty. This note may have been deleted meanwhile.
func (c *Catalog) PageOfNotes(ctx context.Context, organization, eventID string, limit int, after string) (find.Page[Note], error) {
	detail, err := c.Event(ctx, organization, eventID)
	if err != nil {
		return find.Page[Note]{}, err
	}
	notes := slices.DeleteFunc(detail.Notes, func(note Note) bool { return note.ID <= after })
	slices.SortFunc(notes, func(a, b Note) int { return strings.Compare(a.ID, b.ID) })
	if len(notes) <= limit {
		return find.Page[Note]{Items: notes}, nil
	}
	return find.Page[Note]{Items: notes[:limit], Next: notes[limit-1].ID}, nil
}
