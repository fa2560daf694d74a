package pages

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
	"github.com/bellbuoy/bellbuoy/services/console/internal/sheet"
)

const (
	// importTime is the time after which a request begins no further piece. Together with the call that is running then, the
	// request stays below its time limit.
	importTime = 9 * time.Second
	// mostRefused is the number of refused rows after which a request begins no further piece. The response contains these rows.
	mostRefused = 20_000
	// shownRefusals is the maximum number of refused rows in the list of a page. The text below the list has all of them.
	shownRefusals = 20
)

// importTable returns the routes of the import and the export of each channel.
func (p *pages) importTable(role string) (routes []route) {
	for _, channel := range app.AddressChannels() {
		at := subscribersAt(channel) + "/import"
		routes = append(routes,
			route{get, at, signedIn, role, p.subscribersImport(channel)},
			route{post, at, signedIn, role, p.subscribersImport(channel)},
			route{post, "/parts" + at, signedIn, role, p.importPiece(channel)},
			route{get, subscribersAt(channel) + "/export", signedIn, role, p.subscribersExport(channel)})
	}
	return routes
}

// importPage is the data of import.html.
type importPage struct {
	Words  channelWords
	At     string        // path of the list
	Named  string        // name of the column with the address
	Sample string        // example of an address
	Other  string        // another example
	Form   *forms.Form   // form for the rows to check; nil: there is no dashboard
	Report *importReport // nil: nothing is checked yet
}

// Pieces returns the path to which the script sends pieces of a list.
func (d importPage) Pieces() string { return "/parts" + d.At + "/import" }

// None returns no refused rows. The script adds rows to the empty list.
func (d importPage) None() []refusal { return nil }

// importReport is the result of a step that has checked or written rows.
type importReport struct {
	importOutcome
	Dashboard string
	Written   bool
	Rows      int // number of rows of the list
	First     int // number of rows before those that were checked or written
	Unread    string
	Headless  bool   // the list has no header
	Stopped   string // why the step has ended before its last row; empty: it has not
	Text      string // the refused rows as a list
	Next      *forms.Form
}

// Done returns the number of rows that this step has checked or written.
func (r importReport) Done() int { return r.Count - r.First }

// Left returns the number of rows after those of this step.
func (r importReport) Left() int { return r.Rows - r.Count }

// Good returns the number of rows that are not refused.
func (r importReport) Good() int { return r.Created + r.Updated }

// Shown returns the refused rows that the page lists.
func (r importReport) Shown() []refusal { return r.Refused[:min(shownRefusals, len(r.Refused))] }

// importForm returns the form of the page. A request with the step "write" writes the rows between the positions from and to,
// which were checked before. A request with another step checks all rows from the position from on.
func importForm(channel app.Channel, dashboards []app.Dashboard) *forms.Form {
	at := subscribersAt(channel)
	choice := &forms.Field{Kind: forms.Select, Name: "dashboard", Label: "Dashboard", Required: true, Members: []string{"dashboardId"}}
	for _, d := range dashboards {
		choice.Options = append(choice.Options, forms.Option{Value: d.ID, Label: d.Name})
	}
	form := forms.New(at+"/import", "Check the rows", choice,
		&forms.Field{Kind: forms.File, Name: "file", Label: "CSV file", Plain: true},
		&forms.Field{Kind: forms.Area, Name: "rows", Label: "Or paste rows", Plain: true, Max: web.MaxBody, Hint: "One row per line. The first column is the address, unless the first row has names."},
		&forms.Field{Kind: forms.Tick, Name: "ask", Label: "Ask unconfirmed owners for a confirmation", Hint: "Nobody is asked twice. Who has not confirmed gets no messages. Rows with “yes” in the column confirmed are confirmed at once."},
		&forms.Field{Kind: forms.Tick, Name: "again", Label: "Also add who was deleted here", Hint: "Else nobody is added again who has left, or whom a member has deleted. Tick it only for people who want these messages again."},
		&forms.Field{Kind: forms.Hidden, Name: "step"}, &forms.Field{Kind: forms.Hidden, Name: "from"}, &forms.Field{Kind: forms.Hidden, Name: "to"})
	form.Cancel = at
	return form
}

// subscribersImport returns the handler of the page that imports subscribers without script: one step checks rows, the next
// writes them. The rows are in the form.
func (p *pages) subscribersImport(channel app.Channel) func(*visit) error {
	return func(v *visit) error {
		listed, err := v.firstDashboards()
		if err != nil {
			return err
		}
		data := importPage{Words: wordsOf(channel), At: subscribersAt(channel), Named: "phone", Sample: "+49 151 12345678", Other: "+49 151 12345679"}
		if channel == app.Email {
			data.Named, data.Sample, data.Other = "email", "ada@example.com", "grace@example.com"
		}
		form := importForm(channel, listed.Dashboards)
		options := form.Field("dashboard").Options
		if len(options) > 0 {
			form.Field("dashboard").Values = []string{options[0].Value}
		}
		show := func(status int) error {
			form.Field("dashboard").Options = options
			return v.showPage(status, "import.html", &page{Title: "Import subscribers " + data.Words.By, Data: data, Import: data.Form != nil && data.Report == nil})
		}
		if len(listed.Dashboards) == 0 && !v.isPost() {
			return show(http.StatusOK)
		}
		data.Form = form
		if id := v.Query("dashboard"); id != "" {
			form.Field("dashboard").Values = []string{id}
		}
		v.fill(form)
		if !v.isPost() {
			return show(http.StatusOK)
		}
		form.Field("dashboard").Options = nil // the events service knows more dashboards than the page lists
		return v.submit(form, func() error {
			report, err := v.importStep(channel, form)
			if err != nil {
				return err
			}
			if !form.OK() {
				return show(http.StatusUnprocessableEntity)
			}
			data.Report = report
			return show(http.StatusOK)
		}, show)
	}
}

// importStep reads the rows of the form, and checks or writes some of them. If the rows or the dashboard are wrong, it sets a
// problem of the form and returns nil.
func (v *visit) importStep(channel app.Channel, form *forms.Form) (*importReport, error) {
	text := rowsOf(v.Request, form)
	if !form.OK() {
		return nil, nil
	}
	if sizeInForm(text) > web.MaxBody {
		form.Field("rows").Values = nil // with the rows, the next form would be too large, too
		form.Problem = "The list has more than 1 MiB in the form that imports the checked rows. Divide it into several files, or turn on JavaScript, which sends up to 64 MiB in pieces."
		return nil, nil
	}
	head, rows, err := listOf(text, channel)
	if err != nil {
		form.Problem = err.Error()
		return nil, nil
	}
	if len(rows) == 0 {
		form.Problem = "The list has no row with an address."
		return nil, nil
	}
	run, err := v.importing(channel, form, head)
	if isGone(err) {
		form.Field("dashboard").Problem = "There is no such dashboard now. Choose one."
		for _, name := range []string{"step", "from", "to"} { // the rows must be checked for the other dashboard before they are written
			form.Field(name).Values = nil
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	write := form.Value("step") == "write"
	from := position(form.Value("from"), len(rows), 0)
	to := max(from, position(form.Value("to"), len(rows), len(rows)))
	if !write {
		to = len(rows)
	}
	failed := run.each(rows, from, to, time.Now().Add(importTime))
	if failed != nil && (!write || !app.As(failed).Unavailable()) && run.Count == from {
		return nil, failed
	}
	report := &importReport{
		importOutcome: run.importOutcome, Dashboard: run.dashboard.Name, Written: write, Rows: len(rows), First: from,
		Unread: strings.Join(head.Unread, ", "), Headless: head.Names == nil, Text: refusedText(head, channel, run.Refused),
	}
	switch {
	case failed != nil && write:
		report.Stopped = fmt.Sprintf("It is not known whether %s written from line %d on: %s", are(run.tried, "row"), rows[run.Count].Line, reasonOfStop(failed))
	case failed != nil:
		report.Stopped = reasonOfStop(failed)
	case run.Count < to && len(run.Refused) >= mostRefused:
		report.Stopped = counted(len(run.Refused), "row") + " of this step are refused. See whether they have a mistake in common before you go on."
	case run.Count < to:
		report.Stopped = "The time of one request has run out."
	}
	report.Next = nextStep(form, report, to)
	return report, nil
}

func reasonOfStop(err error) string {
	if failed := app.As(err); failed.Unavailable() {
		return unavailable(failed)
	} else if failed != nil {
		return failed.Message
	}
	return "Something went wrong on our side."
}

// nextStep returns the form for the next step: to write the rows that were checked, to write the rows that a write has left,
// or to check further rows. It returns nil if nothing is left to do.
func nextStep(form *forms.Form, done *importReport, to int) *forms.Form {
	step, from, submit := "check", done.Count, "Check the other "+counted(done.Left(), "row")
	switch {
	case !done.Written && done.Good() > 0:
		step, from, to, submit = "write", done.First, done.Count, "Import "+counted(done.Good(), "subscriber")
	case done.Written && done.Count < to:
		step, submit = "write", "Import the other "+counted(to-done.Count, "row")
	case done.Left() == 0:
		return nil
	}
	next := forms.New(form.Action, submit)
	for _, field := range []string{"dashboard", "ask", "again"} {
		next.Fields = append(next.Fields, &forms.Field{Kind: forms.Hidden, Name: field, Values: form.Field(field).Values})
	}
	for name, value := range map[string]string{"step": step, "from": strconv.Itoa(from), "to": strconv.Itoa(to)} {
		next.Fields = append(next.Fields, &forms.Field{Kind: forms.Hidden, Name: name, Values: []string{value}})
	}
	next.Fields = append(next.Fields, &forms.Field{Kind: forms.Area, Name: "rows", Values: form.Field("rows").Values})
	next.Cancel = form.Cancel
	return next
}

// position returns the position that the text of a form names, at most rows. If text is no position, it returns the parameter
// otherwise.
func position(text string, rows, otherwise int) int {
	if at, err := strconv.Atoi(text); err == nil && at >= 0 {
		return min(at, rows)
	}
	return otherwise
}

// rowsOf returns the text of a list: the file, or the pasted rows. It makes the text of a file the value of the field rows.
// It sets a problem if there is neither or both.
func rowsOf(r *http.Request, form *forms.Form) string {
	file := sheet.Text(form.Upload("file"))
	pasted := r.PostFormValue("rows") // unlike the value of the form, this still has tabs of empty columns at its ends
	switch {
	case file != "" && strings.TrimSpace(pasted) != "":
		form.Field("file").Problem = "Choose a file or paste rows, not both."
	case file != "":
		form.Field("rows").Values = []string{file}
		return file
	case strings.TrimSpace(pasted) == "":
		form.Field("file").Problem = "Choose a file, or paste rows."
	}
	return pasted
}

// formBytes is an upper bound of the size of a form without the rows.
const formBytes = 4 << 10

// sizeInForm returns an upper bound of the size of the form that sends the text again. Browsers send each line end as CRLF.
func sizeInForm(text string) int {
	pairs := strings.Count(text, "\r\n")
	return formBytes + len(text) + strings.Count(text, "\n") + strings.Count(text, "\r") - 2*pairs
}

// listOf returns the head and the rows of a whole list.
func listOf(text string, channel app.Channel) (sheet.Head, []sheet.Row, error) {
	head, err := sheet.HeadOf(sheet.First(text), channel != app.Email)
	if err != nil {
		return head, nil, err
	}
	rows, err := head.Read(text, 1)
	return head, rows, err
}

// refusedText returns the refused rows as a list that can be corrected and imported again. The last column is the reason.
func refusedText(head sheet.Head, channel app.Channel, refused []refusal) string {
	if len(refused) == 0 {
		return ""
	}
	records := [][]string{refusedHead(head, channel)}
	for _, r := range refused {
		records = append(records, r.record())
	}
	return listText(records...)
}

// listText returns records as the text of a list.
func listText(records ...[]string) string {
	var out strings.Builder
	list := sheet.NewWriter(&out)
	for _, record := range records {
		_ = list.Write(record...) // a Builder never fails
	}
	_ = list.Flush()
	return out.String()
}

// refusedHead returns the header of the list of refused rows.
func refusedHead(head sheet.Head, channel app.Channel) []string {
	if head.Names != nil {
		return append(slices.Clone(head.Names), "reason")
	}
	if channel == app.Email {
		return []string{"email", "reason"}
	}
	return []string{"phone", "reason"}
}
