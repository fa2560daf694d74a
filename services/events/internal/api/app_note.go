package api

import (
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

type noteView struct {
	NoteID    string     `json:"noteId" format:"uuid"`
	Note      string     `json:"note"`
	Author    authorView `json:"author"`
	CreatedAt web.Time   `json:"createdAt"`
	EditedAt  *web.Time  `json:"editedAt"`
}

func viewNote(n catalog.Note) noteView {
	return noteView{n.ID, n.Text, viewAuthor(n.Author), web.Time(n.CreatedAt), web.TimeOf(n.EditedAt)}
}
