package richtext

import (
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

const boldDoc = `{"type":"doc","content":[{"type":"paragraph","content":[{"type":"text","text":"We "},{"type":"text","text":"know","marks":[{"type":"bold"}]},{"type":"text","text":" it."}]}]}`

func TestATextIsRenderedInEachFormat(t *testing.T) {
	for name, c := range map[string]struct {
		format     Format
		text       string
		html, said string
	}{
		"plain":              {Plain, "a <b> & c", "<p>a &lt;b&gt; &amp; c</p>", "a <b> & c"},
		"plain lines":        {Plain, "one\r\ntwo\n\nthree\n", "<p>one<br>two</p><p>three</p>", "one\ntwo\n\nthree"},
		"plain is not md":    {Plain, "**x**", "<p>**x**</p>", "**x**"},
		"empty":              {Plain, " \n", "", ""},
		"markdown":           {Markdown, "**x** and [y](https://e.example)", `<p><strong>x</strong> and <a href="https://e.example" rel="nofollow noreferrer">y</a></p>`, "x and y (https://e.example)"},
		"markdown script":    {Markdown, "a <script>alert(1)</script>", "<p>a alert(1)</p>", "a alert(1)"},
		"markdown bad link":  {Markdown, "[x](javascript:alert(1))", "<p>x</p>", "x"},
		"markdown list":      {Markdown, "1. a\n2. b\n   - c", "<ol>\n<li>a</li>\n<li>b\n<ul>\n<li>c</li>\n</ul>\n</li>\n</ol>", "1. a\n2. b\n  - c"},
		"rich text":          {Rich, "5 < 6 **x**", "<p>5 &lt; 6 **x**</p>", "5 < 6 **x**"},
		"rich fragment":      {Rich, `<p onclick="x">Hi <i>you</i><img src=x></p>`, "<p>Hi <em>you</em></p>", "Hi you"},
		"rich structured":    {Rich, boldDoc, "<p>We <strong>know</strong> it.</p>", "We know it."},
		"rich structured li": {Rich, `{"type":"doc","content":[{"type":"bulletList","content":[{"type":"listItem","content":[{"type":"paragraph","content":[{"type":"text","text":"a"}]}]}]}]}`, "<ul><li><p>a</p></li></ul>", "- a"},
		"rich not a doc":     {Rich, `{"a": 1}`, `<p>{&#34;a&#34;: 1}</p>`, `{"a": 1}`},
		"rich mail":          {Rich, `<a href="mailto:a@e.example">a@e.example</a>`, `<p><a href="mailto:a@e.example" rel="nofollow noreferrer">a@e.example</a></p>`, "a@e.example"},
		"rich link in parts": {Rich, `<a href="https://e.example">a <b>b</b></a> c`, `<p><a href="https://e.example" rel="nofollow noreferrer">a <strong>b</strong></a> c</p>`, "a b (https://e.example) c"},
		"rich link":          {Rich, `{"type":"doc","content":[{"type":"paragraph","content":[{"type":"text","text":"x<y","marks":[{"type":"link","attrs":{"href":"https://e.example/?a=1&b=2"}}]}]}]}`, `<p><a href="https://e.example/?a=1&amp;b=2" rel="nofollow noreferrer">x&lt;y</a></p>`, `x<y (https://e.example/?a=1&b=2)`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := HTML(c.format, c.text); got != c.html {
				t.Errorf("HTML %q, want %q", got, c.html)
			}
			if got := PlainText(c.format, c.text); got != c.said {
				t.Errorf("plain text %q, want %q", got, c.said)
			}
		})
	}
}

func docOf(content string) string { return `{"type":"doc","content":[` + content + `]}` }

func textOfMark(marks string) string {
	return docOf(`{"type":"paragraph","content":[{"type":"text","text":"x","marks":[` + marks + `]}]}`)
}

func TestADocumentWithUnsupportedNodesIsRefused(t *testing.T) {
	deep := strings.Repeat(`{"type":"bulletList","content":[{"type":"listItem","content":[`, 13) + strings.Repeat(`]}]}`, 13)
	const nodes, marks = "must be a supported node: paragraph, bulletList, orderedList, listItem, hardBreak or text", "must be a supported mark: bold, italic or link"
	for name, c := range map[string]struct{ text, problem string }{
		"plain":               {"x", ""},
		"nothing":             {"", ""},
		"HTML":                {"<h1 onclick=x>x</h1><script>", ""},
		"other JSON":          {`{"type":"paragraph"}`, ""},
		"a list of documents": {`[{"type":"doc"}]`, ""},
		"a number":            {`42`, ""},
		"no JSON":             {`{"type":"doc"`, ""},
		"something after":     {`{"type":"doc"} x`, ""},
		"Type":                {`{"Type":"doc"}`, ""},
		"document":            {boldDoc, ""},
		"blanks around":       {" \n" + boldDoc + "\t", ""},
		"empty document":      {docOf(""), ""},
		"empty paragraph":     {docOf(`{"type":"paragraph"}`), ""},
		"empty text":          {docOf(`{"type":"paragraph","content":[{"type":"text","text":""}]}`), ""},
		"lists": {docOf(`{"type":"orderedList","attrs":{"start":3},"content":[{"type":"listItem","content":[{"type":"paragraph","content":[
			{"type":"text","text":"a"},{"type":"hardBreak","marks":[{"type":"bold"}]}]},{"type":"bulletList","content":[]}]}]}`), ""},
		"attributes of editors": {docOf(`{"type":"paragraph","attrs":{"textAlign":null},"content":[]}`), ""},
		"marks of a paragraph":  {docOf(`{"type":"paragraph","marks":[]}`), "content[0].marks is not a member of the node paragraph"},
		"attributes of links":   {textOfMark(`{"type":"link","attrs":{"href":"https://e.example","target":"_blank","rel":"x","class":null}}`), ""},
		"null attributes":       {textOfMark(`{"type":"bold","attrs":null}`), ""},
		"mailto":                {textOfMark(`{"type":"link","attrs":{"href":"MAILTO:a@e.example"}}`), ""},

		"no content":          {`{"type":"doc"}`, "content is required"},
		"null content":        {`{"type":"doc","content":null}`, "content is required"},
		"content is a text":   {`{"type":"doc","content":"x"}`, "content must be an array"},
		"heading":             {docOf(`{"type":"paragraph"},{"type":"heading","attrs":{"level":1}}`), "content[1].type " + nodes},
		"blockquote":          {docOf(`{"type":"blockquote"}`), "content[0].type " + nodes},
		"codeBlock":           {docOf(`{"type":"codeBlock"}`), "content[0].type " + nodes},
		"no type":             {docOf(`{}`), "content[0].type " + nodes},
		"type is a number":    {docOf(`{"type":1}`), "content[0].type " + nodes},
		"node is a text":      {docOf(`"x"`), "content[0] must be an object"},
		"node is null":        {docOf(`null`), "content[0] must be an object"},
		"text in doc":         {docOf(`{"type":"text","text":"x"}`), "content[0].type must be paragraph or bulletList or orderedList below the node doc"},
		"doc in doc":          {docOf(docOf("")), "content[0].type must be paragraph or bulletList or orderedList below the node doc"},
		"paragraph in list":   {docOf(`{"type":"bulletList","content":[{"type":"paragraph"}]}`), "content[0].content[0].type must be listItem below the node bulletList"},
		"no text":             {docOf(`{"type":"paragraph","content":[{"type":"text"}]}`), "content[0].content[0].text is required"},
		"text is a number":    {docOf(`{"type":"paragraph","content":[{"type":"text","text":1}]}`), "content[0].content[0].text must be a string"},
		"text has content":    {docOf(`{"type":"paragraph","content":[{"type":"text","text":"x","content":[]}]}`), "content[0].content[0].content is not a member of the node text"},
		"typo":                {docOf(`{"type":"paragraph","contents":[]}`), "content[0].contents is not a member of the node paragraph"},
		"attrs is a text":     {docOf(`{"type":"paragraph","attrs":"x"}`), "content[0].attrs must be an object"},
		"marks is an object":  {docOf(`{"type":"paragraph","content":[{"type":"text","text":"x","marks":{}}]}`), "content[0].content[0].marks must be an array"},
		"mark is a text":      {textOfMark(`"bold"`), "content[0].content[0].marks[0] must be an object"},
		"mark attrs":          {textOfMark(`{"type":"bold","attrs":1}`), "content[0].content[0].marks[0].attrs must be an object"},
		"unknown mark":        {textOfMark(`{"type":"bold"},{"type":"code"}`), "content[0].content[0].marks[1].type " + marks},
		"no mark":             {textOfMark(`null`), "content[0].content[0].marks[0].type " + marks},
		"link without href":   {textOfMark(`{"type":"link"}`), "content[0].content[0].marks[0].attrs.href must be an address with http, https or mailto"},
		"href is a number":    {textOfMark(`{"type":"link","attrs":{"href":1}}`), "content[0].content[0].marks[0].attrs.href must be an address with http, https or mailto"},
		"link to script":      {textOfMark(`{"type":"link","attrs":{"href":"javascript:x"}}`), "content[0].content[0].marks[0].attrs.href must be an address with http, https or mailto"},
		"link without scheme": {textOfMark(`{"type":"link","attrs":{"href":"//e.example"}}`), "content[0].content[0].marks[0].attrs.href must be an address with http, https or mailto"},
		"link without host":   {textOfMark(`{"type":"link","attrs":{"href":"https:/x"}}`), "content[0].content[0].marks[0].attrs.href must be an address with http, https or mailto"},
		"too deep":            {docOf(deep), strings.Repeat("content[0].", 24) + "content[0] must not be nested deeper than 24 nodes"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Check(c.text, 2000)
			if c.problem == "" && err == nil {
				return
			}
			want := "must be a valid structured document: " + c.problem
			if !fault.Is(err, fault.Invalid) || err.Error() != want {
				t.Errorf("got  %v\nwant %v", err, want)
			}
		})
	}
}

func TestCheckLength(t *testing.T) {
	if err := Check(strings.Repeat("é", 20), 20); err != nil {
		t.Errorf("20 characters: %v", err)
	}
	if err := Check(strings.Repeat("é", 21), 20); err == nil || err.Error() != "must be at most 20 characters" {
		t.Errorf("21 characters: %v", err)
	}
}

// TestAFragmentOfHTMLKeepsItsFormatting checks what is an HTML fragment, and what its formatting becomes.
func TestAFragmentOfHTMLKeepsItsFormatting(t *testing.T) {
	for text, want := range map[string]string{
		"We see <none> at 5 < 6 > 4":                   "",
		"use <b> for bold":                             "",
		"<placeholder> x </placeholder>":               "",
		"a </b> c":                                     "",
		"<3 you":                                       "",
		"# a\n- b **c**":                               "",
		"Hello <b>world</b>":                           "<p>Hello <strong>world</strong></p>",
		"one<br>two":                                   "<p>one<br>two</p>",
		"<p>a":                                         "<p>a</p>",
		"<!-- x --><p>a</p>":                           "<p>a</p>",
		"<p>a &lt;b&gt; &amp; c</p>":                   "<p>a &lt;b&gt; &amp; c</p>",
		"<p># a **b** [c](http://d)</p>":               "<p># a **b** [c](http://d)</p>",
		"<h1>a</h1><blockquote>b</blockquote>c":        "<p>a</p><p>b</p><p>c</p>",
		"<pre><code>a</code></pre>":                    "<p>a</p>",
		"<div>a<div>b</div></div>":                     "<p>a</p><p>b</p>",
		"<p>un<span style='x'>believ</span>able</p>":   "<p>unbelievable</p>",
		"<u>a</u> <del>b</del>":                        "<p>a b</p>",
		"<b>a<p>b</b>c</p>":                            "<p><strong>a</strong></p><p><strong>b</strong>c</p>",
		"<p>a</p>\n<ul>\n<li>b</li>\n<li>c\n</ul>\n d": "<p>a</p><ul><li><p>b</p></li><li><p>c\n</p></li></ul><p>\n d</p>",
		"<ol><li>a<ul><li>b</li></ul></li><li>c</ol>":  "<ol><li><p>a</p><ul><li><p>b</p></li></ul></li><li><p>c</p></li></ol>",
		"<ul>a<ul><li>b</ul></ul>":                     "<ul><li><p>a</p><ul><li><p>b</p></li></ul></li></ul>",
		"<li>a</li><p>b</p>":                           "<p>a</p><p>b</p>",
		`<a href=" https://e.example ">a <b>b</b></a>`: `<p><a href="https://e.example" rel="nofollow noreferrer">a <strong>b</strong></a></p>`,
		"<a name=x>a</a>":                              "<p>a</p>",
		"<p></p><p> </p>":                              "",
		"<script>x</script>":                           "",
		"<style>a</style>b<textarea><b>c</textarea>":   "<p>b</p><p>&lt;b&gt;c</p>",
	} {
		if want == "" && !strings.HasPrefix(text, "<p>") && !strings.HasPrefix(text, "<s") {
			want = HTML(Plain, text)
		}
		if got := HTML(Rich, text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	deep := HTML(Rich, strings.Repeat("<ul><li>", 1000)+"x")
	if n := strings.Count(deep, "<ul>"); n != maxDepth/2-2 || !strings.Contains(deep, "<p>x</p>") {
		t.Errorf("%d nested lists: %s", n, deep)
	}
}
