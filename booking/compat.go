package booking

import "github.com/holdfast-dev/holdfast"

type (
	Booking = holdfast.Booking
	Request = holdfast.BookingRequest
	Filter  = holdfast.BookingFilter
	Status  = holdfast.BookingStatus
)

const (
	Initiated = holdfast.BookingInitiated
	Pending   = holdfast.BookingPending
	Confirmed = holdfast.BookingConfirmed
	Expired   = holdfast.BookingExpired
	Cancelled = holdfast.BookingCancelled

	CodeNotFound   = holdfast.CodeBookingNotFound
	CodeConfirmed  = holdfast.CodeBookingConfirmed
	CodeCancelled  = holdfast.CodeBookingCancelled
	CodeNotPayable = holdfast.CodeBookingNotPayable
	CodeExpired    = holdfast.CodeBookingExpired
)

var Statuses = holdfast.BookingStatuses

func NotFound() error {
	return holdfast.Refuse(holdfast.CodeBookingNotFound, "There is no such booking.")
}
