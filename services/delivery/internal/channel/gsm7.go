package channel

import (
	"strings"
	"unicode"
	"unicode/utf16"
)

// The length of one text message (3GPP TS 23.038): septets of the GSM 7 bit default alphabet, or UCS-2 units if
// one character is not in the alphabet.
const (
	gsmSegment  = 160
	ucs2Segment = 70
)

// The GSM 7 bit default alphabet and its extension table (3GPP TS 23.038, 6.2.1). A character of the extension
// takes two septets, because it follows an escape.
const (
	gsmBasic = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?" +
		"¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
	gsmExtension = "\f^{}\\[~]|€"
)

// septets returns the length of the text in septets, and false if the alphabet lacks one of its characters.
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

// spare returns how many septets or units of one segment are left. It is negative if the text needs more than
// one segment. UCS-2 represents a character beyond it by a surrogate pair of two units.
func spare(text string) int {
	if n, ok := septets(text); ok {
		return gsmSegment - n
	}
	return ucs2Segment - len(utf16.Encode([]rune(text)))
}

// plain replaces typographic characters by characters of the alphabet, so that they do not make a message
// UCS-2. It replaces white space by single spaces, and omits invisible characters.
func plain(text string) string { return strings.Join(strings.Fields(standIns.Replace(text)), " ") }

// standIns replaces typographic characters. It never changes.
var standIns = strings.NewReplacer(
	"‘", "'", "’", "'", "‚", "'", "‛", "'", "′", "'", "‹", "<", "›", ">", "`", "'", "´", "'",
	"“", `"`, "”", `"`, "„", `"`, "‟", `"`, "″", `"`, "«", `"`, "»", `"`,
	"‐", "-", "‑", "-", "‒", "-", "–", "-", "—", "-", "―", "-", "−", "-",
	"…", "...", "•", "*", "·", ".", "→", "->", "⇒", "=>", "×", "x",
	"\u200b", "", "\u2060", "", "\ufeff", "", "\u00ad", "",
)

// fitted returns the result of write for the longest beginning of the text with which the result fits one
// segment. It never separates a character from its combining marks. It returns false if no beginning of at least
// least characters fits.
func fitted(text string, least int, write func(string) string) (string, bool) {
	if whole := write(text); spare(whole) >= 0 {
		return whole, true
	}
	runes := []rune(text)
	for n := len(runes) - 1; n >= least; n-- {
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

// joins reports whether the character belongs to the character before it.
func joins(r rune) bool {
	return r == zeroWidthJoiner || unicode.In(r, unicode.Mn, unicode.Me, unicode.Mc) || r >= 0x1f3fb && r <= 0x1f3ff
}
