// Package httpapi is the HTTP API: routes, the JSON of requests and responses,
// access control, the error code of every refusal, and the OpenAPI document with
// a page that shows it offline. It also serves the console and the demo shop.
//
// Every request is checked in one order: its shape, the key or token and its
// scope, the rate limit. The services then check existence and owner, repeats,
// the booking, the lock and the event.
//
// Errors are application/problem+json. They never contain a driver's message, a
// stack trace or another client's data. The cause of a server error is logged
// with the request's ID.
package httpapi
