package inventory

// counter is an event's counter while a decision moves it.
type counter struct{ total, available, oversold int64 }

// acquire claims n seats if they fit.
func (c *counter) acquire(n int64) bool {
	if n > c.available {
		return false
	}
	c.available -= n
	return true
}

// restore returns n seats. It first reduces the number of oversold seats.
func (c *counter) restore(n int64) {
	paid := min(n, c.oversold)
	c.oversold -= paid
	c.available += n - paid
}

// undoRestore undoes a restore, or a part of it. Seats that exceed the total are oversold.
func (c *counter) undoRestore(n int64) {
	c.available -= n
	if c.available < 0 {
		c.available, c.oversold = 0, c.oversold-c.available
	}
}

// valid reports whether the counter may be committed.
func (c counter) valid() bool {
	return 0 <= c.available && c.available <= c.total && 0 <= c.oversold && (c.available == 0 || c.oversold == 0)
}

// counterOf returns the only valid counter for a capacity and the seats taken.
func counterOf(total, taken int64) counter {
	return counter{total: total, available: max(0, total-taken), oversold: max(0, taken-total)}
}

func (e Event) counter() counter {
	return counter{total: e.TotalSeats, available: e.AvailableSeats, oversold: e.Oversold}
}

// Valid reports whether the event's counter may be committed as it is.
func (e Event) Valid() bool { return e.counter().valid() }

// Drift returns by how many seats the counter is too high, if the locks take the given number of seats.
func (e Event) Drift(taken int64) int64 {
	return (e.AvailableSeats - e.Oversold) - (e.TotalSeats - taken)
}
