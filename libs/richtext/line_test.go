package richtext

import "testing"

// No rendering of a text has characters that reverse what is beside them, also if a record from before the rules or the
// legacy interface has them, as characters or as references.
func TestNoRenderingOverridesADirection(t *testing.T) {
	for _, format := range []Format{Plain, Markdown, Rich} {
		for _, text := range []string{"a\u202eb\x07c", "<p>a\u202eb\x07c</p>", "<p>a&#x202e;b&#7;c</p>", `{"type": "doc", "content": [{"type": "paragraph", "content": [{"type": "text", "text": "a\u202eb\u0007c"}]}]}`} {
			for what, shown := range map[string]string{"HTML": HTML(format, text), "text": PlainText(format, text)} {
				if format != Rich && text[0] != 'a' {
					if CheckText(shown) != nil {
						t.Errorf("%s of %q in %s: %q", what, text, format, shown)
					}
					continue
				}
				if want := map[string]string{"HTML": "<p>abc</p>", "text": "abc"}[what]; shown != want {
					t.Errorf("%s of %q in %s: %q", what, text, format, shown)
				}
			}
		}
	}
	if got := Text("a\r\nb\u2067\tc\u202d"); got != "a\nb\tc" {
		t.Errorf("the clean text is %q", got)
	}
	const isolated = "API \u2068v2\u2069\n"
	if Text(isolated) != isolated || CheckText(isolated) != nil {
		t.Error("an isolate that is closed is text")
	}
}

func TestAShortenedTextHasAtMostItsLimit(t *testing.T) {
	for _, row := range []struct {
		text  string
		limit int
		want  string
	}{
		{"", 1, ""}, {"schön", 5, "schön"}, {"schöne", 5, "schö…"}, {"ein schöner", 5, "ein…"}, {"日本語", 2, "日…"}, {"ab", 1, "…"},
	} {
		if got := Shorten(row.text, row.limit); got != row.want {
			t.Errorf("%q in %d characters is %q, want %q", row.text, row.limit, got, row.want)
		}
	}
}
