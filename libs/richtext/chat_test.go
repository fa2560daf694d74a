package richtext

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
)

func TestChatText(t *testing.T) {
	for name, c := range map[string]struct{ html, want string }{
		"paragraphs":      {"<p>one</p><p>two</p>", "one<br><br>two"},
		"bold and italic": {"<p>We <strong>know</strong> <em>it</em>, <b><i>all</i></b>.</p>", "We <b>know</b> <i>it</i>, <b><i>all</i></b>."},
		"within a word":   {"<p>un<strong>believ</strong>able</p>", "un<b>believ</b>able"},
		"link":            {`<p>see <a href="https://e.example/a?x=1&amp;y=%22" rel="nofollow">here</a>!</p>`, `see <a href="https://e.example/a?x=1&amp;y=%22">here</a>!`},
		"link in bold":    {`<p><strong><a href="https://e.example">x</a></strong></p>`, `<a href="https://e.example"><b>x</b></a>`},
		"other scheme":    {`<a href="javascript:alert(1)">x</a>`, "x"},
		"quoted":          {`<a href='https://e.example/"><users/all>'>x</a>`, `<a href="https://e.example/%22%3E%3Cusers/all%3E">x</a>`},
		"lists":           {"<p>a:</p><ul><li>b</li><li><p>c</p><ol><li>d</li><li>e</li></ol></li></ul><p>f</p>", "a:<br><br>• b<br>• c<br>\u00a0\u00a0\u00a0\u00a01. d<br>\u00a0\u00a0\u00a0\u00a02. e<br><br>f"},
		"heading":         {"<h2>Title</h2><p>x</p>", "<b>Title</b><br><br>x"},
		"preformatted":    {"<pre><code>a\n  b</code></pre>", "a<br><br>\u00a0\u00a0b"},
		"literal":         {"<p>&lt;b&gt; &amp;lt; *a* &lt;users/all&gt;</p>", "&lt;b&gt; &amp;lt; *a* &lt;users/all&gt;"},
		"nothing":         {" <p> </p>", ""},
	} {
		if got := ChatText(c.html); got != c.want {
			t.Errorf("%s: got  %q\nwant %q", name, got, c.want)
		}
	}
}

// Outside of a card a text has no markup: no formatting, no link with another text, no mention.
func TestChatUnmarked(t *testing.T) {
	for text, want := range map[string]string{
		"<users/all> *now* _a_ ~b~ `c`": "‹users/all› ∗now∗ ＿a＿ ∼b∼ ˋcˋ",
		"<https://evil.example|bank>":   "‹https://evil.example|bank›",
		"A & B\x00\x1b":                 "A & B",
	} {
		if got := ChatUnmarked(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Read as HTML, a plain text has no element but line breaks, and it is unchanged.
func FuzzChatPlain(f *testing.F) {
	for _, seed := range append(hostile(f), "a\r\n\r\nb", "&lt;b&gt;", "x\x00\x1b\ty", "a\xff") {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var shown strings.Builder
		tokens := html.NewTokenizer(strings.NewReader(ChatPlain(text)))
		for kind := tokens.Next(); kind != html.ErrorToken; kind = tokens.Next() {
			token := tokens.Token()
			switch {
			case kind == html.TextToken:
				shown.WriteString(token.Data)
			case token.String() == "<br>":
				shown.WriteByte('\n')
			default:
				t.Fatalf("%q has the element %s", text, token)
			}
		}
		want := strings.ReplaceAll(strings.TrimSpace(visible(text)), "\t", " ")
		if shown.String() != want {
			t.Errorf("%q is shown as %q", text, shown.String())
		}
		if unmarked := ChatUnmarked(text); strings.ContainsAny(unmarked, "<>*_~`") {
			t.Errorf("%q keeps its markup: %q", text, unmarked)
		}
	})
}
