package richtext

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestANotationIsReadAsADocument(t *testing.T) {
	for notation, want := range map[string]string{
		"":                                    "",
		"One":                                 "<p>One</p>",
		"We **know** the *cause*, ***all***.": "<p>We <strong>know</strong> the <em>cause</em>, <strong><em>all</em></strong>.</p>",
		"a**b**c":                             "<p>a<strong>b</strong>c</p>",
		"**a***b*":                            "<p><strong>a</strong><em>b</em></p>",
		"2 * 3 * 4 and a*b":                   "<p>2 * 3 * 4 and a*b</p>",
		"** a ** and **b":                     "<p>** a ** and **b</p>",
		"****a****":                           "<p>****a****</p>",
		`\*a\* \[b\](c) \\ d\e`:               `<p>*a* [b](c) \ d\e</p>`,
		"one\ntwo\r\n\r\nthree":               "<p>one<br>two</p><p>three</p>",
		"**one\ntwo**":                        "<p><strong>one</strong><br><strong>two</strong></p>",
		"a\n\\\n\\\nb":                        "<p>a<br><br><br>b</p>",
		"see [the *page*](https://a.example/b_(c)?d)":              `<p>see <a href="https://a.example/b_(c)?d" rel="nofollow noreferrer">the <em>page</em></a></p>`,
		"**[x](mailto:a@b.example)**":                              `<p><a href="mailto:a@b.example" rel="nofollow noreferrer"><strong>x</strong></a></p>`,
		"[x](javascript:y) [y] (z) [](https://a.example) array[0]": "<p>[x](javascript:y) [y] (z) [](https://a.example) array[0]</p>",
		"[x](https://a b)":                                         "<p>[x](https://a b)</p>",
		"We did:\n- a\n- **b**\n* c":                               "<p>We did:</p><ul><li><p>a</p></li><li><p><strong>b</strong></p></li><li><p>c</p></li></ul>",
		"1. a\n2. b\n7. c\n\nafter":                                "<ol><li><p>a</p></li><li><p>b</p></li><li><p>c</p></li></ol><p>after</p>",
		"2026. It was.":                                            "<p>2026. It was.</p>",
		"- a\n\n- b":                                               "<ul><li><p>a</p></li><li><p>b</p></li></ul>",
		"- a\n\n\n- b":                                             "<ul><li><p>a</p></li></ul><ul><li><p>b</p></li></ul>",
		"- a\n  - b\n    - c\n  - d\n- e":                          "<ul><li><p>a</p><ul><li><p>b</p><ul><li><p>c</p></li></ul></li><li><p>d</p></li></ul></li><li><p>e</p></li></ul>",
		"1. a\n  - b\n\t- c":                                       "<ol><li><p>a</p><ul><li><p>b</p></li><li><p>c</p></li></ul></li></ol>",
		"- a\n  b\n\n  c\nd":                                       "<ul><li><p>a<br>b</p><p>c</p></li></ul><p>d</p>",
		"- - a\n-":                                                 "<ul><li><ul><li><p>a</p></li></ul></li><li></li></ul>",
		`\- a`:                                                     "<p>- a</p>",
		"-a\n1.5":                                                  "<p>-a<br>1.5</p>",
		"<b>x</b> & y":                                             "<p>&lt;b&gt;x&lt;/b&gt; &amp; y</p>",
		"a\x00\x1bb":                                               "<p>ab</p>",
	} {
		if got := HTML(Rich, Document(notation)); got != want {
			t.Errorf("%q\ngot  %s\nwant %s", notation, got, want)
		}
	}
}

// TestATextThatPeopleTypeComesBackUnchanged checks the notation of the document of a notation.
func TestATextThatPeopleTypeComesBackUnchanged(t *testing.T) {
	for _, notation := range []string{
		"", "We **know** the *cause*, ***all***.", "2 * 3 * 4, a*b and array[0]", "one\ntwo\n\nthree", "see [the *page*](https://a.example/b_(c)?d=e&f).",
		"We did:\n- a\n- b\n\nThen:\n1. c\n2. d\n   - e\n\nEnd", `C:\dir`, "- a\n- b\n\n\n- c", "**one\ntwo**", "a - b", "5 < 6 & 7 > 3", "**a***b*", "\\", "-", "1.",
	} {
		if got, exact := Notation(Document(notation)); got != notation || !exact {
			t.Errorf("%q comes back as %q, exact %v", notation, got, exact)
		}
	}
}

func TestEveryRichTextHasANotation(t *testing.T) {
	for text, want := range map[string]string{
		"plain *text*\nof [two](lines)\n\n- and more":  "plain \\*text\\*\nof \\[two\\](lines)\n\n\\- and more",
		"<p>We <b>know</b> it.</p><ul><li>a</li></ul>": "We **know** it.\n- a",
		`{"type": "doc", "content": [{"type": "paragraph", "content": [{"type": "text", "text": " a ", "marks": [{"type": "bold"}]}, {"type": "text", "text": "b"}]}]}`: `**\ a\ **b`,
		`{"type": "doc", "content": [{"type": "bulletList"}, {"type": "paragraph"}, {"type": "paragraph", "content": [{"type": "text", "text": "a\nb"}]}]}`:             "\\\n\na b",
	} {
		if got, exact := Notation(text); got != want || !exact {
			t.Errorf("%s\ngot  %q, exact %v\nwant %q", text, got, exact, want)
		}
	}
	long := `{"type": "doc", "content": [{"type": "paragraph", "content": [{"type": "text", "text": "a", "marks": [{"type": "link", "attrs": {"href": "https://a.example/` + strings.Repeat("b", maxAddress) + `"}}]}]}]}`
	if _, exact := Notation(long); exact {
		t.Error("a link with a very long address is exact")
	}
}

// TestALongNotationIsReadInLittleTime reads texts whose time could grow with the square of their length.
func TestALongNotationIsReadInLittleTime(t *testing.T) {
	for _, part := range []string{"*", "* a ", "*a ", "**a ", "[", "[a](", "[a](https://a.example/(", "\\", "- ", "\n", "-\n\n\n", "1. ", "  - a\n", "***a** "} {
		text := strings.Repeat(part, 20000/len(part))
		start := time.Now()
		_, exact := Notation(Document(text))
		if took := time.Since(start); !exact || took > 10*time.Second {
			t.Errorf("%q: exact %v after %s", part, exact, took)
		}
	}
}

// checkNotation checks that a document is the same after it was written in the notation and read.
func checkNotation(t *testing.T, document string) {
	t.Helper()
	if err := Check(document, 1<<30); err != nil {
		t.Fatalf("%s: %v", document, err)
	}
	notation, exact := Notation(document)
	if !exact {
		t.Fatalf("%s\nbecomes %q\nand that %s", document, notation, Document(notation))
	}
	parsed, _ := parse(document)
	read, _ := parse(Document(notation))
	if want := parsed.normal(); !reflect.DeepEqual(read, want) {
		t.Fatalf("%s\nbecomes %q\nand that %s", document, notation, Document(notation))
	}
	if was, is := strings.Fields(PlainText(Rich, document)), strings.Fields(PlainText(Rich, Document(notation))); !slices.Equal(was, is) {
		t.Fatalf("%s\nis shown as %q\nand %q as %q", document, was, notation, is)
	}
	if again, _ := Notation(Document(notation)); again != notation {
		t.Fatalf("%q comes back as %q", notation, again)
	}
}

// Every text is a notation, and its document is the same after it was written and read.
func FuzzNotation(f *testing.F) {
	for _, seed := range append(hostile(f), "**a** *b* [c](https://d.example)", "- a\n  1. b\n\n\n- c", "***a** b*", "\\*\\", "a\n\\\nb", "1. - a\n2.", "[**a](https://b.example)**", "\t- a\n-\tb") {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { checkNotation(t, Document(text)) })
}

// Every structured document is the same after it was written in the notation and read. The bytes of the input select the
// nodes of the document.
func FuzzDocumentInNotation(f *testing.F) {
	for _, seed := range []string{"", "\x00\x01 a", "paragraph", "\x05\x11\x07list*[]\\", "0123456789abcdefghijklmnopqrstuvwxyz", "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		m := documentMaker{choices: choices}
		document := &node{kind: "doc", content: m.blocks(1)}
		checkNotation(t, document.json())
	})
}

// documentMaker makes documents of choices.
type documentMaker struct{ choices []byte }

// choose returns a number from 0 to n-1; 0 if there are no choices left.
func (m *documentMaker) choose(n int) int {
	if len(m.choices) == 0 {
		return 0
	}
	choice := int(m.choices[0])
	m.choices = m.choices[1:]
	return choice % n
}

func (m *documentMaker) blocks(depth int) (blocks []*node) {
	for m.choose(4) > 0 {
		kind := []string{"paragraph", "bulletList", "orderedList"}[m.choose(3)]
		if kind == "paragraph" || depth+3 > maxDepth {
			blocks = append(blocks, &node{kind: "paragraph", content: m.inline()})
			continue
		}
		list := &node{kind: kind}
		for m.choose(3) > 0 {
			list.content = append(list.content, &node{kind: "listItem", content: m.blocks(depth + 2)})
		}
		blocks = append(blocks, list)
	}
	return blocks
}

func (m *documentMaker) inline() (nodes []*node) {
	texts := []string{"a", " ", "  ", "*", "**", "\\", "- ", "-", "1. ", "12.", "[", "]", "(", ")", "](https://x.example)", "\t", "b c", " d", "e ", "\u00a0", "é", "<b>", "\\*", "`", "\n"}
	addresses := []string{"", "", "https://a.example", "mailto:b@c.example", "https://a.example/(b", "https://a.example/b)", "https://a.example/\\*[d] e"}
	for m.choose(6) > 0 {
		n := &node{kind: "text", href: addresses[m.choose(len(addresses))]}
		if style := m.choose(5); style == 4 {
			n.kind = "hardBreak"
		} else {
			n.text, n.bold, n.italic = texts[m.choose(len(texts))], style&1 > 0, style&2 > 0
		}
		nodes = append(nodes, n)
	}
	return nodes
}
