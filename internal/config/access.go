package config

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Access holds the settings of customers' tokens, of pages of other origins, and of limits.
type Access struct {
	JWTSecret   Secret `name:"jwt-secret" env:"JWT_SECRET" help:"HS256 secret of customers' tokens, at least 32 bytes; a token is for the customer in its claim holder or, without it, in sub."`
	JWKSFile    string `name:"jwks-file" env:"JWKS_FILE" help:"File with the public keys of customers' tokens (a JSON Web Key Set), instead of JWT_SECRET."`
	JWTAudience string `name:"jwt-audience" env:"JWT_AUDIENCE" help:"The aud that customers' tokens must have; any if empty. Set it if the issuer signs tokens for other programs too."`
	JWTIssuer   string `name:"jwt-issuer" env:"JWT_ISSUER" help:"The iss that customers' tokens must have; any if empty."`
	CORSOrigins string `name:"cors-origins" env:"CORS_ORIGINS" help:"Comma-separated origins, such as https://shop.example, whose pages may call the customers' routes with a customer's token; without API_KEYS, without a token too."`

	MaxSeatsPerLock       int64 `name:"max-seats-per-lock" env:"MAX_SEATS_PER_LOCK" default:"0" help:"Maximum number of seats of a lock; 0 for no limit."`
	MaxActiveLocksPerUser int64 `name:"max-active-locks-per-user" env:"MAX_ACTIVE_LOCKS_PER_USER" default:"0" help:"Maximum number of active locks of a customer per event; 0 for no limit."`
	RateLimitPerKey       Rate  `name:"rate-limit-per-key" env:"RATE_LIMIT_PER_KEY" help:"Maximum rate of requests with one API key, such as 50/s or 600/m; no limit if empty."`
	RateLimitPerUser      Rate  `name:"rate-limit-per-user" env:"RATE_LIMIT_PER_USER" help:"Maximum rate of requests by a token's customer, or for the customer that a lock or booking names; no limit if empty."`
	RateLimitPerAddress   Rate  `name:"rate-limit-per-address" env:"RATE_LIMIT_PER_ADDRESS" default:"50/s" help:"Maximum rate of requests without a valid key or token from one address, in this process; off for no limit. A valid key is never refused by it."`

	Origins []string `kong:"-"` // parsed from CORSOrigins
}

// minSecretBytes is the length of an HS256 hash (RFC 7518, section 3.2).
const minSecretBytes = 32

func (a *Access) check(keys []Key) (err error) {
	tokens := a.JWTSecret != "" || a.JWKSFile != ""
	switch {
	case a.JWTSecret != "" && a.JWKSFile != "":
		return errors.New("JWT_SECRET and JWKS_FILE are both set: unset one of them")
	case a.JWTSecret != "" && len(a.JWTSecret) < minSecretBytes:
		return fmt.Errorf("JWT_SECRET has %d bytes, but needs at least %d: create one with openssl rand -base64 32", len(a.JWTSecret), minSecretBytes)
	case tokens && len(keys) == 0:
		return errors.New("JWT_SECRET or JWKS_FILE is set, but API_KEYS is not: without keys, every client may do everything, whatever its token; set API_KEYS too")
	}
	if !tokens && a.JWTAudience+a.JWTIssuer != "" {
		return errors.New("JWT_AUDIENCE or JWT_ISSUER is set, but neither JWT_SECRET nor JWKS_FILE is: no token is accepted; " +
			"set one of the two, or unset JWT_AUDIENCE and JWT_ISSUER")
	}
	if a.JWKSFile != "" {
		if _, err := os.Stat(a.JWKSFile); err != nil {
			return fmt.Errorf("cannot read JWKS_FILE: %w", err)
		}
	}
	if a.Origins, err = parseOrigins(a.CORSOrigins); err != nil {
		return err
	}
	if len(a.Origins) > 0 && len(keys) > 0 && !tokens {
		return errors.New("CORS_ORIGINS is set, but neither JWT_SECRET nor JWKS_FILE is: pages of other origins may send customers' tokens, " +
			"but no keys; set one of the two, or unset CORS_ORIGINS")
	}
	return nil
}

// Warning says what is dangerous in valid settings, "" if nothing is. The keys of a set are often those of an identity
// provider, which signs tokens of the same users for other programs.
func (a *Access) Warning() string {
	if a.JWKSFile == "" || a.JWTAudience != "" && a.JWTIssuer != "" {
		return ""
	}
	return "JWKS_FILE is set without JWT_AUDIENCE and JWT_ISSUER: tokens that its keys sign for other programs are accepted too; set both"
}

// Rate is a number of requests per period, which may arrive all at once. The zero
// Rate means no limit.
type Rate struct {
	Count int
	Per   time.Duration
}

// IsZero reports whether there is no limit.
func (r Rate) IsZero() bool { return r.Count == 0 }

// UnmarshalText parses a rate such as 50/s, 600/m or 10000/h, or off.
func (r *Rate) UnmarshalText(text []byte) error {
	const maxCount = 1_000_000
	if string(text) == "off" {
		*r = Rate{}
		return nil
	}
	count, per, _ := strings.Cut(string(text), "/")
	n, err := strconv.Atoi(count)
	unit, known := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}[per]
	if err != nil || n < 1 || n > maxCount || !known {
		return fmt.Errorf("%q is not a valid rate: use a number from 1 to %d and a unit, such as 50/s, 600/m or 10000/h, or off", text, maxCount)
	}
	*r = Rate{n, unit}
	return nil
}
