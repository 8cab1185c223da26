package holdfast

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"
)

// ID names an event, a user, a lock or a booking: twelve bytes, written as 24 hex
// digits. The process that creates a document makes its ID, so that it recognises a
// repeated write. The zero ID names nothing.
type ID [12]byte

// ParseID reads 24 hex digits.
func ParseID(s string) (ID, error) {
	var id ID
	if len(s) != hex.EncodedLen(len(id)) {
		return ID{}, fmt.Errorf("an ID must have 24 hex digits, not %d characters", len(s))
	}
	if _, err := hex.Decode(id[:], []byte(s)); err != nil {
		return ID{}, fmt.Errorf("an ID must have hex digits only: %w", err)
	}
	return id, nil
}

// String returns 24 lower-case hex digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// IsZero reports whether the ID names nothing.
func (id ID) IsZero() bool { return id == ID{} }

// CreatedAt is the second in which the ID was made.
func (id ID) CreatedAt() time.Time {
	return time.Unix(int64(binary.BigEndian.Uint32(id[:4])), 0).UTC()
}

// MarshalText writes the ID to JSON and logs, in the form of String.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// objectID is the type byte of an ObjectID in MongoDB's format.
const objectID = 0x07

// MarshalBSONValue writes an ObjectID.
func (id ID) MarshalBSONValue() (kind byte, data []byte, err error) { return objectID, id[:], nil }

// UnmarshalBSONValue reads an ObjectID.
func (id *ID) UnmarshalBSONValue(kind byte, data []byte) error {
	if kind != objectID || len(data) != len(id) {
		return fmt.Errorf("an ID is an ObjectID, not a value of type %#x", kind)
	}
	copy(id[:], data)
	return nil
}
