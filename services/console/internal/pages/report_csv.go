package pages

import (
	"bytes"
	"encoding/csv"
	"mime"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// uptimeFile responds with the report of the address as a CSV file (RFC 4180): a row for each component, and one for all of them.
// The file of a year has these rows for each month, then for the year.
func (p *pages) uptimeFile(v *visit) error {
	data, err := v.readReport()
	if err != nil {
		return err
	}
	if data.Elsewhere { // the file would be about the whole dashboard, and would not say so
		return errNotFound
	}
	if data.Filter != nil && !data.Filter.OK() {
		return v.show(http.StatusUnprocessableEntity, "report.html", "Uptime report", data)
	}
	var out bytes.Buffer
	out.WriteString("\ufeff") // without this mark, Excel does not read the file as UTF-8
	file := csv.NewWriter(&out)
	file.UseCRLF = true
	_ = file.Write([]string{"period", "component", "componentId", "uptimePercent", "downtimeSeconds", "majorOutageSeconds", "partialOutageSeconds", "degradedSeconds", "maintenanceSeconds", "measuredSeconds"})
	for _, report := range data.reports {
		total := figures{Percent: report.OverallUptimePercent}
		for _, c := range report.Components {
			total.add(c.Seconds)
			_ = file.Write(rowOfFile(report.Month, c.Name, c.ComponentID, figures{c.UptimePercent, c.Seconds}))
		}
		_ = file.Write(rowOfFile(report.Month, "", "", total))
	}
	if data.Year {
		for _, part := range data.Parts {
			_ = file.Write(rowOfFile(data.period, part.Name, part.ID, part.figures))
		}
		_ = file.Write(rowOfFile(data.period, "", "", data.Total))
	}
	file.Flush() // writing to a Buffer never fails
	v.Header("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": fileName("uptime", data.slug, data.period) + ".csv"}))
	v.Data(http.StatusOK, "text/csv; charset=utf-8; header=present", out.Bytes())
	return nil
}

func rowOfFile(period, name, id string, f figures) []string {
	percent := notMeasured
	if f.Percent != nil {
		percent = strconv.FormatFloat(*f.Percent, 'f', 6, 64)
	}
	row := []string{period, plainCell(name), id, percent}
	for _, seconds := range []int64{f.Downtime, f.Major, f.Partial, f.Degraded, f.Maintenance, f.Measured} {
		row = append(row, strconv.FormatInt(seconds, 10))
	}
	return row
}

// plainCell returns a text as a cell of a CSV file. It puts an apostrophe before a text that spreadsheet programs read as a
// formula.
func plainCell(text string) string {
	if bare := strings.TrimLeft(text, " "); bare != "" && strings.ContainsAny(bare[:1], "=+-@\t\r\n") {
		return "'" + text
	}
	return text
}

var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// fileName joins the parts of the name of a file. The name contains only small letters, digits and "-".
func fileName(parts ...string) string {
	var kept []string
	for _, part := range parts {
		if part = strings.Trim(notInName.ReplaceAllString(strings.ToLower(part), "-"), "-"); part != "" {
			kept = append(kept, part[:min(60, len(part))])
		}
	}
	return strings.Join(kept, "-")
}
