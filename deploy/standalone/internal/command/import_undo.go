package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/bellbuoy/bellbuoy/libs/moving/transfer"
)

type undoCommand struct {
	platform
	RunID string `arg:"" name:"run" help:"Id of the run. Its file import-RUN.jsonl must be in the present folder."`
}

// Help is printed below the description of the command.
func (undoCommand) Help() string {
	return "Each record that is kept is one line on the standard error output, with the reason. " +
		"Exit code 0: the run is undone. 1: nothing was deleted. 2: something was kept, or the undo is not complete: the same command goes on."
}

// Run undoes a run.
func (c *undoCommand) Run(ctx context.Context) error {
	if err := c.check(appKey()); err != nil {
		return err
	}
	if uuid.Validate(c.RunID) != nil {
		return errors.New("RUN must be the id of a run, such as 01890a5d-ac96-774b-bcce-b302099a8060")
	}
	f, err := readRun(runName(c.RunID))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is not in this folder; go to the folder in which the import ran", runName(c.RunID))
	case err != nil:
		return err
	case f.URL != c.URL:
		return fmt.Errorf("the run wrote to %s; set BELLBUOY_URL to this address", f.URL)
	}
	f.disown()
	if err := f.open(); err != nil {
		return err
	}
	defer f.file.Close()
	engine := &transfer.Engine{Sender: transfer.Paced(appSender{c.platform})}
	deleted, kept := 0, 0
	gone, stay := map[string]int{}, map[string]int{}
	for remaining := 1; remaining > 0 && err == nil; {
		if err = ctx.Err(); err == nil {
			var events transfer.UndoneEvents
			events, err = engine.UndoEvents(ctx, c.RunID)
			deleted, kept, remaining = deleted+events.Deleted, events.Kept, events.Remaining
		}
	}
	if err == nil && kept > 0 {
		warn("events", fmt.Sprintf("%d were changed after the import", kept))
	}
	if err == nil {
		f.warnOfUpdates(stay)
		kept += stay["event"]
	}
	outcomes := f.Undoable()
	var settled []transfer.Outcome
	if err == nil {
		settled, err = engine.Settle(ctx, f.Unsettled(), outcomes...)
	}
	rows := [][]string{{"UNDONE", "DELETED", "KEPT"}, {"event", strconv.Itoa(deleted), strconv.Itoa(kept)}}
	if err == nil {
		var done []any // lines of the file, so that the same command again does not count the records again
		err = engine.Undo(ctx, append(outcomes, settled...), func(u transfer.Undone) {
			switch {
			case !u.Gone:
				stay[u.Outcome.Kind]++
				warn(u.Outcome.Key, u.Text)
				return
			case !u.Before:
				gone[u.Outcome.Kind]++
			}
			done = append(done, transfer.JournalLine{Outcome: transfer.Outcome{Kind: u.Outcome.Kind, Key: u.Outcome.Key, DashboardID: u.Outcome.DashboardID, Dashboard: u.Outcome.Dashboard, Status: transfer.TakenBack}})
		})
		err = errors.Join(err, f.append(done...))
		for _, kind := range transfer.UndoOrder() {
			if gone[kind]+stay[kind] > 0 {
				rows = append(rows, []string{kind, strconv.Itoa(gone[kind]), strconv.Itoa(stay[kind])})
				deleted, kept = deleted+gone[kind], kept+stay[kind]
			}
		}
	}
	if err != nil {
		if deleted == 0 {
			return err
		}
		return unfinishedUndo{err}
	}
	if err := printTable(rows); err != nil {
		return err
	}
	if kept > 0 {
		return incomplete{kept}
	}
	return f.end("undone")
}

// warnOfUpdates prints a line for each record that the run has updated and that Undo does not restore, such as an event or a
// subscriber. It adds these records to count, by kind. Undo does not restore them, because their former state is not stored.
func (f *runFile) warnOfUpdates(count map[string]int) {
	for _, key := range slices.Sorted(maps.Keys(f.Written)) {
		if o := f.Written[key]; o.Status == transfer.Updated && !o.Undoable() {
			warn(o.Key, "keeps what the run has updated, because its former state is not stored")
			count[o.Kind]++
		}
	}
}

// unfinishedUndo is the error of an undo that has deleted only a part of the records.
type unfinishedUndo struct{ err error }

func (u unfinishedUndo) Error() string {
	text := "interrupted"
	if !errors.Is(u.err, context.Canceled) {
		text = u.err.Error()
	}
	return text + "; the undo is not complete: the same command goes on"
}

func (u unfinishedUndo) Unwrap() error { return u.err }

// ExitCode returns the exit code of the process.
func (unfinishedUndo) ExitCode() int { return 2 }
