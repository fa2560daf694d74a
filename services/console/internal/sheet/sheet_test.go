package sheet

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// read returns the rows of a whole list as "line: address|components|confirmed|locale".
func read(t *testing.T, text string) (lines []string, head Head) {
	t.Helper()
	head, err := HeadOf(First(text), false)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := head.Read(text, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		lines = append(lines, fmt.Sprintf("%d: %s|%s|%s|%s", r.Line, r.Cell(Address), r.Cell(Components), r.Cell(Confirmed), r.Cell(Locale)))
	}
	return lines, head
}

func TestAListIsReadAsSpreadsheetsWriteIt(t *testing.T) {
	for name, row := range map[string]struct {
		text string
		want []string
	}{
		"addresses":                 {"ada@example.com\ngrace@example.com", []string{"1: ada@example.com|||", "2: grace@example.com|||"}},
		"a byte order mark":         {"\ufeffE-Mail;Components\r\nada@example.com;API\r\n", []string{"2: ada@example.com|API||"}},
		"tabs":                      {"name\temail\tlanguage\nAda\tada@example.com\tde\n", []string{"2: ada@example.com|||de"}},
		"a line break":              {"email,components,confirmed\nada@example.com,\"API,\nWebsite\",yes\ngrace@example.com,\"\",no\n", []string{"2: ada@example.com|API,\nWebsite|yes|", "4: grace@example.com||no|"}},
		"quotation marks":           {"email,components\n\"ada@example.com\",\"The \"\"new\"\" API\"\n", []string{`2: ada@example.com|The "new" API||`}},
		"empty lines and rows":      {"\n;;\nemail;locale\n\n;\n ada@example.com ; de \n", []string{"6: ada@example.com|||de"}},
		"short rows":                {"email,components,confirmed,locale\nada@example.com\n", []string{"2: ada@example.com|||"}},
		"other columns":             {"ada@example.com;Ada\n", []string{"1: ada@example.com|||"}},
		"a guarded cell":            {"phone\n'+4915112345678\n''=x\n'x\n", []string{"2: +4915112345678|||", "3: '=x|||", "4: 'x|||"}},
		"lone carriage returns":     {"email,locale\rada@example.com,de\r\reve@example.com,\r", []string{"2: ada@example.com|||de", "4: eve@example.com|||"}},
		"the separator of Excel":    {"\ufeffsep=;\r\nE-Mail-Adresse;Komponenten;Bestätigt;Sprache\r\nada@example.com;API;ja;de\r\n", []string{"3: ada@example.com|API|ja|de"}},
		"columns that are not read": {"email,note\nada@example.com,\"a\x0bb\"\n", []string{"2: ada@example.com|||"}},
		"an empty first cell":       {"locale\tphone\n\t+49 151\n", []string{"2: +49 151|||"}},
	} {
		if got, _ := read(t, row.text); !slices.Equal(got, row.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if _, head := read(t, "First name,E-mail address,Opt-in,,mail\nAda,ada@example.com,yes,,\n"); !slices.Equal(head.Unread, []string{"First name", "mail"}) {
		t.Errorf("not read are %q", head.Unread)
	}
}

// A list of phone numbers may have mail addresses too, and the reverse.
func TestTheColumnOfTheChannelIsTheAddress(t *testing.T) {
	for header, columns := range map[string][2]string{ // for mail addresses, and for phone numbers
		"phone,email,locale": {"2", "1"}, "E-Mail,Telefon": {"1", "2"}, "E-Mail-Adresse,Handy-Nr.": {"1", "2"}, "Name,Rufnummer,Mobiltelefon": {"2", "2"}, "address,email": {"2", "1"}, "name,Telefonnummer": {"2", "2"}, "address,phone": {"1", "2"},
	} {
		for i, byPhone := range []bool{false, true} {
			head, err := HeadOf(header, byPhone)
			if err != nil {
				t.Fatal(err)
			}
			rows, err := head.Read("1,2,3\n", 2)
			if err != nil || rows[0].Cell(Address) != columns[i] {
				t.Errorf("%s, %t: %+v, %v", header, byPhone, rows, err)
			}
		}
	}
	if head, err := HeadOf("phone,email,locale", false); err != nil || !slices.Equal(head.Unread, []string{"phone"}) {
		t.Errorf("%q, %v", head.Unread, err)
	}
}

func TestAPieceOfAListHasTheLinesOfTheList(t *testing.T) {
	head, err := HeadOf("email;locale", false)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := head.Read("email;de\nada@example.com;fr\n", 1001)
	if err != nil || len(rows) != 2 || rows[1].Line != 1002 || rows[1].Cell(Locale) != "fr" {
		t.Errorf("%+v, %v", rows, err)
	}
}

func TestAnErrorOfAListNamesItsLine(t *testing.T) {
	for text, want := range map[string]string{
		"email\na@example.com\n\"b@example.com\n":             "Line 3: A field is in quotation marks only partly",
		"email\nb\"@example.com\n":                            "Line 2: A field has a quotation mark",
		"email\na\x01@example.com\n":                          "Line 2: The row has a control character.",
		"email;Name\na@example.com;\x00\n":                    "Line 1: The list must be text in UTF-8.",
		"email\na@example.com\nb\xff@example.com\n":           "Line 1: The list must be text in UTF-8.",
		"email\na@example.com\n" + strings.Repeat("x", 40000): "Line 3: A row has at most 32 KiB.",
	} {
		head, err := HeadOf(First(text), false)
		if err != nil {
			t.Fatal(err)
		}
		_, err = head.Read(text, 1)
		if found, is := errors.AsType[*Error](err); !is || !strings.HasPrefix(found.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Each component is found by what an export writes, also if names are hostile or the same.
func TestComponentsAreFoundByTheirLabels(t *testing.T) {
	components := []Component{
		{"1", "API"}, {"2", "Web, site"}, {"3", "api"}, {"4", "All"}, {"5", "=1+1"}, {"6", "'=x"}, {"7", " Shop "}, {"8", "none"}, {"9", "a;b|c"}, {"10", "1"}, {"11", "x\ny"}, {"12", ""}, {"13", "Zahlungen – DE"}, {"14", "Shop; Zahlungen – DE"}, {"15", "7; 13"}, {"16", "\ufffd"},
	}
	labels := Labels(components)
	var all []string
	for _, c := range components {
		all = append(all, c.ID)
		if got, err := Chosen(Cell([]string{c.ID}, components, labels), components); err != nil || !slices.Equal(got, []string{c.ID}) {
			t.Errorf("%q is written %q and read as %q, %v", c.Name, labels[c.ID], got, err)
		}
	}
	if got, err := Chosen(Cell(all, components, labels), components); err != nil || !slices.Equal(got, all) {
		t.Errorf("%q is read as %q, %v", Cell(all, components, labels), got, err)
	}
	for _, ids := range [][]string{{"7", "13"}, {"13", "7"}, {"14", "7"}, {"7", "13", "14"}} {
		if got, err := Chosen(Cell(ids, components, labels), components); err != nil || !slices.Equal(got, ids) {
			t.Errorf("%q is written %q and read as %q, %v", ids, Cell(ids, components, labels), got, err)
		}
	}
	if labels["16"] != "16" || labels["7"] != "Shop" || labels["13"] != "Zahlungen – DE" || labels["2"] != "2" {
		t.Errorf("the labels are %q", labels)
	}
	for cell, want := range map[string]string{"API": "several components “API”", "Shop, Nothing": "no component “Nothing”"} {
		if _, err := Chosen(cell, components); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", cell, err)
		}
	}
	if got, err := Chosen("Web, site", components); err != nil || !slices.Equal(got, []string{"2"}) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := Chosen("ALL", components); err != nil || got != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := Chosen(Cell([]string{}, components, labels), components); err != nil || got == nil || len(got) > 0 {
		t.Errorf("%q, %v", got, err)
	}
}

func TestNoCellOfAListIsAFormula(t *testing.T) {
	cells := []string{"=1+1", "+49", "-1", "@x", "\tx", "'=1", "'x", "x", "", "a\"b", "1,2", "a\nb"}
	var out strings.Builder
	list := NewWriter(&out)
	for _, cell := range cells {
		if err := list.Write("x@example.com", cell); err != nil {
			t.Fatal(err)
		}
	}
	if err := list.Flush(); err != nil {
		t.Fatal(err)
	}
	head, err := HeadOf("email,components", false)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := head.Read(out.String(), 2)
	if err != nil || len(rows) != len(cells) {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i, cell := range cells {
		if got := rows[i].Cell(Components); got != strings.TrimSpace(cell) {
			t.Errorf("%q is read as %q", cell, got)
		}
	}
	for _, raw := range []string{",=", ",+", ",-", ",@", ",\t", ",\"=", ",\"\t"} {
		if strings.Contains(out.String(), raw) {
			t.Errorf("a cell begins with %q: %s", raw, out.String())
		}
	}
}
