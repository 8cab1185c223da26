package config

import (
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/core"
)

// Retention is how long documents are kept.
type Retention struct {
	Age time.Duration // 0 keeps them for ever
}

// UnmarshalText reads off, 0 or a duration.
func (r *Retention) UnmarshalText(text []byte) error {
	*r = Retention{}
	if string(text) == "off" {
		return nil
	}
	age, err := time.ParseDuration(string(text))
	if err != nil || age != 0 && age < core.MinRetention {
		return fmt.Errorf("%q is not a valid retention: use off, 0, or at least 24h, such as 720h", text)
	}
	r.Age = age
	return nil
}
