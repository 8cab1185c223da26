// Package ids holds the identity of every document: twelve bytes, written as
// 24 hex digits, held by MongoDB as an ObjectID and made by the process that
// creates the document, so that a repeated write is known as the same one.
package ids

import (
	"encoding/hex"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// ID identifies a document. The zero ID names none.
type ID [12]byte

// New returns an ID that no other process makes.
func New() ID { return ID(bson.NewObjectID()) }

// Parse reads 24 hex digits.
func Parse(s string) (ID, error) {
	var id ID
	if len(s) != hex.EncodedLen(len(id)) {
		return ID{}, fmt.Errorf("an ID has 24 hex digits, %d characters were given", len(s))
	}
	if _, err := hex.Decode(id[:], []byte(s)); err != nil {
		return ID{}, fmt.Errorf("an ID has hex digits only: %w", err)
	}
	return id, nil
}

// String returns 24 lower-case hex digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// IsZero reports whether the ID names no document.
func (id ID) IsZero() bool { return id == ID{} }

// MarshalText writes JSON and logs the same way.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// MarshalBSONValue writes an ObjectID.
func (id ID) MarshalBSONValue() (kind byte, data []byte, err error) {
	return byte(bson.TypeObjectID), id[:], nil
}

// UnmarshalBSONValue reads an ObjectID; any other value, which only foreign
// tools write, is no ID.
func (id *ID) UnmarshalBSONValue(kind byte, data []byte) error {
	*id = ID{}
	if bson.Type(kind) == bson.TypeObjectID {
		copy(id[:], data)
	}
	return nil
}
