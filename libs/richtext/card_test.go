package richtext

import (
	"strings"
	"testing"

	"github.com/yuin/goldmark"
)

func TestCardText(t *testing.T) {
	for name, c := range map[string]struct{ html, want string }{
		"paragraphs":      {"<p>one</p><p>two<br>three</p>", "one\n\ntwo\n\nthree"},
		"bold and italic": {"<p>We <strong>know</strong> <em>it</em>, <b><i>all</i></b>.</p>", "We **know** _it_, **_all_**."},
		"blanks outside":  {"<p>a<strong> b </strong>c</p>", "a **b** c"},
		"within a word":   {"<p>un<strong>believ</strong>able</p>", "unbelievable"},
		"side by side":    {"<p><strong>a</strong><em>b</em></p>", "ab"},
		"bold in parts":   {"<p><strong>a</strong><strong>b</strong></p>", "**ab**"},
		"link":            {`<p>see <a href="https://e.example/a_(b)?x=1&amp;y=[2]">here</a>!</p>`, `see [here](https://e.example/a_%28b%29?x=1&y=%5B2%5D)\!`},
		"link in bold":    {`<p><strong><a href="https://e.example">x</a></strong></p>`, "**[x](https://e.example)**"},
		"other scheme":    {`<a href="javascript:alert(1)">x</a>`, "x"},
		"lists":           {"<p>a:</p>\n<ul>\n<li>b</li>\n<li><p>c</p>\n<ol>\n<li>d</li>\n<li>e</li>\n</ol>\n</li>\n</ul>\n<p>f</p>", "a:\n\n- b\n- c\n    1. d\n    2. e\n\nf"},
		"empty item":      {"<ul><li><ol><li>a</li></ol></li><li>b</li></ul>", "1. a\n- b"},
		"heading":         {"<h2>Title</h2><p>x</p>", "**Title**\n\nx"},
		"preformatted":    {"<pre><code>a\n  b</code></pre>", "a\n\n\u00a0\u00a0b"},
		"literal":         {"<p>**a** _b_ `c` [d](http://e) &lt;at&gt; &amp;lt; {{DATE(2026-01-01T00:00:00Z, SHORT)}}</p>", "\\*\\*a\\*\\* \\_b\\_ \\`c\\` \\[d\\](http://e) \\<at\\> \\&lt; \\{\\{DATE(2026-01-01T00:00:00Z, SHORT)\\}\\}"},
		"at the start":    {"<p># a</p><p>- b</p><p>1. c</p><p>2) d</p><p>---</p><p>&gt; e</p>", "\\# a\n\n\\- b\n\n1\\. c\n\n2\\) d\n\n\\---\n\n\\> e"},
		"item at start":   {"<ul><li># a</li></ul>", "- \\# a"},
		"unclosed":        {"<p><b>a<ul><li>b", "**a**\n\n- **b**"},
		"nothing":         {" <p> </p>", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := CardText(c.html); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestCardPlain(t *testing.T) {
	for text, want := range map[string]string{
		"Checkout *slow*":      `Checkout \*slow\*`,
		"a\r\n\r\n# b\n  - c ": "a\n\n\\# b\n\n\\- c",
		"x\x00\x1b\ty":         "x y",
		"a\xff":                "a\uFFFD",
		"":                     "",
	} {
		if got := CardPlain(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Read as Markdown, a plain text has no formatting at all.
func FuzzCardPlain(f *testing.F) {
	for _, seed := range []string{"**a**", "# x", "1. a", "    code", "[x](y)", "![x](y)", "<b>", "&lt;", "a\n===", "~~~", "```", "\\*", "http://x.example/_a_", "- - -", "\t+ a", "* * *", "[x]: y"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var out strings.Builder
		if err := goldmark.New().Convert([]byte(CardPlain(text)), &out); err != nil {
			t.Fatal(err)
		}
		for _, tag := range []string{"<em", "<strong", "<a ", "<img", "<h", "<li", "<code", "<pre", "<blockquote", "<hr", "<!--"} {
			if strings.Contains(out.String(), tag) {
				t.Errorf("%q becomes %q", text, out.String())
			}
		}
		_ = CardText(HTML(Markdown, text))
	})
}
