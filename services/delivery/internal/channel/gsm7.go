package channel

import (
	"strings"
	"unicode"
	"unicode/utf16"
)

// What one text message holds (3GPP TS 23.038): septets of the GSM 7 bit default
// alphabet, or UCS-2 units as soon as one character is not in it.
const (
	gsmSegment  = 160
	ucs2Segment = 70
)

// The GSM 7 bit default alphabet and its extension table (3GPP TS 23.038, 6.2.1). A
// character of the extension follows an escape, so that it takes two septets.
const (
	gsmBasic = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?" +
		"¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
	gsmExtension = "\f^{}\\[~]|€"
)

// septets is how many of them the text takes; false when the alphabet lacks one of its characters.
func septets(text string) (int, bool) {
	n := 0
	for _, r := range text {
		switch {
		case strings.ContainsRune(gsmBasic, r):
			n++
		case strings.ContainsRune(gsmExtension, r):
			n += 2
		default:
			return 0, false
		}
	}
	return n, true
}

// units is the text's length in UCS-2, in which characters beyond it are surrogate pairs.
func units(text string) int {
	n := 0
	for _, r := range text {
		n += utf16.RuneLen(r)
	}
	return n
}

// spare is how much of one segment the text leaves free, in its own units; negative when
// it needs more than one.
func spare(text string) int {
	if n, ok := septets(text); ok {
		return gsmSegment - n
	}
	return ucs2Segment - units(text)
}

// plain writes typographic characters as the alphabet can, so that none of them alone
// makes a message UCS-2, and every run of white space as one space.
func plain(text string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if r == '\u200b' || r == '\u2060' || r == '\ufeff' || r == '\u00ad' { // seen by nobody
			return -1
		}
		return r
	}, standIns.Replace(text))), " ")
}

// standIns only reads what it is made of.
var standIns = strings.NewReplacer(
	"‘", "'", "’", "'", "‚", "'", "‛", "'", "′", "'", "‹", "<", "›", ">", "`", "'", "´", "'",
	"“", `"`, "”", `"`, "„", `"`, "‟", `"`, "″", `"`, "«", `"`, "»", `"`,
	"‐", "-", "‑", "-", "‒", "-", "–", "-", "—", "-", "―", "-", "−", "-",
	"…", "...", "•", "*", "·", ".", "→", "->", "⇒", "=>", "×", "x",
)

// fitted keeps as much of the text as makes write's result fit one segment; whole
// characters, together with the marks that belong to them. false when nothing but
// the mark of the cut would be left of it.
func fitted(text string, write func(string) string) (string, bool) {
	if whole := write(text); spare(whole) >= 0 {
		return whole, true
	}
	runes := []rune(text)
	for n := len(runes) - 1; n > 0; n-- {
		if joins(runes[n]) || runes[n-1] == zeroWidthJoiner {
			continue
		}
		kept := strings.TrimRight(string(runes[:n]), " ")
		if out := write(kept + "..."); spare(out) >= 0 {
			return out, true
		}
	}
	return "", false
}

const zeroWidthJoiner = '\u200d'

// joins reports a character that belongs to the one in front of it.
func joins(r rune) bool {
	return r == zeroWidthJoiner || unicode.In(r, unicode.Mn, unicode.Me, unicode.Mc) || r >= 0x1f3fb && r <= 0x1f3ff
}
