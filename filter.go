package holdfast

import "slices"

// checkFilter refuses a filter that nothing can match. It is a mistake of the caller, and
// to match everything would tell what the caller did not ask for.
func checkFilter[S ~string](event, user *ID, status S, statuses []S) error {
	for _, filter := range []struct {
		where string
		id    *ID
	}{{"query.eventId", event}, {"query.userId", user}} {
		if filter.id != nil && filter.id.IsZero() {
			return RefuseInput(filter.where, "The zero ID names nothing. Give another ID, or no filter.")
		}
	}
	if status != "" && !slices.Contains(statuses, status) {
		return RefuseInput("query.status", "There is no such status.")
	}
	return nil
}
