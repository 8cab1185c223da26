package holdfast

import "slices"

// checkFilter refuses a filter that nothing can match. It is a mistake of the caller, and
// to match everything would tell what the caller did not ask for.
func checkFilter[S ~string](event, user *ID, status S, statuses []S) error {
	if err := checkFilterID("query.eventId", event); err != nil {
		return err
	}
	if err := checkFilterID("query.userId", user); err != nil {
		return err
	}
	if status != "" && !slices.Contains(statuses, status) {
		return RefuseInput("query.status", "There is no such status.")
	}
	return nil
}

func checkFilterID(where string, id *ID) error {
	if id != nil && id.IsZero() {
		return RefuseInput(where, "The zero ID names nothing. Give another ID, or no filter.")
	}
	return nil
}
