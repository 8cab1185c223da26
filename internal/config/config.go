// Package config reads the settings of a process from flags and the environment.
// The error of an invalid setting says how to correct it.
package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
)

// Config holds all settings. The API and the worker have the same ones, so that
// both accept the same flags.
type Config struct {
	MongoDBURI      Secret `name:"mongodb-uri" env:"MONGODB_URI" help:"Connection string of a replica set or a mongos, such as mongodb://localhost:27017/?replicaSet=rs0."`
	MongoDBDatabase string `name:"mongodb-database" env:"MONGODB_DATABASE" default:"holdfast" help:"Database that holds all collections."`

	HTTPAddr      string        `name:"http-addr" env:"HTTP_ADDR" default:"127.0.0.1:8080" help:"Address that the API listens on; without API_KEYS it must be a loopback address."`
	MetricsAddr   string        `name:"metrics-addr" env:"METRICS_ADDR" help:"Separate address for /metrics, /livez and /readyz. The worker's default is 127.0.0.1:8081, or the next free port."`
	ShutdownDelay time.Duration `name:"shutdown-delay" env:"SHUTDOWN_DELAY" default:"5s" help:"How long the API continues after SIGTERM, with /readyz at 503, so that load balancers stop sending requests; 0s for none."`
	APIKeys       Secret        `name:"api-keys" env:"API_KEYS" help:"Comma-separated keys name:scope:secret; the scopes are booking and admin."`

	LockExpiryInterval    time.Duration `name:"lock-expiry-interval" env:"LOCK_EXPIRY_INTERVAL" default:"1m" help:"How often due locks are expired."`
	BookingExpiryInterval time.Duration `name:"booking-expiry-interval" env:"BOOKING_EXPIRY_INTERVAL" default:"1m" help:"How often due bookings are expired."`
	ReconcileInterval     time.Duration `name:"reconcile-interval" env:"RECONCILE_INTERVAL" default:"15m" help:"How often the counters are compared with the locks, and corrected."`
	EndedRetention        Retention     `name:"ended-retention" env:"ENDED_RETENTION" default:"720h" help:"The job retention removes ended locks older than this, with their ended bookings and idempotency keys: off, 0, or at least 24h."`
	ChangesRetention      Retention     `name:"changes-retention" env:"CHANGES_RETENTION" default:"720h" help:"The job retention removes records of changes older than this: off, 0, or at least 24h."`
	WebhookAllowPrivate   bool          `name:"webhook-allow-private" env:"WEBHOOK_ALLOW_PRIVATE" default:"false" help:"Endpoints of webhooks may be http, on any port, and at private addresses: for development."`
	ArchiveAfter          time.Duration `name:"archive-after" env:"ARCHIVE_AFTER" default:"720h" help:"The job retention archives events whose date is longer ago than this and that have no open lock or booking: recovery and reconcile then pass over them. Any change of such an event removes the mark."`
	SeatIndex             *bool         `name:"seat-index" env:"SEAT_INDEX" negatable:"" help:"Create a unique index, with which MongoDB itself refuses to lock a numbered seat twice. It is decided once, for a new database. Without the index a busy event with a seating plan sells faster. Default: true."`
	SweepBatch            int           `name:"sweep-batch" env:"SWEEP_BATCH" default:"500" help:"Documents in one transaction of a sweep."`

	LockDefaultTTL time.Duration `name:"lock-default-ttl" env:"LOCK_DEFAULT_TTL" default:"10m" help:"Lifetime of a lock if the request does not set one."`
	LockMaxTTL     time.Duration `name:"lock-max-ttl" env:"LOCK_MAX_TTL" default:"2h" help:"Maximum lifetime of a lock, from its creation."`
	PaymentMaxTTL  time.Duration `name:"payment-max-ttl" env:"PAYMENT_MAX_TTL" default:"24h" help:"Maximum payment window, from a booking's creation."`

	LockExpiryMaxDuration    time.Duration `name:"lock-expiry-max-duration" env:"LOCK_EXPIRY_MAX_DURATION" default:"5m" help:"A run that takes longer is ended: completed with the reason time_limit if it made progress, else failed."`
	BookingExpiryMaxDuration time.Duration `name:"booking-expiry-max-duration" env:"BOOKING_EXPIRY_MAX_DURATION" default:"5m" help:"A run that takes longer is ended: completed with the reason time_limit if it made progress, else failed."`
	RecoveryMaxDuration      time.Duration `name:"recovery-max-duration" env:"RECOVERY_MAX_DURATION" default:"30m" help:"A run that takes longer is ended: completed with the reason time_limit if it made progress, else failed."`
	RecoveryBootWait         time.Duration `name:"recovery-boot-wait" env:"RECOVERY_BOOT_WAIT" default:"30s" help:"How long a process that starts waits for recovery. Then it serves even if recovery still runs; /readyz says degraded."`
	ReconcileMaxDuration     time.Duration `name:"reconcile-max-duration" env:"RECONCILE_MAX_DURATION" default:"30m" help:"A run that takes longer is ended: completed with the reason time_limit if it made progress, else failed."`

	Leases
	Access

	Demo      bool             `name:"demo" env:"DEMO" default:"false" help:"Serve a demo shop at /demo."`
	RunJobs   bool             `name:"run-jobs" env:"RUN_JOBS" default:"false" help:"Run the scheduler inside the API process."`
	LogLevel  slog.Level       `name:"log-level" env:"LOG_LEVEL" default:"info" help:"debug, info, warn or error."`
	Version   kong.VersionFlag `name:"version" help:"Print the version and exit."`
	LogFormat string           `name:"log-format" env:"LOG_FORMAT" enum:",json,text" default:"" help:"json or text; the default is text on a terminal, else json."`

	Keys []Key `kong:"-"`
}

// Parse reads the environment and args, which exclude the program's name. For
// --help it ends the process.
func Parse(program, description string, args []string) (*Config, error) {
	var c Config
	if _, err := ParseInto(&c, &c, program, description, args); err != nil {
		return &c, err
	}
	return &c, c.checkAddresses()
}

// ParseInto is Parse for a program with its own commands and flags. into is their
// struct, and embeds c. It does not check settings that only a server uses.
func ParseInto(into any, c *Config, program, description string, args []string, more ...kong.Option) (*kong.Context, error) {
	unsetEmptyVariables(*c)
	options := append([]kong.Option{kong.Name(program), kong.Description(description), kong.Vars{"version": telemetry.Version()}}, more...)
	parser, err := kong.New(into, options...)
	if err != nil {
		return nil, err
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return nil, fmt.Errorf("%w (see %s --help)", err, program)
	}
	if c.LogFormat == "" {
		c.LogFormat = "json"
		if telemetry.IsTerminal(os.Stderr) {
			c.LogFormat = "text"
		}
	}
	return parsed, c.check()
}

// unsetEmptyVariables unsets empty variables, because X="" means the default.
func unsetEmptyVariables(c Config) {
	for _, field := range reflect.VisibleFields(reflect.TypeOf(c)) {
		if name := field.Tag.Get("env"); name != "" && os.Getenv(name) == "" {
			os.Unsetenv(name)
		}
	}
}

// engineNames are the names of the engine's settings in the environment.
var engineNames = map[string]string{
	"Database": "MONGODB_DATABASE", "LockDefaultTTL": "LOCK_DEFAULT_TTL", "LockMaxTTL": "LOCK_MAX_TTL",
	"PaymentMaxTTL": "PAYMENT_MAX_TTL", "SweepBatch": "SWEEP_BATCH", "MaxSeatsPerLock": "MAX_SEATS_PER_LOCK",
	"MaxActiveLocksPerUser": "MAX_ACTIVE_LOCKS_PER_USER",
}

// Engine returns the settings of the engine.
func (c *Config) Engine() core.Settings {
	return core.Settings{
		Database: c.MongoDBDatabase, LockDefaultTTL: c.LockDefaultTTL, LockMaxTTL: c.LockMaxTTL, PaymentMaxTTL: c.PaymentMaxTTL,
		SweepBatch: c.SweepBatch, MaxSeatsPerLock: c.MaxSeatsPerLock, MaxActiveLocksPerUser: c.MaxActiveLocksPerUser,
	}
}

// Jobs returns the settings of the jobs.
func (c *Config) Jobs() core.JobSettings {
	return core.JobSettings{
		LockExpiryInterval: c.LockExpiryInterval, BookingExpiryInterval: c.BookingExpiryInterval, ReconcileInterval: c.ReconcileInterval,
		LockExpiryMaxDuration: c.LockExpiryMaxDuration, BookingExpiryMaxDuration: c.BookingExpiryMaxDuration,
		ReconcileMaxDuration: c.ReconcileMaxDuration, RecoveryMaxDuration: c.RecoveryMaxDuration,
		EndedRetention: c.EndedRetention.Age, ChangesRetention: c.ChangesRetention.Age, ArchiveAfter: c.ArchiveAfter,
	}
}

func (c *Config) check() error {
	if c.MongoDBURI == "" {
		return errors.New("MONGODB_URI is not set: set it to a replica set or a mongos, such as mongodb://localhost:27017/?replicaSet=rs0, or use scripts/run, which starts a MongoDB")
	}
	if err := c.Engine().Check(engineNames); err != nil {
		return err
	}
	for name, d := range map[string]time.Duration{
		"LOCK_EXPIRY_INTERVAL": c.LockExpiryInterval, "BOOKING_EXPIRY_INTERVAL": c.BookingExpiryInterval,
		"RECONCILE_INTERVAL": c.ReconcileInterval, "ARCHIVE_AFTER": c.ArchiveAfter, "LOCK_EXPIRY_MAX_DURATION": c.LockExpiryMaxDuration,
		"BOOKING_EXPIRY_MAX_DURATION": c.BookingExpiryMaxDuration, "RECOVERY_MAX_DURATION": c.RecoveryMaxDuration,
		"RECONCILE_MAX_DURATION": c.ReconcileMaxDuration, "RECOVERY_BOOT_WAIT": c.RecoveryBootWait,
	} {
		if err := core.CheckDuration(name, d); err != nil {
			return err
		}
	}
	return c.Leases.check()
}

func (c *Config) checkAddresses() (err error) {
	if c.Keys, err = parseKeys(string(c.APIKeys)); err != nil {
		return err
	}
	if err := c.Access.check(c.Keys); err != nil {
		return err
	}
	host, _, err := net.SplitHostPort(c.HTTPAddr)
	if err != nil {
		return fmt.Errorf("HTTP_ADDR %q is not a valid address: use host:port, such as 127.0.0.1:8080", c.HTTPAddr)
	}
	if len(c.Keys) == 0 && !IsLoopback(host) {
		return fmt.Errorf("HTTP_ADDR %q is reachable from other machines, but API_KEYS is not set: set keys, or listen on 127.0.0.1", c.HTTPAddr)
	}
	const maxShutdownDelay = 5 * time.Minute
	if c.ShutdownDelay < 0 || c.ShutdownDelay > maxShutdownDelay {
		return fmt.Errorf("SHUTDOWN_DELAY is %v, but must be between 0s and %v", c.ShutdownDelay, maxShutdownDelay)
	}
	if c.MetricsAddr != "" {
		if _, _, err := net.SplitHostPort(c.MetricsAddr); err != nil {
			return fmt.Errorf("METRICS_ADDR %q is not a valid address: use host:port, such as 127.0.0.1:9090", c.MetricsAddr)
		}
	}
	return nil
}

// IsLoopback reports whether a host is a loopback address.
func IsLoopback(host string) bool {
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || (ip != nil && ip.IsLoopback())
}
