package config

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
)

// Scope is the set of routes that a key may call. ScopeAdmin may call all.
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

// MarshalText hides the secret in JSON too, even as a part of another value.
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
		if !validSecret.MatchString(part[2]) {
			return nil, fmt.Errorf("API_KEYS, key %q: the secret must have at least 16 characters, and only visible ones of ASCII: "+
				"create one with openssl rand -hex 24", key.Name)
		}
		keys = append(keys, key)
	}
	return keys, checkUnique(keys)
}

// validSecret matches secrets that can't be guessed and that a header can carry.
var validSecret = regexp.MustCompile(`^[!-~]{16,}$`)

func checkUnique(keys []Key) error {
	secrets, names := map[Secret]bool{}, map[string]bool{}
	for _, k := range keys {
		switch {
		case secrets[k.Secret]:
			return errors.New("API_KEYS: two keys have the same secret; give each key its own")
		case names[k.Name]:
			return fmt.Errorf("API_KEYS: two keys have the name %q, by which rates, idempotency keys and the audit know a caller; "+
				"give each key its own, such as %s-2", k.Name, k.Name)
		}
		secrets[k.Secret], names[k.Name] = true, true
	}
	return nil
}
