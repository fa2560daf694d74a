package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/mattn/go-isatty"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
	"github.com/bellbuoy/bellbuoy/libs/moving/transfer"
)

// move is an import into a platform. Run plans all pieces, and then writes them unless dry is set.
type move struct {
	engine  *transfer.Engine
	header  runHeader
	dry     bool
	pieces  []*lines.Set
	plans   [][]transfer.Outcome // by piece
	state   transfer.State
	run     *runFile // nil before write, unless an interrupted run goes on
	resumed bool     // run is an interrupted run that goes on
}

// halted is the error of a run that ended before it was complete. It may have written a part of its records.
type halted struct {
	err   error
	runID string
}

func (h halted) Error() string {
	text := "interrupted"
	if !errors.Is(h.err, context.Canceled) {
		text = h.err.Error()
	}
	return fmt.Sprintf("%s; the run %s is not complete: the same command in this folder goes on, bellbuoy import undo %s takes it back", text, h.runID, h.runID)
}

func (h halted) Unwrap() error { return h.err }

// ExitCode returns the exit code of the process.
func (halted) ExitCode() int { return 2 }

// Run prints the plan. Unless dry is set or the plan of a new run needs no write, it writes the pieces and prints the outcomes.
func (m *move) Run(ctx context.Context, set *lines.Set) error {
	printWarnings(set)
	warnings := len(set.Warnings)
	m.pieces = transfer.Split(set)
	if err := m.plan(ctx); err != nil {
		if errors.Is(err, context.Canceled) {
			return errors.New("interrupted; nothing was written")
		}
		return err
	}
	planned := slices.Concat(m.plans...)
	if err := printTable(counts("PLAN", planned)); err != nil {
		return err
	}
	m.resumed = m.run != nil
	if m.dry || !m.resumed && !writes(planned) {
		return m.finish(planned, warnings)
	}
	outcomes, err := m.write(ctx, planned)
	if err != nil {
		return err
	}
	if err := printTable(counts("WRITTEN", outcomes)); err != nil {
		return err
	}
	if len(m.run.Written) == 0 {
		if err := m.run.remove(); err != nil {
			return err
		}
		return m.finish(outcomes, warnings)
	}
	fmt.Printf("run %s: %s names what it created; bellbuoy import undo %s takes it back\n", m.run.RunID, runName(m.run.RunID), m.run.RunID)
	for _, o := range outcomes {
		if o.Kind == "dashboard" && o.Status == transfer.Created {
			fmt.Println("The new dashboard is disabled: look at it in the console, and enable it there.")
			break
		}
	}
	return m.finish(outcomes, warnings)
}

// finish prints a line for each outcome that warns. It returns an error if there are such outcomes, or if warnings were
// printed before.
func (m *move) finish(outcomes []transfer.Outcome, warnings int) error {
	for _, o := range outcomes {
		if o.Warns() {
			warn(o.Key, string(o.Status), o.Text)
			warnings++
		}
	}
	if warnings > 0 {
		return incomplete{warnings}
	}
	return nil
}

// writes reports whether one of the outcomes of a plan needs a write.
func writes(planned []transfer.Outcome) bool {
	return slices.ContainsFunc(planned, func(o transfer.Outcome) bool { return o.Status == transfer.Created || o.Status == transfer.Updated })
}

// plan fills plans. It stores in state which records exist. It resumes an interrupted run of the same import, unless dry is
// set.
func (m *move) plan(ctx context.Context) (err error) {
	resumed, err := resumeRun(m.header)
	if err != nil {
		return err
	}
	if resumed != nil && !m.dry {
		m.run = resumed
		m.state.RunID, m.state.Planned = resumed.RunID, resumed.unrecordedComponents()
		fmt.Fprintf(os.Stderr, "The run %s goes on.\n", resumed.RunID)
	}
	progress := newProgress("plan", m.pieces)
	for _, piece := range m.pieces {
		outcomes, err := m.engine.Plan(ctx, &m.state, piece)
		if err != nil {
			return err
		}
		m.plans = append(m.plans, outcomes)
		if m.run != nil {
			m.madeBefore(outcomes)
		}
		progress.add(piece)
	}
	progress.end()
	return nil
}

// madeBefore adds to the state the dashboards that the interrupted run has created. The plan of the components needs these ids.
func (m *move) madeBefore(outcomes []transfer.Outcome) {
	for _, o := range outcomes {
		if _, planned := m.run.Planned[o.Name()]; planned && o.Kind == "dashboard" && o.ID != "" {
			m.state.Made[o.ID] = true
		}
	}
}

// write writes the pieces whose plan needs a write. It returns the outcomes of all pieces.
func (m *move) write(ctx context.Context, planned []transfer.Outcome) (all []transfer.Outcome, err error) {
	if m.run == nil {
		if m.run, err = newRun(m.header); err != nil {
			return nil, err
		}
	}
	defer m.run.file.Close()
	m.state.RunID, m.state.Made = m.run.RunID, map[string]bool{}
	if err := m.run.found(planned); err != nil {
		return nil, err
	}
	for _, o := range m.run.Written {
		if o.Kind == "dashboard" && o.Status == transfer.Created {
			m.state.Made[o.ID] = true
		}
	}
	progress := newProgress("write", m.pieces)
	for i, piece := range m.pieces {
		outcomes := m.plans[i]
		// The interrupted run may have written events without their aliases, which the plan does not show.
		if writes(outcomes) || m.resumed && len(piece.Events) > 0 {
			if err := m.run.plan(outcomes); err != nil {
				progress.end()
				return nil, halted{err, m.run.RunID}
			}
			var failed error
			outcomes, failed = m.engine.Write(ctx, &m.state, piece)
			if err := errors.Join(m.run.wrote(outcomes), failed); err != nil {
				progress.end()
				if refused, is := errors.AsType[*transfer.Refused](failed); is && refused.Status < http.StatusInternalServerError && !m.resumed && len(m.run.Written) == 0 {
					return nil, errors.Join(failed, m.run.remove()) // nothing was written
				}
				return nil, halted{err, m.run.RunID}
			}
		}
		all = append(all, outcomes...)
		progress.add(piece)
	}
	progress.end()
	return all, m.run.end("done")
}

// counts returns a table with the number of records by kind and status.
func counts(title string, outcomes []transfer.Outcome) [][]string {
	statuses := []transfer.Status{transfer.Created, transfer.Updated, transfer.Unchanged, transfer.Kept, transfer.Declined, transfer.Dropped}
	byKind := map[string]map[transfer.Status]int{}
	for _, o := range outcomes {
		if o.Kind == "placement" && o.Status == transfer.Unchanged { // the placement belongs to a component that is counted
			continue
		}
		if byKind[o.Kind] == nil {
			byKind[o.Kind] = map[transfer.Status]int{}
		}
		byKind[o.Kind][o.Status]++
	}
	rows := [][]string{{title, "CREATED", "UPDATED", "UNCHANGED", "KEPT", "REFUSED", "DROPPED"}}
	order := []string{"dashboard", "component", "event", "alias", "placement", "subscriber", "endpoint"}
	for _, kind := range slices.SortedFunc(maps.Keys(byKind), func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) }) {
		row := []string{kind}
		for _, status := range statuses {
			row = append(row, strconv.Itoa(byKind[kind][status]))
		}
		rows = append(rows, row)
	}
	return rows
}

// progressEvery is the time between two lines of progress, unless the standard error output is a terminal.
const progressEvery = 10 * time.Second

// progress prints how many records are done. On a terminal, it prints one line and replaces it.
type progress struct {
	what        string
	done, total int
	terminal    bool
	last        time.Time
	shown       bool // the line was printed on a terminal
}

func newProgress(what string, pieces []*lines.Set) *progress {
	p := &progress{what: what, terminal: isatty.IsTerminal(os.Stderr.Fd()), last: time.Now()}
	for _, piece := range pieces {
		p.total += records(piece)
	}
	return p
}

func records(s *lines.Set) int {
	return len(s.Dashboards) + len(s.Components) + len(s.Events) + len(s.Subscribers) + len(s.Endpoints)
}

func (p *progress) add(piece *lines.Set) {
	p.done += records(piece)
	switch {
	case p.terminal:
		fmt.Fprintf(os.Stderr, "\r%s: %d of %d records", p.what, p.done, p.total)
		p.shown = true
	case time.Since(p.last) >= progressEvery:
		fmt.Fprintf(os.Stderr, "%s: %d of %d records\n", p.what, p.done, p.total)
		p.last = time.Now()
	}
}

// end ends the line on a terminal.
func (p *progress) end() {
	if p.shown {
		fmt.Fprintln(os.Stderr)
	}
}
