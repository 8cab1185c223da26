package holdfast_test

import (
	"math"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
)

func TestUntil_From(t *testing.T) {
	far := time.FixedZone("far", -7200)
	for _, row := range []struct {
		name  string
		until holdfast.Until
		zero  bool
		want  time.Time
	}{
		{"none", holdfast.Until{}, true, now},
		{"a duration", holdfast.Until{For: time.Minute}, false, now.Add(time.Minute)},
		{"a time", holdfast.Until{At: now.Add(time.Hour)}, false, now.Add(time.Hour)},
		{"a time in the past", holdfast.Until{At: now.Add(-time.Hour)}, false, now.Add(-time.Hour)},
		{"a time in another zone", holdfast.Until{At: now.In(far)}, false, now},
		{"parts of a millisecond", holdfast.Until{At: now.Add(1999 * time.Microsecond)}, false, now.Add(time.Millisecond)},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := row.until.From(now); got != row.want {
				t.Errorf("got %v, want %v", got, row.want)
			}
			if row.until.IsZero() != row.zero {
				t.Errorf("zero: %v, want %v", row.until.IsZero(), row.zero)
			}
		})
	}
}

func TestUntil_CheckRefusesInvalidDurations(t *testing.T) {
	const longest = time.Hour
	for _, row := range []struct {
		name   string
		until  holdfast.Until
		fields holdfast.Fields
		where  string // "": allowed
	}{
		{"none", holdfast.Until{}, holdfast.LockFields, ""},
		{"a time, however far", holdfast.Until{At: now.Add(1000 * longest)}, holdfast.LockFields, ""},
		{"a short duration", holdfast.Until{For: 1}, holdfast.LockFields, ""},
		{"the longest", holdfast.Until{For: longest}, holdfast.LockFields, ""},
		{"a longer one", holdfast.Until{For: longest + 1}, holdfast.LockFields, "body.ttlSeconds"},
		{"a longer one for a payment", holdfast.Until{For: longest + 1}, holdfast.PaymentFields, "body.paymentTtlSeconds"},
		{"below 0", holdfast.Until{For: -1}, holdfast.LockFields, "body.ttlSeconds"},
		{"far below 0", holdfast.Until{For: math.MinInt64}, holdfast.LockFields, "body.ttlSeconds"},
		{"both", holdfast.Until{At: now, For: 1}, holdfast.LockFields, "body.ttlSeconds"},
		{"both, for a payment", holdfast.Until{At: now, For: 1}, holdfast.PaymentFields, "body.paymentTtlSeconds"},
		{"a time and below 0", holdfast.Until{At: now, For: -1}, holdfast.LockFields, "body.ttlSeconds"},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := row.until.Check(row.fields, longest)
			if row.where == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			invalid, _ := holdfast.DetailsOf[holdfast.Invalid](err)
			if len(invalid) != 1 || invalid[0].Where != row.where || !holdfast.HasCode(err, holdfast.CodeInvalid) {
				t.Errorf("got %v, want a refusal of %s", err, row.where)
			}
		})
	}
}

func TestUntil_TooLateNamesTheFieldThatWasGiven(t *testing.T) {
	for want, until := range map[string]holdfast.Until{"body.expiresAt": {At: now}, "body.ttlSeconds": {For: 1}} {
		invalid, _ := holdfast.DetailsOf[holdfast.Invalid](until.TooLate(holdfast.LockFields, 2*time.Hour))
		if len(invalid) != 1 || invalid[0] != (holdfast.FieldError{Where: want, What: "The time is too far ahead: at most 2h0m0s."}) {
			t.Errorf("got %+v, want %s", invalid, want)
		}
	}
}

func TestEvent_TakenFollowsTheCounter(t *testing.T) {
	for want, event := range map[int64]holdfast.Event{
		0: {TotalSeats: 5, AvailableSeats: 5}, 3: {TotalSeats: 5, AvailableSeats: 2}, 5: {TotalSeats: 5}, 7: {TotalSeats: 5, Oversold: 2},
	} {
		if got := event.Taken(); got != want {
			t.Errorf("%+v: %d seats are taken, want %d", event, got, want)
		}
	}
}
