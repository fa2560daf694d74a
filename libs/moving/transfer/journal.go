package transfer

import (
	"maps"
	"slices"
	"strings"
)

// TakenBack is the status, in the file of a run, of a record that an undo has deleted or restored.
const TakenBack Status = "undone"

// JournalLine is a line of the file of a run, as the command and the console write it: what the run has done with a record. A
// line of the kind done or undone is about the whole run.
type JournalLine struct {
	Outcome
	Planned bool `json:"planned,omitempty"` // the run was about to create the record
}

// Journal has the records that the file of a run names. The keys of its maps are those of Outcome.Name.
type Journal struct {
	Written map[string]Outcome // records that the run has created or updated
	Planned map[string]Outcome // records that the run was about to create
	Done    bool               // the run has written all it could
	Undone  bool               // the whole run was taken back
}

// NewJournal returns a journal without lines.
func NewJournal() Journal {
	return Journal{Written: map[string]Outcome{}, Planned: map[string]Outcome{}}
}

// Add adds a line. If the run has updated a record that it had written before, Add combines both lines: an undo restores the
// state before the run, and compares the record with the state that the run has left.
func (j *Journal) Add(l JournalLine) {
	name := l.Name()
	former, written := j.Written[name]
	switch {
	case l.Kind == "done":
		j.Done = true
	case l.Kind == "undone":
		j.Undone = true
	case l.Status == TakenBack:
		delete(j.Written, name)
		delete(j.Planned, name)
	case l.Planned: // the record does not exist now
		j.Planned[name] = l.Outcome
		delete(j.Written, name)
	case written && former.Undoable() && l.Status == Updated && l.ID == former.ID:
		j.Written[name] = former.again(l.Outcome)
	default:
		j.Written[name] = l.Outcome
	}
}

// again returns the outcome of a record that the run has written as o says, and then updated. If somebody else has changed the
// record between, again returns o, so that Undo keeps the record.
func (o Outcome) again(update Outcome) Outcome {
	settings, content, hasContent := strings.Cut(o.Mark, "+")
	if !update.Undoable() || update.Was != settings {
		return o
	}
	if o.Mark = update.Mark; hasContent {
		o.Mark += "+" + content
	}
	var members, first map[string]any
	if o.Status == Updated && remarshal(update.Before, &members) == nil && remarshal(o.Before, &first) == nil {
		maps.Copy(members, first)
		o.Before = members
	}
	return o
}

// Undoable returns the written records that an undo needs, by name.
func (j *Journal) Undoable() []Outcome {
	return inOrder(j.Written, func(_ string, o Outcome) bool { return o.Undoable() })
}

// Unsettled returns the records that the run was about to create, and of which no line says that it has written them, by name.
// Settle finds out which of them exist. A run that is done has none.
func (j *Journal) Unsettled() []Outcome {
	return inOrder(j.Planned, func(name string, o Outcome) bool {
		_, written := j.Written[name]
		return !j.Done && !written && o.Undoable() && o.Status == Created
	})
}

func inOrder(records map[string]Outcome, wanted func(name string, o Outcome) bool) (all []Outcome) {
	for _, name := range slices.Sorted(maps.Keys(records)) {
		if o := records[name]; wanted(name, o) {
			all = append(all, o)
		}
	}
	return all
}
