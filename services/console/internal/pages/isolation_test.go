package pages

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// rightToLeft is the text of every record in the test of isolation.
const rightToLeft = "שלום עולם"

// A text of a record that is written from right to left must not change the order of the words around it. So every text is in
// an element that isolates it, and an input shows what is typed in its own direction.
func TestEveryTextOfARecordIsIsolatedFromTheWordsAround(t *testing.T) {
	b := open(t, rightToLeft)
	for _, r := range b.pages {
		if r.method == get && !leavesAtOnce(r) && !strings.HasSuffix(r.path, "/csv") && !strings.HasSuffix(r.path, "/export") {
			b.isolates(r.String(), b.get(address(r)+"?token=x&q="+url.QueryEscape(rightToLeft)))
		}
	}
	b.member.Session = ""
	b.isolates("the sign-in", b.get("/console/sign-in"))
	b.member.Session = session
	b.isolates("a moved row", b.arranged("down "+other))
	b.isolates("a component to add", b.arranged("add ", "add", other))
	b.app.answer("PATCH /app/users/"+other, answer{409, `{"error": "The record has changed."}`, false})
	b.isolates("a conflict", b.post("/console/users/"+other, "firstName", rightToLeft+" 2", "lastName", "", "email", "Ada", "roles", "admin", "version", "2"))
	b.app.answer("POST /app/users", answer{400, `{"error": "` + rightToLeft + `"}`, false})
	b.isolates("wrong input", b.post("/console/users/new", "username", rightToLeft, "email", "b@example.com", "firstName", rightToLeft, "lastName", "", "roles", "event"))
	b.app.forget("POST /app/users")
	b.isolates("an invitation", b.post("/console/users/new", "username", "bob", "email", "b@example.com", "roles", "event"))
	b.isolates("a key", b.post("/console/profile/keys", "name", "deploy"))
	b.expect(b.post("/console/components/new", "name", rightToLeft), http.StatusSeeOther)
	b.isolates("a status line", b.get("/console/components"))
}

// isolates fails unless the page isolates the text.
func (b *browser) isolates(name string, got response) {
	b.t.Helper()
	page, err := html.Parse(strings.NewReader(got.text))
	if err != nil {
		b.t.Fatal(err)
	}
	for node := range page.Descendants() {
		switch {
		case node.Type == html.TextNode && strings.Contains(strings.ReplaceAll(node.Data, isolate(rightToLeft), ""), rightToLeft):
			if !isolated(node.Parent) {
				b.t.Errorf("%s does not isolate %q in <%s>", name, strings.TrimSpace(node.Data), node.Parent.Data)
			}
		case node.DataAtom == atom.Input && strings.Contains(attributeOf(node, "value"), rightToLeft):
			if kind := attributeOf(node, "type"); slices.Contains([]string{"", "text", "search"}, kind) && attributeOf(node, "dir") != "auto" {
				b.t.Errorf("%s: the input %s has the direction of the page", name, attributeOf(node, "name"))
			}
		}
	}
}

// isolated reports whether the element or one around it isolates its text. The title of the page is alone already.
func isolated(node *html.Node) bool {
	for ; node != nil; node = node.Parent {
		if node.DataAtom == atom.Bdi || node.DataAtom == atom.Title || attributeOf(node, "dir") == "auto" {
			return true
		}
	}
	return false
}

func attributeOf(node *html.Node, name string) string {
	at := slices.IndexFunc(node.Attr, func(a html.Attribute) bool { return a.Key == name })
	if at < 0 {
		return ""
	}
	return node.Attr[at].Val
}
