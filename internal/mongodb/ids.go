package mongodb

import (
	"crypto/rand"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
)

// NewID returns an ID that is unique among all processes.
func NewID() holdfast.ID { return holdfast.ID(bson.NewObjectID()) }

// NewRunID returns the ID of a run of a job that began at a time: the job's name, the time in
// UTC, and random letters that make runs of the same moment distinct.
func NewRunID(job string, at time.Time) string {
	const randomLetters = 8
	return job + "-" + at.UTC().Format("20060102T150405.000Z") + "-" + strings.ToLower(rand.Text()[:randomLetters])
}
