package inventory

import "github.com/holdfast-dev/holdfast"

// The commands of this file move no seats, so they don't write the event. They are guarded by the revision of what they
// change: of two changes at the same time, the second is merged into what the first has left.

// UpdateLock changes the reference and the metadata of a lock, in any status.
type UpdateLock struct {
	LockID ID
	Change holdfast.ShopDataChange
}

func (c UpdateLock) decide(d *decision) Result {
	lock, exists, read := d.lock(c.LockID)
	switch {
	case !read:
		return Result{}
	case !exists:
		return Result{Err: holdfast.NotFound(holdfast.CodeLockNotFound)}
	}
	after, changes, err := c.Change.Of(lock.ShopData, "body")
	switch {
	case err != nil:
		return Result{Err: err}
	case changes:
		d.write(lock, LockWrite{To: lock.Status, Guard: AtRevision, ShopData: &after})
		lock = d.locks[lock.ID]
	}
	return Result{Lock: &lock.Lock}
}

// UpdateBooking changes the reference and the metadata of a booking, in any status.
type UpdateBooking struct {
	BookingID ID
	Change    holdfast.ShopDataChange
}

func (c UpdateBooking) decide(d *decision) Result {
	b, exists, read := d.booking(c.BookingID)
	switch {
	case !read:
		return Result{}
	case !exists:
		return Result{Err: holdfast.NotFound(holdfast.CodeBookingNotFound)}
	case d.isCorrupt(b.LockID):
		return Result{Err: errCorrupt()}
	}
	after, changes, err := c.Change.Of(b.ShopData, "body")
	switch {
	case err != nil:
		return Result{Err: err}
	case changes:
		b = d.writeBooking(b, BookingWrite{To: b.Status, ShopData: &after}, holdfast.ChangeBookingChanged)
	}
	return Result{Booking: &b}
}
