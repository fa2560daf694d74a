package pages

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"html"
	"mime/multipart"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"
)

// imported returns the results of an import: addresses that begin with "known" are updated, and those without an @ refused.
func (s *service) imported(at string) string {
	var in struct {
		Rows []struct{ Email, Phone string }
	}
	_ = json.Unmarshal([]byte(s.bodies[at]), &in) // a test that sends another body sees no results
	results := []map[string]any{}
	for i, row := range in.Rows {
		result := map[string]any{"row": i + 1, "status": "created", "id": other, "error": nil}
		if strings.HasPrefix(row.Email, "known") {
			result["status"] = "updated"
		} else if !strings.Contains(row.Email, "@") {
			result["status"], result["id"], result["error"] = "refused", nil, "email: must be an email address"
		}
		results = append(results, result)
	}
	text, _ := json.Marshal(map[string]any{"results": results}) // cannot fail for texts and numbers
	return string(text)
}

// upload sends a form with a file.
func (b *browser) upload(path, file string, fields ...string) response {
	b.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "list.csv")
	if err == nil {
		_, err = part.Write([]byte(file))
	}
	for i := 0; i+1 < len(fields) && err == nil; i += 2 {
		err = form.WriteField(fields[i], fields[i+1])
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return b.sendBody(post, path, &body, form.FormDataContentType())
}

const importAt = mails + "/import"

func TestAnImportShowsTheResultOfEachRowBeforeItWrites(t *testing.T) {
	b := open(t, "Checkout")
	b.expect(b.get(importAt+"?dashboard="+other), http.StatusOK, `<option dir="auto" value="`+other+`" selected>`, "At most 1 MiB", `data-import="/console/parts/subscribers/email/import"`, "import.")
	const list = "Name;E-Mail;Components;Confirmed;Locale\r\nAda;ada@example.com;" + other + ";yes;de\r\n\"Grace\r\nHopper\";known@example.com;ALL;;Default\r\nBob;bob;;;\r\n=cmd();eve@example.com;Nothing;;\r\nMallory;mal@example.com;;perhaps;\r\n"
	got := b.upload(importAt, list, "dashboard", other, "ask", "on", "again", "on", "rows", "")
	b.expect(got, http.StatusOK, "5 rows are checked. Nothing is written yet", "Columns that are not read: <bdi>Name</bdi>", "Import 2 subscribers",
		"Line 5: <bdi>The mail address must be an email address.", "Line 6: <bdi>The dashboard has no component “Nothing”.", "Line 7: <bdi>“perhaps” is neither yes nor no.", "&#39;=cmd(),eve@example.com",
		`name="step" value="write"`, `name="from" value="0"`, `name="to" value="5"`, `name="ask" value="on"`, `name="again" value="on"`)
	want := `{"dashboardId":"` + other + `","sendConfirmations":true,"force":true,"dryRun":true,"rows":[{"email":"ada@example.com","componentIds":["` + other + `"],"confirmed":true,"locale":"de"},{"email":"known@example.com","componentIds":null,"locale":null},{"email":"bob"}]}`
	if body := b.app.body("POST /app/subscribers/email/import"); body != want {
		t.Errorf("sent %s", body)
	}
	got = b.post(importAt, "dashboard", other, "ask", "on", "again", "on", "rows", list, "step", "write", "from", "0", "to", "5")
	b.expect(got, http.StatusOK, "5 rows are imported", "Show the subscribers", "Refused rows")
	if body := b.app.body("POST /app/subscribers/email/import"); body != strings.Replace(want, `"dryRun":true`, `"dryRun":false`, 1) {
		t.Errorf("sent %s", body)
	}
	b.expect(b.post("/console/subscribers/sms/import", "dashboard", other, "rows", "+49 151 1"), http.StatusOK, "so only its first column is read")
	if body := b.app.body("POST /app/subscribers/sms/import"); !strings.Contains(body, `"rows":[{"phone":"+49 151 1"}]`) {
		t.Error(body)
	}
}

// A list may name the dashboard of each row, as an export does. An import is for one dashboard.
func TestARowOfAnotherDashboardIsRefused(t *testing.T) {
	b := open(t, "Checkout")
	b.app.answer("GET /app/dashboards/"+other, answer{200, `{"dashboard": {"id": "` + other + `", "name": "Acme"}}`, false})
	all := `{"id": "` + other + `", "name": "Acme"}, {"id": "` + member + `", "name": "Shop"}`
	list := "email,dashboard\na@example.com,ACME\nb@example.com," + other + "\nc@example.com,\nd@example.com,Shop\ne@example.com," + member + "\n"
	check := func(texts ...string) {
		t.Helper()
		b.app.answer("GET /app/dashboards", answer{200, `{"dashboards": [` + all + `], "nextToken": null}`, false})
		b.expect(b.post(importAt, "dashboard", other, "rows", list), http.StatusOK, append(texts, "5 rows are checked", "Line 5: <bdi>The row is for the dashboard “Shop”. Import it for that dashboard.", "for the dashboard “"+member+"”.")...)
	}
	check("Import 3 subscribers")
	all += `, {"id": "` + session + `", "name": " acme"}`
	check("Import 2 subscribers", "Line 2: <bdi>There are several dashboards “ACME”. Write the id instead.")
	if body := b.app.body("POST /app/subscribers/email/import"); !strings.Contains(body, `"rows":[{"email":"b@example.com"},{"email":"c@example.com"}]`) {
		t.Errorf("sent %s", body)
	}
}

// Excel writes “Unicode text” in UTF-16 with tabs.
func TestAFileInUTF16IsImported(t *testing.T) {
	b := open(t, "Checkout")
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		var file []byte
		for _, unit := range utf16.Encode([]rune("\ufeffemail\tName\r\njörg@example.com\t😀\r\n")) {
			file = order.AppendUint16(file, unit)
		}
		b.expect(b.upload(importAt, string(file), "dashboard", other, "rows", ""), http.StatusOK, "1 row is checked", "<bdi>Name</bdi>", "jörg@example.com\t😀")
		if body := b.app.body("POST /app/subscribers/email/import"); !strings.Contains(body, `"email":"jörg@example.com"`) {
			t.Errorf("sent %s", body)
		}
	}
}

// The first line names the separator for Excel, lines end with CR as on old Macs, and a column that is not read has any text.
func TestAListOfAGermanSpreadsheetIsImported(t *testing.T) {
	b := open(t, "Checkout")
	const list = "\ufeffsep=;\rName;Telefonnummer;E-Mail;Sprache;Bestätigt\rAda\x0b;+49 151 1;ada@example.com;de;ja\r"
	for channel, want := range map[string]string{"email": `{"email":"ada@example.com","confirmed":true,"locale":"de"}`, "sms": `{"phone":"+49 151 1","confirmed":true,"locale":"de"}`} {
		at := "/subscribers/" + channel + "/import"
		b.expect(b.upload("/console"+at, list, "dashboard", other, "rows", ""), http.StatusOK, "1 row is checked", "Columns that are not read: <bdi>Name, ")
		if body := b.app.body("POST /app" + at); !strings.Contains(body, `"rows":[`+want+`]`) {
			t.Errorf("sent %s", body)
		}
	}
}

func TestAWrongListIsShownWithItsLine(t *testing.T) {
	b := open(t, "Checkout")
	for _, row := range []struct{ rows, want string }{
		{"email\n\"ada@example.com\n", "Line 2: A field is in quotation marks only partly"},
		{"  \n", "Choose a file, or paste rows."},
		{"email,locale\n", "The list has no row with an address."},
	} {
		b.expect(b.post(importAt, "dashboard", other, "rows", row.rows), http.StatusUnprocessableEntity, "There is a problem", row.want, `<option dir="auto" value="`+other+`" selected>`)
	}
	b.expect(b.upload(importAt, "a@example.com", "dashboard", other, "rows", "b@example.com"), http.StatusUnprocessableEntity, "not both", `aria-describedby="file-hint file-problem"`)
	for _, file := range []string{"a\xff@example.com", "email\nj\xf6rg@example.com", "e\x00m\x00", "\xff\xfea\x00\x00\xd8"} { // the second in Latin-1, the last in broken UTF-16
		b.expect(b.upload(importAt, file, "dashboard", other), http.StatusUnprocessableEntity, "CSV UTF-8")
	}
	b.expect(b.post(importAt, "dashboard", "", "rows", "a@example.com"), http.StatusUnprocessableEntity, "Choose an option.")
	b.app.answer("GET /app/dashboards/"+other, answer{404, `{}`, false})
	gone := b.post(importAt, "dashboard", other, "rows", "a@example.com", "ask", "on", "step", "write")
	b.expect(gone, http.StatusUnprocessableEntity, "There is no such dashboard now.", `id="dashboard-problem"`, "a@example.com</textarea>", `name="ask" value="on" checked`)
	if strings.Contains(gone.text, `value="write"`) {
		t.Error("rows that were not checked for another dashboard are written to it")
	}
	b.expect(b.upload(importAt, strings.Repeat("a@example.com\n", 80000), "dashboard", other), http.StatusRequestEntityTooLarge, "The form is too large", "at most 1048576 bytes")
	if body := b.app.body("POST /app/subscribers/email/import"); body != "" {
		t.Errorf("a wrong list is sent: %s", body)
	}
}

// The form that imports the checked rows is larger than the one with the file, because browsers send each line end as CRLF.
func TestAListThatCanBeCheckedCanBeImported(t *testing.T) {
	b := open(t, "Checkout")
	const size = 1<<20 - 4<<10 // with CRLF
	row := "known@example.com,\"" + strings.Repeat("\n", 10_000) + "\"\n"
	list := "email,note\n" + strings.Repeat(row, 51)
	list += "ada@example.com," + strings.Repeat("x", size-len(list)-strings.Count(list, "\n")-len("ada@example.com,"))
	got := b.upload(importAt, list, "dashboard", other, "rows", "")
	b.expect(got, http.StatusOK, "52 rows are checked")
	_, rest, _ := strings.Cut(got.text, `<textarea name="rows" hidden>`+"\n")
	rows, _, _ := strings.Cut(rest, "</textarea>")
	got = b.upload(importAt, "", "dashboard", other, "ask", "", "step", "write", "from", "0", "to", "52", "rows", strings.ReplaceAll(html.UnescapeString(rows), "\n", "\r\n"))
	b.expect(got, http.StatusOK, "52 rows are imported")
	got = b.upload(importAt, list+"x", "dashboard", other, "rows", "")
	b.expect(got, http.StatusUnprocessableEntity, "more than 1 MiB", "Divide it into several files")
	if len(got.text) > 100_000 {
		t.Error("the page has the rows, which cannot be sent again")
	}
}

// If the platform fails after the first piece, the page says which rows are written, and its form goes on.
func TestAnImportThatStopsSaysWhatIsWritten(t *testing.T) {
	b := open(t, "Checkout")
	var list strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&list, "p%d@example.com\n", i)
	}
	b.expect(b.post(importAt, "dashboard", other, "rows", list.String()), http.StatusOK, "2,500 rows are checked", "Import 2,500 subscribers")
	b.app.fails("POST /app/subscribers/email/import", 2, false)
	got := b.post(importAt, "dashboard", other, "rows", list.String(), "step", "write", "from", "0", "to", "2500")
	b.expect(got, http.StatusOK, "1,000 of 2,500 rows are written", "It is not known whether 1,000 rows are written from line 1001 on: ", "subscribers.", "Import the other 1,500 rows", `name="from" value="1000"`, `name="to" value="2500"`)
	got = b.post(importAt, "dashboard", other, "rows", list.String(), "step", "write", "from", "1000", "to", "2500")
	b.expect(got, http.StatusOK, "1,500 rows are imported", "1,000 rows are done before these.")
	b.app.fails("POST /app/subscribers/email/import", 1, false)
	b.expect(b.post(importAt, "dashboard", other, "rows", list.String()), http.StatusServiceUnavailable, "Send it again in a moment.", "p2499@example.com")
}

func TestAListThatIsWrongAsAWholeIsNotCheckedToItsEnd(t *testing.T) {
	b := open(t, "Checkout")
	list := strings.Repeat("bob\n", 21_500)
	b.expect(b.post(importAt, "dashboard", other, "rows", list), http.StatusOK, "20,000 rows are checked", "20,000 rows of this step are refused. See whether they have a mistake in common", "Check the other 1,500 rows", `name="from" value="20000"`)
	b.expect(b.post(importAt, "dashboard", other, "rows", list, "step", "check", "from", "20000"), http.StatusOK, "1,500 rows are checked", "20,000 rows are done before these.")
}

// The App interface finds the same address only in the rows of one call.
func TestAnAddressInTwoPiecesIsImportedOnce(t *testing.T) {
	b := open(t, "Checkout")
	var list strings.Builder
	list.WriteString("email\nAda@example.com\nbob\n")
	for i := range 999 {
		fmt.Fprintf(&list, "p%d@example.com\n", i)
	}
	list.WriteString("ada@example.com\nbob\neve@example.com\n")
	const twice, wrong = "Line 1003: <bdi>The address is in line 2 too.", "Line 1004: <bdi>The mail address must be an email address."
	b.expect(b.post(importAt, "dashboard", other, "rows", list.String()), http.StatusOK, "1,004 rows are checked", "Import 1,001 subscribers", twice, wrong)
	b.expect(b.post(importAt, "dashboard", other, "rows", list.String(), "step", "write", "from", "1000", "to", "1004"), http.StatusOK, "4 rows are imported", twice)
	if body := b.app.body("POST /app/subscribers/email/import"); strings.Contains(body, "ada@") {
		t.Errorf("sent %s", body)
	}

	at := "/console/parts/subscribers/email/import" // the script collects the addresses of the pieces
	b.expect(b.upload(at, "", "dashboard", other, "head", "email", "line", "2", "rows", "Ada@example.com\nbob\n"), http.StatusOK, `"addresses":{"ada@example.com":2}`)
	rows := []string{"dashboard", other, "head", "email", "line", "1003", "rows", "ada@example.com\neve@example.com\nADA@example.com\n"}
	b.expect(b.upload(at, "", rows...), http.StatusOK, `"created":3`, `"ada@example.com":1003`)
	b.expect(b.upload(at, "", append(rows, "earlier", "1003:2")...), http.StatusOK, `"created":1`, `"line":1003,"address":"ada@example.com","reason":"The address is in line 2 too."`, `"line":1005,`)
	b.expect(b.upload("/console/parts/subscribers/sms/import", "", "dashboard", other, "head", "phone", "line", "7", "rows", "+49 (151) 1\n+491511\n", "earlier", "7:2 99:1 x"), http.StatusOK, `"line":8,"address":"+491511","reason":"The address is in line 2 too."`)
}

func TestAPieceOfAnImportHasItsResultAsJSON(t *testing.T) {
	b := open(t, "Checkout")
	at := "/console/parts/subscribers/email/import"
	got := b.upload(at, "", "dashboard", other, "ask", "", "step", "check", "head", "email;name", "line", "1001", "rows", "known@example.com;A\r\nbob;\"x;\r\ny\"\r\n")
	b.expect(got, http.StatusOK, `"created":0,"updated":1,"refused":[{"line":1002,"address":"bob","reason":"The mail address must be an email address.","row":"bob,\"x;\ny\",The mail address must be an email address.\n"}],"addresses":{"known@example.com":1001},"head":"email,name,reason\n","unread":["name"],"named":true`)
	got = b.upload(at, "", "dashboard", other, "step", "check", "head", "email,=cmd(),components,\"a,\"\"b\"", "line", "2", "rows", "bob\neve@example.com,@x,Nothing\nmal\n")
	b.expect(got, http.StatusOK, `"head":"email,'=cmd(),components,\"a,\"\"b\",reason\n"`, `"row":"eve@example.com,'@x,Nothing,,The dashboard has no component “Nothing”.\n"`, `"line":2,"address":"bob"`)
	if order := regexp.MustCompile(`"line":\d`).FindAllString(got.text, -1); strings.Join(order, " ") != `"line":2 "line":3 "line":4` {
		t.Errorf("the refused rows are %s", order)
	}
	got = b.upload(at, "", "dashboard", other, "step", "write", "head", "email", "line", "1", "rows", "email\nada@example.com\n")
	b.expect(got, http.StatusOK, `"created":1,"updated":0,"refused":[]`)
	if body := b.app.body("POST /app/subscribers/email/import"); !strings.Contains(body, `"dryRun":false`) {
		t.Error(body)
	}
	b.expect(b.upload(at, "", "dashboard", other, "head", "email", "line", "7", "rows", "\"x"), http.StatusOK, `{"problem":"Line 7: `)
	b.app.fails("POST /app/subscribers/email/import", 1, false)
	b.expect(b.upload(at, "", "dashboard", other, "head", "email", "line", "1", "rows", "email\na@example.com"), http.StatusServiceUnavailable)
	b.app.answer("GET /app/dashboards/"+other, answer{404, `{}`, false})
	b.expect(b.upload(at, "", "dashboard", other, "head", "email", "line", "1", "rows", "email\na@example.com"), http.StatusNotFound)
}

// Rows with many components are more than one call may contain, so they are divided.
func TestPiecesStayBelowTheLimitOfABody(t *testing.T) {
	b := open(t, "Checkout")
	var list strings.Builder
	list.WriteString("email,components\n")
	for i := range 900 {
		fmt.Fprintf(&list, "p%d@example.com,%s\n", i, strings.Repeat("Shop;", 40))
	}
	b.app.answer("GET /app/dashboards/"+other, answer{200, `{"dashboard": {"id": "` + other + `", "components": [{"componentId": "` + member + `", "name": "Shop"}]}}`, false})
	b.expect(b.post(importAt, "dashboard", other, "rows", list.String()), http.StatusOK, "900 rows are checked", "Import 900 subscribers")
	if calls := len(b.app.queries("POST /app/subscribers/email/import")); calls != 3 {
		t.Errorf("%d calls", calls)
	}
	if size := len(b.app.body("POST /app/subscribers/email/import")); size > 1<<20 {
		t.Errorf("a body has %d bytes", size)
	}
}
