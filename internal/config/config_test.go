package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/core"
)

func TestLeaseStore_FollowsTheSettings(t *testing.T) {
	for settings, want := range map[string]string{
		"":                                      "mongo",
		"REDIS_URL=redis://r:1":                 "redis r:1",
		"REDIS_HOST=r":                          "redis r:6379",
		"REDIS_HOST=r REDIS_PORT=2":             "redis r:2",
		"REDIS_PORT=2":                          "mongo",
		"REDIS_URL=redis://u:1 REDIS_HOST=r":    "redis u:1",
		"REDIS_ENABLED=true":                    "redis localhost:6379",
		"REDIS_ENABLED=false REDIS_HOST=r":      "mongo",
		"REDIS_ENABLED= REDIS_HOST=r":           "redis r:6379",
		"JOB_LEASES=mongo REDIS_HOST=r":         "mongo",
		"JOB_LEASES=redis":                      "redis localhost:6379",
		"JOB_LEASES=redis REDIS_HOST=r":         "redis r:6379",
		"JOB_LEASES=none REDIS_HOST=r":          "none",
		"JOB_LEASES=auto REDIS_URL=redis://r:1": "redis r:1",
	} {
		t.Run(settings, func(t *testing.T) {
			c := parse(t, settings)
			store, reason := c.LeaseStore()
			if store == "redis" {
				store += " " + c.Redis().Addr
			}
			if store != want || reason == "" {
				t.Errorf("got %s (%s), want %s", store, reason, want)
			}
		})
	}
}

func TestRedis_HasUserPasswordAndTLS(t *testing.T) {
	o := parse(t, "REDIS_HOST=r REDIS_TLS=true REDIS_USERNAME=u REDIS_PASSWORD=p").Redis()
	if o.Username != "u" || o.Password != "p" || o.TLSConfig == nil || o.TLSConfig.ServerName != "r" {
		t.Errorf("%+v", o)
	}
	if o = parse(t, "REDIS_URL=rediss://u:p@r:1/3").Redis(); o.TLSConfig == nil || o.DB != 3 || o.Password != "p" {
		t.Errorf("%+v", o)
	}
}

// Load balancers learn in this time that the process stops.
func TestShutdownDelay_IsFiveSecondsByDefault(t *testing.T) {
	if delay := parse(t, "").ShutdownDelay; delay != 5*time.Second {
		t.Errorf("SHUTDOWN_DELAY is %v, want 5s", delay)
	}
}

func TestLeases_HaveTheDocumentedDefaults(t *testing.T) {
	c := parse(t, "")
	if c.LeaseTTL.String() != "30s" || !c.DisableCronsOnRedisDown || c.EndedRetention.Age != 720*time.Hour || c.PodName == "" {
		t.Errorf("%+v", c.Leases)
	}
	if parse(t, "DISABLE_CRONS_ON_REDIS_DOWN=false").DisableCronsOnRedisDown {
		t.Error("DISABLE_CRONS_ON_REDIS_DOWN=false is ignored")
	}
}

func parse(t *testing.T, settings string) *config.Config {
	t.Helper()
	t.Setenv("MONGODB_URI", "mongodb://localhost/?replicaSet=x")
	for _, name := range []string{"REDIS_URL", "REDIS_HOST", "REDIS_ENABLED", "JOB_LEASES"} {
		t.Setenv(name, "")
	}
	for _, s := range strings.Fields(settings) {
		name, value, _ := strings.Cut(s, "=")
		t.Setenv(name, value)
	}
	c, err := config.Parse("test", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A program that embeds the engine gets the same defaults.
func TestJobs_HaveTheDefaultsOfTheLibrary(t *testing.T) {
	if got, want := parse(t, "").Jobs(), core.DefaultJobs(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// The engine checks its settings by the names of its own options; an operator reads the
// names of the variables.
func TestParse_NamesTheVariableOfAWrongSettingOfTheEngine(t *testing.T) {
	for setting, want := range map[string]string{
		"MONGODB_DATABASE=a/b":         "MONGODB_DATABASE \"a/b\" is not a valid database name",
		"LOCK_DEFAULT_TTL=0s":          "LOCK_DEFAULT_TTL is 0s, but must be greater than 0",
		"LOCK_DEFAULT_TTL=3h":          "LOCK_DEFAULT_TTL (3h0m0s) is greater than LOCK_MAX_TTL (2h0m0s)",
		"LOCK_MAX_TTL=-1s":             "LOCK_MAX_TTL is -1s",
		"PAYMENT_MAX_TTL=1us":          "PAYMENT_MAX_TTL is 1µs",
		"SWEEP_BATCH=5001":             "SWEEP_BATCH is 5001, but must be between 1 and 5000",
		"MAX_SEATS_PER_LOCK=-1":        "MAX_SEATS_PER_LOCK is -1",
		"MAX_ACTIVE_LOCKS_PER_USER=-1": "MAX_ACTIVE_LOCKS_PER_USER is -1",
		"SHUTDOWN_DELAY=-1s":           "SHUTDOWN_DELAY is -1s, but must be between 0s and 5m0s",
		"RECONCILE_INTERVAL=0s":        "RECONCILE_INTERVAL is 0s, but must be greater than 0",
	} {
		t.Run(setting, func(t *testing.T) {
			t.Setenv("MONGODB_URI", "mongodb://localhost/?replicaSet=x")
			name, value, _ := strings.Cut(setting, "=")
			t.Setenv(name, value)
			if _, err := config.Parse("test", "", nil); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
}

func TestRateLimits_AreRatesOrOff(t *testing.T) {
	c := parse(t, "RATE_LIMIT_PER_KEY=off RATE_LIMIT_PER_USER=600/m")
	want := config.Rate{Count: 50, Per: time.Second}
	if !c.RateLimitPerKey.IsZero() || c.RateLimitPerUser != (config.Rate{Count: 600, Per: time.Minute}) || c.RateLimitPerAddress != want {
		t.Errorf("%+v", c.Access)
	}
	if c = parse(t, "RATE_LIMIT_PER_ADDRESS=off"); !c.RateLimitPerAddress.IsZero() {
		t.Errorf("%+v", c.RateLimitPerAddress)
	}
}

func TestRetention_IsOffOrAtLeastADay(t *testing.T) {
	for text, want := range map[string]config.Retention{
		"off": {}, "0": {}, "0s": {}, "24h": {Age: 24 * time.Hour}, "720h": {Age: 720 * time.Hour},
	} {
		var got config.Retention
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"1ms", "23h59m59s", "-1s", "-24h", "on", "720", ""} {
		var got config.Retention
		if err := got.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), "at least 24h") {
			t.Errorf("%q is accepted as %+v, %v", text, got, err)
		}
	}
}

// Without keys every client may do everything, so that a token would protect nothing.
func TestParse_RequiresKeysBesideTokens(t *testing.T) {
	t.Setenv("MONGODB_URI", "mongodb://localhost/?replicaSet=x")
	for _, name := range []string{"JWT_SECRET", "JWKS_FILE"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("API_KEYS", "")
			t.Setenv(name, strings.Repeat("x", 32))
			if _, err := config.Parse("test", "", nil); err == nil || !strings.Contains(err.Error(), "set API_KEYS too") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestOrigins_AreThoseThatBrowsersSend(t *testing.T) {
	secret := "API_KEYS=a:admin:0123456789abcdef JWT_SECRET=" + strings.Repeat("x", 32) + " CORS_ORIGINS="
	want := []string{"https://shop.example", "http://localhost:3000", "https://[::1]:8443", "https://xn--bcher-kva.example", "http://127.0.0.1:443"}
	if c := parse(t, secret+strings.Join(want, ",")); !slices.Equal(c.Origins, want) {
		t.Errorf("got %q", c.Origins)
	}
	t.Setenv("CORS_ORIGINS", " https://a.example , https://b.example ")
	if c := parse(t, ""); !slices.Equal(c.Origins, []string{"https://a.example", "https://b.example"}) {
		t.Errorf("with spaces: %q", c.Origins)
	}
	if c := parse(t, "CORS_ORIGINS="); len(c.Origins) != 0 {
		t.Errorf("empty: %q", c.Origins)
	}
	for _, wrong := range []string{
		"*", "null", "https://*", "https://*.shop.example", "shop.example", "//shop.example", "https://", "https:shop.example",
		"https://shop.example/", "https://shop.example/path", "https://shop.example?", "https://shop.example#", "https://shop.example?a=b",
		"https://user@shop.example", "https://user:hush@shop.example", "https://Shop.example", "HTTPS://shop.example", "https://bücher.example",
		"https://shop.example:443", "http://shop.example:80", "https://shop.example:", "https://shop.example:0", "https://shop.example:065",
		"https://shop.example:65536", "https://shop.example:99999999999999999999", "https://[::1", "https://[::01]", "https://[1]", "https://::1",
		"https://[::ffff:127.0.0.1]", "https://.shop.example", "ftp://shop.example", "file://", "chrome-extension://abc", "https://a b",
		"https://shop.example\nhttps://b.example", "https://a.example,", ",https://a.example", "https://a.example,,https://b.example",
		"https://a.example https://b.example", "https://a.example;https://b.example",
	} {
		t.Run(wrong, func(t *testing.T) {
			t.Setenv("CORS_ORIGINS", wrong)
			_, err := config.Parse("test", "", nil)
			if err == nil || !strings.HasPrefix(err.Error(), "CORS_ORIGINS, entry ") || !strings.Contains(err.Error(), "such as https://shop.example") {
				t.Errorf("got %v", err)
			}
			if err != nil && strings.Contains(err.Error(), "hush") {
				t.Error("the error has the password")
			}
		})
	}
}

// A page of another origin may not use a key, so that without tokens it could call nothing. On
// loopback, without keys, an embedding page can be tried.
func TestOrigins_NeedTokensBesideKeys(t *testing.T) {
	parse(t, "CORS_ORIGINS=http://localhost:3000")
	t.Setenv("API_KEYS", "a:admin:0123456789abcdef")
	if _, err := config.Parse("test", "", nil); err == nil || !strings.Contains(err.Error(), "neither JWT_SECRET nor JWKS_FILE is") {
		t.Errorf("got %v", err)
	}
}

// Rates, idempotency keys and the audit know a caller by its name, and a short secret can be guessed.
func TestKeys_AreLongAndHaveTheirOwnNames(t *testing.T) {
	const secret = "0123456789abcdef"
	if c := parse(t, "API_KEYS=shop:booking:"+secret+",shop-2:booking:"+secret+"!"); len(c.Keys) != 2 {
		t.Errorf("got %v", c.Keys)
	}
	for keys, want := range map[string]string{
		"a:admin:x":                                 "at least 16 characters",
		"a:admin:" + secret[1:]:                     "create one with openssl rand",
		"a:admin:0123456789 abcdef":                 "visible ones of ASCII",
		"a:admin:" + strings.Repeat("ä", 16):        "visible ones of ASCII",
		"a:admin:" + secret + ",a:admin:b" + secret: "give each key its own, such as a-2",
		"a:admin:" + secret + ",b:admin:" + secret:  "two keys have the same secret",
	} {
		t.Run(keys, func(t *testing.T) {
			t.Setenv("MONGODB_URI", "mongodb://localhost/?replicaSet=x")
			t.Setenv("API_KEYS", keys)
			if _, err := config.Parse("test", "", nil); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
}

// The keys of a set may sign tokens for other programs.
func TestTokens_OfASetNeedAnAudienceAndAnIssuer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jwks.json")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	keys := "API_KEYS=a:admin:0123456789abcdef "
	for settings, warns := range map[string]bool{
		"JWKS_FILE=" + file: true,
		"JWT_ISSUER=https://id.example JWKS_FILE=" + file:                      true,
		"JWT_AUDIENCE=tickets JWKS_FILE=" + file:                               true,
		"JWT_AUDIENCE=tickets JWT_ISSUER=https://id.example JWKS_FILE=" + file: false,
		"JWT_SECRET=" + strings.Repeat("x", 32):                                false,
	} {
		t.Run(settings, func(t *testing.T) {
			if got := parse(t, keys+settings).Warning(); (got != "") != warns {
				t.Errorf("the warning is %q", got)
			}
		})
	}
	t.Setenv("MONGODB_URI", "mongodb://localhost/?replicaSet=x")
	t.Setenv("JWT_ISSUER", "https://id.example")
	if _, err := config.Parse("test", "", nil); err == nil || !strings.Contains(err.Error(), "no token is accepted") {
		t.Errorf("without a key: %v", err)
	}
}
