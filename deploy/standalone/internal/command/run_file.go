package command

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/bellbuoy/bellbuoy/libs/moving/transfer"
)

// runHeader is the first line of the file of a run.
type runHeader struct {
	Kind      string        `json:"kind"` // "run"
	RunID     string        `json:"runId"`
	URL       string        `json:"url"`
	Dashboard string        `json:"dashboard"` // slug; empty: all dashboards of the source
	Source    string        `json:"source"`
	File      string        `json:"file"`
	Only      []string      `json:"only"` // sorted
	Outages   time.Duration `json:"outages,omitempty"`
	StartedAt time.Time     `json:"startedAt"`
}

// same reports whether a run with the header h belongs to the import other. An import of other kinds, or with another value of
// Outages, is another import: if it resumed the run, the run would end without all of its records.
func (h runHeader) same(other runHeader) bool {
	return h.URL == other.URL && h.Dashboard == other.Dashboard && h.Source == other.Source && h.File == other.File &&
		slices.Equal(h.Only, other.Only) && h.Outages == other.Outages
}

// runFile is the file import-RUN.jsonl of a run. Before each piece, the run adds the records of the piece that it is about to
// create, except events. After the piece, it adds the records that it has created or updated. So the file is right even if the
// process is killed. A record of a later piece that a member creates after a kill is not one of the run. Only the owner can read
// the file.
type runFile struct {
	runHeader
	transfer.Journal
	file  *os.File
	fresh map[string]bool // names that this process has planned
}

func runName(runID string) string { return "import-" + runID + ".jsonl" }

// resumeRun returns the newest run of the same import in the present folder that is neither done nor undone. It returns
// nil if there is none.
func resumeRun(of runHeader) (*runFile, error) {
	names, err := filepath.Glob("import-*.jsonl")
	if err != nil {
		return nil, err
	}
	var found *runFile
	for _, name := range names {
		f, err := readRun(name)
		if err != nil {
			continue // another file
		}
		if f.same(of) && !f.Done && !f.Undone && (found == nil || f.StartedAt.After(found.StartedAt)) {
			found = f
		}
	}
	if found == nil {
		return nil, nil
	}
	found.disown()
	return found, found.open()
}

// disown removes from Planned the records that a later run in the present folder, to the same URL, has created. Such a run
// exists if the import was repeated with other kinds after an interruption.
func (f *runFile) disown() {
	names, _ := filepath.Glob("import-*.jsonl") // the pattern is valid
	for _, name := range names {
		other, err := readRun(name)
		if err != nil || other.RunID == f.RunID || other.URL != f.URL || other.StartedAt.Before(f.StartedAt) {
			continue
		}
		for record, o := range other.Written {
			if o.Status == transfer.Created {
				delete(f.Planned, record)
			}
		}
	}
}

// newRun creates the file of a new run.
func newRun(of runHeader) (*runFile, error) {
	of.Kind, of.RunID, of.StartedAt = "run", uuid.NewString(), time.Now().UTC().Truncate(time.Second)
	file, err := os.OpenFile(runName(of.RunID), os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create the file of the run: %w", err)
	}
	f := &runFile{runHeader: of, Journal: transfer.NewJournal(), file: file, fresh: map[string]bool{}}
	return f, f.append(of)
}

// readRun reads the file of a run. It ignores a last line without a line break, which a killed process has left.
func readRun(name string) (*runFile, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	f := &runFile{Journal: transfer.NewJournal(), fresh: map[string]bool{}}
	reader := bufio.NewReader(file)
	for first := true; ; first = false {
		text, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		var line transfer.JournalLine
		if first {
			err = json.Unmarshal(text, &f.runHeader)
		} else if err = json.Unmarshal(text, &line); err == nil {
			f.Add(line)
		}
		if err != nil {
			return nil, fmt.Errorf("%s is not the file of a run: %w", name, err)
		}
	}
	if f.Kind != "run" || uuid.Validate(f.RunID) != nil {
		return nil, fmt.Errorf("%s is not the file of a run", name)
	}
	return f, nil
}

// open opens the file to append lines to it. It removes a last line without a line break.
func (f *runFile) open() error {
	name := runName(f.RunID)
	content, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if whole := bytes.LastIndexByte(content, '\n') + 1; whole < len(content) {
		if err := os.Truncate(name, int64(whole)); err != nil {
			return err
		}
	}
	f.file, err = os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0o600)
	return err
}

// append writes lines and waits until they are on the disk.
func (f *runFile) append(records ...any) error {
	var text bytes.Buffer
	for _, record := range records {
		if err := json.NewEncoder(&text).Encode(record); err != nil {
			return err
		}
	}
	if text.Len() == 0 {
		return nil
	}
	_, err := f.file.Write(text.Bytes())
	if err = cmp.Or(err, f.file.Sync()); err != nil {
		return fmt.Errorf("write the file of the run: %w", err)
	}
	return nil
}

// unrecordedComponents returns the keys of components that the run was about to create and did not record.
func (f *runFile) unrecordedComponents() map[string]bool {
	keys := map[string]bool{}
	for _, o := range f.Unsettled() {
		if o.Kind == "component" {
			keys[o.Key] = true
		}
	}
	return keys
}

// plan adds the records that the run is about to create, except events.
func (f *runFile) plan(outcomes []transfer.Outcome) error {
	var records []any
	now := time.Now().UTC().Truncate(time.Millisecond)
	for _, o := range outcomes {
		_, planned := f.Planned[o.Name()]
		_, written := f.Written[o.Name()]
		if o.Status != transfer.Created || o.Kind == "event" || planned && !written {
			continue
		}
		if o.Since != nil { // others could create the record while the plan was made
			o.Since = &now
		}
		f.add(&records, transfer.JournalLine{Outcome: o, Planned: true})
		f.fresh[o.Name()] = true
	}
	return f.append(records...)
}

// found adds the records that the run was about to create before it was interrupted, and that exist now.
func (f *runFile) found(outcomes []transfer.Outcome) error {
	return f.wrote(slices.DeleteFunc(slices.Clone(outcomes), func(o transfer.Outcome) bool { return o.Status != transfer.Unchanged }))
}

// wrote adds the records that the run has created or updated. A planned record that a write finds unchanged counts as created,
// unless somebody else has created it.
func (f *runFile) wrote(outcomes []transfer.Outcome) error {
	var records []any
	for _, o := range outcomes {
		key := o.Name()
		before, planned := f.Planned[key]
		_, known := f.Written[key]
		// A record that this process has planned to create, and that its write finds unchanged, was created by somebody else.
		foreign := f.fresh[key] && slices.Contains([]string{"dashboard", "endpoint", "subscriber"}, o.Kind)
		if planned && !known && !foreign && o.Status == transfer.Unchanged {
			o.Status, o.Since = transfer.Created, before.Since
		}
		if planned && !known && o.Kind == "subscriber" && o.Status == transfer.Updated { // the request was repeated after a lost response
			o.Status = transfer.Created // Undo keeps a subscriber that no import has created
		}
		if known && !o.Undoable() || o.Status != transfer.Created && o.Status != transfer.Updated {
			continue
		}
		f.add(&records, transfer.JournalLine{Outcome: o})
	}
	return f.append(records...)
}

// add adds a line to the run, and to the records that append writes.
func (f *runFile) add(records *[]any, line transfer.JournalLine) {
	f.Add(line)
	*records = append(*records, line)
}

// remove deletes the file of a run that has written nothing.
func (f *runFile) remove() error {
	return os.Remove(runName(f.RunID))
}

// end adds the line that says that the run is done or undone.
func (f *runFile) end(kind string) error {
	return f.append(map[string]string{"kind": kind})
}
