package planfile

import (
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/seats/seating"
)

// keysOf returns a valid key of at most so many characters for each name, all of them different.
// A name that is a valid key is its own key, unless an earlier name is the same. So no such key depends on invalid
// names. The key of any other name is made from its letters and digits, or is otherwise if
// it has none, followed by -2, -3 and so on where needed. None of the keys is reserved.
func keysOf(names []string, most int, otherwise string, reserved ...string) []string {
	keys, taken := make([]string, len(names)), make(map[string]bool, len(names)+len(reserved))
	for _, key := range reserved {
		taken[key] = true
	}
	for i, name := range names {
		if seating.IsKey(name, most) && !taken[name] {
			keys[i], taken[name] = name, true
		}
	}
	next := map[string]int{} // number behind a key
	for i, name := range names {
		if keys[i] != "" {
			continue
		}
		base := slug(name, most)
		if base == "" {
			base = otherwise
		}
		key := base
		for taken[key] {
			next[base] = max(next[base], 1) + 1
			number := "-" + strconv.Itoa(next[base])
			key = base[:min(len(base), most-len(number))] + number
		}
		keys[i], taken[key] = key, true
	}
	return keys
}

// latin are letters outside ASCII that have a usual spelling in it.
var latin = strings.NewReplacer(
	"ä", "ae", "ö", "oe", "ü", "ue", "Ä", "Ae", "Ö", "Oe", "Ü", "Ue", "ß", "ss", "æ", "ae", "Æ", "Ae", "œ", "oe", "Œ", "Oe",
	"ø", "o", "Ø", "O", "å", "a", "Å", "A", "à", "a", "á", "a", "â", "a", "ã", "a", "À", "A", "Á", "A", "Â", "A", "Ã", "A",
	"è", "e", "é", "e", "ê", "e", "ë", "e", "È", "E", "É", "E", "Ê", "E", "Ë", "E", "ě", "e", "ì", "i", "í", "i", "î", "i", "ï", "i",
	"Ì", "I", "Í", "I", "Î", "I", "Ï", "I", "ò", "o", "ó", "o", "ô", "o", "õ", "o", "Ò", "O", "Ó", "O", "Ô", "O", "Õ", "O",
	"ù", "u", "ú", "u", "û", "u", "Ù", "U", "Ú", "U", "Û", "U", "ů", "u", "ý", "y", "ÿ", "y", "Ý", "Y", "ç", "c", "Ç", "C", "č", "c",
	"Č", "C", "ć", "c", "Ć", "C", "ñ", "n", "Ñ", "N", "ń", "n", "ł", "l", "Ł", "L", "ś", "s", "š", "s", "Š", "S", "Ś", "S", "ž", "z",
	"Ž", "Z", "ź", "z", "ż", "z", "Ż", "Z", "ą", "a", "ę", "e", "ř", "r", "Ř", "R", "ğ", "g", "ş", "s", "Ş", "S", "ı", "i", "İ", "I",
)

// slug writes a name as a valid key, or returns "" if it has no letter and no digit of ASCII.
func slug(name string, most int) string {
	var b strings.Builder
	separate := false
	for _, r := range latin.Replace(name) {
		switch {
		case 'A' <= r && r <= 'Z', 'a' <= r && r <= 'z', '0' <= r && r <= '9', (r == '.' || r == '_') && b.Len() > 0 && !separate:
			if separate && b.Len() > 0 {
				b.WriteByte('-')
			}
			separate = false
			b.WriteRune(r)
		default:
			separate = true
		}
		if b.Len() >= most {
			break
		}
	}
	key := b.String()
	return strings.TrimRight(key[:min(len(key), most)], "._-")
}
