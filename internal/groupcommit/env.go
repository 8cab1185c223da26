package groupcommit

import (
	"os"
	"strconv"
)

func envFloat(name string, d float64) float64 {
	if f, err := strconv.ParseFloat(os.Getenv(name), 64); err == nil {
		return f
	}
	return d
}
