package config

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

// Scope says which routes a key may call. ScopeAdmin may call all.
type Scope string

// The scopes of keys.
const (
	ScopeBooking Scope = "booking"
	ScopeAdmin   Scope = "admin"
)

// Key is an API key. When printed or logged, it hides its secret.
type Key struct {
	Name   string
	Scope  Scope
	Secret Secret
}

// Secret is text that must not be logged, such as a password or an address that contains one.
type Secret string

// String hides the secret.
func (Secret) String() string { return "(hidden)" }

// MarshalText hides the secret in JSON too, also where it is a part of something.
func (Secret) MarshalText() ([]byte, error) { return []byte("(hidden)"), nil }

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
			return nil, fmt.Errorf("API_KEYS, entry %d: use the form name:scope:secret", i+1)
		}
		key := Key{Name: part[0], Scope: Scope(part[1]), Secret: Secret(part[2])}
		if key.Scope != ScopeBooking && key.Scope != ScopeAdmin {
			return nil, fmt.Errorf("API_KEYS, key %q: the scope must be booking or admin", key.Name)
		}
		keys = append(keys, key)
	}
	return keys, checkUnique(keys)
}

func checkUnique(keys []Key) error {
	seen := map[Secret]bool{}
	for _, k := range keys {
		if seen[k.Secret] {
			return errors.New("API_KEYS: two keys have the same secret; give each key its own")
		}
		seen[k.Secret] = true
	}
	return nil
}
