package pages

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/bellbuoy/bellbuoy/libs/moving/transfer"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

// mostUndone is the maximum number of outcomes that undo undoes before it checks the time again.
const mostUndone = 100

// moveUndoPiece undoes a part of a run. If the body has planned outcomes, it only returns those whose records exist. If the
// body has no outcomes, it undoes events of the run. Otherwise it undoes the first 1,000 outcomes.
func (p *pages) moveUndoPiece(v *visit) error {
	var part movePart
	err := readPart(v, func(read movePart) error {
		part = read
		return nil
	})
	if err != nil {
		return err
	}
	answer, engine := moveAnswer{}, v.engine(false, false)
	if len(part.Planned) > 0 {
		answer.Outcomes, err = engine.Settle(v.Request.Context(), part.Planned, part.Outcomes...)
		return v.answer(answer, err)
	}
	if len(part.Outcomes) == 0 {
		if uuid.Validate(part.RunID) != nil {
			return v.json(moveAnswer{Problem: "Enter the id of a run, such as 01890a5d-ac96-774b-bcce-b302099a8060."})
		}
		undone, err := engine.UndoEvents(v.Request.Context(), part.RunID)
		answer.Gone, answer.Kept, answer.Left = undone.Deleted, undone.Kept, undone.Remaining
		return v.answer(answer, err)
	}
	err = engine.Undo(v.Request.Context(), part.Outcomes[:min(len(part.Outcomes), 1000)], func(u transfer.Undone) {
		answer.Undone = append(answer.Undone, moveUndone{u.Outcome.Kind, u.Outcome.Key, u.Gone, u.Text})
	})
	return v.answer(answer, err)
}

// moveUndoPage is the data of move_undo.html.
type moveUndoPage struct {
	Form   *forms.Form
	Result *undoResult // nil: nothing is undone yet
}

// undoResult is the result of an undo.
type undoResult struct {
	Gone    int
	Kept    []moveLoss
	Stopped string
	Next    *forms.Form // form that goes on with the undo; nil: the undo is complete
}

// Shown returns the kept records that the page lists.
func (r undoResult) Shown() []moveLoss { return r.Kept[:min(shownRefusals, len(r.Kept))] }

func moveUndoForm() *forms.Form {
	form := forms.New(movePath+"/undo", "Undo the import",
		&forms.Field{Kind: forms.Text, Name: "run", Label: "Id of the run", Required: true, Max: 36, Placeholder: "01890a5d-ac96-774b-bcce-b302099a8060"},
		&forms.Field{Kind: forms.File, Name: "file", Label: "File of the run", Plain: true},
		&forms.Field{Kind: forms.Hidden, Name: "record", Max: web.MaxBody})
	form.Danger, form.Cancel = true, movePath
	return form
}

// moveUndo undoes a run. The id of the run is enough for its events. The file of the run names the other records.
func (p *pages) moveUndo(v *visit) error {
	data := moveUndoPage{Form: moveUndoForm()}
	v.fill(data.Form)
	show := func(status int) error {
		return v.showPage(status, "move_undo.html", &page{Title: "Undo an import", Data: data, Move: data.Result == nil})
	}
	if !v.isPost() {
		return show(http.StatusOK)
	}
	return v.submit(data.Form, func() error {
		form := data.Form
		written, planned, err := outcomesOf(cmp.Or(form.Upload("file"), form.Value("record")))
		if err != nil {
			form.Field("file").Problem = firstUpper(err.Error()) + "."
		}
		if uuid.Validate(form.Value("run")) != nil {
			form.Field("run").Problem = "Enter the id of a run, such as " + form.Field("run").Placeholder + "."
		}
		if !form.OK() {
			return show(http.StatusUnprocessableEntity)
		}
		data.Result = v.undo(form, written, planned)
		return show(http.StatusOK)
	}, show)
}

// undo undoes a run until the time of one request has run out. planned are outcomes whose records may not exist.
func (v *visit) undo(form *forms.Form, outcomes, planned []transfer.Outcome) *undoResult {
	ctx, engine, result := v.Request.Context(), v.engine(false, false), &undoResult{}
	deadline := time.Now().Add(importTime)
	var failed error
	left := 1
	for left > 0 && failed == nil && time.Now().Before(deadline) {
		var events transfer.UndoneEvents
		events, failed = engine.UndoEvents(ctx, form.Value("run"))
		if result.Gone += events.Deleted; failed == nil {
			if left = events.Remaining; left == 0 && events.Kept > 0 {
				result.Kept = append(result.Kept, moveLoss{Key: counted(events.Kept, "event"), Text: "changed after the import"})
			}
		}
	}
	if left == 0 && failed == nil && len(planned) > 0 {
		var found []transfer.Outcome
		if found, failed = engine.Settle(ctx, planned, outcomes...); failed == nil {
			outcomes, planned = append(outcomes, found...), nil
		}
	}
	order := transfer.UndoOrder() // dashboards come last
	slices.SortStableFunc(outcomes, func(a, b transfer.Outcome) int { return slices.Index(order, a.Kind) - slices.Index(order, b.Kind) })
	for len(outcomes) > 0 && left == 0 && failed == nil && time.Now().Before(deadline) {
		n := min(mostUndone, len(outcomes))
		failed = engine.Undo(ctx, outcomes[:n], func(u transfer.Undone) {
			if result.Gone++; !u.Gone {
				result.Gone--
				result.Kept = append(result.Kept, moveLoss{Key: u.Outcome.Key, Text: u.Text})
			}
		})
		if failed == nil {
			outcomes = outcomes[n:]
		}
	}
	if left == 0 && len(outcomes) == 0 && failed == nil {
		return result
	}
	if result.Stopped = "The time of one request has run out."; failed != nil {
		result.Stopped = textOfMove(failed)
	}
	result.Next = forms.New(movePath+"/undo", "Go on",
		&forms.Field{Kind: forms.Hidden, Name: "run", Values: []string{form.Value("run")}}, &forms.Field{Kind: forms.Hidden, Name: "record", Values: []string{recordOf(outcomes, false) + recordOf(planned, true)}})
	return result
}

// recordOf returns the outcomes that an undo needs, as lines of the file of a run.
func recordOf(outcomes []transfer.Outcome, planned bool) string {
	var text strings.Builder
	for _, o := range undoable(outcomes) {
		text.WriteString(marshal(transfer.JournalLine{Outcome: o, Planned: planned}) + "\n")
	}
	return text.String()
}

// outcomesOf reads the file of a run, of the console or of the command. It returns the outcomes that were written, and those
// that the run was about to create and whose result is unknown.
func outcomesOf(text string) (written, planned []transfer.Outcome, err error) {
	journal := transfer.NewJournal()
	for line := range strings.Lines(text) {
		var l transfer.JournalLine
		if strings.TrimSpace(line) == "" {
			continue
		}
		if err := unmarshal(line, &l); err != nil || l.Kind == "" {
			return nil, nil, errors.New("this is not the file of a run")
		}
		journal.Add(l)
	}
	return journal.Undoable(), journal.Unsettled(), nil
}
