package pages

import (
	"net/http"
	"net/url"

	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

// outdated reports whether err refuses a change because the record is no longer in the version that the form was sent for.
// stored is the version of the record now.
func outdated(err error, sent, stored int64) bool {
	failed := app.As(err)
	return failed != nil && failed.Status == http.StatusConflict && sent != stored
}

// difference is a field whose values differ.
type difference struct{ Label, Mine, Theirs string }

// conflictPage is the data of conflict.html.
type conflictPage struct {
	Name   string
	By     string // who changed the record; empty: unknown
	At     moment
	Known  bool
	Fields []difference
	Keep   *forms.Form // form that sends the typed values for the stored version
	Take   string
}

// conflict shows the typed and the stored value of each field in which they differ. The member can keep the typed values or
// take the stored ones. id is the id of the record, or "" if the App interface does not return the id: then the page does not
// name who changed the record.
func (v *visit) conflict(mine, theirs *forms.Form, id, name string) error {
	data := conflictPage{Name: name, Take: mine.PagePath(), Keep: forms.New(mine.Action, "Keep mine")}
	data.Keep.Version = theirs.Version
	for _, field := range mine.Fields {
		if field.Kind == forms.Password {
			continue
		}
		for _, value := range field.Values {
			data.Keep.Fields = append(data.Keep.Fields, &forms.Field{Kind: forms.Hidden, Name: field.Name, Values: []string{value}})
		}
		if other := theirs.Field(field.Name); field.Text() != other.Text() {
			data.Fields = append(data.Fields, difference{field.Label, field.Text(), other.Text()})
		}
	}
	shown := &page{Title: "Somebody else changed this", Data: &data}
	var newest []app.AuditEntry
	if id != "" {
		found, _ := v.app.AuditEntries(v.Request.Context(), url.Values{"entityId": {id}, "limit": {"1"}}) // the page works without the name
		newest = found.Entries
	}
	me, _ := v.profile()
	// The page names the actor of the newest entry, unless that is the member. The member's own entry is usually about an
	// earlier change.
	if len(newest) == 1 && newest[0].Actor.ID != me.UserID {
		entry := newest[0]
		shown.now, shown.zone = v.pages.Process.Now(), v.zone()
		data.By, data.At, data.Known = entry.Actor.Email, shown.When(entry.OccurredAt), true
	}
	return v.showPage(http.StatusConflict, "conflict.html", shown)
}
