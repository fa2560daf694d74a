package richtext

import (
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

const boldDoc = `{"type":"doc","content":[{"type":"paragraph","content":[{"type":"text","text":"We "},{"type":"text","text":"know","marks":[{"type":"bold"}]},{"type":"text","text":" it."}]}]}`

func TestRender(t *testing.T) {
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
		"rich fragment":      {Rich, `<p onclick="x">Hi <i>you</i><img src=x></p>`, "<p>Hi <i>you</i></p>", "Hi you"},
		"rich structured":    {Rich, boldDoc, "<p>We <strong>know</strong> it.</p>", "We know it."},
		"rich structured li": {Rich, `{"type":"doc","content":[{"type":"bulletList","content":[{"type":"listItem","content":[{"type":"paragraph","content":[{"type":"text","text":"a"}]}]}]}]}`, "<ul><li><p>a</p></li></ul>", "- a"},
		"rich not a doc":     {Rich, `{"a": 1}`, `<p>{&#34;a&#34;: 1}</p>`, `{"a": 1}`},
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

func TestParse(t *testing.T) {
	deep := strings.Repeat(`{"type":"bulletList","content":[{"type":"listItem","content":[`, 30) + strings.Repeat(`]}]}`, 30)
	for name, c := range map[string]struct {
		text string
		ok   bool
	}{
		"document":        {boldDoc, true},
		"empty document":  {`{"type":"doc","content":[]}`, true},
		"heading":         {`{"type":"doc","content":[{"type":"heading","content":[]}]}`, false},
		"codeBlock":       {`{"type":"doc","content":[{"type":"codeBlock"}]}`, false},
		"text in doc":     {`{"type":"doc","content":[{"type":"text","text":"x"}]}`, false},
		"empty text":      {`{"type":"doc","content":[{"type":"paragraph","content":[{"type":"text","text":""}]}]}`, false},
		"unknown mark":    {strings.Replace(boldDoc, "bold", "code", 1), false},
		"link to script":  {strings.Replace(boldDoc, `"bold"`, `"link","attrs":{"href":"javascript:x"}`, 1), false},
		"something after": {`{"type":"doc"} x`, false},
		"wrong content":   {`{"type":"doc","content":"x"}`, false},
		"too deep":        {`{"type":"doc","content":[` + deep + `]}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse(c.text)
			if c.ok != (err == nil) || err != nil && !fault.Is(err, fault.Invalid) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func FuzzRender(f *testing.F) {
	for _, seed := range []string{"x", boldDoc, "<p>a<script>b</script>", "**a** [x](javascript:y)", "<a href='java\nscript:x'>", "- a\n  1. b", "<ul><li><p>x", "{\"type\":\"doc\"}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, format := range []Format{Plain, Markdown, Rich} {
			safe := HTML(format, text)
			lower := strings.ToLower(safe)
			for _, bad := range []string{"<script", "<img", "<iframe", "<style", `href="javascript`, "<svg"} {
				if strings.Contains(lower, bad) {
					t.Errorf("%s of %q gives %q", format, text, safe)
				}
			}
			_ = PlainText(format, text)
		}
	})
}
