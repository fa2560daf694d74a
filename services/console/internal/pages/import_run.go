package pages

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
	"github.com/bellbuoy/bellbuoy/services/console/internal/sheet"
)

const (
	// pieceRows and pieceBytes bound the rows of one call of the App interface, whose body has at most 1 MiB.
	pieceRows  = 1000
	pieceBytes = 768 << 10
)

// refusal is a refused row.
type refusal struct {
	Line    int    `json:"line"`
	Address string `json:"address"`
	Reason  string `json:"reason"`
	Row     string `json:"row,omitempty"` // the row with the reason, as a line of a list
	cells   []string
}

// importOutcome is the result of the rows that were checked or written.
type importOutcome struct {
	Created int       `json:"created"`
	Updated int       `json:"updated"`
	Refused []refusal `json:"refused"`
	Count   int       `json:"-"` // number of rows from the beginning of the list that have a result
}

// importRun checks or writes rows in pieces.
type importRun struct {
	importOutcome
	v          *visit
	channel    app.Channel
	in         app.Import
	components []sheet.Component
	dashboard  app.Dashboard
	named      map[string]int // number of dashboards by name or id, from countNames; nil: the list has no column dashboard
	tried      int            // number of rows of the last piece
	addresses  map[string]int // by address, the line of the first row that was not refused, or the line that know has stored
	reasons    map[string]string
}

// importing returns a run for the dashboard of the form.
func (v *visit) importing(channel app.Channel, form *forms.Form, head sheet.Head) (*importRun, error) {
	ctx := v.Request.Context()
	found, err := v.app.Dashboard(ctx, form.Value("dashboard"))
	if err != nil {
		return nil, err
	}
	run := &importRun{v: v, channel: channel, dashboard: found.Dashboard, components: componentsOf(found.Dashboard)}
	run.in = app.Import{DashboardID: found.Dashboard.ID, SendConfirmations: form.Ticked("ask"), Force: form.Ticked("again"), DryRun: form.Value("step") != "write"}
	run.Refused, run.addresses, run.reasons = []refusal{}, map[string]int{}, map[string]string{}
	if head.Has(sheet.Dashboard) {
		all, err := allDashboards(ctx, v.app)
		if err != nil {
			return nil, err
		}
		run.named = countNames(all)
	}
	return run, nil
}

// allDashboards returns all dashboards of the organization.
func allDashboards(ctx context.Context, caller *app.Caller) (all []app.Dashboard, err error) {
	for query := (url.Values{"limit": {"100"}}); ; {
		listed, err := caller.Dashboards(ctx, query)
		if err != nil {
			return nil, err
		}
		if all = append(all, listed.Dashboards...); listed.NextToken == nil {
			return all, nil
		}
		query.Set("nextToken", *listed.NextToken)
	}
}

// dashboardCell returns the name of a dashboard, or a cell that may name one, in the form in which both are compared.
func dashboardCell(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

// countNames returns how many dashboards have a name or an id, by the name or id in the form that dashboardCell returns.
func countNames(all []app.Dashboard) map[string]int {
	count := map[string]int{}
	for _, d := range all {
		count[d.ID]++
		count[dashboardCell(d.Name)]++
	}
	return count
}

// here returns an error if the cell names another dashboard than that of the run, or several dashboards.
func (r *importRun) here(cell string) error {
	switch name := dashboardCell(cell); {
	case name == "" || name == r.dashboard.ID:
	case name != dashboardCell(r.dashboard.Name):
		return fault.New(fault.Invalid, "The row is for the dashboard “%s”. Import it for that dashboard.", cell)
	case r.named[name] > 1:
		return fault.New(fault.Invalid, "There are several dashboards “%s”. Write the id instead.", cell)
	}
	return nil
}

// componentsOf returns the components of a dashboard for the cells of a list.
func componentsOf(dashboard app.Dashboard) (components []sheet.Component) {
	for _, placed := range dashboard.Components {
		components = append(components, sheet.Component{ID: placed.ComponentID, Name: placed.Name})
	}
	return components
}

// addressOf returns the address of a row in the form in which the App interface compares most addresses: in lower case, and a
// phone number without separators.
func (r *importRun) addressOf(row sheet.Row) string {
	address := strings.ToLower(row.Cell(sheet.Address))
	if r.channel == app.Email {
		return address
	}
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune(" ()./-", c) {
			return -1
		}
		return c
	}, address)
}

// keep stores the line of the row by its address, so that repeated refuses rows of later pieces with this address.
func (r *importRun) keep(row sheet.Row) {
	address := r.addressOf(row)
	if _, twice := r.addresses[address]; !twice {
		r.addresses[address] = row.Line
	}
}

// know stores the addresses of rows in this piece that a row of another piece has too. pairs has items such as "1001:7": the
// line of the row in this piece, and the line of the row in the other piece.
func (r *importRun) know(rows []sheet.Row, pairs string) {
	for pair := range strings.FieldsSeq(pairs) {
		line, of, _ := strings.Cut(pair, ":")
		at, is := slices.BinarySearchFunc(rows, position(line, math.MaxInt32, 0), func(row sheet.Row, line int) int { return row.Line - line })
		if is {
			r.addresses[r.addressOf(rows[at])] = position(of, math.MaxInt32, 0)
		}
	}
}

// repeated returns an error if a row of another piece has the address of this row. The App interface refuses a repeated
// address within a piece.
func (r *importRun) repeated(row sheet.Row) error {
	if line, twice := r.addresses[r.addressOf(row)]; twice {
		return inLineToo(line)
	}
	return nil
}

func inLineToo(line int) error {
	return fault.New(fault.Invalid, "The address is in line %d too.", line)
}

// each sends the rows from position from to position to, in pieces. After a piece, it stops if until has passed or
// mostRefused rows are refused. It returns the error of a piece. Then Count is the position of the first row without a result.
func (r *importRun) each(rows []sheet.Row, from, to int, until time.Time) error {
	for _, row := range rows[:from] { // rows of an earlier step
		if _, err := r.rowOf(row); err == nil {
			r.keep(row)
		}
	}
	r.Count = from
	for r.Count < to {
		if r.Count > from && time.Now().After(until) || len(r.Refused) >= mostRefused {
			return nil
		}
		if err := r.piece(rows[r.Count:to]); err != nil {
			return err
		}
	}
	return nil
}

// piece sends the first rows, as many as a call may contain, and adds their results to the outcome.
func (r *importRun) piece(rows []sheet.Row) error {
	var sent []sheet.Row
	var refused []refusal
	r.in.Rows, r.tried = nil, 0
	for size := 0; r.tried < min(len(rows), pieceRows); r.tried++ {
		row := rows[r.tried]
		in, err := r.rowOf(row)
		if err == nil {
			err = r.repeated(row)
		}
		if err != nil {
			refused = append(refused, refusalOf(row, err.Error()))
			continue
		}
		if size += sizeOf(in); size > pieceBytes && len(sent) > 0 {
			break
		}
		sent, r.in.Rows = append(sent, row), append(r.in.Rows, in)
	}
	var results []app.ImportResult
	if len(sent) > 0 {
		found, err := r.v.app.ImportSubscribers(r.v.Request.Context(), r.channel, r.in)
		if err != nil {
			return err
		}
		if results = found.Results; len(results) != len(sent) {
			return fmt.Errorf("the import of %d rows has %d results", len(sent), len(results))
		}
	}
	for i, result := range results {
		switch {
		case result.Status == "created":
			r.Created++
			r.keep(sent[i])
		case result.Status == "updated":
			r.Updated++
			r.keep(sent[i])
		default:
			refused = append(refused, refusalOf(sent[i], r.explained(result.Error, sent)))
		}
	}
	slices.SortFunc(refused, func(a, b refusal) int { return a.Line - b.Line }) // two rows never begin in one line
	r.Refused = append(r.Refused, refused...)
	r.Count += r.tried
	return nil
}

// sizeOf returns an upper bound of the length of a row in the body of a call.
func sizeOf(row app.ImportRow) int {
	size := 120 + 6*len(row.Address)
	if row.ComponentIDs != nil {
		size += 40 * len(*row.ComponentIDs)
	}
	return size
}

// rowOf returns a row for the App interface. An empty cell sets nothing, so a known subscriber keeps its value.
func (r *importRun) rowOf(row sheet.Row) (in app.ImportRow, err error) {
	in.Address = row.Cell(sheet.Address)
	if err := r.here(row.Cell(sheet.Dashboard)); err != nil {
		return in, err
	}
	if cell := row.Cell(sheet.Components); cell != "" {
		ids, err := sheet.Chosen(cell, r.components)
		if err != nil {
			return in, err
		}
		in.ComponentIDs = new(app.Choice(ids))
	}
	if in.Confirmed, err = sheet.Decision(row.Cell(sheet.Confirmed)); err != nil {
		return in, err
	}
	if cell := row.Cell(sheet.Locale); strings.EqualFold(cell, sheet.Default) {
		in.Locale = new(app.Nullable)
	} else if cell != "" {
		in.Locale = new(app.Nullable(cell))
	}
	return in, nil
}

func refusalOf(row sheet.Row, reason string) refusal {
	return refusal{Line: row.Line, Address: row.Cell(sheet.Address), Reason: reason, cells: row.Record()}
}

// record returns the row with the reason, as a record of a list.
func (r refusal) record() []string { return append(slices.Clone(r.cells), r.Reason) }

// twice matches the error of a row whose address an earlier row of the same call has.
var twice = regexp.MustCompile(`^The address is in row (\d+) too\.$`)

// explained returns the error of a row in words for members. It caches the words, because many rows may have the same error.
func (r *importRun) explained(message string, sent []sheet.Row) string {
	if found := twice.FindStringSubmatch(message); found != nil {
		if at, err := strconv.Atoi(found[1]); err == nil && at >= 1 && at <= len(sent) {
			return inLineToo(sent[at-1].Line).Error()
		}
	}
	if _, known := r.reasons[message]; !known {
		r.reasons[message] = r.worded(message)
	}
	return r.reasons[message]
}

// worded returns an error of the App interface in which the label of the column replaces the name of the member.
func (r *importRun) worded(message string) string {
	member, rest, is := strings.Cut(message, ": ")
	if !is {
		return message
	}
	form := forms.New("", "", addressField(r.channel), &forms.Field{Name: "components", Label: "The components", Members: []string{"componentIds"}}, &forms.Field{Name: "locale", Label: "The language"})
	form.Field("address").Label = "The " + strings.ToLower(form.Field("address").Label)
	form.Refuse(member, rest)
	for _, field := range form.Problems() {
		return field.Problem
	}
	return message
}

// importPiece returns the handler to which the script sends a piece of a list. The handler checks or writes the rows, and
// responds with their results. The script may send a piece again. In the field earlier, it sends which addresses of the piece
// are in other pieces.
func (p *pages) importPiece(channel app.Channel) func(*visit) error {
	return func(v *visit) error {
		form := importForm(channel, nil)
		form.Fields = append(form.Fields, &forms.Field{Kind: forms.Area, Name: "head", Max: sheet.MaxRecord}, &forms.Field{Kind: forms.Hidden, Name: "line"}, &forms.Field{Kind: forms.Hidden, Name: "earlier", Max: sheet.MaxRecord})
		return v.submit(form, func() error {
			head, err := sheet.HeadOf(v.Request.PostFormValue("head"), channel != app.Email) // not the trimmed value of the form: a row may begin with a tab
			if err != nil {
				return v.json(map[string]string{"problem": err.Error()})
			}
			rows, err := head.Read(v.Request.PostFormValue("rows"), max(1, position(form.Value("line"), 1<<30, 1)))
			if err != nil {
				return v.json(map[string]string{"problem": err.Error()})
			}
			run, err := v.importing(channel, form, head)
			if err != nil {
				return err
			}
			run.know(rows, form.Value("earlier"))
			if err := run.each(rows, 0, len(rows), time.Now().Add(importTime)); err != nil {
				return err
			}
			if run.Count < len(rows) { // the script sends the whole piece again
				return &app.Error{Status: 503, Message: "The time of one request has run out."}
			}
			for i := range run.Refused {
				run.Refused[i].Row = listText(run.Refused[i].record())
			}
			return v.json(struct {
				importOutcome
				Addresses map[string]int `json:"addresses"` // the addresses of importRun
				Head      string         `json:"head"`      // header of the refused rows
				Unread    []string       `json:"unread"`
				Named     bool           `json:"named"`
			}{run.importOutcome, run.addresses, listText(refusedHead(head, channel)), head.Unread, head.Names != nil})
		}, func(status int) error {
			return &app.Error{Status: status, Message: problemsOf(form)}
		})
	}
}

// problemsOf returns the problems of a form as one text.
func problemsOf(form *forms.Form) string {
	texts := []string{}
	if form.Problem != "" {
		texts = append(texts, form.Problem)
	}
	for _, field := range form.Problems() {
		texts = append(texts, field.Problem)
	}
	return strings.Join(texts, " ")
}
