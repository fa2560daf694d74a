package api

import (
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

func (a api) noteOperations() []web.Operation {
	const note = `{"noteId": "01890a5d-ac96-774b-bcce-b302099a8064", "note": "The vendor has been called.", "author": ` + authorExample + `,
		"createdAt": "2026-01-31T09:35:00.000Z", "editedAt": null}`
	const request = `{"note": "The vendor has been called."}`
	const path = "/{id}/notes"
	list := eventOperation("GET", path, "listNotes", "List the notes of an event", "In the order of their creation.", 200)
	create := eventOperation("POST", path, "createNote", "Add a note to an event",
		"A note is internal: visitors and subscribers never see it. The event gets a new version, which is in the ETag.", 201)
	change := eventOperation("PUT", path+"/{noteId}", "replaceNote", "Replace the text of a note", "", 200)
	remove := eventOperation("DELETE", path+"/{noteId}", "deleteNote", "Delete a note", "", 204)
	list.Example.Response = `{"notes": [` + note + `], "nextToken": null}`
	create.Example = web.Example{Request: request, Response: `{"note": ` + note + `}`}
	change.Example = create.Example
	return []web.Operation{
		web.Declare(list, a.listNotes), web.Declare(create, a.createNote), web.Declare(change, a.replaceNote), web.Declare(remove, a.deleteNote),
	}
}

type noteView struct {
	NoteID    string     `json:"noteId" format:"uuid"`
	Note      string     `json:"note"`
	Author    authorView `json:"author"`
	CreatedAt web.Time   `json:"createdAt"`
	EditedAt  *web.Time  `json:"editedAt"`
}

type oneNoteView struct {
	Note    noteView `json:"note"`
	version int64    // version of the event
}

// RecordVersion implements web.Versioned.
func (v oneNoteView) RecordVersion() int64 { return v.version }

type notesView struct {
	Notes     []noteView `json:"notes"`
	NextToken *string    `json:"nextToken"`
}

type noteBody struct {
	Note optional.Value[string] `json:"note" required:"true" minLength:"1" maxLength:"5000" description:"Not white space only."`
}

type notesParameters struct {
	eventParameters
	web.Paging
}

func (a api) listNotes(c *web.Call[notesParameters, web.None]) (notesView, error) {
	notes, next, err := web.Listed(a.Pages, c.List, c.Parameters.Paging, func(limit int, after string) (find.Page[catalog.Note], error) {
		return a.catalog.PageOfNotes(c, c.Caller.Organization, c.Parameters.ID, limit, after)
	}, viewNote)
	return notesView{notes, next}, err
}

func (a api) createNote(c *web.Call[eventParameters, noteBody]) (oneNoteView, error) {
	var note catalog.Note
	changed, err := a.catalog.ChangeEvent(c, appCommand(c).As(catalog.ActionNoteCreate), c.Parameters.ID, withBody(c, func(d *catalog.EventEdit, in noteBody) (err error) {
		note, err = d.AddNote(in.Note.Value)
		return err
	}))
	return oneNoteView{viewNote(note), changed.Version}, err
}

type noteParameters struct {
	eventParameters
	NoteID string `path:"noteId" format:"uuid"`
}

func (a api) replaceNote(c *web.Call[noteParameters, noteBody]) (oneNoteView, error) {
	detail, err := changeNote(a, c, catalog.ActionNoteUpdate, withBody(c, func(d *catalog.EventEdit, in noteBody) error {
		return d.EditNote(c.Parameters.NoteID, in.Note.Value)
	}))
	if err != nil {
		return oneNoteView{}, err
	}
	note, err := detail.NoteOf(c.Parameters.NoteID)
	return oneNoteView{viewNote(note), detail.Version}, err
}

func (a api) deleteNote(c *web.Call[noteParameters, web.None]) (web.None, error) {
	_, err := changeNote(a, c, catalog.ActionNoteDelete, func(d *catalog.EventEdit) error {
		d.RemoveNote(c.Parameters.NoteID)
		return nil
	})
	return web.None{}, err
}

func changeNote[B any](a api, c *web.Call[noteParameters, B], action string, change func(*catalog.EventEdit) error) (catalog.EventDetail, error) {
	return changePart(a, c, c.Parameters.ID, action, change, func(d *catalog.EventEdit) error {
		_, err := d.NoteOf(c.Parameters.NoteID)
		return err
	})
}

// changePart changes a note, a timeline entry or the post-mortem of an event. find returns an error if the event does
// not have the part. find runs before If-Match is checked, so an unknown part is reported before a version conflict.
func changePart[P, B any](
	a api, c *web.Call[P, B], event, action string, change, find func(*catalog.EventEdit) error,
) (catalog.EventDetail, error) {
	command := appCommand(c).As(action)
	command.IfMatch = nil
	return a.catalog.ChangeEvent(c, command, event, func(d *catalog.EventEdit) error {
		if err := find(d); err != nil {
			return err
		}
		if err := c.IfMatch(d.Version); err != nil {
			return err
		}
		return change(d)
	})
}

func viewNote(n catalog.Note) noteView {
	return noteView{n.ID, n.Text, viewAuthor(n.Author), web.Time(n.CreatedAt), web.TimeOf(n.EditedAt)}
}
