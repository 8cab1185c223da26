package httpapi

import (
	"errors"
	"net/http"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/jobs"
)

// contract is the published table of statuses and codes.
var contract = map[int][]holdfast.Code{
	400: {"MALFORMED_REQUEST"}, 401: {"UNAUTHENTICATED"}, 403: {"FORBIDDEN"},
	404: {"SEATING_PLAN_NOT_FOUND", "SEAT_NOT_FOUND", "PAYMENT_NOT_FOUND", "REFUND_NOT_FOUND", "WEBHOOK_NOT_FOUND",
		"WAITLIST_ENTRY_NOT_FOUND",
		"EVENT_NOT_FOUND", "USER_NOT_FOUND", "LOCK_NOT_FOUND", "BOOKING_NOT_FOUND", "JOB_NOT_FOUND", "NOT_FOUND"},
	405: {"METHOD_NOT_ALLOWED"}, 413: {"BODY_TOO_LARGE"}, 415: {"UNSUPPORTED_MEDIA_TYPE"},
	409: {"SEATS_UNAVAILABLE", "SEAT_LIMIT_REACHED", "EVENT_NOT_ON_SALE", "SALE_NOT_OPEN", "EVENT_HAS_LOCKS", "EMAIL_TAKEN",
		"CAPACITY_BELOW_TAKEN", "HOLDS_SEATS",
		"LOCK_CONSUMED", "LOCK_RELEASED", "BOOKING_CONFIRMED", "BOOKING_CANCELLED", "BOOKING_NOT_PAYABLE", "JOB_RUNNING",
		"SEAT_ORPHANED", "SEATS_NOT_ADJACENT", "LOCK_HAS_BOOKING", "WEBHOOK_LIMIT_REACHED",
		"PAYMENT_REFERENCE_USED", "PAYMENT_REFUND_DUE", "PAYMENT_REFUNDED", "PAYMENT_ACCEPTED",
		"WAITLIST_CLOSED", "WAITLIST_NOT_OFFERED", "WAITLIST_FULL", "WAITLIST_ENTRY_EXISTS", "SEATS_STILL_AVAILABLE"},
	410: {"LOCK_EXPIRED", "BOOKING_EXPIRED", "CHANGES_GONE"}, 422: {"VALIDATION_FAILED", "IDEMPOTENCY_KEY_REUSED"},
	429: {"TOO_MANY_REQUESTS"},
	503: {"UNAVAILABLE", "OUTCOME_UNKNOWN"},
}

func TestStatusByCode_MatchesTheContract(t *testing.T) {
	n := 0
	for status, codes := range contract {
		for _, code := range codes {
			n++
			if statusByCode[code] != status {
				t.Errorf("%s has the status %d, want %d", code, statusByCode[code], status)
			}
		}
	}
	if n != len(statusByCode) {
		t.Errorf("%d codes have a status, the contract has %d codes", len(statusByCode), n)
	}
	for _, codes := range [][]holdfast.Code{holdfast.Codes(), jobs.Codes()} {
		for _, code := range codes {
			if statusByCode[code] == 0 {
				t.Errorf("%s has no status", code)
			}
		}
	}
}

func TestProblemOf_HidesErrorsWithoutAKnownCode(t *testing.T) {
	for name, err := range map[string]error{
		"no code":      errors.New("secret: mongodb://user:pass@host"),
		"unknown code": holdfast.Refuse("NEW_CODE", "x").By(errors.New("secret")),
	} {
		t.Run(name, func(t *testing.T) {
			p := problemOf(err)
			if p.Status != http.StatusServiceUnavailable || p.Code != "UNAVAILABLE" || p.Detail != detailInternal {
				t.Errorf("got %+v", p)
			}
		})
	}
}
