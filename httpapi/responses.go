package httpapi

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// created is the response to a POST that created a resource. A header reports whether an
// earlier request with the same idempotency key created it.
type created[T any] struct {
	Location string `header:"Location"`
	Replayed string `header:"Idempotent-Replayed"`
	Body     T
}

func newCreated[T any](path string, id holdfast.ID, replayed bool, body T) *created[T] {
	c := &created[T]{Location: path + id.String(), Body: body}
	if replayed {
		c.Replayed = "true"
	}
	return c
}

// found is a response with one resource.
type found[T any] struct{ Body T }

// list is a response with one page of a list.
type list[T any] struct {
	Body struct {
		Items         []T    `json:"items" nullable:"false"`
		NextPageToken string `json:"nextPageToken" doc:"Send it as pageToken to get the next page. Empty on the last page, except for changes."`
	}
}

func newList[D, T any](items []D, nextPageToken string, newBody func(D) T) *list[T] {
	var l list[T]
	l.Body.Items, l.Body.NextPageToken = newBodies(items, newBody), nextPageToken
	return &l
}

// newBodies never returns nil, so that no list is null in JSON.
func newBodies[D, T any](items []D, newBody func(D) T) []T {
	bodies := make([]T, 0, len(items))
	for _, item := range items {
		bodies = append(bodies, newBody(item))
	}
	return bodies
}

// formatTime writes a time in the format of every response, and "" for the zero time.
func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	t = t.UTC()
	text := t.AppendFormat(make([]byte, 0, len("2006-01-02T15:04:05.000Z")), time.RFC3339) // the layout that Go writes fast
	const thousand = 1000
	ms := strconv.Itoa(thousand + t.Nanosecond()/int(time.Millisecond))
	return string(text[:len(text)-1]) + "." + ms[1:] + "Z"
}

// formatID writes an ID, and "" for the zero ID.
func formatID(id holdfast.ID) string {
	if id.IsZero() {
		return ""
	}
	return id.String()
}

// writeJSON writes a response outside of huma.
func writeJSON(w http.ResponseWriter, status int, contentType string, body any) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // an error means that the client is gone
}

// writeBody writes a response that is complete already.
func writeBody(w http.ResponseWriter, body []byte) {
	_, _ = w.Write(body) // an error means that the client is gone
}
