package config

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Access are the settings of who may do how much.
type Access struct {
	JWTSecret Secret `name:"jwt-secret" env:"JWT_SECRET" help:"Secret of customers' tokens, HS256, at least 32 bytes; a token's sub is the user, who may act for no other."`
	JWKSFile  string `name:"jwks-file" env:"JWKS_FILE" help:"File with the public keys of customers' tokens, a JSON Web Key Set; in place of JWT_SECRET."`

	MaxSeatsPerLock       int64 `name:"max-seats-per-lock" env:"MAX_SEATS_PER_LOCK" default:"0" help:"Seats that one lock may claim; 0 for no limit."`
	MaxActiveLocksPerUser int64 `name:"max-active-locks-per-user" env:"MAX_ACTIVE_LOCKS_PER_USER" default:"0" help:"Live locks that a user may hold of one event; 0 for no limit."`
	RateLimitPerKey       Rate  `name:"rate-limit-per-key" env:"RATE_LIMIT_PER_KEY" help:"Requests of one API key, such as 50/s or 600/m; none if empty."`
	RateLimitPerUser      Rate  `name:"rate-limit-per-user" env:"RATE_LIMIT_PER_USER" help:"Requests of one user: by token, or naming the user to lock or book; none if empty."`
}

// minSecret is as long as an HS256 signature, RFC 7518, section 3.2.
const minSecret = 32

func (a *Access) check(keys []Key) error {
	tokens := a.JWTSecret != "" || a.JWKSFile != ""
	switch {
	case a.JWTSecret != "" && a.JWKSFile != "":
		return errors.New("JWT_SECRET and JWKS_FILE are both set: unset one of them")
	case a.JWTSecret != "" && len(a.JWTSecret) < minSecret:
		return fmt.Errorf("JWT_SECRET has %d bytes, but needs %d at least: make one with openssl rand -base64 32", len(a.JWTSecret), minSecret)
	case tokens && len(keys) == 0:
		return errors.New("JWT_SECRET or JWKS_FILE is set, but no API_KEYS are: without keys everybody who reaches the API may do all, whatever token they send; set API_KEYS too")
	case a.MaxSeatsPerLock < 0:
		return fmt.Errorf("MAX_SEATS_PER_LOCK is %d, but has to be above 0, or 0 for no limit", a.MaxSeatsPerLock)
	case a.MaxActiveLocksPerUser < 0:
		return fmt.Errorf("MAX_ACTIVE_LOCKS_PER_USER is %d, but has to be above 0, or 0 for no limit", a.MaxActiveLocksPerUser)
	}
	if a.JWKSFile != "" {
		if _, err := os.Stat(a.JWKSFile); err != nil {
			return fmt.Errorf("JWKS_FILE can't be read: %w", err)
		}
	}
	return nil
}

// Rate is so many requests in a time, which may come all at once; the zero Rate
// is no limit.
type Rate struct {
	Count int
	Per   time.Duration
}

// IsZero reports whether there is no limit.
func (r Rate) IsZero() bool { return r.Count == 0 }

// UnmarshalText reads 50/s, 600/m or 10000/h.
func (r *Rate) UnmarshalText(text []byte) error {
	const most = 1_000_000
	count, per, _ := strings.Cut(string(text), "/")
	n, err := strconv.Atoi(count)
	unit, known := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}[per]
	if err != nil || n < 1 || n > most || !known {
		return fmt.Errorf("%q is no rate: write a number from 1 to %d and a unit, such as 50/s, 600/m or 10000/h", text, most)
	}
	*r = Rate{n, unit}
	return nil
}
