package richtext

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	markdownHTML "github.com/yuin/goldmark/renderer/html"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

func hostile(t testing.TB) []string {
	t.Helper()
	lines, err := os.ReadFile("testdata/hostile.txt")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(lines)), "\n")
}

// formats returns the elements that each format may render.
func formats() map[Format][]string {
	supported := []string{"p", "br", "strong", "em", "ul", "ol", "li", "a"}
	return map[Format][]string{
		Plain:    {"p", "br"},
		Rich:     supported,
		Markdown: append(slices.Clone(supported), "hr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "code"),
	}
}

// checkMarkup checks HTML as a browser reads it: only the elements, only links that are allowed, and no other
// attribute. It also checks that every element is closed in order, so that the HTML cannot close what is around it.
func checkMarkup(t *testing.T, markup string, elements []string) {
	t.Helper()
	if balanced(t, markup) > 500 { // html.ParseFragment refuses more than 512 nested elements
		return
	}
	around := &html.Node{Type: html.ElementNode, Data: "div", DataAtom: atom.Div}
	nodes, err := html.ParseFragment(strings.NewReader(markup), around)
	if err != nil {
		t.Fatalf("%v in %q", err, markup)
	}
	for _, root := range nodes {
		checkNode(t, markup, root, elements)
		for n := range root.Descendants() {
			checkNode(t, markup, n, elements)
		}
	}
}

// balanced checks that every element is closed in order. It returns the highest number of nested elements.
func balanced(t *testing.T, markup string) (deepest int) {
	t.Helper()
	var open []string
	tokens := html.NewTokenizer(strings.NewReader(markup))
	for kind := tokens.Next(); kind != html.ErrorToken; kind = tokens.Next() {
		token := tokens.Token()
		switch {
		case kind == html.StartTagToken && token.Data != "br" && token.Data != "hr":
			open = append(open, token.Data)
			deepest = max(deepest, len(open))
		case kind == html.EndTagToken:
			if len(open) == 0 || open[len(open)-1] != token.Data {
				t.Fatalf("</%s> closes none of %v in %q", token.Data, open, markup)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Fatalf("%v stay open in %q", open, markup)
	}
	return deepest
}

func checkNode(t *testing.T, markup string, n *html.Node, elements []string) {
	t.Helper()
	switch {
	case n.Type == html.TextNode:
		if at := strings.IndexFunc(n.Data, control); at >= 0 {
			t.Fatalf("a control character in %q", markup)
		}
		return
	case n.Type != html.ElementNode || n.Namespace != "" || !slices.Contains(elements, n.Data):
		t.Fatalf("%v %q is not allowed in %q", n.Type, n.Data, markup)
	}
	for _, a := range n.Attr {
		switch {
		case n.Data == "a" && a.Key == "href":
			if scheme, _, _ := strings.Cut(a.Val, ":"); !slices.Contains([]string{"http", "https", "mailto"}, strings.ToLower(scheme)) {
				t.Fatalf("a link to %q in %q", a.Val, markup)
			}
		case n.Data == "a" && a.Key == "rel" && a.Val == "nofollow noreferrer":
		default:
			t.Fatalf("the attribute %s=%q in %q", a.Key, a.Val, markup)
		}
	}
}

func control(c rune) bool { return unicode.IsControl(c) && c != '\n' && c != '\t' }

// checkRendered checks what a text becomes in each format: HTML, plain text, and the text of a card.
func checkRendered(t *testing.T, text string) {
	t.Helper()
	for format, elements := range formats() {
		markup, plain := HTML(format, text), PlainText(format, text)
		checkMarkup(t, markup, elements)
		if !utf8.ValidString(markup+plain) || strings.ContainsFunc(plain, control) {
			t.Fatalf("%s of %q becomes %q and %q", format, text, markup, plain)
		}
		var card strings.Builder
		reader := goldmark.New(goldmark.WithRendererOptions(markdownHTML.WithUnsafe()))
		if err := reader.Convert([]byte(CardText(markup)), &card); err != nil {
			t.Fatal(err)
		}
		checkMarkup(t, card.String(), formats()[Rich])
		checkMarkup(t, ChatText(markup), []string{"b", "i", "a", "br"})
	}
}

func FuzzRender(f *testing.F) {
	for _, seed := range append(hostile(f), "x", boldDoc, "<p>a<ul><li>b<ol><li>c</p></ul>d", "**a** [x](javascript:y)", "- a\n  1. b", "a<br>b", "# a\n> b\n\n```\nc\n```\n<b>", "\x00<b>\x1b</b>&#27;\r") {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		checkRendered(t, text)
		_, literal := parse(strings.TrimSpace(text))
		if _, is := isDocument(strings.TrimSpace(text)); is && literal != (Check(text, len(text)) == nil) {
			t.Errorf("%q is checked as %v and rendered as a document: %v", text, Check(text, len(text)), literal)
		}
	})
}

// TestHostileTextsKeepNothingOfAScript checks for each vector that nothing of a script is left in a Rich text, also no address of one.
func TestHostileTextsKeepNothingOfAScript(t *testing.T) {
	for _, text := range hostile(t) {
		checkRendered(t, text)
		if _, formatted := parse(text); !formatted {
			continue // shown as it is
		}
		for _, rendered := range []string{HTML(Rich, text), PlainText(Rich, text), CardText(HTML(Rich, text)), ChatText(HTML(Rich, text))} {
			for _, bad := range []string{`"javascript:`, "(javascript:", `"data:`, "(data:", " onerror=", "url("} {
				if strings.Contains(strings.ToLower(rendered), bad) && !strings.Contains(text, "[x](") && !strings.Contains(text, "<textarea") {
					t.Errorf("%q becomes %q", text, rendered)
				}
			}
		}
	}
}

// TestRenderInTime renders texts of the greatest lengths that the interfaces accept. Their characters are slow to parse.
// Only the legacy interface accepts Markdown, up to 5,000 characters.
func TestRenderInTime(t *testing.T) {
	longest := map[Format]int{Plain: 50_000, Rich: 50_000, Markdown: 5_000}
	for _, part := range []string{
		"<", "<a ", "<b>", "<p>", "<ul>", "<ul><li>", "<b><p>", "<a href=http://e.example>", "</p>", "<br>", "<!--", "<x y=", "<script>", "&", "&#", "&amp;",
		"[", "]", "[](", "![", "*", "**a ", "_", "*a_", "`", "`a", "> ", ">", "- ", " - ", "1. ", "#", "~", "\\", "\n", "\n\n", "\t", "a\n", "[a]: b\n", "<a\n", "http://e.example ",
		`{"type":"doc","content":[`, `[`, `{"a":`, "\x00", "\u2028", "é",
	} {
		for format, length := range longest {
			repeated := strings.Repeat(part, length/len(part))
			if _, formatted := parse(strings.TrimSpace(repeated)); format == Plain && !formatted {
				continue // rendered like the Rich text
			}
			texts := []string{repeated}
			if format == Rich { // as a fragment too
				texts = append(texts, "<p>"+repeated+"x</b>")
			}
			for _, text := range texts {
				var markup string
				took := time.Hour
				for try := 0; try < 3 && took > 5*time.Second; try++ { // the worst takes 0.2 s, unless the machine is busy
					begun := time.Now()
					markup = HTML(format, text)
					_ = PlainText(format, text)
					_ = CardText(markup)
					_ = ChatText(markup)
					_ = Check(text, length)
					took = time.Since(begun)
				}
				if took > 5*time.Second {
					t.Errorf("%s of %.20q takes %v", format, text, took)
				}
				if len(markup) > 40*length {
					t.Errorf("%s of %.20q becomes %d bytes", format, text, len(markup))
				}
			}
		}
	}
}
