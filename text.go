package holdfast

import (
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Lengths of text in characters. Every text is UTF-8 without control characters.
const (
	MaxNameLength      = 200
	MaxEmailLength     = 254
	MaxKeyLength       = 200 // of an idempotency key
	MaxReferenceLength = 200 // of a payment or a refund
	MaxPartLength      = 100 // of a payment
	MaxProviderLength  = 64  // of a payment
)

// CheckText refuses text that is too long, is not UTF-8, or has control characters; where is
// its field.
func CheckText(where, text string, most int) error {
	switch {
	case !utf8.ValidString(text):
		return RefuseInput(where, "The text is not UTF-8.")
	case len(text) > most && utf8.RuneCountInString(text) > most:
		return RefuseInput(where, "The text has at most %d characters.", most)
	case strings.ContainsFunc(text, unicode.IsControl):
		return RefuseInput(where, "The text has a control character.")
	default:
		return nil
	}
}

// CheckName refuses a name that no user and no event can have.
func CheckName(where, name string) error {
	if strings.TrimSpace(name) == "" {
		return RefuseInput(where, "A name is not blank.")
	}
	return CheckText(where, name, MaxNameLength)
}

// CheckEmail refuses what is not an address, and an address with a display name.
func CheckEmail(where, email string) error {
	if err := CheckText(where, email, MaxEmailLength); err != nil {
		return err
	}
	if address, err := mail.ParseAddress(email); err != nil || address.Address != email {
		return RefuseInput(where, "This is no email address.")
	}
	return nil
}
