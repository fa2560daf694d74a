package lines_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
)

const (
	dashboard = `{"kind":"dashboard","key":"x:s:d","name":"D"}`
	component = `{"kind":"component","key":"x:s:c","name":"C","dashboardIds":["x:s:d"]}`
	event     = `{"kind":"event","key":"x:s:e","type":"incident","title":"T","status":"resolved","startAt":"2026-01-31T09:30:00Z","endAt":"2026-01-31T10:30:00+01:00","components":[{"key":"x:s:c"}]}`
)

// read returns the lines that a text becomes, and its warnings.
func read(t *testing.T, text string) (string, []string) {
	t.Helper()
	set, err := lines.Read(t.Context(), strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var warnings []string
	for _, w := range set.Warnings {
		warnings = append(warnings, w.Key+": "+w.Field+": "+w.Text)
	}
	set.Warnings = nil
	var out bytes.Buffer
	if err := set.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String(), warnings
}

func TestABadLineIsNamedByLineKeyAndFieldAndTheOthersStay(t *testing.T) {
	for name, c := range map[string]struct{ bad, want string }{
		"no JSON":          {`{"kind":"event","key":"x:s:2"`, "lines:line:3: : line 3: is no valid JSON in UTF-8"},
		"no object":        {`[1]`, "lines:line:3: : line 3: must be a JSON object"},
		"kind later":       {`{"key":"x:s:2","kind":"component","name":"C"}`, "lines:line:3: kind: line 3: must be the first member"},
		"unknown kind":     {`{"kind":"monitor","key":"x:s:2"}`, "x:s:2: kind: line 3: must be one of dashboard, component, event, subscriber, endpoint, warning"},
		"order":            {`{"kind":"dashboard","key":"x:s:2","name":"D"}`, "x:s:2: kind: line 3: a line dashboard must be before the lines component"},
		"unknown member":   {`{"kind":"component","key":"x:s:2","name":"C","colour":"red"}`, "x:s:2: colour: line 3: is not a member of this line"},
		"other case":       {`{"kind":"component","key":"x:s:2","Name":"C"}`, "x:s:2: Name: line 3: is not a member of this line"},
		"twice":            {`{"kind":"component","key":"x:s:2","name":"C","name":"D"}`, "lines:line:3: name: line 3: must be there once"},
		"no zone":          {`{"kind":"component","key":"x:s:2","name":"C","startAt":"2026-01-31T09:30:00"}`, "x:s:2: startAt: line 3: must be a time with its zone, such as 2026-01-31T09:30:00Z"},
		"type":             {`{"kind":"component","key":"x:s:2","name":7}`, "x:s:2: name: line 3: has another JSON type than it must have"},
		"no key":           {`{"kind":"component","name":"C"}`, "lines:line:3: key: line 3: must be source:scope:id, at most 255 characters"},
		"key again":        {`{"kind":"component","key":"x:s:c","name":"C"}`, "x:s:c: key: line 3: is the key of line 2 already"},
		"later reference":  {`{"kind":"component","key":"x:s:2","name":"C","dashboardIds":["x:s:e"]}`, "x:s:2: dashboardIds[0]: line 3: x:s:e is not the key of an earlier dashboard"},
		"long name":        {`{"kind":"component","key":"x:s:2","name":"` + strings.Repeat("é", 101) + `"}`, "x:s:2: name: line 3: has 101 characters; at most 100 are possible"},
		"path of an alias": {`{"kind":"component","key":"x:s:2","name":"C","aliases":["a/../b"]}`, "x:s:2: aliases[0]: line 3: must be 1 to 200 of A-Z, a-z, 0-9, . _ / and -, without .."},
	} {
		t.Run(name, func(t *testing.T) {
			got, warnings := read(t, strings.Join([]string{dashboard, component, c.bad, event, ""}, "\n"))
			if !slices.Equal(warnings, []string{c.want}) {
				t.Errorf("warnings %q, want %q", warnings, c.want)
			}
			if want := dashboard + "\n" + component + "\n" + event + "\n"; got != want {
				t.Errorf("the other lines become %s", got)
			}
		})
	}
}

// A title or a name of several lines becomes one line.
func TestANameBecomesOneLine(t *testing.T) {
	got, warnings := read(t, dashboard+"\n"+strings.Replace(component, `"name":"C"`, `"name":"C\u202e\u0007d"`, 1)+"\n"+strings.Replace(event, `"title":"T"`, `"title":"T\nt"`, 1))
	want := []string{
		`x:s:c: name: line 2: must be one line without control characters; it becomes "C d"`,
		`x:s:e: title: line 3: must be one line without control characters; it becomes "T t"`,
	}
	if !slices.Equal(warnings, want) || !strings.Contains(got, `"name":"C d"`) || !strings.Contains(got, `"title":"T t"`) {
		t.Errorf("warnings %q, lines %s", warnings, got)
	}
}

// What the platform would refuse in a plain text is left out, and a title that loses a character has no blank there.
func TestAPlainTextLosesWhatReversesOtherText(t *testing.T) {
	turned := strings.NewReplacer(`"title":"T"`, `"title":"T\u202eitle"`, `"startAt"`, `"coordinator":"a\u202eb","notes":["c\u2067\nd"],"postMortem":{"html":"<p>P</p>","actionItems":[{"text":"e\u202ef","owner":"g\u202eh"}]},"startAt"`)
	got, warnings := read(t, strings.Replace(dashboard, `"name"`, `"description":"D\u202eesc","name"`, 1)+"\n"+strings.Replace(component, `"name"`, `"description":"C\u202eesc","name"`, 1)+"\n"+turned.Replace(event))
	const left = "must not have the characters U+202A to U+202E, which change the direction of text; such characters are left out"
	want := []string{
		"x:s:d: description: line 1: " + left, "x:s:c: description: line 2: " + left,
		`x:s:e: title: line 3: must not have the characters U+202A to U+202E, which change the direction of text; it becomes "Title"`,
		"x:s:e: coordinator: line 3: " + left,
		"x:s:e: postMortem.actionItems[0].text: line 3: " + left, "x:s:e: postMortem.actionItems[0].owner: line 3: " + left,
		"x:s:e: notes[0]: line 3: must close each of the characters U+2066 to U+2068, which change the direction of text, with U+2069; such characters are left out",
	}
	if !slices.Equal(warnings, want) {
		t.Errorf("the warnings are %q", warnings)
	}
	for _, text := range []string{`"Desc"`, `"Cesc"`, `"Title"`, `"ab"`, `"c\nd"`, `"ef"`, `"gh"`} {
		if !strings.Contains(got, text) {
			t.Errorf("the lines have no %s: %s", text, got)
		}
	}
}

// An event stays if its title or an entry has only characters that the platform would refuse.
func TestAnEventStaysWithoutWhatShowsNothing(t *testing.T) {
	turned := strings.NewReplacer(`"title":"T"`, `"title":"\u202e"`, `"startAt"`, `"timeline":[{"key":"u","at":"2026-01-31T09:30:00Z","status":"update","html":"\u202e"}],"startAt"`)
	got, warnings := read(t, dashboard+"\n"+component+"\n"+turned.Replace(event))
	want := []string{`x:s:e: title: line 3: shows nothing; it becomes "Incident"`, `x:s:e: timeline: line 3: the entry u shows nothing; it is left out`}
	if !slices.Equal(warnings, want) || !strings.Contains(got, `"title":"Incident"`) || strings.Contains(got, "\u202e") {
		t.Errorf("warnings %q, lines %s", warnings, got)
	}
}

func TestEachRuleOfAnEventNamesItsField(t *testing.T) {
	entry := `{"key":"x:s:u","at":"2026-01-31T09:30:00Z","status":"resolved","html":"<p>a</p>"}`
	for name, c := range map[string]struct{ old, new, want string }{
		"status of the type":  {`"resolved"`, `"completed"`, `status: line 3: "completed" is unknown; possible are investigating, identified, monitoring, resolved`},
		"end of an open one":  {`"resolved"`, `"identified"`, "endAt: line 3: must be absent while the event is open"},
		"end before start":    {`T10:30:00+01:00`, `T10:29:59+01:00`, "endAt: line 3: is before startAt"},
		"no start":            {`"startAt":"2026-01-31T09:30:00Z",`, ``, "startAt: line 3: is needed for an incident"},
		"plan":                {`"incident","title":"T","status":"resolved"`, `"maintenance","title":"T","status":"completed"`, "scheduledStartAt: line 3: is needed for a maintenance"},
		"unknown component":   {`{"key":"x:s:c"}`, `{"key":"x:s:z"}`, "components[0]: line 3: x:s:z is not the key of an earlier component"},
		"component twice":     {`{"key":"x:s:c"}`, `{"key":"x:s:c"},{"key":"x:s:c"}`, "components[1]: line 3: x:s:c is there twice"},
		"neither":             {`{"key":"x:s:c"}`, ``, "dashboardIds: line 3: must name 1 to 50 dashboards, since the event has no components"},
		"both":                {`"components"`, `"dashboardIds":["x:s:d"],"components"`, "dashboardIds: line 3: must be absent beside components"},
		"entry twice":         {`"components"`, `"timeline":[` + entry + `,` + entry + `],"components"`, "timeline[1].key: line 3: belongs to an earlier entry"},
		"newest entry first":  {`"components"`, `"timeline":[` + entry + `,` + strings.NewReplacer("x:s:u", "x:s:v", "09:30", "09:29").Replace(entry) + `],"components"`, "timeline[1].at: line 3: is before the entry above; the oldest comes first"},
		"foreign impact":      {`"components"`, `"timeline":[` + strings.Replace(entry, `"html"`, `"impacts":{"x:s:z":"operational"},"html"`, 1) + `],"components"`, "timeline[0].impacts: line 3: x:s:z is not a component of the event"},
		"empty text":          {`"components"`, `"timeline":[` + strings.Replace(entry, `<p>a</p>`, ``, 1) + `],"components"`, "timeline[0].html: line 3: must not be empty"},
		"hidden text":         {`"components"`, `"timeline":[` + strings.Replace(entry, `<p>a</p>`, `<p><!-- a --></p>`, 1) + `],"components"`, "timeline[0].html: line 3: must show something: it has markup without text"},
		"hidden title":        {`"title":"T"`, `"title":"\u200b"`, "title: line 3: must not be empty"},
		"channels of a later": {`"components"`, `"notifyLater":{"pigeon":true},"components"`, `notifyLater: line 3: "pigeon" is unknown; possible are email, sms, whatsapp, webhook, teams, gchat, slack, discord`},
	} {
		t.Run(name, func(t *testing.T) {
			got, warnings := read(t, dashboard+"\n"+component+"\n"+strings.Replace(event, c.old, c.new, 1))
			if !slices.Equal(warnings, []string{"x:s:e: " + c.want}) || strings.Contains(got, `"event"`) {
				t.Errorf("warnings %q, want %q; lines %s", warnings, c.want, got)
			}
		})
	}
}

func TestRecipientsAreCheckedByTheirChannel(t *testing.T) {
	_, warnings := read(t, strings.Join([]string{
		`{"kind":"subscriber","key":"x:s:1","channel":"email","address":"Ada <ada@example.com>","components":null,"state":"confirmed"}`,
		`{"kind":"subscriber","key":"x:s:2","channel":"sms","address":"0155","components":null,"state":"unconfirmed"}`,
		`{"kind":"subscriber","key":"x:s:3","channel":"email","address":"ada@example.com","components":null,"state":"asleep"}`,
		`{"kind":"subscriber","key":"x:s:4","channel":"email","address":"ada@example.com","components":["x:s:9"],"state":"confirmed"}`,
		`{"kind":"endpoint","key":"x:s:5","channel":"webhook","url":"ftp://example.com","components":null}`,
		`{"kind":"endpoint","key":"x:s:6","channel":"webhook","url":"https://example.com","components":null,"format":"statuspage"}`,
	}, "\n"))
	want := []string{
		"x:s:1: address: line 1: is no mail address",
		"x:s:2: address: line 2: must be a telephone number with + and country code",
		`x:s:3: state: line 3: "asleep" is unknown; possible are confirmed, unconfirmed, quarantined, unsubscribed`,
		"x:s:4: components[0]: line 4: x:s:9 is not the key of an earlier component",
		"x:s:5: url: line 5: must be an http or https URL of at most 2048 characters",
	}
	if !slices.Equal(warnings, want) {
		t.Errorf("warnings\n%s\nwant\n%s", strings.Join(warnings, "\n"), strings.Join(want, "\n"))
	}
}

func TestAByteOrderMarkCarriageReturnsAndEmptyLinesAreLeftOut(t *testing.T) {
	got, warnings := read(t, "\ufeff"+dashboard+"\r\n\r\n"+component+"\r\n")
	if want := dashboard + "\n" + component + "\n"; got != want || len(warnings) > 0 {
		t.Errorf("%s, %v", got, warnings)
	}
}

func TestLimitsOfAFileAreKept(t *testing.T) {
	long := `{"kind":"component","key":"x:s:2","name":"` + strings.Repeat("n", lines.MaxLine) + `"}`
	got, warnings := read(t, dashboard+"\n"+long+"\n"+component)
	if want := []string{"lines:line:2: : line 2: is longer than 1048576 bytes"}; !slices.Equal(warnings, want) || !strings.Contains(got, "x:s:c") {
		t.Errorf("%q, lines %s", warnings, got)
	}
	if _, err := lines.Read(t.Context(), &endless{}); err == nil || !strings.Contains(err.Error(), "has more than 268435456 bytes") {
		t.Errorf("a file that is too large gives the error %v", err)
	}
}

// endless is a file of one line without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'n'
	}
	return len(p), nil
}

func FuzzLines(f *testing.F) {
	f.Add([]byte(dashboard + "\n" + component + "\n" + event))
	f.Add([]byte(`{"kind":"subscriber","key":"x:s:1","channel":"email","address":"a@example.com","components":null,"state":"confirmed"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		set, err := lines.Read(t.Context(), bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		set.Warnings = nil
		var out, again bytes.Buffer
		if err := set.Write(&out); err != nil {
			t.Fatal(err)
		}
		second, err := lines.Read(t.Context(), bytes.NewReader(out.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if err := second.Write(&again); err != nil || again.String() != out.String() {
			t.Errorf("%s\nbecomes\n%s", out.String(), again.String())
		}
	})
}

// A file that is no file of lines, and a file that nobody waits for, are read no further.
func TestAReadEnds(t *testing.T) {
	wrong, err := lines.Read(t.Context(), strings.NewReader(strings.Repeat("x\n", 3*lines.MaxWarnings)))
	if err != nil || len(wrong.Warnings) != lines.MaxWarnings+1 || !strings.Contains(wrong.Warnings[lines.MaxWarnings].Text, "is not read after line 10001") {
		t.Errorf("%v, %d warnings", err, len(wrong.Warnings))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := lines.Read(ctx, strings.NewReader("x\n")); !errors.Is(err, context.Canceled) {
		t.Errorf("a read that nobody waits for has the error %v", err)
	}
}
