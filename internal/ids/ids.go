// Package ids makes the IDs of documents.
package ids

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
)

// ID names a document.
type ID = holdfast.ID

// New returns an ID that no other process makes.
func New() holdfast.ID { return holdfast.ID(bson.NewObjectID()) }

// Parse reads 24 hex digits.
func Parse(s string) (holdfast.ID, error) { return holdfast.ParseID(s) }
