// Package client calls a Holdfast API.
//
//	shop := client.New("http://127.0.0.1:8080", client.WithKey(secret))
//	lock, err := shop.Lock(ctx, client.LockRequest{EventID: event, UserID: user, Seats: 2})
//	if client.Is(err, client.SeatsUnavailable) { … }
//	booking, err := shop.Book(ctx, client.BookingRequest{LockID: lock.ID, EventID: event, UserID: user, PaymentTTL: 15 * time.Minute})
//	booking, err = shop.Confirm(ctx, booking.ID, payment)
//
// What has no answer, or one that says to come again (503, 429), is asked again
// until ctx ends or the patience is over, with growing pauses or as long as
// Retry-After says. That is safe: a lock carries an idempotency key, which the
// client makes where the caller names none, and everything else says the same
// when it is done twice. Only CreateUser and CreateEvent have no key: they are
// asked again where nothing was done for sure.
//
// An answer that a rule gives is an *Error with its code. An error without a code
// means that nobody knows: the request may have been done. Ask again later with
// the same key.
package client
