package richtext

import "strings"

// starRun is a row of asterisks in a paragraph. One is italic, two are bold, three are both; more are text.
type starRun struct {
	begin, end             int
	opens, closes          bool // opens: text follows without white space; closes: text precedes without white space
	laterBold, laterItalic bool // a later run can close bold; a later run can close italic
}

// starsIn returns the runs of a paragraph by the index of their first asterisk. hidden is true for signs that are not shown.
func starsIn(signs []sign, hidden []bool) map[int]*starRun {
	var runs []*starRun
	for i := 0; i < len(signs); i++ {
		if !signs[i].is('*') || hidden[i] {
			continue
		}
		run := &starRun{begin: i}
		for i+1 < len(signs) && signs[i+1].is('*') && !hidden[i+1] {
			i++
		}
		run.end = i + 1
		run.closes = run.begin > 0 && !signs[run.begin-1].isSpace()
		run.opens = run.end < len(signs) && !signs[run.end].isSpace()
		runs = append(runs, run)
	}
	byBegin, bold, italic := make(map[int]*starRun, len(runs)), false, false
	for i := len(runs) - 1; i >= 0; i-- {
		run := runs[i]
		run.laterBold, run.laterItalic = bold, italic
		bold = bold || run.closes && run.hasBold()
		italic = italic || run.closes && run.hasItalic()
		byBegin[run.begin] = run
	}
	return byBegin
}

func (r *starRun) length() int     { return r.end - r.begin }
func (r *starRun) hasBold() bool   { return r.length() == 2 || r.length() == 3 }
func (r *starRun) hasItalic() bool { return r.length() == 1 || r.length() == 3 }

// inlineReader creates the nodes of a paragraph.
type inlineReader struct {
	nodes []*node
	text  strings.Builder // characters of the next text
	style node            // bold, italic and href of the next text
}

// readInline returns the nodes of the signs of a paragraph.
func readInline(signs []sign) []*node {
	links, hidden := linksIn(signs), make([]bool, len(signs))
	for open, link := range links {
		hidden[open] = true
		for i := link.shut; i <= link.end; i++ {
			hidden[i] = true
		}
	}
	stars := starsIn(signs, hidden)
	var r inlineReader
	var inside linkSpan
	for i := 0; i < len(signs); i++ {
		link, opens := links[i]
		run := stars[i]
		switch {
		case opens:
			r.flush()
			inside, r.style.href = link, link.href
		case hidden[i]: // the end of the link
			r.flush()
			i, r.style.href = inside.end, ""
		case run != nil:
			r.toggle(run)
			i = run.end - 1
		case signs[i].char == '\n':
			r.flush()
			r.nodes = append(r.nodes, &node{kind: "hardBreak", href: r.style.href})
		default:
			r.text.WriteRune(signs[i].char)
		}
	}
	r.flush()
	return r.nodes
}

// toggle opens or closes the styles of a run. Asterisks that neither open nor close a style are text.
func (r *inlineReader) toggle(run *starRun) {
	literal := 0
	if !run.hasBold() && !run.hasItalic() {
		literal = run.length()
	}
	style := func(has, later bool, on *bool, stars int) {
		switch {
		case !has:
		case *on && run.closes, !*on && run.opens && later:
			r.flush()
			*on = !*on
		default:
			literal += stars
		}
	}
	style(run.hasBold(), run.laterBold, &r.style.bold, 2)
	style(run.hasItalic(), run.laterItalic, &r.style.italic, 1)
	r.text.WriteString(strings.Repeat("*", literal))
}

// flush adds the collected characters to the nodes as a text.
func (r *inlineReader) flush() {
	if r.text.Len() == 0 {
		return
	}
	text := &node{kind: "text", text: r.text.String(), bold: r.style.bold, italic: r.style.italic, href: r.style.href}
	r.text.Reset()
	if last := len(r.nodes) - 1; last >= 0 && r.nodes[last].like(text) {
		r.nodes[last].text += text.text
		return
	}
	r.nodes = append(r.nodes, text)
}
