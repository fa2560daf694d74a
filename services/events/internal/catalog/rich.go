package catalog

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
)

type Rich struct {
	Text   string          `json:"text"`
	Format richtext.Format `json:"format"`
}

func (r Rich) HTML() string { return richtext.HTML(r.Format, r.Text) }

func (r Rich) Plain() string { return richtext.PlainText(r.Format, r.Text) }

// The maximum numbers of characters of texts on the legacy interface (specification, "Limits").
const (
	BriefText  = 5000 // length of a description or a timeline entry
	BriefExtra = 1000 // length of an impact analysis or a coordinator
)

// Brief returns the text for the legacy interface. If the stored text has more characters than limit, it returns the
// first limit characters of the plain text. If a client sends this result back, the legacy interface keeps the stored text.
func (r Rich) Brief(limit int) string {
	if utf8.RuneCountInString(r.Text) <= limit {
		return r.Text
	}
	text := []rune(cmp.Or(r.Plain(), strings.TrimSpace(r.Text)))
	return string(text[:min(len(text), limit)])
}

func (r Rich) IsMarkdown() bool { return r.Format == richtext.Markdown }

// Set sets the text and its format. It changes nothing if the text is the same, even if the format differs.
func (r *Rich) Set(format richtext.Format, text string) {
	if text != r.Text {
		*r = Rich{text, format}
	}
}

// checkText returns a fault if a text has more than limit characters or violates the rules of its format.
func checkText(field string, text Rich, limit int) error {
	var err error
	switch {
	case text.Format == richtext.Rich:
		err = richtext.Check(text.Text, limit)
	case utf8.RuneCountInString(text.Text) > limit:
		err = fault.New(fault.Invalid, "must be at most %d characters", limit)
	}
	if err != nil {
		return fault.Field(field, "%s", fault.As(err).Message)
	}
	return nil
}

func checkMessage(field, message string) error {
	text := Rich{message, richtext.Rich}
	if err := checkShown(field, text); err != nil {
		return err
	}
	return checkChangedText(field, text, Rich{}, maxText)
}

// checkChangedText checks a text as checkText does. It also checks a text of the format Rich by the rules for control
// characters and directions. It accepts former, the text that the record has already, which may be from before these rules.
func checkChangedText(field string, text, former Rich, limit int) error {
	if text == former {
		return nil
	}
	if text.Format == richtext.Rich { // the legacy interface returns a text as it was sent
		if err := richtext.CheckText(text.Text); err != nil {
			return fault.Field(field, "%s", fault.As(err).Message)
		}
	}
	return checkText(field, text, limit)
}

// CheckPlain checks a plain text of the App interface by the rules for control characters and directions. It accepts former,
// the text that the record has already, which may be from before these rules or from the legacy interface.
func CheckPlain(field, text, former string) error {
	if text == former {
		return nil
	}
	if err := richtext.CheckText(text); err != nil {
		return fault.Field(field, "%s", fault.As(err).Message)
	}
	return nil
}

// checkShown returns a fault for a text that shows nothing.
func checkShown(field string, text Rich) error {
	switch {
	case blank(text.Text):
		return fault.Field(field, "must not be empty or only white space")
	case text.blank():
		return fault.Field(field, "must show something: it has markup without text")
	}
	return nil
}

// blank reports whether the text shows nothing, such as a paragraph of blanks.
func (r Rich) blank() bool { return blank(r.Text) || r.Format != richtext.Plain && blank(r.Plain()) }

func blank(text string) bool { return richtext.IsBlank(text) }

// checkLine checks a title or a name by the rules for one line.
func checkLine(field, text string) error {
	if err := richtext.CheckLine(text); err != nil {
		return fault.Field(field, "%s", fault.As(err).Message)
	}
	return nil
}

// checkChangedLine does the same as checkLine, but accepts former, the text that the record has already. So a record from
// before these rules can be changed without a new name.
func checkChangedLine(field, text, former string) error {
	if text == former {
		return nil
	}
	return checkLine(field, text)
}

// AuditValue implements audit.Value.
func (r Rich) AuditValue() any {
	if r.Text == "" {
		return nil
	}
	return r.Text
}
