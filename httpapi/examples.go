package httpapi

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
)

// example is a body that the OpenAPI document shows.
type example struct{ name, summary, body string }

// The examples of seats are of an event with examplePlan. Each form of a wish follows what names the lock.
var exampleWishes = []example{
	{"seats", "Without a seating plan", `"seats": 2`},
	{"seatIds", "Named seats", `"seatIds": ["A-2-1", "A-2-2"]`},
	{"accessible", "Named seats, one of them accessible", `"seatIds": ["A-1-1", "A-1-2"], "accessibleSeats": 1`},
	{"bestAvailable", "The best available seats", `"bestAvailable": {"seats": 2, "categories": ["stalls"], "adjacent": "REQUIRED"}`},
	{"section", "General admission", `"section": "pit", "seats": 3`},
}

const exampleOwner = `"eventId": "6b0166d19f73b711049e40f1", "userId": "6b0166d19f73b711049e40f2"`

// examplePlaces are of a lock of the seats that are named.
const examplePlaces = `{
  "id": "6b0166d19f73b711049e40f3", ` + exampleOwner + `, "seats": 2, "status": "ACTIVE",
  "expiresAt": "2027-06-15T10:10:00.000Z", "createdAt": "2027-06-15T10:00:00.000Z", "idempotencyKey": "cart-1",
  "places": [
    {"seatId": "A-2-1", "section": "A", "row": "2", "label": "1", "category": "stalls"},
    {"seatId": "A-2-2", "section": "A", "row": "2", "label": "2", "category": "stalls"}]
}`

const exampleStanding = `{
  "id": "6b0166d19f73b711049e40f3", ` + exampleOwner + `, "seats": 3, "status": "ACTIVE",
  "expiresAt": "2027-06-15T10:10:00.000Z", "createdAt": "2027-06-15T10:00:00.000Z", "idempotencyKey": "cart-1",
  "places": [{"section": "pit", "category": "standing"}]
}`

const exampleCategories = `"categories": [
    {"key": "stalls", "total": 43, "available": 41}, {"key": "standing", "total": 500, "available": 497}]`

var exampleMaps = []example{
	{"bitmap", "The format bitmap: the fourth and the fifth seat of A are taken", `{"rev": 17, "sections": [
    {"key": "A", "total": 43, "available": 41, "bitmap": "GAAAAAAA"}, {"key": "pit", "total": 500, "available": 497}],
  ` + exampleCategories + `}`},
	{"ids", "The format ids", `{"rev": 17, "sections": [
    {"key": "A", "total": 43, "available": 41, "unavailable": ["A-2-1", "A-2-2"]}, {"key": "pit", "total": 500, "available": 497}],
  ` + exampleCategories + `}`},
}

// addSeatExamples adds to the OpenAPI document what requests for seats and their answers look like.
func (a *api) addSeatExamples() {
	paths := a.huma.OpenAPI().Paths
	locks := []example{{"seatIds", "Of named seats", examplePlaces}, {"section", "Of general admission", exampleStanding}}
	requests, changes := make([]example, len(exampleWishes)), make([]example, len(exampleWishes))
	for n, wish := range exampleWishes {
		requests[n], changes[n] = wish, wish
		requests[n].body = "{" + exampleOwner + `, "idempotencyKey": "cart-1", ` + wish.body + "}"
		changes[n].body = "{" + wish.body + "}"
	}
	block := []example{{"seats", "Two seats", `{"seatIds": ["A-2-39", "A-2-40"]}`}}
	acquire, change := paths["/api/locks"].Post, paths["/api/locks/{id}/seats"].Put
	setExamples(acquire.RequestBody.Content, requests)
	setExamples(change.RequestBody.Content, changes)
	setExamples(acquire.Responses[strconv.Itoa(http.StatusCreated)].Content, locks)
	setExamples(change.Responses[strconv.Itoa(http.StatusOK)].Content, locks)
	setExamples(paths["/api/events/{id}/seats/block"].Post.RequestBody.Content, block)
	setExamples(paths["/api/events/{id}/seats/unblock"].Post.RequestBody.Content, block)
	setExamples(paths["/api/events/{id}/seats"].Get.Responses[strconv.Itoa(http.StatusOK)].Content, exampleMaps)
}

const exampleEndpoint = `"url": "https://example.com/holdfast", "types": ["holdfast.booking.*", "holdfast.event.sold_out"]`

// addWebhookExamples adds what requests for endpoints and their answers look like.
func (a *api) addWebhookExamples() {
	paths := a.huma.OpenAPI().Paths
	endpoint := `{"id": "6b0166d19f73b711049e40f4", ` + exampleEndpoint + `, "state": "ENABLED",
  "createdAt": "2027-06-15T10:00:00.000Z", "updatedAt": "2027-06-15T10:00:00.000Z"`
	create := paths["/api/webhooks"].Post
	setExamples(create.RequestBody.Content, []example{{"bookings", "Bookings, and events that sell out", "{" + exampleEndpoint + "}"}})
	setExamples(create.Responses[strconv.Itoa(http.StatusCreated)].Content, []example{
		{"created", "With its secret", endpoint + `, "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw2Zx6l6cJ7fE="}`},
	})
	setExamples(paths["/api/webhooks/{id}/replay"].Post.RequestBody.Content, []example{
		{"dead", "What was given up", `{"state": "DEAD"}`},
		{"day", "All of a day", `{"since": "2027-06-15T00:00:00Z", "until": "2027-06-16T00:00:00Z"}`},
	})
	setExamples(paths["/api/webhooks/{id}/deliveries"].Get.Responses[strconv.Itoa(http.StatusOK)].Content, []example{
		{"pending", "One that waits", `{"items": [{"id": "6b0166d19f73b711049e40f5", "type": "holdfast.booking.confirmed",
    "changeId": "bookings-6b0166d19f73b711049e40f6-3-booking.confirmed", "subject": "bookings/6b0166d19f73b711049e40f6", "state": "PENDING",
    "attempts": 2, "nextAttemptAt": "2027-06-15T10:05:05.000Z", "lastStatus": 503}], "nextPageToken": ""}`},
	})
}

func setExamples(content map[string]*huma.MediaType, list []example) {
	examples := make(map[string]*huma.Example, len(list))
	for _, e := range list {
		var value any
		if err := json.Unmarshal([]byte(e.body), &value); err != nil {
			panic("the example " + e.name + ": " + err.Error()) // a programming error
		}
		examples[e.name] = &huma.Example{Summary: e.summary, Value: value}
	}
	content["application/json"].Examples = examples
}
