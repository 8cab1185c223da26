package httpapi

import (
	"net/http"
	"strconv"
	"strings"
)

const exampleEntry = `{"id": "6b0166d19f73b711049e40f9", "eventId": "6b0166d19f73b711049e40f1", "holder": "guest-7", WISH,
  "createdAt": "2027-06-15T10:00:00.000Z", "updatedAt": "2027-06-15T10:00:00.000Z"}`

// addWaitlistExamples adds what requests for waiting lists and their answers look like.
func (a *api) addWaitlistExamples() {
	paths := a.huma.OpenAPI().Paths
	ok, created := strconv.Itoa(http.StatusOK), strconv.Itoa(http.StatusCreated)
	entry := func(fields string) string { return strings.Replace(exampleEntry, "WISH", fields, 1) }
	const numbered = `"seats": 4, "categories": ["stalls"], "adjacent": "REQUIRED"`
	join := paths["/api/events/{id}/waitlist"].Post
	setExamples(join.RequestBody.Content, []example{
		{"seats", "Without a seating plan", `{"holder": "guest-7", "seats": 2}`},
		{"numbered", "Numbered seats", `{"holder": "guest-7", ` + numbered + `, "reference": "wait-17"}`},
		{"accessible", "One of the seats is accessible", `{"holder": "guest-7", "seats": 2, "section": "A", "accessibleSeats": 1}`},
		{"section", "General admission", `{"holder": "guest-7", "section": "pit", "seats": 3}`},
	})
	setExamples(join.Responses[created].Content, []example{
		{"seats", "The first that waits", entry(`"seats": 2, "status": "WAITING", "position": 1`)},
		{"numbered", "Numbered seats", entry(numbered + `, "reference": "wait-17", "status": "WAITING", "position": 1`)},
	})
	setExamples(paths["/api/waitlist/{id}"].Get.Responses[ok].Content, []example{
		{"offered", "With an offer", entry(`"seats": 2, "status": "OFFERED", "lockId": "6b0166d19f73b711049e40f3"`)},
	})
}
