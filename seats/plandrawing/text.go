package plandrawing

import (
	"strings"
	"unicode"
)

var escapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;")

// escaped writes a text of a plan for XML. It has no characters that XML refuses, and none that change the
// direction of the text after it.
func escaped(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), r == '\ufffe', r == '\uffff', unicode.In(r, unicode.Zl, unicode.Zp):
			return unicode.ReplacementChar
		case unicode.Is(unicode.Bidi_Control, r):
			return -1
		default:
			return r
		}
	}, text)
	return escapes.Replace(text)
}

// isolated escapes a name that stands next to other text, so that text from right to left does not reorder its neighbours.
func isolated(text string) string {
	const begin, end = "\u2068", "\u2069"
	if strings.ContainsFunc(text, isRightToLeft) {
		return begin + escaped(text) + end
	}
	return escaped(text)
}

// isRightToLeft reports whether a character is in a block of Unicode for scripts from right to left.
func isRightToLeft(r rune) bool {
	return r >= 0x590 && r <= 0x8ff || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfeff ||
		r >= 0x10800 && r <= 0x10fff || r >= 0x1e800 && r <= 0x1efff
}

// cut returns a text with at most so many characters, and a sign where it is cut.
func cut(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:max(most-1, 0)]) + "…"
}

// textWidth is about how wide a text is, of a font's size 1.
func textWidth(text string) (width float64) {
	const narrow, wide, firstWide = 0.58, 1.05, '\u1100'
	for _, r := range text {
		if r >= firstWide {
			width += wide
		} else {
			width += narrow
		}
	}
	return width
}
