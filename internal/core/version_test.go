package core_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// The version is lost, as after a restore of some collections only. The next process that starts writes it again.
func TestEnsureSchema_WritesALostVersion(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	if err := w.DB.Collection("meta").Drop(w.Ctx()); err != nil {
		t.Fatal(err)
	}
	ensure(w)
	if v, err := w.DB.ReadVersion(w.Ctx()); err != nil || v != (mongodb.Version{Version: 1, SeatIndex: true, SeatIndexDecided: true}) {
		t.Errorf("the version is %+v, %v", v, err)
	}
}
