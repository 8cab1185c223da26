// Package httpapi is the HTTP API: routes, the JSON of requests and responses,
// access control, the error code of every refusal, and the OpenAPI document with
// a page that shows it offline. It also serves the console and the demo shop.
//
// Every request is checked in one order: the key or token and its scope, the
// rate of the key or the token's customer, the shape, the rate of the customer that a
// key names. The services then check existence and owner, repeats, the booking, the
// lock and the event. The body is read after the rate was checked, and before the
// request takes one of the slots for requests in flight (admission.go).
//
// Pages of other origins can change nothing, except that those of listed origins call the customers'
// routes, with a token (origins.go).
//
// Errors are application/problem+json. They never contain a driver's message, a
// stack trace or another client's data. The cause of a server error is logged
// with the request's ID.
//
// It is part of Holdfast's own programs and may change in any release: see package holdfast.
package httpapi
