package main

import (
	"context"
	"fmt"
)

// checkSeatIndex reports what was decided when the database was made. A missing index is reported with the gaps of the schema.
func checkSeatIndex(ctx context.Context, s *session) []finding {
	const what = "seat index"
	decided, err := s.DB.ReadVersion(ctx)
	if err != nil {
		return failedCheck(what, err)
	}
	if !decided.SeatIndexDecided {
		return nil // the database is new
	}
	detail := "off since the database was made: MongoDB does not refuse a second lock of a seat"
	if decided.SeatIndex {
		detail = "on since the database was made: MongoDB refuses a second lock of a seat"
	}
	if wanted := s.Config.SeatIndex; wanted != nil && *wanted != decided.SeatIndex {
		return []finding{note(what, fmt.Sprintf("%s; SEAT_INDEX=%t has no effect", detail, *wanted), "remove SEAT_INDEX from the settings")}
	}
	return []finding{ok(what, detail)}
}
