package config

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-dev/holdfast/jobs"
)

// Leases holds the settings of the leases by which processes share the jobs.
type Leases struct {
	JobLeases string        `name:"job-leases" env:"JOB_LEASES" enum:"auto,redis,mongo,none" default:"auto" help:"Where leases are kept: auto (Redis if enabled, else MongoDB), redis, mongo, or none for a single instance."`
	LeaseTTL  time.Duration `name:"lease-ttl" env:"LEASE_TTL" default:"30s" help:"Lifetime of a lease. Another process takes over from a dead or hung holder within this time and one tick."`
	PodName   string        `name:"pod-name" env:"POD_NAME" help:"Name of this process as a holder of leases; the host name if empty."`

	RedisEnabled  *bool  `name:"redis-enabled" env:"REDIS_ENABLED" help:"Keep leases in Redis; true if REDIS_URL or REDIS_HOST is set."`
	RedisURL      Secret `name:"redis-url" env:"REDIS_URL" help:"Address of Redis, such as redis://user:password@localhost:6379/0; overrides the settings below."`
	RedisHost     string `name:"redis-host" env:"REDIS_HOST" help:"Host of Redis; localhost if empty."`
	RedisPort     int    `name:"redis-port" env:"REDIS_PORT" default:"6379" help:"Port of Redis."`
	RedisTLS      bool   `name:"redis-tls" env:"REDIS_TLS" default:"false" help:"Connect to Redis with TLS."`
	RedisUsername string `name:"redis-username" env:"REDIS_USERNAME" help:"User name for Redis."`
	RedisPassword Secret `name:"redis-password" env:"REDIS_PASSWORD" help:"Password for Redis."`

	DisableCronsOnRedisDown bool `name:"disable-crons-on-redis-down" env:"DISABLE_CRONS_ON_REDIS_DOWN" default:"true" negatable:"" help:"While Redis is down, jobs wait; if false, this process runs them as a single instance."`

	redis *redis.Options
}

// Values of JOB_LEASES.
const (
	leasesAuto  = "auto"
	leasesRedis = "redis"
	leasesMongo = "mongo"
	leasesNone  = "none"
)

var podNamePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$`)

func (l *Leases) check() (err error) {
	if l.LeaseTTL < time.Second || l.LeaseTTL > jobs.MaxLeaseTTL {
		return fmt.Errorf("LEASE_TTL is %v, but must be between 1s and 1h", l.LeaseTTL)
	}
	if l.PodName == "" {
		var hostErr error
		if l.PodName, hostErr = os.Hostname(); hostErr != nil || !podNamePattern.MatchString(l.PodName) {
			l.PodName = "unknown"
		}
	}
	if !podNamePattern.MatchString(l.PodName) {
		return fmt.Errorf("POD_NAME %q is not a valid pod name: use letters, digits, . - and _", l.PodName)
	}
	if l.JobLeases == leasesRedis && l.RedisEnabled != nil && !*l.RedisEnabled {
		return errors.New("JOB_LEASES is redis, but REDIS_ENABLED is false: change one of them")
	}
	const maxPort = 1<<16 - 1
	if l.RedisPort < 1 || l.RedisPort > maxPort {
		return fmt.Errorf("REDIS_PORT is %d, but must be between 1 and %d", l.RedisPort, maxPort)
	}
	l.redis, err = l.redisOptions()
	return err
}

func (l *Leases) redisOptions() (*redis.Options, error) {
	if l.RedisURL != "" {
		o, err := redis.ParseURL(string(l.RedisURL))
		if err != nil { // the error may quote the password, so it is not wrapped
			return nil, errors.New("REDIS_URL is not a valid address: use redis://user:password@host:port/database, or rediss:// for TLS")
		}
		return o, nil
	}
	host := cmp.Or(l.RedisHost, "localhost")
	o := &redis.Options{Addr: net.JoinHostPort(host, strconv.Itoa(l.RedisPort)), Username: l.RedisUsername, Password: string(l.RedisPassword)}
	if l.RedisTLS {
		o.TLSConfig = &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	}
	return o, nil
}

// hasRedis reports whether a Redis is configured and enabled.
func (l *Leases) hasRedis() bool {
	if l.RedisEnabled != nil {
		return *l.RedisEnabled
	}
	return l.RedisURL != "" || l.RedisHost != ""
}

// LeaseStore returns where leases are kept (redis, mongo or none), and the setting
// that decided it.
func (l *Leases) LeaseStore() (store, reason string) {
	switch {
	case l.JobLeases != leasesAuto:
		return l.JobLeases, "JOB_LEASES=" + l.JobLeases
	case l.RedisEnabled != nil && !*l.RedisEnabled:
		return leasesMongo, "REDIS_ENABLED=false"
	case l.RedisEnabled != nil:
		return leasesRedis, "REDIS_ENABLED=true"
	case l.hasRedis():
		return leasesRedis, "REDIS_URL or REDIS_HOST is set"
	default:
		return leasesMongo, "no Redis is configured"
	}
}

// Redis returns the options of the Redis for leases.
func (l *Leases) Redis() redis.Options { return *l.redis }

// SharedRedis returns the options of the Redis that processes share for other
// purposes than leases, or nil if none is configured.
func (l *Leases) SharedRedis() *redis.Options {
	if !l.hasRedis() {
		return nil
	}
	o := *l.redis
	return &o
}
