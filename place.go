package holdfast

// Place is where a seat of a lock or a booking is. Of general admission it has the section and the
// category alone.
type Place struct{ SeatID, Section, Row, Label, Category string }

// SeatState says what has become of a seat.
type SeatState string

// A seat under a due lock is AVAILABLE, before a sweep ends that lock too.
const (
	SeatAvailable SeatState = "AVAILABLE"
	SeatLocked    SeatState = "LOCKED"
	SeatSold      SeatState = "SOLD"
	SeatBlocked   SeatState = "BLOCKED"
)

// SeatHolder is a seat with the lock that has it. A block is not told by its ID.
type SeatHolder struct {
	Place
	State     SeatState
	LockID    ID // zero: none
	BookingID ID // the lock's live or confirmed booking; zero: none
}

// Outranks reports which of two states counts for a seat that is in several locks, which only other software can make: a
// sold one first, then a block, then a live lock.
func (s SeatState) Outranks(other SeatState) bool { return seatRanks[s] > seatRanks[other] }

var seatRanks = map[SeatState]int{SeatLocked: 1, SeatBlocked: 2, SeatSold: 3} //nolint:mnd // an order
