// Package httpapi is the HTTP booking API: routes, the shape of requests and
// answers, problem+json with the code of every refusal, who may do what, and
// the OpenAPI document with a page that shows it offline.
//
// Every request is checked in one order: shape, then key and scope, then what
// the services check: existence and owner, repeats, booking, lock, event.
//
// Errors never hold a driver's message, a stack or another client's data; the
// cause goes to the log under the request's ID.
package httpapi
