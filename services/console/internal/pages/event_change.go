package pages

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

// askEvent is ask for a change of the event in the path. do gets the version that the member has seen.
func (v *visit) askEvent(title, text, label, path string, danger bool, points []string, do func(e app.EventDetail, version int64) error) error {
	found, err := v.app.Event(v.Request.Context(), v.Param("id"))
	if err != nil {
		return err
	}
	e := found.Event
	form := forms.New(eventAt(e.ID)+path, label)
	form.Danger = danger
	return v.askAbout(e, strings.ReplaceAll(title, "%s", isolate(e.Title)), confirm{Back: eventAt(e.ID), BackLabel: e.Title, Text: text, Points: points, Form: form},
		func(version int64) error { return do(e, version) })
}

// changedMeanwhile is the problem of a form that shows no value of the event, if the event was changed after the member saw
// it.
const changedMeanwhile = "Somebody else has changed the event meanwhile. Look at it before you go on."

// askAbout is ask for a change of an event or of a part of it. If the event was changed after the member saw it, the page
// asks again with changedMeanwhile.
func (v *visit) askAbout(e app.EventDetail, title string, c confirm, do func(version int64) error) error {
	c.Form.Version = cmp.Or(v.undoneVersion(), e.Version)
	return v.ask(title, c, func() error {
		err := do(c.Form.Version)
		if outdated(err, c.Form.Version, e.Version) {
			c.Form.Version = e.Version
			return &app.Error{Status: http.StatusConflict, Message: changedMeanwhile}
		}
		return err
	})
}

// undoneVersion returns the version in the address, or 0. Only the address of a button Undo has a version.
func (v *visit) undoneVersion() int64 {
	version, _ := strconv.ParseInt(v.Query("version"), 10, 64)
	return max(0, version)
}

// undoOf returns the address of a button Undo. The address names the version of the event, so the button changes an event
// only if nobody has changed it meanwhile.
func undoOf(e app.Event, path string) string {
	return eventAt(e.ID) + path + "?version=" + strconv.FormatInt(e.Version, 10)
}

// eventWithdraw makes an event a draft.
func (p *pages) eventWithdraw(v *visit) error {
	return v.askEvent("Withdraw “%s”?", "The event becomes a draft. Nobody is notified.", "Withdraw the event", "/withdraw", false,
		[]string{"It disappears from all dashboards, with its updates.", "Its components are operational, unless another event affects them.", "Messages that were delivered stay with their recipients.", "You can publish it again."},
		func(e app.EventDetail, version int64) error {
			publish := false
			changed, err := v.app.ChangeEvent(v.Request.Context(), e.ID, version, app.EventChange{Publish: &publish})
			if err != nil {
				return err
			}
			v.notify("withdrawn", "", undoOf(changed.Event.Event, "/publish"))
			return v.redirect(eventAt(e.ID))
		})
}

// eventDelete deletes an event.
func (p *pages) eventDelete(v *visit) error {
	return v.askEvent("Delete “%s”?", "This cannot be reversed. To take the event off the dashboards only, withdraw it.", "Delete the event", "/delete", true,
		[]string{"Its updates, notes and post-mortem are deleted.", "It no longer counts in uptime reports.", "Nobody is notified."},
		func(e app.EventDetail, version int64) error {
			if _, err := v.app.DeleteEvent(v.Request.Context(), e.ID, version); err != nil {
				return err
			}
			v.notify("deleted", e.Title, "")
			return v.redirect(eventsPath)
		})
}

// findEntry returns the event in the path, and the entry of its timeline that the path names.
func (v *visit) findEntry() (app.EventDetail, app.Entry, error) {
	return partOfEvent(v, func(e app.EventDetail) []app.Entry { return e.Timeline }, func(entry app.Entry) bool { return entry.StatusID == v.Param("entry") })
}

// findNote returns the event in the path, and its note that the path names.
func (v *visit) findNote() (app.EventDetail, app.Note, error) {
	return partOfEvent(v, func(e app.EventDetail) []app.Note { return e.Notes }, func(note app.Note) bool { return note.NoteID == v.Param("note") })
}

// partOfEvent returns the event in the path, and its part for which is returns true, or errNotFound.
func partOfEvent[T any](v *visit, parts func(app.EventDetail) []T, is func(T) bool) (e app.EventDetail, part T, err error) {
	found, err := v.app.Event(v.Request.Context(), v.Param("id"))
	if err != nil {
		return e, part, err
	}
	all := parts(found.Event)
	at := slices.IndexFunc(all, is)
	if at < 0 {
		return found.Event, part, errNotFound
	}
	return found.Event, all[at], nil
}

// entryEdit corrects an entry. A correction notifies nobody.
func (p *pages) entryEdit(v *visit) error {
	e, entry, err := v.findEntry()
	if err != nil {
		return err
	}
	zone := v.zone()
	formOf := func(entry app.Entry) *forms.Form {
		form := forms.New(eventAt(e.ID)+"/timeline/"+entry.StatusID, "Save the correction",
			&forms.Field{Kind: forms.Area, Name: "message", Label: "Message", Required: true, Max: 20_000, Hint: notation, Values: []string{typedText(entry.Message)}}, timeField("timestamp", "Time", zone))
		form.Field("timestamp").SetTime(&entry.Timestamp, zone)
		form.Cancel, form.Version = eventAt(e.ID), e.Version
		return form
	}
	form := formOf(entry)
	v.fill(form)
	show := func(status int) error {
		return v.show(status, "form.html", "Correct the update", formPage{eventAt(e.ID), e.Title, "A correction changes what dashboards show. It notifies nobody.", form})
	}
	if !v.isPost() {
		return show(http.StatusOK)
	}
	return v.submit(form, func() error {
		in := app.EntryChange{Message: richText(form.Value("message"), entry.Message), Timestamp: eventForm{Form: form, zone: zone}.changedTime("timestamp", &entry.Timestamp)}
		if !form.OK() {
			return show(http.StatusUnprocessableEntity)
		}
		_, err := v.app.CorrectEntry(v.Request.Context(), e.ID, entry.StatusID, form.Version, in)
		if outdated(err, form.Version, e.Version) {
			return v.conflict(form, formOf(entry), e.ID, e.Title)
		}
		if err != nil {
			return err
		}
		return v.done(eventAt(e.ID), "corrected")
	}, show)
}

// entryDelete deletes an entry.
func (p *pages) entryDelete(v *visit) error {
	e, entry, err := v.findEntry()
	if err != nil {
		return err
	}
	form := forms.New(eventAt(e.ID)+"/timeline/"+entry.StatusID+"/delete", "Delete the update")
	form.Danger = true
	return v.askAbout(e, "Delete this update?", confirm{
		Back: eventAt(e.ID), BackLabel: e.Title, Text: "This cannot be reversed. Nobody is notified.", Points: []string{"It disappears from all dashboards.", "Messages that were delivered stay with their recipients."}, Form: form,
	}, func(version int64) error {
		if _, err := v.app.DeleteEntry(v.Request.Context(), e.ID, entry.StatusID, version); err != nil {
			return err
		}
		return v.done(eventAt(e.ID), "entry-deleted")
	})
}

// noteAdd adds an internal note.
func (p *pages) noteAdd(v *visit) error {
	form := forms.New(eventAt(v.Param("id"))+"/notes", "Add the note", &forms.Field{Kind: forms.Area, Name: "note", Label: "New note", Required: true, Max: 5000})
	form.Page = eventAt(v.Param("id"))
	show := func(status int) error {
		if _, err := v.app.Event(v.Request.Context(), v.Param("id")); err != nil {
			return err
		}
		return v.show(status, "form.html", "Add a note", formPage{form.Page, "Back to the event", "Notes are internal. Visitors never see them.", form})
	}
	return v.submit(form, func() error {
		if _, err := v.app.AddNote(v.Request.Context(), v.Param("id"), app.NoteText{Note: form.Value("note")}); err != nil {
			return err
		}
		return v.done(form.Page+"#notes", "saved")
	}, show)
}

// noteEdit changes an internal note.
func (p *pages) noteEdit(v *visit) error {
	e, note, err := v.findNote()
	if err != nil {
		return err
	}
	formOf := func() *forms.Form {
		form := forms.New(eventAt(e.ID)+"/notes/"+note.NoteID, "Save the note", &forms.Field{Kind: forms.Area, Name: "note", Label: "Note", Required: true, Max: 5000, Values: []string{note.Note}})
		form.Cancel, form.Version = eventAt(e.ID), e.Version
		return form
	}
	form := formOf()
	v.fill(form)
	show := func(status int) error {
		return v.show(status, "form.html", "Change the note", formPage{eventAt(e.ID), e.Title, "Notes are internal. Visitors never see them.", form})
	}
	if !v.isPost() {
		return show(http.StatusOK)
	}
	return v.submit(form, func() error {
		_, err := v.app.ChangeNote(v.Request.Context(), e.ID, note.NoteID, form.Version, app.NoteText{Note: form.Value("note")})
		if outdated(err, form.Version, e.Version) {
			return v.conflict(form, formOf(), e.ID, e.Title)
		}
		if err != nil {
			return err
		}
		return v.done(eventAt(e.ID)+"#notes", "saved")
	}, show)
}

// noteDelete deletes an internal note.
func (p *pages) noteDelete(v *visit) error {
	e, note, err := v.findNote()
	if err != nil {
		return err
	}
	form := forms.New(eventAt(e.ID)+"/notes/"+note.NoteID+"/delete", "Delete the note")
	form.Danger = true
	return v.askAbout(e, "Delete this note?", confirm{Back: eventAt(e.ID), BackLabel: e.Title, Text: "This cannot be reversed.", Form: form}, func(version int64) error {
		if _, err := v.app.DeleteNote(v.Request.Context(), e.ID, note.NoteID, version); err != nil {
			return err
		}
		return v.done(eventAt(e.ID)+"#notes", "note-deleted")
	})
}

// postMortemForm returns the form of the post-mortem, which is a report after the end of an event.
func postMortemForm(e app.EventDetail) *forms.Form {
	area := func(name, label, hint string) *forms.Field {
		return &forms.Field{Kind: forms.Area, Name: name, Label: label, Hint: hint, Max: 50_000}
	}
	form := forms.New(eventAt(e.ID)+"/post-mortem", "Save", area("summary", "Summary", "What happened, in a few sentences."), area("rootCause", "Root cause", ""), area("impact", "Impact", ""),
		area("resolution", "Resolution", ""), area("lessonsLearned", "Lessons learned", ""),
		area("actionItems", "Action items", "One on each line: what, owner, due date. For example: Add an alert; Grace; 2026-03-01. A line that begins with x is done."),
		&forms.Field{Kind: forms.Tick, Name: "published", Label: "Publish", Hint: "Dashboards then show the post-mortem with the event."}, notifyField())
	form.Field("summary").Required = true
	form.Field("notify").Label = "Notify, if it is published"
	form.Field("notify").Values = nil
	form.Cancel, form.Version = eventAt(e.ID), e.Version
	if report := e.PostMortem; report != nil {
		for name, value := range map[string]*string{"summary": &report.Summary, "rootCause": report.RootCause, "impact": report.Impact, "resolution": report.Resolution, "lessonsLearned": report.LessonsLearned} {
			if value != nil {
				form.Field(name).Values = []string{typedText(*value)}
			}
		}
		form.Field("actionItems").Values = []string{writeItems(report.ActionItems)}
		if report.Published {
			form.Field("published").Values = []string{"on"}
		}
	}
	return form
}

// writeItems returns action items as lines that readItems can read.
func writeItems(items []app.ActionItem) string {
	var lines []string
	for _, item := range items {
		parts := []string{item.Text}
		if item.Owner != nil || item.DueDate != nil {
			owner := ""
			if item.Owner != nil {
				owner = *item.Owner
			}
			parts = append(parts, owner)
		}
		if item.DueDate != nil {
			parts = append(parts, *item.DueDate)
		}
		line := strings.Join(parts, "; ")
		if item.Done {
			line = "x " + line
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

var likeDate = regexp.MustCompile(`^\d{4}-\d+-\d+$`)

// readItems returns the action items of lines, or the first line that it cannot read. A line is "what; owner; date". The date
// may be missing, or the owner and the date. A line that begins with "x " is an item that is done.
func readItems(text string) (items []app.ActionItem, wrong string) {
	items = []app.ActionItem{}
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		rest, done := strings.CutPrefix(line, "x ")
		parts := strings.Split(rest, ";")
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		item := app.ActionItem{Done: done}
		if last := parts[len(parts)-1]; len(parts) > 1 {
			if _, err := time.Parse(time.DateOnly, last); err == nil {
				item.DueDate, parts = &last, parts[:len(parts)-1]
			} else if likeDate.MatchString(last) {
				return nil, line
			}
		}
		if len(parts) > 1 {
			if owner := parts[len(parts)-1]; owner != "" {
				item.Owner = &owner
			}
			parts = parts[:len(parts)-1]
		}
		if item.Text = strings.Join(parts, "; "); item.Text == "" {
			return nil, line
		}
		items = append(items, item)
	}
	return items, ""
}

// postMortem shows and stores the post-mortem of an event.
func (p *pages) postMortem(v *visit) error {
	found, err := v.app.Event(v.Request.Context(), v.Param("id"))
	if err != nil {
		return err
	}
	e := found.Event
	form := postMortemForm(e)
	v.fill(form)
	show := func(status int) error {
		return v.show(status, "form.html", "Post-mortem", formPage{eventAt(e.ID), e.Title, "A report on what happened and what you have learned. It stays internal until you publish it. " + notation, form})
	}
	if !v.isPost() {
		return show(http.StatusOK)
	}
	return v.submit(form, func() error {
		var was app.PostMortem
		if e.PostMortem != nil {
			was = *e.PostMortem
		}
		text := func(name string, former *string) string {
			if former == nil {
				former = new(string)
			}
			return richText(form.Value(name), *former)
		}
		items, wrong := readItems(form.Value("actionItems"))
		if kept := strings.TrimSpace(writeItems(was.ActionItems)); kept != "" && form.Value("actionItems") == kept {
			items, wrong = was.ActionItems, "" // an item of a program can have a semicolon, or begin with x
		}
		if wrong != "" {
			form.Field("actionItems").Problem = "Write each line as “what; owner; 2026-03-01”, without the owner and the date if there are none. This line is not like that: " + wrong
			return show(http.StatusUnprocessableEntity)
		}
		in := app.PostMortemChange{
			Summary: text("summary", &was.Summary), RootCause: text("rootCause", was.RootCause), Impact: text("impact", was.Impact), Resolution: text("resolution", was.Resolution),
			LessonsLearned: text("lessonsLearned", was.LessonsLearned), ActionItems: items, Published: form.Ticked("published"),
		}
		if in.Published {
			in.Notify = channelsOf(form.Field("notify"))
		}
		_, err := v.app.SetPostMortem(v.Request.Context(), e.ID, form.Version, in)
		if outdated(err, form.Version, e.Version) {
			return v.conflict(form, postMortemForm(e), e.ID, e.Title)
		}
		if err != nil {
			return err
		}
		return v.done(eventAt(e.ID)+"#post-mortem", "saved")
	}, show)
}

// postMortemDelete deletes the post-mortem of an event.
func (p *pages) postMortemDelete(v *visit) error {
	return v.askEvent("Delete the post-mortem of “%s”?", "This cannot be reversed. Nobody is notified.", "Delete the post-mortem", "/post-mortem/delete", true, nil,
		func(e app.EventDetail, version int64) error {
			if _, err := v.app.DeletePostMortem(v.Request.Context(), e.ID, version); err != nil {
				return err
			}
			return v.done(eventAt(e.ID), "report-deleted")
		})
}
