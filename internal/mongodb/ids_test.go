package mongodb_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

func TestNewRunID_NamesJobAndTimeAndIsUnique(t *testing.T) {
	at := time.Date(2030, time.March, 4, 6, 6, 7, 89_000_000, time.FixedZone("", 3600))
	first, second := mongodb.NewRunID("recovery", at), mongodb.NewRunID("recovery", at)
	if form := regexp.MustCompile(`^recovery-20300304T050607\.089Z-[a-z2-7]{8}$`); !form.MatchString(first) || first == second {
		t.Errorf("got %s and %s", first, second)
	}
}
