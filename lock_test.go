package holdfast_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast"
)

func TestStatus_EveryPairIsAllowedOrRefusedAsTheContractSays(t *testing.T) {
	allowed := map[holdfast.LockStatus]map[holdfast.LockAction]holdfast.LockStatus{
		"ACTIVE":   {"consume": "CONSUMED", "release": "RELEASED", "expire": "EXPIRED"},
		"CONSUMED": {"release": "RELEASED"},
		"EXPIRED":  {},
		"RELEASED": {},
	}
	if len(holdfast.LockStatuses) != len(allowed) {
		t.Fatalf("%d statuses, want %d", len(holdfast.LockStatuses), len(allowed))
	}
	for _, from := range holdfast.LockStatuses {
		for _, action := range []holdfast.LockAction{holdfast.ConsumeLock, holdfast.ReleaseLock, holdfast.ExpireLock} {
			want, ok := allowed[from][action]
			if got, gotOK := from.Next(action); got != want || gotOK != ok {
				t.Errorf("%s %s: got %q, %v; want %q, %v", from, action, got, gotOK, want, ok)
			}
		}
	}
}
