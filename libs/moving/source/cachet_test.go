package source_test

import (
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/moving/source"
)

func TestBadRecordsOfCachetAreNamedAndTheOthersStay(t *testing.T) {
	const head = "id,component_id,name,status,visible,message,scheduled_at,occurred_at,created_at,updated_at\n"
	const good = "1,0,T,4,1,Text,,,2016-02-01 10:00:00,2016-02-01 12:00:00\n"
	kept := []string{"cachet:status:incident-1"}
	both := []string{"cachet:status:incident-1", "cachet:status:incident-2"}
	with := func(row string) map[string]string { return map[string]string{"incidents.csv": head + good + row} }
	checkAll(t, map[string]ugly{
		"no time":       {source: "cachet", files: with("2,0,T,4,1,Text,,soon,,\n"), events: kept, warnings: []string{`cachet:status:incident-2: occurred_at: "soon" is no time`, "cachet:status:incident-2: created_at: is missing; the incident is left out"}},
		"no id":         {source: "cachet", files: with(",0,T,4,1,Text,,,2016-02-01 10:00:00,\n"), events: kept, warnings: []string{"cachet:status:incident-: id: is missing; the record is left out"}},
		"twice":         {source: "cachet", files: with(good), events: kept, warnings: []string{"cachet:status:incident-1: key: belongs to an earlier record"}},
		"unknown word":  {source: "cachet", files: with("2,0,T,9,1,Text,,,2016-02-01 10:00:00,\n"), events: both, warnings: []string{`cachet:status:incident-2: status: "9" is unknown; it becomes investigating`}},
		"early end":     {source: "cachet", files: with("2,0,T,4,1,Text,,,2016-02-01 10:00:00,2016-01-01 10:00:00\n"), events: both, warnings: []string{"cachet:status:incident-2: endAt: is 2016-01-01T09:00:00Z, before the start; it becomes the start"}},
		"short row":     {source: "cachet", files: with("2,0,T\n"), events: kept, warnings: []string{"cachet:status:incident-2: created_at: is missing; the incident is left out"}},
		"line breaks":   {source: "cachet", files: map[string]string{"incidents.csv": "\ufeff" + strings.ReplaceAll(head+good, "\n", "\r\n")}, events: kept},
		"orphan update": {source: "cachet", files: map[string]string{"incidents.csv": head + good, "incident_updates.csv": "id,incident_id,status,message\n1,1,4,x\n2,77,4,x\n"}, events: kept, warnings: []string{"cachet:status:incident-1: updates: an update has no id or no time; it is left out", "cachet:status:incident-77: updates: the incident is missing; its updates are left out: 1"}},
		"unknown table": {source: "cachet", files: map[string]string{"incidents.csv": head + good, "users.csv": "id\n1\n"}, events: kept, warnings: []string{"cachet:file:users.csv: : is not named like a table, such as incidents.csv; it is left out"}},
		"JSON cut off":  {source: "cachet", files: map[string]string{"incidents.csv": head + good, "schedules.json": `{"data": [{"id"`}, events: kept, warnings: []string{"cachet:file:schedules.json: : is cut off in line 1, after 15 bytes"}},
		"no records":    {source: "cachet", files: map[string]string{"metrics.csv": "id\n1\n"}, fails: "has no records of Cachet"},
		"empty file":    {source: "cachet", files: map[string]string{"incidents.csv": ""}, fails: "has no records of Cachet"},
	})
}

func TestCachetNeedsATimeZone(t *testing.T) {
	o := options()
	o.Zone = nil
	if _, err := source.Read(t.Context(), "cachet", "testdata/cachet2", o); err == nil || !strings.Contains(err.Error(), "give --timezone") {
		t.Errorf("without a zone the error is %v", err)
	}
}
