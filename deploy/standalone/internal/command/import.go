package command

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/moving/download"
	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
	"github.com/bellbuoy/bellbuoy/libs/moving/source"
	"github.com/bellbuoy/bellbuoy/libs/moving/transfer"
)

type importCommands struct {
	From importCommand `cmd:"" default:"withargs" help:"Read SOURCE and write its records to a dashboard. The default."`
	Undo undoCommand   `cmd:"" help:"Delete what a run has created and nobody has changed since."`
}

type importCommand struct {
	platform
	Source        string        `arg:"" help:"Product that the file is from: ${sources}."`
	File          string        `arg:"" help:"File or folder of that product; for statuspage also https://api.statuspage.io/v1/pages/ID. deploy/moving.md says what to hand over."`
	Dashboard     string        `name:"dashboard" placeholder:"SLUG" xor:"to" help:"Dashboard that gets the records. A new one is created, disabled, with the settings of the source."`
	AllDashboards bool          `name:"all-dashboards" xor:"to" help:"Instead of --dashboard: each dashboard of the source becomes the one with its slug."`
	Lines         string        `name:"lines" placeholder:"OUT" xor:"to" help:"Instead of --dashboard: write the records to the file OUT. An existing file of lines is replaced; another file is not."`
	Only          []string      `name:"only" default:"components,events" help:"Kinds to take, with commas between them: components, events, subscribers, endpoints."`
	DryRun        bool          `name:"dry-run" help:"Print the plan and write nothing."`
	Ask           bool          `name:"ask" help:"Ask unconfirmed subscribers for a confirmation. Without it they are left out."`
	Force         bool          `name:"force" help:"Replace what a member has changed since an earlier import."`
	Timezone      string        `name:"timezone" placeholder:"ZONE" help:"IANA time zone of the times in the file that name none. UTC if absent."`
	Outages       time.Duration `name:"outages" placeholder:"5m" help:"For uptime-kuma: each outage of at least this time becomes a resolved incident."`
}

// Help is printed below the description of the commands.
func (importCommands) Help() string {
	return "The command reads everything, prints the plan, and then writes. Nobody is notified. It reads the key of the platform from BELLBUOY_APP_KEY, " +
		"and the key for an address from IMPORT_TOKEN. The file import-RUN.jsonl in the present folder names what the run has created. " +
		"If the command is interrupted, the same command in the same folder goes on, and writes nothing twice. " +
		"Each record that was lost, kept, refused or changed is one line on the standard error output. " +
		"Exit code 0: everything is there. 1: nothing was written. 2: something was lost, kept or refused, or the run is not complete."
}

// incomplete is the error of an import, an export or an undo that lost, changed, refused or kept something. count is the
// number of warnings, or, for an undo, of kept records.
type incomplete struct{ count int }

func (e incomplete) Error() string { return fmt.Sprintf("%d warnings", e.count) }

// ExitCode returns the exit code of the process.
func (incomplete) ExitCode() int { return 2 }

// Run reads the source and writes its records to a platform, or as lines to a file.
func (c *importCommand) Run(ctx context.Context) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	if c.Lines == "" {
		if err := c.check(appKey()); err != nil {
			return err
		}
	}
	set, err := c.read(ctx, o)
	if err != nil {
		return err
	}
	if c.Lines == "" {
		return c.move(ctx, set)
	}
	if err := writeLines(c.Lines, set); err != nil {
		return err
	}
	printWarnings(set)
	if err := printTable(contents(set)); err != nil {
		return err
	}
	if len(set.Warnings) > 0 {
		return incomplete{len(set.Warnings)}
	}
	return nil
}

// options checks the flags and returns the options for reading the source.
func (c *importCommand) options() (source.Options, error) {
	o := source.Options{Only: c.Only, Outages: c.Outages, Now: time.Now()}
	if c.Lines == "" && c.Dashboard == "" && !c.AllDashboards {
		return o, errors.New("give --dashboard SLUG, or --lines OUT to write a file of lines only")
	}
	if c.Lines != "" && (c.DryRun || c.Ask || c.Force) {
		return o, errors.New("--dry-run, --ask and --force belong to --dashboard")
	}
	for _, kind := range c.Only {
		if !slices.Contains([]string{"components", "events", "subscribers", "endpoints"}, kind) {
			return o, fmt.Errorf("--only: %q is unknown; possible are components, events, subscribers, endpoints", kind)
		}
	}
	if c.Outages < 0 || c.Outages > 0 && c.Source != "uptime-kuma" {
		return o, errors.New("--outages must be a positive time, and is for uptime-kuma")
	}
	if c.Timezone != "" {
		zone, err := time.LoadLocation(c.Timezone)
		if err != nil || c.Timezone == "Local" {
			return o, fmt.Errorf("--timezone: %q is no IANA time zone", c.Timezone)
		}
		o.Zone = zone
	}
	return o, nil
}

// move writes the set to the platform, or only prints the plan if DryRun is set.
func (c *importCommand) move(ctx context.Context, set *lines.Set) error {
	if err := transfer.Prepare(set, c.Dashboard); err != nil {
		return err
	}
	only := slices.Compact(slices.Sorted(slices.Values(c.Only)))
	m := &move{
		engine: &transfer.Engine{Sender: transfer.Paced(appSender{c.platform}), Ask: c.Ask, Force: c.Force},
		header: runHeader{URL: c.URL, Dashboard: c.Dashboard, Source: c.Source, File: c.File, Only: only, Outages: c.Outages}, dry: c.DryRun,
	}
	return m.Run(ctx, set)
}

func printWarnings(set *lines.Set) {
	for _, w := range set.Warnings {
		warn(w.Key, w.Field, w.Text)
	}
}

// warn prints one line about a record. Empty parts are left out.
func warn(parts ...string) {
	fmt.Fprintln(os.Stderr, plain(strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ": ")))
}

// read reads the source. If File is an address, read first saves its responses in a temporary folder.
func (c *importCommand) read(ctx context.Context, o source.Options) (*lines.Set, error) {
	if !strings.Contains(c.File, "://") {
		return c.readFiles(ctx, c.File, o)
	}
	if c.Source != "statuspage" {
		return nil, errors.New("only statuspage can be read from an address: give a file or folder")
	}
	folder, err := os.MkdirTemp("", "bellbuoy-import-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	subscribers := slices.Contains(c.Only, "subscribers") || slices.Contains(c.Only, "endpoints")
	if err := download.Statuspage(ctx, &http.Client{Timeout: time.Minute}, c.File, os.Getenv("IMPORT_TOKEN"), folder, subscribers); err != nil {
		return nil, err
	}
	return c.readFiles(ctx, folder, o)
}

// readFiles reads a file or folder. It returns an error as soon as ctx ends. The process, and with it the reader, ends then.
func (c *importCommand) readFiles(ctx context.Context, path string, o source.Options) (*lines.Set, error) {
	type result struct {
		set *lines.Set
		err error
	}
	done := make(chan result, 1)
	go func() {
		set, err := source.Read(ctx, c.Source, path, o)
		done <- result{set, err}
	}()
	select {
	case <-ctx.Done():
		return nil, errors.New("interrupted; nothing was written")
	case r := <-done:
		return r.set, r.err
	}
}

// contents returns a table with the number of records of each kind in the set.
func contents(set *lines.Set) [][]string {
	hidden, entries := 0, 0
	for _, c := range set.Components {
		if c.Hidden {
			hidden++
		}
	}
	for _, e := range set.Events {
		entries += len(e.Timeline)
	}
	rows := [][]string{{"KIND", "LINES"}}
	for _, row := range []struct {
		name  string
		count int
	}{
		{"dashboards", len(set.Dashboards)}, {"components, shown", len(set.Components) - hidden}, {"components, hidden", hidden},
		{"events", len(set.Events)}, {"entries of events", entries}, {"subscribers", len(set.Subscribers)},
		{"endpoints", len(set.Endpoints)}, {"warnings", len(set.Warnings)},
	} {
		rows = append(rows, []string{row.name, strconv.Itoa(row.count)})
	}
	return rows
}

// writeLines writes the lines to a new file, which replaces the file at path when it is whole. Only the owner can read
// the file, because it may have addresses of subscribers.
func writeLines(path string, set *lines.Set) error {
	if err := replaceable(path); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".bellbuoy-lines-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // has no effect after the rename
	if err := cmp.Or(set.Write(file), file.Sync()); err != nil {
		return errors.Join(err, file.Close())
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// replaceable returns an error if the file at path exists and is neither empty nor a file of lines.
func replaceable(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	start, err := io.ReadAll(io.LimitReader(file, 8))
	if err != nil {
		return err
	}
	if len(start) > 0 && !bytes.HasPrefix(start, []byte(`{"kind"`)) {
		return fmt.Errorf("%s exists and is no file of lines; choose another name", path)
	}
	return nil
}
