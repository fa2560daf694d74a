package pages

import (
	"fmt"
	"time"
)

// moment is a time as a page shows it.
type moment struct{ At, Text, Full string }

// When returns a time in the member's zone. The text is the age of a time within the last 24 hours, and otherwise the date and
// the time.
func (p *page) When(t time.Time) moment {
	local := t.In(p.zone)
	return moment{At: t.UTC().Format(time.RFC3339), Text: ago(local, p.now.In(p.zone)), Full: local.Format("Monday, 2 January 2006, 15:04:05 MST")}
}

// WhenAt is When for a time that may be missing. The text of a missing time is "never".
func (p *page) WhenAt(t *time.Time) moment {
	if t == nil {
		return moment{Text: "never"}
	}
	return p.When(*t)
}

// Until is When with the date and the time as the text, never the age.
func (p *page) Until(t time.Time) moment {
	m := p.When(t)
	m.Text = t.In(p.zone).Format("2 Jan 2006, 15:04")
	return m
}

func ago(t, now time.Time) string {
	switch age := now.Sub(t); {
	case age < -time.Minute:
		return t.Format("2 Jan 2006, 15:04")
	case age < time.Minute:
		return "just now"
	case age < time.Hour:
		return fmt.Sprintf("%d min ago", int(age.Minutes()))
	case age < 24*time.Hour:
		return fmt.Sprintf("%d h ago", int(age.Hours()))
	case t.Year() == now.Year():
		return t.Format("2 Jan, 15:04")
	}
	return t.Format("2 Jan 2006, 15:04")
}
