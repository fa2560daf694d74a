package pages

import (
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

// view is a tab of a page, or a link that filters a list.
type view struct {
	Path, Label string
	Current     bool
}

// tally is a link that filters a list by a state, with the number of records in this state.
type tally struct {
	Path, Label, Class string
	Count              int
	Current            bool
}

// firstDashboards returns the first 100 dashboards, for a field or a filter by dashboard.
func (v *visit) firstDashboards() (app.Dashboards, error) {
	return v.app.Dashboards(v.Request.Context(), url.Values{"limit": {"100"}})
}

// findIn reads a list, for which the App interface has no operation that returns one record. It returns the record for which is
// returns true, or errNotFound if the record is not among the first 5,000.
func findIn[T any](read func(query url.Values) ([]T, *string, error), is func(T) bool) (found T, err error) {
	query := url.Values{"limit": {"100"}}
	for range 50 {
		records, next, err := read(query)
		if err != nil {
			return found, err
		}
		if at := slices.IndexFunc(records, is); at >= 0 {
			return records[at], nil
		}
		if next == nil {
			break
		}
		query.Set("nextToken", *next)
	}
	return found, errNotFound
}

// filled returns the parameters whose value is not empty.
func filled(all map[string]string) url.Values {
	query := url.Values{}
	for name, value := range all {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query
}

// withQuery returns the path with the parameters, or the path alone if there are none.
func withQuery(path string, query url.Values) string {
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// nextPage returns the address of the next page of a list, or "" if there is none: token is nil. query is that of this page.
func nextPage(path string, query url.Values, token *string) string {
	if token == nil {
		return ""
	}
	query.Set("after", *token)
	return root + path + "?" + query.Encode()
}

// readFilter reads the fields of a filter from the address into the query of a list. It returns true if a field is filled.
// Dates are days in the member's zone. A wrong date is a problem of its field.
func (v *visit) readFilter(filter *forms.Form, query url.Values) (filtered bool) {
	for _, field := range filter.Fields {
		value := v.Query(field.Name)
		if field.Values = []string{value}; value == "" {
			continue
		}
		filtered = true
		if field.Kind == forms.Date {
			day, err := time.ParseInLocation(time.DateOnly, value, v.zone())
			if err != nil {
				field.Values, field.Problem = nil, "Enter a date as year-month-day." // an input for a date cannot show this value
				continue
			}
			if field.Name == "to" {
				day = day.AddDate(0, 0, 1) // the page shows the whole last day
			}
			value = day.UTC().Format(isoTime)
		}
		query.Set(field.Name, value)
	}
	return filtered
}

// isToken reports whether the App interface refused nextToken, the position in a list. The address of the page contains it as
// the parameter after.
func isToken(failed *app.Error) bool {
	return failed != nil && failed.Status == http.StatusBadRequest && failed.Field == "nextToken"
}

// noSuchState is the problem of a filter by a state that does not exist.
const noSuchState = "There is no such state. Choose one below."

// searchFilter returns a form that shows the problem of the search of a list.
func searchFilter(at string) *forms.Form {
	return forms.New(at, "Search", &forms.Field{Kind: forms.Text, Name: "q", Label: "Search"})
}

// refused shows a response 400 of the App interface as a problem of the filter of a list. It returns false for any other err,
// and if the response is about nextToken.
func refused(filter *forms.Form, err error) bool {
	failed := app.As(err)
	if failed == nil || failed.Status != http.StatusBadRequest || isToken(failed) {
		return false
	}
	filter.Refuse(failed.Field, failed.Message)
	return true
}

// notFound returns errNotFound for a response 400 of the App interface that is not about nextToken: no record can have the id or
// the hash of the request. It returns any other error unchanged.
func notFound(err error) error {
	if failed := app.As(err); failed != nil && failed.Status == http.StatusBadRequest && !isToken(failed) {
		return errNotFound
	}
	return err
}
