package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/config"
)

// Tokens checks customers' JSON Web Tokens (RFC 7519), which the shop signs. A nil
// *Tokens refuses every token.
type Tokens struct {
	parser *jwt.Parser
	key    jwt.Keyfunc
}

// maxTokenBytes limits the work on a token before it is verified.
const maxTokenBytes = 4096

// NewTokens reads the keys that the settings name, and returns nil if they name
// none. The algorithms are fixed, HS256 for a secret and the ones for public keys
// otherwise, so that a token can't select another algorithm for the same key.
func NewTokens(c config.Access, now clock.Clock) (tokens *Tokens, err error) {
	switch {
	case c.JWTSecret != "":
		secret := []byte(c.JWTSecret)
		return newTokens(now, func(*jwt.Token) (any, error) { return secret, nil }, "HS256"), nil
	case c.JWKSFile != "":
		raw, err := os.ReadFile(c.JWKSFile)
		if err != nil {
			return nil, fmt.Errorf("read JWKS_FILE: %w", err)
		}
		if err := requirePublicKeys(raw); err != nil {
			return nil, fmt.Errorf("JWKS_FILE %s: %w", c.JWKSFile, err)
		}
		keys, err := keyfunc.NewJWKSetJSON(raw)
		if err != nil {
			return nil, fmt.Errorf("JWKS_FILE %s is not a JSON Web Key Set: %w", c.JWKSFile, err)
		}
		return newTokens(now, keys.Keyfunc,
			"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"), nil
	default:
		return tokens, nil
	}
}

func newTokens(now clock.Clock, key jwt.Keyfunc, algorithms ...string) *Tokens {
	parser := jwt.NewParser(jwt.WithValidMethods(algorithms), jwt.WithExpirationRequired(), jwt.WithTimeFunc(now))
	return &Tokens{parser: parser, key: key}
}

// requirePublicKeys refuses a set that is empty or contains a secret: such a file
// is the wrong one.
func requirePublicKeys(raw []byte) error {
	var set struct {
		Keys []map[string]any `json:"keys"`
	}
	if err := json.Unmarshal(raw, &set); err != nil {
		return fmt.Errorf("not a JSON Web Key Set: %w", err)
	}
	if len(set.Keys) == 0 {
		return errors.New("the set has no keys")
	}
	for i, key := range set.Keys {
		if key["kty"] == string(jwkset.KtyOct) || key["d"] != nil {
			return fmt.Errorf("key %d contains a secret: remove it, and keep the public keys only", i+1)
		}
		if id, _ := key["kid"].(string); id == "" {
			return fmt.Errorf("key %d has no kid: add the ID by which tokens refer to the key", i+1)
		}
	}
	return nil
}

var errInvalidToken = errors.New("not a valid customer token")

// User returns the user of a token. The token must be signed by a known key, must
// not be expired by this process's clock, and its sub must be an ID.
func (t *Tokens) User(token string) (holdfast.ID, error) {
	if t == nil || token == "" || len(token) > maxTokenBytes {
		return holdfast.ID{}, errInvalidToken
	}
	var claims jwt.RegisteredClaims
	if _, err := t.parser.ParseWithClaims(token, &claims, t.key); err != nil {
		return holdfast.ID{}, errors.Join(errInvalidToken, err)
	}
	user, err := holdfast.ParseID(claims.Subject)
	if err != nil || user.IsZero() {
		return holdfast.ID{}, errInvalidToken
	}
	return user, nil
}
