package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"
)

// listedSubscriber is a subscriber as the App interface shows it.
type listedSubscriber struct {
	ID, Email, Phone, Locale, Source string
	ComponentIDs                     []string
	Confirmed                        bool
}

// subscribersOf returns the subscribers of a channel, by address.
func subscribersOf(t testing.TB, c credentials, channel string) map[string]listedSubscriber {
	t.Helper()
	found := map[string]listedSubscriber{}
	for next := ""; ; {
		var page struct {
			Subscribers []listedSubscriber
			NextToken   string
		}
		send(t, http.MethodGet, c.BaseURL+"/app/subscribers/"+channel+"?limit=100"+next, c.app(), nil).expect(t, http.StatusOK).into(t, &page)
		for _, s := range page.Subscribers {
			found[s.Email+s.Phone] = s
		}
		if page.NextToken == "" {
			return found
		}
		next = "&nextToken=" + page.NextToken
	}
}

// multipartBody returns a form with a file, unless its name is empty, and its media type.
func multipartBody(t testing.TB, file string, fields map[string]string) (*bytes.Buffer, string) {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, value := range fields {
		if err := form.WriteField(name, value); err != nil {
			t.Fatal(err)
		}
	}
	if file != "" {
		part, err := form.CreateFormFile("file", "list.csv")
		if err == nil {
			_, err = part.Write([]byte(file))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	return &body, form.FormDataContentType()
}

// A member imports a file without script: the first page says what would happen with each row, the second writes.
func TestAMemberImportsAListWithoutScript(t *testing.T) {
	t.Parallel()
	p, base := started(t)
	ada, of := welcomed(t, p, base)
	of.BaseURL = base
	at := "/subscribers/email/import"
	ada.open("/subscribers/email", http.StatusOK)
	if !strings.Contains(ada.text, `href="/console`+at) {
		t.Error("the list has no link to the import")
	}
	api := ada.open("/subscribers/email/new", http.StatusOK).choice("components", "API")
	send(t, http.MethodPost, base+"/app/subscribers/email", of.app(), map[string]any{"dashboardId": of.DashboardID, "email": "known@example.com", "confirmed": true, "locale": "fr"}).expect(t, http.StatusCreated)
	const list = "\ufeffName;E-Mail;Components;Confirmed;Language\r\n" +
		"\"Lovelace\r\nAda\";ada@example.com;API;yes;de\r\n" +
		";grace@example.com;all;no;default\r\n" +
		";KNOWN@example.com;" + "%s" + ";;\r\n" +
		";grace@example.com;;;\r\n" +
		";nobody;;;\r\n" +
		";eve@example.com;Nothing;;\r\n"
	upload := func(status int) {
		t.Helper()
		ada.open(at, http.StatusOK)
		body, media := multipartBody(t, fmt.Sprintf(list, api), map[string]string{"dashboard": of.DashboardID, "ask": "on", "rows": ""})
		ada.loadBody(http.MethodPost, ada.origin+"/console"+at, body, media, status)
	}
	for range 2 { // a check can be repeated
		upload(http.StatusOK)
		ada.expect(at, "6 rows are checked. Nothing is written yet", "to create2", "to update1", "refused3", "Columns that are not read: Name.",
			"Line 6: The address is in line 4 too.", "Line 7: The mail address must be an email address.", "Line 8: The dashboard has no component “Nothing”.")
	}
	if found := subscribersOf(t, of, "email"); len(found) != 1 || found["known@example.com"].ComponentIDs != nil {
		t.Errorf("the check has written: %+v", found)
	}
	ada.fill(at, nil, http.StatusOK).expect(at, "6 rows are imported", "created2", "updated1", "refused3")
	check := func() {
		t.Helper()
		found := subscribersOf(t, of, "email")
		if len(found) != 3 {
			t.Errorf("there are %+v", found)
		}
		for address, want := range map[string]string{
			"ada@example.com": "[" + api + "] true de import", "grace@example.com": "[] false  import", "known@example.com": "[" + api + "] true fr app",
		} {
			s := found[address]
			if got := fmt.Sprintf("%v %t %s %s", s.ComponentIDs, s.Confirmed, s.Locale, s.Source); got != want {
				t.Errorf("%s is %s, not %s", address, got, want)
			}
		}
	}
	check()
	asked := func() (addresses []string) {
		for _, mail := range letters(t, dataFolder(p)) {
			if mail.to != "admin@example.com" { // who gets mails about the account
				addresses = append(addresses, mail.to)
			}
		}
		return addresses
	}
	eventually(t, 30*time.Second, "the mail to the only one who has not confirmed", func() error {
		if len(asked()) == 0 {
			return errors.New("there is none")
		}
		return nil
	})

	// The same list again only updates, and asks nobody again.
	upload(http.StatusOK)
	ada.expect(at, "to create0", "to update3").fill(at, nil, http.StatusOK).expect(at, "created0", "updated3", "refused3")
	check()
	send(t, http.MethodPost, base+"/app/subscribers/email", of.app(), map[string]any{"dashboardId": of.DashboardID, "email": "last@example.com"}).expect(t, http.StatusCreated)
	eventually(t, 30*time.Second, "the mail to the last one", func() error {
		if got := strings.Join(asked(), " "); !strings.Contains(got, "last@example.com") {
			return errors.New(got)
		}
		return nil
	})
	if got := asked(); len(got) != 2 {
		t.Errorf("asked are %v", got)
	}
	var audit struct{ Entries []struct{ Action string } }
	eventually(t, 30*time.Second, "the entries of the two imports, and none of the checks", func() error {
		send(t, http.MethodGet, base+"/app/audit?action=subscriber.import", of.app(), nil).expect(t, http.StatusOK).into(t, &audit)
		if len(audit.Entries) != 2 {
			return fmt.Errorf("there are %d", len(audit.Entries))
		}
		return nil
	})

	texts := "/subscribers/sms/import"
	ada.open(texts, http.StatusOK).fill(texts, typed("rows", "number\tlocale\n+49 151 12345678\tde\n0151 1\t\n"), http.StatusOK).
		expect(texts, "2 rows are checked", "Line 3: The phone number must be a possible phone number").fill(texts, nil, http.StatusOK).expect(texts, "created1")
	if s := subscribersOf(t, of, "sms")["+4915112345678"]; s.Locale != "de" || s.Confirmed {
		t.Errorf("the number is %+v", s)
	}
	ada.open(texts, http.StatusOK).fill(texts, typed("rows", "\"+49"), http.StatusUnprocessableEntity).expect(texts, "There is a problem", "Line 1: A field is in quotation marks only partly")
	ada.fill(texts, typed("rows", strings.Repeat("+49 151 12345678\n", 80000)), http.StatusRequestEntityTooLarge).expect(texts, "at most 1 MiB", "Divide a longer list of subscribers into several files")
}

// Only members with the role of subscribers import, and only for dashboards of their organization.
func TestAnImportNeedsItsRoleAndItsDashboard(t *testing.T) {
	t.Parallel()
	ada, of, base := member(t)
	theirs := provision(t, base, "Other", "other-admin", "admin")
	at := "/subscribers/email/import"
	pieces := func(user *consoleUser, dashboard string, page, part int) {
		t.Helper()
		for path, status := range map[string]int{at: page, "/parts" + at: part} {
			body, media := multipartBody(t, "", map[string]string{"dashboard": dashboard, "head": "email", "line": "1", "rows": "email\neve@example.com\n", "step": "write"})
			if path == at {
				body, media = multipartBody(t, "", map[string]string{"dashboard": dashboard, "rows": "eve@example.com", "step": "write"})
			}
			user.loadBody(http.MethodPost, user.origin+"/console"+path, body, media, status)
		}
	}
	pieces(ada, theirs.DashboardID, http.StatusUnprocessableEntity, http.StatusNotFound)
	bob := addUser(t, of, "bob", "event")
	var link struct{ URL string }
	send(t, http.MethodPost, base+"/operator/v1/users/"+bob.UserID+"/invitation", of.operator(), nil).expect(t, http.StatusCreated).into(t, &link)
	member := newConsoleUser(t, base)
	member.open(link.URL, http.StatusOK).fill("/welcome", typed("password", memberPassword), http.StatusOK)
	member.open(at, http.StatusForbidden).expect(at, "This page needs the role Subscribers.")
	pieces(member, of.DashboardID, http.StatusForbidden, http.StatusForbidden)
	if found := subscribersOf(t, of, "email"); len(found) != 0 {
		t.Errorf("there are %+v", found)
	}
}

// The subscribers service is killed once during each piece of an import. A member who repeats each piece, as the script does,
// gets each subscriber once, and each owner is asked once.
func TestAnImportGoesOnAfterKillsOfSubscribers(t *testing.T) {
	t.Parallel()
	mails, env := startMailServer(t)
	cluster := startCluster(t, env...)
	of := provision(t, cluster.base, "Acme", "acme-admin", "admin", "api")
	var link struct{ URL string }
	send(t, http.MethodPost, cluster.base+"/operator/v1/users/"+of.UserID+"/invitation", of.operator(), nil).expect(t, http.StatusCreated).into(t, &link)
	ada := newConsoleUser(t, cluster.base)
	ada.origin = cluster.base
	ada.open(link.URL, http.StatusOK).fill("/welcome", typed("password", memberPassword), http.StatusOK)

	const pieces, rows = 6, 100
	send := func(n int) (status int, got struct{ Created, Updated int }) {
		var list strings.Builder
		for i := range rows {
			fmt.Fprintf(&list, "p%d@example.com\n", n*rows+i)
		}
		body, media := multipartBody(t, "", map[string]string{"dashboard": of.DashboardID, "ask": "on", "step": "write", "head": "email", "line": fmt.Sprint(n*rows + 2), "rows": list.String()})
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, cluster.base+"/console/parts/subscribers/email/import", body)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", media)
		request.Header.Set("Origin", cluster.base)
		response, err := ada.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		found, err := readAnswer(response)
		if err == nil && found.status == http.StatusOK {
			err = json.Unmarshal(found.body, &got)
		}
		if err != nil {
			t.Fatal(err)
		}
		return found.status, got
	}
	subscribers := cluster.processes["subscribers"]
	repeated, known, took := 0, 0, 100*time.Millisecond
	for n := range pieces {
		killed, moment := make(chan struct{}), time.After(rand.N(took)) // a random moment of the piece for the kill
		go func() {
			defer close(killed)
			<-moment
			subscribers.kill()
			subscribers.start()
		}()
		for try := 0; ; try++ {
			began := time.Now()
			status, got := send(n)
			if status == http.StatusOK {
				if got.Created+got.Updated != rows {
					t.Errorf("piece %d: %+v", n, got)
				}
				known += got.Updated
				took = time.Since(began)
				break
			}
			if status != http.StatusServiceUnavailable || try > 200 {
				t.Fatalf("piece %d has the status %d", n, status)
			}
			repeated++
			<-time.After(100 * time.Millisecond) // the wait of the script, but shorter
		}
		<-killed
	}
	eventually(t, time.Minute, "ready again", ready("http://"+cluster.addresses["subscribers"]))
	if found := subscribersOf(t, of, "email"); len(found) != pieces*rows {
		t.Errorf("there are %d subscribers, not %d", len(found), pieces*rows)
	}
	eventually(t, 2*time.Minute, "a mail to each owner", func() error {
		mails.read()
		delete(mails.accepted, "acme-admin@example.com") // who gets mails about the account
		if len(mails.accepted) < pieces*rows {
			return fmt.Errorf("%d have one", len(mails.accepted))
		}
		return nil
	})
	for address, got := range mails.accepted {
		if len(got) != 1 {
			t.Errorf("%s is asked %d times", address, len(got))
		}
	}
	if repeated == 0 {
		t.Error("no piece was repeated: nothing is proven")
	}
	t.Logf("%d kills, %d repeated pieces, %d rows were known", pieces, repeated, known)
}
