package main_test

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// soakEndpoints is the path of the outbound endpoints.
const soakEndpoints = "/app/integrations/webhooks/outbound/endpoints"

// soakOutage is the time from the kill of a process until it serves requests again.
type soakOutage struct {
	process  string
	from, to time.Time // to is zero until the process serves again
}

// soakFailure is a response with a 5xx status, or a broken connection.
type soakFailure struct {
	from, to       time.Time // begin and end of the request
	gateway        string    // gateway that got the request
	request, cause string
}

// soakNeed states which processes behind the gateway a request needs.
type soakNeed struct {
	request string // prefix of method and path
	needs   []string
}

// soakNeeds contains a row for each request of the soak test. The first row that matches a request applies. No row
// contains Kafka, because messages wait in the outbox. No row contains Redis, because without it the gateway asks
// identity and counts in memory. Pages of dashboards come from the gateway's memory.
var soakNeeds = []soakNeed{
	{"GET /d/", nil},
	{"GET /console/", []string{"console", "identity", "events", "subscribers", "integrations", "delivery"}},
	{"POST /console/", []string{"console", "identity", "events", "subscribers", "integrations", "delivery"}},
	{"POST /public/webhooks/inbound", []string{"integrations", "identity", "events"}},
	{"POST " + soakEndpoints, []string{"integrations", "identity", "events"}},
	{"DELETE " + soakEndpoints, []string{"integrations"}},
	{"POST /app/subscribers/", []string{"subscribers", "events"}},
	{"DELETE /app/subscribers/", []string{"subscribers"}},
	{"DELETE /api/v1/service/", []string{"events", "integrations"}}, // the service asks integrations whether an endpoint needs the component
	{"GET /app/notifications/", []string{"delivery"}},
	{"", []string{"events"}},
}

// needs returns the processes without which the request fails.
func (f soakFailure) needs() []string {
	row := slices.IndexFunc(soakNeeds, func(n soakNeed) bool { return strings.HasPrefix(f.request, n.request) })
	needs := append([]string{f.gateway}, soakNeeds[row].needs...)
	if strings.Contains(f.cause, "Keys cannot be checked") { // Redis has lost the key
		needs = append(needs, "identity")
	}
	return needs
}

// explains reports whether the outage may have caused the failure: the request needs the process, and was running while
// the process was down.
func (o soakOutage) explains(f soakFailure) bool {
	return slices.Contains(f.needs(), o.process) && !f.to.Before(o.from) && (o.to.IsZero() || !f.from.After(o.to))
}

// unexplained returns the failures that no outage explains. explained contains the number of failures that each process
// explains.
func unexplained(failures []soakFailure, outages []soakOutage) (rest []soakFailure, explained map[string]int) {
	explained = map[string]int{}
	for _, f := range failures {
		at := slices.IndexFunc(outages, func(o soakOutage) bool { return o.explains(f) })
		if at < 0 {
			rest = append(rest, f)
		} else {
			explained[outages[at].process]++
		}
	}
	return rest, explained
}

// An outage explains a failure of the soak test only if the request needs the process, and only while the process is
// down.
func TestSoakExplainsFailuresByOutagesOnly(t *testing.T) {
	t.Parallel()
	at := func(second int) time.Time { return time.Unix(1_800_000_000+int64(second), 0) }
	outages := []soakOutage{{"events", at(10), at(12)}, {"kafka", at(20), at(22)}, {"identity", at(30), at(32)}, {"gateway", at(40), at(42)}, {"integrations", at(50), time.Time{}}}
	for _, test := range []struct {
		request, cause string
		from, to       int
		by             string // name of the process, or "" if no outage explains the failure
	}{
		{"POST /app/events", "503", 10, 11, "events"},
		{"POST /app/events", "503", 5, 10, "events"},
		{"POST /app/events", "503", 12, 12, "events"},
		{"POST /app/events", "503", 8, 9, ""},
		{"POST /app/events", "503", 13, 14, ""},
		{"GET /d/acme/", "503", 11, 11, ""},
		{"GET /d/acme/", "EOF", 41, 41, "gateway"},
		{"GET /app/notifications/webhook/logs?limit=20", "503", 11, 11, ""},
		{"POST /app/events", "503", 21, 21, ""},
		{"POST /app/events", "503", 31, 31, ""},
		{"POST /app/events", "503 Keys cannot be checked at the moment.", 31, 31, "identity"},
		{"POST /app/events", "503 Keys cannot be checked at the moment.", 21, 21, ""},
		{"POST " + soakEndpoints, "503", 31, 31, "identity"},
		{"DELETE " + soakEndpoints, "503", 31, 31, ""},
		{"DELETE /api/v1/service/1/", "503", 99, 99, "integrations"},
		{"GET /api/v1/event/list/", "503", 99, 99, ""},
	} {
		rest, explained := unexplained([]soakFailure{{at(test.from), at(test.to), "gateway", test.request, test.cause}}, outages)
		if (len(rest) == 0) != (test.by != "") || test.by != "" && explained[test.by] != 1 {
			t.Errorf("%s from %d to %d (%s) is explained by %v instead of %q", test.request, test.from, test.to, test.cause, explained, test.by)
		}
	}
}
