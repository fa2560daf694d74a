package richtext

import (
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
)

func TestSlackText(t *testing.T) {
	for name, c := range map[string]struct{ html, want string }{
		"paragraphs":           {"<p>one</p><p>two</p>", "one\n\ntwo"},
		"bold and italic":      {"<p>We <strong>know</strong> <em>it</em>, <b><i>all</i></b>.</p>", "We *know* _it_, *_all_*."},
		"link":                 {`<p>see <a href="https://e.example/a?x=1&amp;y=2">the page</a></p>`, "see <https://e.example/a?x=1&amp;y=2|the page>"},
		"signs in a link":      {`<a href="https://e.example/|%3E">a|b &gt;</a>`, "<https://e.example/%7C%3E|a¦b &gt;>"},
		"address of the host":  {`<a href="https://www.e.example/a">e.example</a>`, "<https://www.e.example/a|e.example>"},
		"address of another":   {`<a href="https://evil.example/x">https://bank.example/login</a>`, "<https://evil.example/x|https://evil.example/x>"},
		"hidden by marks":      {"<a href=\"https://evil.example/x\">\u202ebank\u200f.example</a>", "<https://evil.example/x|https://evil.example/x>"},
		"address of a mailbox": {`<a href="mailto:a@evil.example">help@bank.example</a>`, "<mailto:a@evil.example|mailto:a@evil.example>"},
		"other scheme":         {`<a href="javascript:alert(1)">x</a>`, "x"},
		"list":                 {"<p>a:</p><ul><li>b</li><li>c</li></ul><p>d</p>", "a:\n\n• b\n• c\n\nd"},
		"mentions":             {"<p>&lt;!channel&gt; &lt;@U123&gt; &amp;lt;!here&amp;gt;</p>", "&lt;!channel&gt; &lt;@U123&gt; &amp;lt;!here&amp;gt;"},
		"signs":                {"<p>*a* _b_ ~c~ `d`</p>", "∗a∗ ＿b＿ ∼c∼ ˋdˋ"},
		"nothing":              {" <p> </p>", ""},
	} {
		if got := SlackText(c.html); got != c.want {
			t.Errorf("%s: got  %q\nwant %q", name, got, c.want)
		}
	}
}

func TestDiscordText(t *testing.T) {
	for name, c := range map[string]struct{ html, want string }{
		"bold and italic":    {"<p>We <strong>know</strong> <em>it</em>.</p>", "We **know** *it*."},
		"link":               {`<a href="https://e.example/a_(b)">here</a>`, "[here](https://e.example/a_%28b%29)"},
		"address of another": {`<a href="https://evil.example">bank.example</a>`, "[https://evil.example](https://evil.example)"},
		"mentions":           {"<p>@everyone &lt;@&amp;123&gt; &lt;#5&gt;</p>", "@\u200beveryone \\<@\u200b&123\\> \\<#5\\>"},
		"list":               {"<ul><li>b</li><li>c</li></ul>", "- b\n- c"},
		"at the start":       {"<p># a</p><p>&gt; b</p><p>-# c</p>", "\\# a\n\n\\> b\n\n\\-# c"},
		"signs":              {"<p>||a|| **b** [c](http://d)</p>", `\|\|a\|\| \*\*b\*\* \[c\](http://d)`},
		"direction":          {"<p>a\u202eb\u2066c\u200e</p>", "abc"},
	} {
		if got := DiscordText(c.html); got != c.want {
			t.Errorf("%s: got  %q\nwant %q", name, got, c.want)
		}
	}
}

// A text of a publisher cannot start a mention or a link in Slack, nor have formatting or mentions in Discord.
func FuzzPlainTextsOfPosts(f *testing.F) {
	for _, seed := range append(hostile(f), "<!channel>", "@everyone @here", "<@&1>", "**a**", "[x](http://y)", "# x", "1. a", "a\u202eb", "\\*", "\x00<@1") {
		f.Add(seed)
	}
	mention := regexp.MustCompile(`@(everyone|here|[!&]?\d)`)
	f.Fuzz(func(t *testing.T, text string) {
		if escaped := SlackEscape(text); strings.ContainsAny(escaped, "<>") {
			t.Errorf("%q becomes %q", text, escaped)
		}
		for _, plain := range []string{DiscordPlain(text), MarkdownPlain(text)} {
			if mention.MatchString(plain) {
				t.Errorf("%q mentions: %q", text, plain)
			}
			var out strings.Builder
			if err := goldmark.New().Convert([]byte(plain), &out); err != nil {
				t.Fatal(err)
			}
			for _, tag := range []string{"<em", "<strong", "<a ", "<img", "<h", "<li", "<code", "<pre", "<blockquote"} {
				if strings.Contains(out.String(), tag) {
					t.Errorf("%q becomes %q", text, out.String())
				}
			}
		}
		_, _, _ = SlackText(HTML(Markdown, text)), DiscordText(HTML(Markdown, text)), MarkdownText(HTML(Markdown, text))
	})
}
