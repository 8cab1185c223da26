package httpapi

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/jsonwalk"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
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
func NewTokens(c config.Access, now mongodb.Clock) (tokens *Tokens, err error) {
	switch {
	case c.JWTSecret != "":
		secret := []byte(c.JWTSecret)
		return newTokens(c, now, func(*jwt.Token) (any, error) { return secret, nil }, "HS256"), nil
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
		return newTokens(c, now, keys.Keyfunc, slices.Concat(slices.Collect(maps.Values(algorithms))...)...), nil
	default:
		return tokens, nil
	}
}

func newTokens(c config.Access, now mongodb.Clock, key jwt.Keyfunc, algorithms ...string) *Tokens {
	options := []jwt.ParserOption{jwt.WithValidMethods(algorithms), jwt.WithExpirationRequired(), jwt.WithTimeFunc(now)}
	if c.JWTAudience != "" {
		options = append(options, jwt.WithAudience(c.JWTAudience))
	}
	if c.JWTIssuer != "" {
		options = append(options, jwt.WithIssuer(c.JWTIssuer))
	}
	return &Tokens{parser: jwt.NewParser(options...), key: func(t *jwt.Token) (any, error) {
		// No extension is understood, so each is refused (RFC 7515, section 4.1.11).
		if t.Header["crit"] != nil || !isTokenType(t.Header["typ"]) {
			return nil, errInvalidToken
		}
		return key(t)
	}}
}

// isTokenType refuses JSON Web Tokens that name another use, such as a logout token or a proof of possession
// (RFC 8725, section 3.11). A typ may be absent, and is compared in any case, with or without application/.
func isTokenType(typ any) bool {
	text, isText := typ.(string)
	switch strings.TrimPrefix(strings.ToLower(text), "application/") {
	case "jwt", "at+jwt":
		return true
	default:
		return typ == nil || isText && text == ""
	}
}

// algorithms are the algorithms of public keys, by the type of the key and its curve.
var algorithms = map[string][]string{
	"RSA": {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}, "OKP Ed25519": {"EdDSA"},
	"EC P-256": {"ES256"}, "EC P-384": {"ES384"}, "EC P-521": {"ES512"},
}

// minRSABits is the shortest key that RFC 7518, section 3.3, allows.
const minRSABits = 2048

// requirePublicKeys refuses a set that is empty, contains a secret, or has a key
// that is weak or not for signatures, because such a file is a mistake.
func requirePublicKeys(raw []byte) error {
	var set jwkset.JWKSMarshal
	if err := json.Unmarshal(raw, &set); err != nil {
		return fmt.Errorf("not a JSON Web Key Set: %w", err)
	}
	if len(set.Keys) == 0 {
		return errors.New("the set has no keys")
	}
	ids := map[string]bool{}
	for i, key := range set.Keys {
		if err := requirePublicKey(key); err != nil {
			return fmt.Errorf("key %d %w", i+1, err)
		}
		if ids[key.KID] {
			return fmt.Errorf("key %d has the kid of an earlier key: give each key its own", i+1)
		}
		ids[key.KID] = true
	}
	return nil
}

func requirePublicKey(key jwkset.JWKMarshal) error {
	if key.KTY == jwkset.KtyOct || key.D != "" || key.K != "" {
		return errors.New("contains a secret: remove it, and keep the public keys only")
	}
	if key.KID == "" {
		return errors.New("has no kid: add the ID by which tokens refer to the key")
	}
	if key.USE != "" && key.USE != jwkset.UseSig || len(key.KEYOPS) > 0 && !slices.Contains(key.KEYOPS, jwkset.KeyOpsVerify) {
		return errors.New("is not for signatures, by its use or key_ops: remove it, and keep the keys that sign tokens")
	}
	kind := strings.TrimSpace(key.KTY.String() + " " + key.CRV.String())
	if algorithms[kind] == nil {
		return fmt.Errorf("is of the type %s: replace it by an RSA key, an EC key (P-256, P-384, P-521) or an Ed25519 key", kind)
	}
	if key.ALG != "" && !slices.Contains(algorithms[kind], key.ALG.String()) {
		return fmt.Errorf("has the alg %s, which an %s key can't have: use one of %v, or leave alg out", key.ALG, kind, algorithms[kind])
	}
	if key.KTY == jwkset.KtyRSA {
		modulus, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(key.N, "="))
		if bits := new(big.Int).SetBytes(modulus).BitLen(); err != nil || bits < minRSABits {
			return fmt.Errorf("has an RSA modulus of %d bits: make a new key of at least %d bits", bits, minRSABits)
		}
	}
	return nil
}

var errInvalidToken = errors.New("not a valid customer token")

// Claims is what a customer's token says.
type Claims struct {
	Customer

	Actor   string // of changes: the claim holder or, without it, sub
	Expires time.Time
}

// Claims returns the claims of a token. The token must be signed by a known key, must
// not be expired by this process's clock, must have the audience and the issuer of
// the settings, and must name a customer.
func (t *Tokens) Claims(token string) (c Claims, err error) {
	if t == nil || token == "" || len(token) > maxTokenBytes {
		return c, errInvalidToken
	}
	claims := jwt.MapClaims{} // a struct would take a claim "Sub" for "sub"
	_, err = t.parser.ParseWithClaims(token, claims, t.key)
	expiry, expiryErr := claims.GetExpirationTime()
	if err = errors.Join(err, expiryErr); err != nil || expiry == nil {
		return c, errors.Join(errInvalidToken, err)
	}
	// Go replaces what is not UTF-8, and halves of surrogate pairs: two customers would have the same text.
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	if err = cmp.Or(err, jsonwalk.Check(payload)); err != nil {
		return c, errors.Join(errInvalidToken, err)
	}
	customer, actor, err := customerOf(claims)
	return Claims{Customer: customer, Actor: actor, Expires: expiry.Time}, err
}

// customerOf returns the customer of a token: the claim holder if it is there, else sub, which is the ID of a user if it is
// an ID, and otherwise a holder. text is the claim that decided.
func customerOf(claims jwt.MapClaims) (c Customer, text string, err error) {
	claim, hasHolder := claims["holder"]
	if !hasHolder {
		claim = claims["sub"]
	}
	text, _ = claim.(string)
	if id, err := holdfast.ParseID(text); err == nil && !hasHolder {
		if id.IsZero() {
			return Customer{}, "", errInvalidToken
		}
		return Customer{UserID: id}, text, nil
	}
	if err := holdfast.CheckHolder("holder", text); err != nil {
		return Customer{}, "", errors.Join(errInvalidToken, err)
	}
	return Customer{holdfast.HolderID(text), text}, text, nil
}
