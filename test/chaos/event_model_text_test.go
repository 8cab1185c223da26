package chaos_test

import (
	"fmt"
	"time"
)

func describeOperation(in opInput, out opOutput) string {
	if in.op == opReadFinal {
		return "final state: " + in.final.String()
	}
	return fmt.Sprintf("%s lock %d booking %q reference %d user %d seats %d %+v until %s %s hall %v %d part %d of %d key %t "+
		"indeterminate %t certain %t → %s %s %s %s user %d replayed %t available %d expires %s %+v",
		in.op, in.lock, in.booking, in.reference, in.user, in.seats, in.wish, formatMillis(in.until), in.saleStatus,
		in.hall, in.capacity, in.part, in.partOf, in.hasKey, in.indeterminate, in.certain,
		out.code, string(out.reason), out.id, out.status, out.user, out.replayed, out.available, formatMillis(out.expires), out.seatAnswer)
}

// formatMillis shows the seconds of a time.
func formatMillis(ms int64) string {
	if ms == 0 {
		return "-"
	}
	return time.UnixMilli(ms).UTC().Format("05.000")
}

func (s eventState) String() string {
	text := fmt.Sprintf("%d of %d free, limit %d, %s;", s.free, s.total, s.perUser, s.saleStatus)
	if s.hall != nil {
		text += fmt.Sprintf(" %v, %d standing, blocked %v, orphans are refused %t;", s.hall, s.capacity, s.blocked, s.refusesOrphans)
	}
	for i, l := range s.locks {
		if l.holdsSeats() {
			text += fmt.Sprintf(" %d:%c%d of %d", i, l.status, l.seats, l.user)
			if s.hall != nil {
				text += fmt.Sprintf("%v", l.places)
			}
			if l.booking != 0 {
				text += string(l.booking)
			}
		}
		if !l.holdsSeats() && l.status != 0 {
			text += fmt.Sprintf(" %d:%c", i, l.status)
		}
		if l.refs != (references{}) {
			text += fmt.Sprintf(" %d:%s", i, l.refs)
		}
		if l.parts != ([maxReferences]int64{}) {
			text += fmt.Sprintf("%v", l.parts)
		}
		if l.left.status != 0 {
			text += fmt.Sprintf(" (left %c%d%v)", l.left.status, l.left.seats, l.left.places)
		}
	}
	return text
}

func (r references) String() (text string) {
	for _, reason := range r {
		if reason != 0 {
			text += string(reason)
		} else {
			text += "-"
		}
	}
	return text
}
