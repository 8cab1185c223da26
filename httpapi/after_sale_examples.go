package httpapi

import (
	"net/http"
	"strconv"
	"strings"
)

const (
	exampleSoldSeats = `"places": [
    {"seatId": "A-2-1", "section": "A", "row": "2", "label": "1", "category": "stalls"},
    {"seatId": "A-2-2", "section": "A", "row": "2", "label": "2", "category": "stalls"}]`

	exampleCharge = `"paymentReference": "ch_17", "amount": 8400, "currency": "EUR"`

	exampleSold = `"eventId": "6b0166d19f73b711049e40f1", "lockId": "6b0166d19f73b711049e40f3", "seats": 2, "status": "CONFIRMED",
  "paymentExpiresAt": "2027-06-15T10:00:00.000Z", "paymentReference": "ch_17", "reference": "order-17",
  "createdAt": "2027-06-15T10:00:00.000Z", "updatedAt": "2027-06-15T10:00:00.000Z",
  "payments": [{"id": "6b0166d19f73b711049e40f7", "status": "ACCEPTED", "amount": 8400}], ` + exampleSoldSeats + `}`

	examplePartlyRefunded = `{"id": "6b0166d19f73b711049e40f7", "provider": "default", "reference": "ch_17",
  "bookingId": "6b0166d19f73b711049e40f6", "eventId": "6b0166d19f73b711049e40f1", "holder": "guest-7", "amount": 8400, "currency": "EUR",
  "status": "ACCEPTED", "createdAt": "2027-06-15T10:00:00.000Z", "updatedAt": "2027-06-16T09:00:00.000Z",
  "refunds": [{"id": "6b0166d19f73b711049e40f8", "amount": 4200, "reason": "other", PART,
    "createdAt": "2027-06-16T09:00:00.000Z"}], "amountDue": LEFT}`
)

// addAfterSaleExamples adds what requests after the sale, sales at once, and their answers look like.
func (a *api) addAfterSaleExamples() {
	paths := a.huma.OpenAPI().Paths
	ok, created := strconv.Itoa(http.StatusOK), strconv.Itoa(http.StatusCreated)
	booking := func(customer string) string {
		return `{"id": "6b0166d19f73b711049e40f6", ` + customer + ", " + exampleSold
	}
	var changes, sales []example
	for _, wish := range exampleWishes {
		changes = append(changes, example{wish.name, wish.summary, "{" + wish.body + "}"})
		sales = append(sales, example{wish.name, wish.summary, `{"holder": "guest-7", "idempotencyKey": "till-1", ` + wish.body + "}"})
	}
	changes = append(changes,
		example{"refund", "A seat is given back, with a part of the payment", `{"seatIds": ["A-2-1"], "refund": {"amount": 4200}}`},
		example{"payment", "A seat is added, and paid for", `{"seatIds": ["A-2-1", "A-2-2", "A-2-3"],
  "payment": {"paymentReference": "ch_18", "amount": 4200, "currency": "EUR"}, "idempotencyKey": "change-1"}`})
	sales = append(sales, example{"charge", "Named seats that are paid for", `{"holder": "guest-7", "seatIds": ["A-2-1", "A-2-2"],
  ` + exampleCharge + `, "reference": "order-17", "idempotencyKey": "till-2"}`})
	change, transfer := paths["/api/bookings/{id}/seats"].Put, paths["/api/bookings/{id}/transfer"].Post
	sell := paths["/api/events/{eventId}/sales"].Post
	setExamples(change.RequestBody.Content, changes)
	setExamples(change.Responses[ok].Content, []example{{"seats", "Of named seats", booking(`"holder": "guest-7"`)}})
	setExamples(sell.RequestBody.Content, sales)
	setExamples(sell.Responses[created].Content, []example{{"charge", "Of named seats that are paid for", booking(`"holder": "guest-7"`)}})
	setExamples(transfer.RequestBody.Content, []example{
		{"holder", "To a holder", `{"holder": "guest-8"}`}, {"user", "To a user", `{"userId": "6b0166d19f73b711049e40f2"}`},
	})
	setExamples(transfer.Responses[ok].Content, []example{
		{"holder", "Of a holder", booking(`"holder": "guest-8"`)}, {"user", "Of a user", booking(`"userId": "6b0166d19f73b711049e40f2"`)},
	})

	part := func(fields, due string) string {
		return strings.NewReplacer("PART", fields, "LEFT", due).Replace(examplePartlyRefunded)
	}
	refund, noted := paths["/api/payments/{id}/refunds"].Post, paths["/api/payments/{id}/refunds/{refundId}/refunded"].Post
	setExamples(refund.RequestBody.Content, []example{{"half", "Half of it", `{"amount": 4200, "idempotencyKey": "refund-1"}`}})
	setExamples(refund.Responses[created].Content, []example{{"half", "Half of it is due", part(`"status": "DUE"`, "4200")}})
	setExamples(noted.RequestBody.Content, []example{{"refunded", "The provider's ID of the refund", `{"refundReference": "re_17"}`}})
	setExamples(noted.Responses[ok].Content, []example{
		{"refunded", "Nothing is due", part(`"status": "REFUNDED", "refundReference": "re_17"`, "0")},
	})
}
