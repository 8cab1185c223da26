package seats_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// An ID that was never set must not list what belongs to other users.
func TestList_RefusesFiltersThatNothingCanMatch(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	lock := w.Acquire(w.Event(10), 1, testenv.Soon())
	w.Book(lock, testenv.Soon())
	var unset, unknown holdfast.ID
	unknown = mongodb.NewID()
	for _, row := range []struct {
		name        string
		event, user *holdfast.ID
		status      string
		code        holdfast.Code
		want        int
	}{
		{"none", nil, nil, "", "", 1},
		{"the user", nil, &lock.UserID, "", "", 1},
		{"the event", &lock.EventID, nil, "", "", 1},
		{"an unknown user", nil, &unknown, "", "", 0},
		{"a user that was never set", nil, &unset, "", holdfast.CodeInvalid, 0},
		{"an event that was never set", &unset, nil, "", holdfast.CodeInvalid, 0},
		{"one of two was never set", &lock.EventID, &unset, "", holdfast.CodeInvalid, 0},
		{"an unknown status", nil, nil, "SOLD", holdfast.CodeInvalid, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			locks, _, err := w.Seats.ListLocks(t.Context(),
				holdfast.LockFilter{EventID: row.event, UserID: row.user, Status: holdfast.LockStatus(row.status)}, holdfast.Page{})
			if holdfast.CodeOf(err) != row.code || len(locks) != row.want {
				t.Errorf("%d locks, %v", len(locks), err)
			}
			bookings, _, err := w.Bookings.ListBookings(t.Context(),
				holdfast.BookingFilter{EventID: row.event, UserID: row.user, Status: holdfast.BookingStatus(row.status)}, holdfast.Page{})
			if holdfast.CodeOf(err) != row.code || len(bookings) != row.want {
				t.Errorf("%d bookings, %v", len(bookings), err)
			}
		})
	}
}
