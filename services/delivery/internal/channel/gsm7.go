package channel

import (
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"golang.org/x/text/unicode/norm"
)

// The maximum length of a text message of one segment (3GPP TS 23.038): in septets if all characters are in the GSM 7 bit
// default alphabet, otherwise in UCS-2 units.
const (
	gsmSegment  = 160
	ucs2Segment = 70
	// The maximum length of each segment of a longer text. Each of these segments has a header.
	gsmPart  = 153
	ucs2Part = 67
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

// length returns the length n of the text in septets or UCS-2 units. single is the capacity of the only segment of a
// text, part that of each segment of a longer text. A character beyond U+FFFF is a surrogate pair of two units.
func length(text string) (n, single, part int) {
	if n, ok := septets(text); ok {
		return n, gsmSegment, gsmPart
	}
	return len(utf16.Encode([]rune(text))), ucs2Segment, ucs2Part
}

// fits reports whether the text fits in the number of segments.
func fits(text string, segments int) bool {
	n, single, part := length(text)
	return n <= single || segments > 1 && n <= segments*part
}

// plain replaces typographic characters by characters of the alphabet, so that they do not make a message
// UCS-2. It composes letters and their marks (the alphabet has ä, but no diaeresis), replaces white space by single
// spaces, and omits invisible characters, control characters and those that change the direction of the text after them.
func plain(text string) string {
	shown := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
	return richtext.Line(standIns.Replace(norm.NFC.String(shown)))
}

// plainLines applies plain to each line. It removes empty lines.
func plainLines(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = plain(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// standIns replaces typographic characters. It never changes.
var standIns = strings.NewReplacer(
	"‘", "'", "’", "'", "‚", "'", "‛", "'", "′", "'", "‹", "<", "›", ">", "`", "'", "´", "'",
	"“", `"`, "”", `"`, "„", `"`, "‟", `"`, "″", `"`, "«", `"`, "»", `"`,
	"‐", "-", "‑", "-", "‒", "-", "–", "-", "—", "-", "―", "-", "−", "-",
	"…", "...", "•", "*", "·", ".", "→", "->", "⇒", "=>", "×", "x", "™", "TM", "©", "(C)", "®", "(R)", "№", "No",
	"ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "½", "1/2", "¼", "1/4", "¾", "3/4",
	"\u200b", "", "\u2060", "", "\ufeff", "", "\u00ad", "",
)

// fitted calls write with the text, then with shorter and shorter beginnings of the text and "...", and returns the first
// result that fits in the segments. It never separates a character from its combining marks. It returns false if no result
// for a beginning of least or more characters fits.
func fitted(text string, least, segments int, write func(string) string) (string, bool) {
	if whole := write(text); fits(whole, segments) {
		return whole, true
	}
	runes := []rune(text)
	for n := len(runes) - 1; n >= least; n-- {
		if splits(runes, n) {
			continue
		}
		kept := strings.TrimRight(string(runes[:n]), " ")
		if out := write(kept + "..."); fits(out, segments) {
			return out, true
		}
	}
	return "", false
}

const zeroWidthJoiner = '\u200d'

// splits reports whether a cut before the n-th rune would break what the reader sees as one character: before a mark,
// at a joiner, or between the two letters of a flag.
func splits(runes []rune, n int) bool {
	letters := 0
	for letters < n && isFlagLetter(runes[n-1-letters]) {
		letters++
	}
	return joins(runes[n]) || runes[n-1] == zeroWidthJoiner || letters%2 == 1 && isFlagLetter(runes[n])
}

func isFlagLetter(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

// joins reports whether the character belongs to the character before it.
func joins(r rune) bool {
	return r == zeroWidthJoiner || unicode.In(r, unicode.Mn, unicode.Me, unicode.Mc) || r >= 0x1f3fb && r <= 0x1f3ff
}
