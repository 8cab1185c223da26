package chaos_test

import (
	"strings"
	"testing"
	"time"
)

// A process refuses to start with wrong settings and says which setting is wrong, without
// showing secrets.
func TestProcesses_RefuseWrongSettings(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]string{
		"MONGODB_URI=":               "MONGODB_URI is not set",
		"MONGODB_URI=nonsense":       "MONGODB_URI",
		"MONGODB_DATABASE=a/b":       "MONGODB_DATABASE",
		"HTTP_ADDR=0.0.0.0:80":       "API_KEYS",
		"HTTP_ADDR=8080":             "host:port",
		"SWEEP_BATCH=0":              "SWEEP_BATCH",
		"LOCK_DEFAULT_TTL=3h":        "LOCK_MAX_TTL",
		"LOCK_EXPIRY_INTERVAL=often": "lock-expiry-interval",
		"PAYMENT_MAX_TTL=-5m":        "PAYMENT_MAX_TTL",
		"API_KEYS=shop:root:x":       "booking",
		"API_KEYS=shop:admin:hush":   "at least 16 characters",
		"API_KEYS=a:admin:0123456789abcdef,a:booking:0123456789abcdeg": "two keys have the name",
		"API_KEYS=a:admin:0123456789abcdef,b:booking:0123456789abcdef": "two keys have the same secret",
		"JWT_SECRET=x":                         "JWT_SECRET",
		"CORS_ORIGINS=https://a:hush@x":        "CORS_ORIGINS, entry 1",
		"LOG_FORMAT=xml":                       "log-format",
		"LEASE_TTL=10ms":                       "LEASE_TTL",
		"POD_NAME=a/b":                         "POD_NAME",
		"REDIS_URL=http://user:hush@x":         "REDIS_URL is not a valid address",
		"REDIS_PORT=0":                         "REDIS_PORT",
		"REDIS_ENABLED=perhaps":                "redis-enabled",
		"JOB_LEASES=etcd":                      "job-leases",
		"JOB_LEASES=redis REDIS_ENABLED=false": "change one of them",
		"ENDED_RETENTION=-1s":                  "ENDED_RETENTION",
		"ARCHIVE_AFTER=0s":                     "ARCHIVE_AFTER",
		"ARCHIVE_AFTER=-720h":                  "ARCHIVE_AFTER",
		"ARCHIVE_AFTER=never":                  "archive-after",
	} {
		t.Run(setting, func(t *testing.T) {
			settings := append([]string{"MONGODB_URI=mongodb://127.0.0.1:1/?replicaSet=x"}, strings.Fields(setting)...)
			p := start(t, "api", settings...)
			if _, exited := receive(p.exited, 20*time.Second); !exited {
				p.kill()
				t.Fatal("the process started")
			}
			if log := p.log.String(); p.err == nil || !strings.Contains(log, want) || strings.Contains(log, "hush") {
				t.Errorf("%v; the log is %q, want %q in it", p.err, log, want)
			}
		})
	}
}
