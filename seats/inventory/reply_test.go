package inventory_test

import (
	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// reply is a result whose values can be compared; they are zero where it has none.
type reply struct {
	inventory.Result

	Lock    holdfast.Lock
	Booking holdfast.Booking
	Event   holdfast.Event
}

func repliesOf(results []inventory.Result) []reply {
	answers := make([]reply, len(results))
	for i, r := range results {
		answers[i] = reply{Result: r, Lock: orZero(r.Lock), Booking: orZero(r.Booking), Event: orZero(r.Event)}
	}
	return answers
}

func orZero[T any](of *T) (value T) {
	if of != nil {
		value = *of
	}
	return value
}
