package config

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

// Scope is what a key may do; admin may do all.
type Scope string

// The scopes of keys.
const (
	ScopeBooking Scope = "booking"
	ScopeAdmin   Scope = "admin"
)

// Key lets a back end in. It prints without its secret.
type Key struct {
	Name   string
	Scope  Scope
	Secret Secret
}

// Secret is text that no log shows.
type Secret string

// String hides the secret.
func (Secret) String() string { return "(hidden)" }

// LogValue hides the secret.
func (Secret) LogValue() slog.Value { return slog.StringValue("(hidden)") }

func parseKeys(list string) ([]Key, error) {
	if strings.TrimSpace(list) == "" {
		return nil, nil
	}
	var keys []Key
	for i, entry := range strings.Split(list, ",") {
		const parts = 3
		part := strings.SplitN(strings.TrimSpace(entry), ":", parts)
		if len(part) != parts || part[0] == "" || part[2] == "" {
			return nil, fmt.Errorf("API_KEYS, entry %d: write name:scope:secret", i+1)
		}
		key := Key{part[0], Scope(part[1]), Secret(part[2])}
		if key.Scope != ScopeBooking && key.Scope != ScopeAdmin {
			return nil, fmt.Errorf("API_KEYS, key %q: the scope is booking or admin", key.Name)
		}
		keys = append(keys, key)
	}
	return keys, uniqueSecrets(keys)
}

func uniqueSecrets(keys []Key) error {
	seen := map[Secret]bool{}
	for _, k := range keys {
		if seen[k.Secret] {
			return errors.New("API_KEYS: two keys have the same secret; give each its own")
		}
		seen[k.Secret] = true
	}
	return nil
}
