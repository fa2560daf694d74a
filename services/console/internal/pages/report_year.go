package pages

import (
	"fmt"
	"math"
	"math/big"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
)

// reportCalls is how many months of a year are read at the same time.
const reportCalls = 4

// reportMonth is a month of a year. A month that is not Known has not begun.
type reportMonth struct {
	Path, Label string
	Known       bool
	figures
}

// add adds the seconds of another time or component.
func (s *figures) add(more app.Seconds) {
	s.Downtime += more.Downtime
	s.Major += more.Major
	s.Partial += more.Partial
	s.Degraded += more.Degraded
	s.Maintenance += more.Maintenance
	s.Measured += more.Measured
}

// compute sets Percent by the formula of the App interface, with the same exactness: the weighted time of partial outages is in
// nanoseconds, and the result is cut off after six decimals. Percent is nil if nothing but maintenance was measured.
func (s *figures) compute(weight float64) {
	s.Percent = nil
	counted := s.Measured - s.Maintenance
	if counted <= 0 {
		return
	}
	nano := big.NewInt(int64(time.Second))
	lost, _ := big.NewFloat(math.Round(weight * (float64(s.Partial) * 1e9))).Int(nil)
	if weight > 0 && s.Partial > 0 && lost.Sign() == 0 {
		lost.SetInt64(1)
	}
	up := new(big.Int).Mul(big.NewInt(counted-s.Major), nano)
	if up.Sub(up, lost); up.Sign() < 0 {
		up.SetInt64(0)
	}
	up.Mul(up, big.NewInt(100_000_000)).Div(up, new(big.Int).Mul(big.NewInt(counted), nano))
	s.Percent = new(float64(up.Int64()) / 1e6)
}

// readYear reads the reports of the months of a year until now, which is in the zone of the dashboard. It computes the
// figures of the year from the seconds of its months. It returns an error if a month cannot be read, because the figures
// would be wrong.
func (v *visit) readYear(data *reportPage, year int, now time.Time) error {
	var reports [12]app.UptimeReport
	monthOf := func(i int) string { return fmt.Sprintf("%04d-%02d", year, i+1) }
	work, ctx := errgroup.WithContext(v.Request.Context())
	work.SetLimit(reportCalls)
	for i := range reports {
		if monthOf(i) > now.Format(monthForm) {
			break
		}
		read := func() error {
			found, err := v.app.Uptime(ctx, monthOf(i), data.dashboard.ID, data.component)
			reports[i] = found.Report
			if failed := app.As(err); failed != nil && failed.Field == "month" { // the month has not begun in the zone of the report
				return nil
			}
			return err
		}
		work.Go(func() error { return fault.Recovered(read) })
	}
	if err := work.Wait(); err != nil {
		return err
	}
	parts := map[string]int{}
	for i, report := range reports {
		one := reportMonth{Path: data.pathOf("month", monthOf(i)), Label: time.Month(i + 1).String(), Known: report.Month != ""}
		if one.Known {
			data.addReport(report, parts, i)
			one.Percent = report.OverallUptimePercent
			for _, c := range report.Components {
				one.add(c.Seconds)
			}
			data.Total.add(one.Seconds)
		}
		data.Months = append(data.Months, one)
	}
	data.Total.compute(data.Basis.PartialOutageWeight)
	for i := range data.Parts {
		data.Parts[i].compute(data.Basis.PartialOutageWeight)
	}
	return nil
}

// addReport adds the report of a month to the year. month is the index of the month. parts has the index of each component in
// Parts, by id.
func (d *reportPage) addReport(report app.UptimeReport, parts map[string]int, month int) {
	from := d.Basis.RangeStart
	if d.Basis.Month == "" {
		from = report.RangeStart
	}
	d.reports, d.Basis, d.Partial = append(d.reports, report), report, report.Partial
	d.Basis.RangeStart = from
	for _, c := range report.Components {
		at, known := parts[c.ComponentID]
		if !known {
			at = len(d.Parts)
			parts[c.ComponentID] = at
			part := reportPart{ID: c.ComponentID, Name: c.Name}
			for i := range 12 {
				part.Cells = append(part.Cells, reportCell{time.Month(i + 1).String()[:3], "n", notMeasured})
			}
			d.Parts = append(d.Parts, part)
		}
		d.Parts[at].add(c.Seconds)
		one := figures{c.UptimePercent, c.Seconds}
		cell := &d.Parts[at].Cells[month]
		if cell.Class, cell.Words = one.Class(), one.Uptime(); one.Measured > 0 {
			cell.Words += ", " + one.Worst()
		}
	}
}
