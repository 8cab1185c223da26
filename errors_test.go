package holdfast_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
)

var errDriver = errors.New("the driver's words")

func TestError_CarriesCodeDetailsAndCause(t *testing.T) {
	err := holdfast.Refuse(holdfast.CodeSeatsUnavailable, "%d seats are available.", 2).
		With(holdfast.SeatsUnavailable{Requested: 3, Available: 2}).By(errDriver)
	wrapped := fmt.Errorf("acquire: %w", err)
	for name, err := range map[string]error{"bare": err, "wrapped": wrapped} {
		t.Run(name, func(t *testing.T) {
			if code := holdfast.CodeOf(err); code != holdfast.CodeSeatsUnavailable {
				t.Errorf("the code is %q", code)
			}
			if !holdfast.HasCode(err, holdfast.CodeSeatsUnavailable) || holdfast.HasCode(err, holdfast.CodeLockExpired) {
				t.Error("HasCode is wrong")
			}
			if d, ok := holdfast.DetailsOf[holdfast.SeatsUnavailable](err); !ok || d.Requested != 3 || d.Available != 2 {
				t.Errorf("the details are %+v, %v", d, ok)
			}
			if d, ok := holdfast.DetailsOf[holdfast.LimitReached](err); ok {
				t.Errorf("the details are also %+v", d)
			}
			if !errors.Is(err, errDriver) {
				t.Error("the cause is lost")
			}
		})
	}
	if want := "SEATS_UNAVAILABLE: 2 seats are available.: the driver's words"; err.Error() != want {
		t.Errorf("got %q, want %q", err.Error(), want)
	}
	if strings.Contains(err.Message, errDriver.Error()) {
		t.Error("the message tells the cause")
	}
}

func TestError_WithoutCauseOrDetails(t *testing.T) {
	err := holdfast.Refuse(holdfast.CodeLockExpired, "The lock has expired.")
	if want := "LOCK_EXPIRED: The lock has expired."; err.Error() != want || err.Unwrap() != nil {
		t.Errorf("got %q, caused by %v", err.Error(), err.Unwrap())
	}
	if d, ok := holdfast.DetailsOf[holdfast.Invalid](err); ok {
		t.Errorf("the details are %+v", d)
	}
}

func TestCodeOf_OtherErrorsHaveNoCode(t *testing.T) {
	for name, err := range map[string]error{"none": nil, "another": errDriver} {
		t.Run(name, func(t *testing.T) {
			if holdfast.CodeOf(err) != "" || holdfast.HasCode(err, holdfast.CodeInvalid) || holdfast.IsNotFound(err) {
				t.Errorf("%v has the code %q", err, holdfast.CodeOf(err))
			}
			if _, ok := holdfast.DetailsOf[holdfast.Invalid](err); ok {
				t.Error("it has details")
			}
		})
	}
	if holdfast.HasCode(nil, "") {
		t.Error("no error has no code, not the empty one")
	}
	if !holdfast.HasCode(errDriver, "") {
		t.Error("another error has the empty code")
	}
}

func TestRefuseInput_NamesTheField(t *testing.T) {
	err := holdfast.RefuseInput("body.seats", "At most %d.", 5)
	invalid, _ := holdfast.DetailsOf[holdfast.Invalid](err)
	want := holdfast.FieldError{Where: "body.seats", What: "At most 5."}
	if len(invalid) != 1 || invalid[0] != want || err.Code != holdfast.CodeInvalid {
		t.Errorf("got %+v, %+v", err, invalid)
	}
}

func TestNotFound_SaysWhatDoesNotExist(t *testing.T) {
	for code, want := range map[holdfast.Code]string{
		holdfast.CodeEventNotFound: "There is no such event.", holdfast.CodeLockNotFound: "There is no such lock.",
		holdfast.CodeBookingNotFound: "There is no such booking.", holdfast.CodeUserNotFound: "There is no such user.",
		holdfast.CodeSeatingPlanNotFound: "There is no such seating plan.",
	} {
		t.Run(string(code), func(t *testing.T) {
			if err := holdfast.NotFound(code); err.Code != code || err.Message != want || !holdfast.IsNotFound(err) {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
}

func TestIsNotFound(t *testing.T) {
	for code, want := range map[holdfast.Code]bool{
		holdfast.CodeEventNotFound: true, holdfast.CodeUserNotFound: true, holdfast.CodeLockNotFound: true, holdfast.CodeBookingNotFound: true,
		holdfast.CodeLockExpired: false, holdfast.CodeUnavailable: false, holdfast.CodeInvalid: false,
	} {
		t.Run(string(code), func(t *testing.T) {
			if got := holdfast.IsNotFound(holdfast.Refuse(code, "")); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}
