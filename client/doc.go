// Package client calls a Holdfast API.
//
//	api := client.New("http://127.0.0.1:8080", client.WithKey(secret))
//	lock, err := api.AcquireLock(ctx, client.LockRequest{EventID: event, UserID: user, Seats: 2})
//	if client.Is(err, client.SeatsUnavailable) { … }
//	booking, err := api.CreateBooking(ctx, client.BookingRequest{
//		LockID: lock.ID, EventID: event, UserID: user, PaymentTTL: 15 * time.Minute,
//	})
//	booking, err = api.InEvent(event).ConfirmBooking(ctx, booking.ID, payment)
//
// In an event with a seating plan, a lock has seats by their names, the best available ones, or
// places of general admission in a section:
//
//	lock, err := api.AcquireLock(ctx, client.LockRequest{EventID: event, UserID: user, SeatIDs: []string{"A-1-1", "A-1-2"}})
//	if client.Is(err, client.SeatsUnavailable) { … } // the Error's Unavailable has the taken seats
//	lock, err = api.InEvent(event).ChangeSeats(ctx, lock.ID, client.Wish{BestAvailable: &client.BestAvailable{Seats: 2}})
//
// Afterwards a shop changes what it has sold, and says what it refunds. SellSeats sells at once, such as at a counter:
//
//	booking, err = api.InEvent(event).ChangeBookingSeats(ctx, booking.ID, client.BookingChange{
//		Wish: client.Wish{SeatIDs: []string{"A-1-1"}}, Refund: &client.PartialRefund{Amount: 2100},
//	})
//	booking, err = api.InEvent(event).TransferBooking(ctx, booking.ID, client.BookingTransfer{Holder: "guest-7"})
//	for payment, err := range api.ListPayments(ctx, client.PaymentFilter{RefundDue: true}) { … }
//	payment, err = api.NotePartRefunded(ctx, payment.ID, payment.Refunds[0].ID, refund)
//
// InEvent names the event in the paths of calls on locks and bookings, by which a load balancer sends all requests of an
// event to one process. Without it everything works too, only slower where several processes serve a busy event.
//
// A call is retried if it gets no response, or a response that allows a retry (429,
// 502, 503, 504). The delays grow, or follow Retry-After. Retries end with ctx or
// after the retry timeout. They are safe: AcquireLock, SellSeats, ChangeBookingSeats, TransferBooking, RefundPart, CreateUser,
// CreateEvent, CreateWebhook and CreateSeatingPlan send an idempotency key, which the client generates if the caller does not give one,
// and the other calls have the same effect when repeated. UpdateEvent and UpdateWebhook could undo the change of another
// caller, and RotateWebhookSecret and TestWebhook do their work each time: they are retried only if the request was
// certainly not executed. ChangeSeats, BlockSeats and UnblockSeats
// set a state: if another caller changes the same seats at the same time, the last call that is executed counts.
//
// A malformed base URL or key fails at once, as an empty ID does, and so does a successful response that the API would not send, such
// as the page of a web site: these are not an *Error. A refusal is an *Error with a code. After an error without a code, and after
// OutcomeUnknown, the request may have been executed: repeat it with the same
// idempotency key to find out.
package client
