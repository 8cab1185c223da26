package holdfast

import (
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

// ShopData is what a shop keeps with an event, a lock or a booking. Holdfast stores it and finds by the reference, and
// decides nothing by either. Customers never see it.
type ShopData struct {
	Reference string            // the shop's own name for it; "" means none. It need not be unique.
	Metadata  map[string]string // nil means none. A stored map is never changed, only replaced.
}

// Limits of ShopData. Lengths are in characters.
const (
	MaxShopReferenceLength = 128
	MaxMetadata            = 20 // keys
	MaxMetadataKeyLength   = 40
	MaxMetadataValueLength = 500
)

// HasNoShopData reports whether there is neither a reference nor metadata.
func (d ShopData) HasNoShopData() bool { return d.Reference == "" && len(d.Metadata) == 0 }

// MetadataKeys returns the keys of the metadata in alphabetical order.
func (d ShopData) MetadataKeys() []string {
	if len(d.Metadata) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(d.Metadata))
}

// CheckShopData refuses a reference that is longer than 128 characters or has control characters (category Cc); and metadata
// with more than 20 keys, with a key that does not match [A-Za-z0-9_.-]{1,40}, or with a value that is longer than 500
// characters or is not UTF-8. where is the object that has the two fields, such as body.
func (d ShopData) CheckShopData(where string) error {
	if err := checkShopReference(where+".reference", d.Reference); err != nil {
		return err
	}
	if len(d.Metadata) > MaxMetadata {
		return tooManyKeys(where)
	}
	for _, key := range d.MetadataKeys() {
		if err := checkMetadata(where, key, d.Metadata[key]); err != nil {
			return err
		}
	}
	return nil
}

// checkShopReference refuses a reference that no document of a shop can have. Any other text is kept as it is given.
func checkShopReference(where, reference string) error {
	if reference == "" {
		return nil
	}
	return checkOpaque(where, "A reference", reference, MaxShopReferenceLength)
}

func tooManyKeys(where string) error {
	return RefuseInput(where+".metadata", "metadata must have at most %d keys.", MaxMetadata)
}

func checkMetadata(where, key, value string) error {
	where += ".metadata."
	if !isMetadataKey(key) {
		return RefuseInput(where+firstOf(key, MaxMetadataKeyLength),
			"A key must have 1 to %d letters, digits, dots, hyphens and underscores.", MaxMetadataKeyLength)
	}
	switch where += key; {
	case !utf8.ValidString(value):
		return RefuseInput(where, "The text must be valid UTF-8.")
	case utf8.RuneCountInString(value) > MaxMetadataValueLength:
		return RefuseInput(where, "The text must have at most %d characters.", MaxMetadataValueLength)
	default:
		return nil
	}
}

func isMetadataKey(key string) bool {
	if key == "" || len(key) > MaxMetadataKeyLength {
		return false
	}
	for i := range len(key) {
		c := key[i]
		isLetter := 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
		if !isLetter && (c < '0' || c > '9') && c != '_' && c != '.' && c != '-' {
			return false
		}
	}
	return true
}

// firstOf returns the first characters of a text.
func firstOf(text string, characters int) string {
	for i := range text {
		if characters == 0 {
			return text[:i]
		}
		characters--
	}
	return text
}

// OwnShopData returns the data with a map of its own, which is nil if it is empty.
func (d ShopData) OwnShopData() ShopData {
	if len(d.Metadata) == 0 {
		d.Metadata = nil
	}
	d.Metadata = maps.Clone(d.Metadata)
	return d
}

// appendShopData appends what is different for different data, and nothing if there is none.
func (d ShopData) appendShopData(text []byte) []byte {
	if d.HasNoShopData() {
		return text
	}
	text = strconv.AppendQuote(append(text, "|shop|"...), d.Reference)
	for _, key := range d.MetadataKeys() {
		text = strconv.AppendQuote(append(text, '|'), key)
		text = strconv.AppendQuote(append(text, '='), d.Metadata[key])
	}
	return text
}

// ShopDataChange changes what it names.
type ShopDataChange struct {
	Reference *string // "" removes it; nil keeps it
	// Metadata is merged key by key: a nil value removes its key.
	Metadata map[string]*string
	// WithoutMetadata removes all metadata, before Metadata is merged.
	WithoutMetadata bool
}

// Clone returns the change with copies of the values that it refers to.
func (c ShopDataChange) Clone() ShopDataChange {
	c.Reference, c.Metadata = clone(c.Reference), maps.Clone(c.Metadata)
	for key, value := range c.Metadata {
		c.Metadata[key] = clone(value)
	}
	return c
}

// Check refuses what ShopData.CheckShopData refuses. Of checks the number of keys together with those that are there.
func (c ShopDataChange) Check(where string) error {
	if c.Reference != nil {
		if err := checkShopReference(where+".reference", *c.Reference); err != nil {
			return err
		}
	}
	sets := 0
	for _, key := range slices.Sorted(maps.Keys(c.Metadata)) {
		value := ""
		if c.Metadata[key] != nil {
			value, sets = *c.Metadata[key], sets+1
		}
		if err := checkMetadata(where, key, value); err != nil {
			return err
		}
	}
	if sets > MaxMetadata {
		return tooManyKeys(where)
	}
	return nil
}

// Of returns the data after the change, and whether it differs. It refuses to add keys beyond the limit. The maps of
// both stay as they are.
func (c ShopDataChange) Of(d ShopData, where string) (after ShopData, changes bool, err error) {
	after, adds := d, false
	if c.Reference != nil {
		after.Reference = *c.Reference
	}
	if c.WithoutMetadata {
		after.Metadata = nil
	}
	if len(c.Metadata) > 0 {
		after.Metadata = maps.Clone(after.Metadata)
	}
	for key, value := range c.Metadata {
		if value == nil {
			delete(after.Metadata, key)
			continue
		}
		if after.Metadata == nil {
			after.Metadata = make(map[string]string, len(c.Metadata))
		}
		_, has := after.Metadata[key]
		after.Metadata[key], adds = *value, adds || !has
	}
	switch n := len(after.Metadata); {
	case adds && n > MaxMetadata:
		return d, false, tooManyKeys(where)
	case n == 0:
		after.Metadata = nil
	}
	return after, !after.SameShopData(d), nil
}

// SameShopData reports whether two have the same reference and metadata.
func (d ShopData) SameShopData(o ShopData) bool {
	return d.Reference == o.Reference && maps.Equal(d.Metadata, o.Metadata)
}
