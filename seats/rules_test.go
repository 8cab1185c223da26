package seats_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/seats"
)

func TestStatus_EveryPairIsAllowedOrRefusedAsTheContractSays(t *testing.T) {
	allowed := map[seats.Status]map[seats.Action]seats.Status{
		"ACTIVE":   {"consume": "CONSUMED", "release": "RELEASED", "expire": "EXPIRED"},
		"CONSUMED": {"release": "RELEASED"},
		"EXPIRED":  {},
		"RELEASED": {},
	}
	if len(seats.Statuses) != len(allowed) {
		t.Fatalf("%d statuses, want %d", len(seats.Statuses), len(allowed))
	}
	for _, from := range seats.Statuses {
		for _, action := range []seats.Action{seats.Consume, seats.Release, seats.Expire} {
			want, ok := allowed[from][action]
			if got, gotOK := from.Next(action); got != want || gotOK != ok {
				t.Errorf("%s %s: got %q, %v; want %q, %v", from, action, got, gotOK, want, ok)
			}
		}
	}
}
