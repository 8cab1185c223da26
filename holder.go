package holdfast

import (
	"crypto/sha256"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxHolderLength is the largest number of characters of a holder.
const MaxHolderLength = 128

// erasedPrefix begins the text of a holder that was erased.
const erasedPrefix = "erased-"

// HolderID returns the ID by which a holder is stored in place of a user: the first 12 bytes of the SHA-256 of "holder:" and
// the text. An erased holder keeps its ID.
func HolderID(holder string) ID {
	if id, err := ParseID(strings.TrimPrefix(holder, erasedPrefix)); err == nil && !id.IsZero() && holder == ErasedHolder(id) {
		return id
	}
	sum := sha256.Sum256([]byte("holder:" + holder))
	return ID(sum[:len(ID{})])
}

// ErasedHolder is the text that replaces a holder, whose ID this is, when the holder is erased.
func ErasedHolder(id ID) string { return erasedPrefix + id.String() }

// CheckHolder refuses a text that can't be a holder, and the text of an erased one; where is its field. Holders are compared
// byte by byte.
func CheckHolder(where, holder string) error {
	if strings.HasPrefix(holder, erasedPrefix) {
		return RefuseInput(where, "A holder must not begin with %s.", erasedPrefix)
	}
	return checkHolderText(where, holder)
}

func checkHolderText(where, holder string) error {
	return checkOpaque(where, "A holder", holder, MaxHolderLength)
}

// checkOpaque refuses a text of another system that is empty, has more than most characters or control characters (category
// Cc), or is not UTF-8. Other texts are kept and compared as they are. what names the text.
func checkOpaque(where, what, text string, most int) error {
	switch {
	case !utf8.ValidString(text):
		return RefuseInput(where, "The text must be valid UTF-8.")
	case text == "" || utf8.RuneCountInString(text) > most:
		return RefuseInput(where, "%s must have 1 to %d characters.", what, most)
	case strings.ContainsFunc(text, unicode.IsControl):
		return RefuseInput(where, "The text must not have control characters.")
	default:
		return nil
	}
}

// CustomerID returns the ID of the customer that a request names: user or, unless holder is "", the ID of the holder. It
// refuses a holder together with another user, and one that CheckHolder refuses.
func CustomerID(user ID, holder string) (ID, error) {
	if holder == "" {
		return user, nil
	}
	id := HolderID(holder)
	if !user.IsZero() && user != id {
		return ID{}, RefuseInput("body", "Give exactly one of userId and holder.")
	}
	return id, CheckHolder("body.holder", holder)
}
