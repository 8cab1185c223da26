package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"

	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/ids"
)

// Tokens knows customers by JSON Web Tokens, RFC 7519, that the shop signs; nil
// knows none.
type Tokens struct {
	parser *jwt.Parser
	key    jwt.Keyfunc
}

// maxToken bounds what is parsed, in bytes.
const maxToken = 4096

// NewTokens reads the keys that the settings name; nil where they name none. The
// algorithms are pinned: HS256 with a secret, else those of public keys, so that
// no token can choose to be checked by another.
func NewTokens(c config.Access, now clock.Clock) (*Tokens, error) {
	switch {
	case c.JWTSecret != "":
		secret := []byte(c.JWTSecret)
		return newTokens(now, func(*jwt.Token) (any, error) { return secret, nil }, "HS256"), nil
	case c.JWKSFile != "":
		raw, err := os.ReadFile(c.JWKSFile)
		if err != nil {
			return nil, fmt.Errorf("JWKS_FILE can't be read: %w", err)
		}
		if err := onlyPublic(raw); err != nil {
			return nil, fmt.Errorf("JWKS_FILE %s: %w", c.JWKSFile, err)
		}
		keys, err := keyfunc.NewJWKSetJSON(raw)
		if err != nil {
			return nil, fmt.Errorf("JWKS_FILE %s is no JSON Web Key Set: %w", c.JWKSFile, err)
		}
		return newTokens(now, keys.Keyfunc, "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"), nil
	default:
		return nil, nil //nolint:nilnil // none is what nil means
	}
}

func newTokens(now clock.Clock, key jwt.Keyfunc, algorithms ...string) *Tokens {
	return &Tokens{jwt.NewParser(jwt.WithValidMethods(algorithms), jwt.WithExpirationRequired(), jwt.WithTimeFunc(now)), key}
}

// onlyPublic refuses a set that is empty or holds a secret: a file with one is
// the wrong file.
func onlyPublic(raw []byte) error {
	var set struct {
		Keys []map[string]any `json:"keys"`
	}
	if err := json.Unmarshal(raw, &set); err != nil {
		return fmt.Errorf("it is no JSON Web Key Set: %w", err)
	}
	if len(set.Keys) == 0 {
		return errors.New("it holds no key")
	}
	for i, key := range set.Keys {
		if key["kty"] == string(jwkset.KtyOct) || key["d"] != nil {
			return fmt.Errorf("key %d holds a secret: give the public keys only", i+1)
		}
		if id, _ := key["kid"].(string); id == "" {
			return fmt.Errorf("key %d has no kid, by which tokens name it", i+1)
		}
	}
	return nil
}

var errNoToken = errors.New("not a token of a customer")

// User is the user that a token stands for: signed by a known key, not expired
// by this process's clock, its sub an ID.
func (t *Tokens) User(token string) (ids.ID, error) {
	if t == nil || token == "" || len(token) > maxToken {
		return ids.ID{}, errNoToken
	}
	var claims jwt.RegisteredClaims
	if _, err := t.parser.ParseWithClaims(token, &claims, t.key); err != nil {
		return ids.ID{}, errors.Join(errNoToken, err)
	}
	user, err := ids.Parse(claims.Subject)
	if err != nil || user.IsZero() {
		return ids.ID{}, errNoToken
	}
	return user, nil
}
