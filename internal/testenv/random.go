package testenv

import (
	"cmp"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// seedVariable is the seed of tests with random documents; 1 if it is not set.
const seedVariable = "HOLDFAST_TEST_SEED"

// Random is a source for a test's random documents. It logs its seed.
func Random(t testing.TB) *rand.Rand {
	t.Helper()
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv(seedVariable), "1"), 10, 64)
	if err != nil {
		t.Fatal(seedVariable, err)
	}
	t.Logf("%s=%d", seedVariable, seed)
	return rand.New(rand.NewPCG(15, seed)) //nolint:gosec // G404: a test repeats it
}
