package config

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Leases are the settings of how several processes share the jobs.
type Leases struct {
	JobLeases string        `name:"job-leases" env:"JOB_LEASES" enum:"auto,redis,mongo,none" default:"auto" help:"Where leases live: auto (Redis where it is enabled, else MongoDB), redis, mongo, or none for a single instance."`
	LeaseTTL  time.Duration `name:"lease-ttl" env:"LEASE_TTL" default:"30s" help:"A holder that died or hangs is succeeded within this time and one tick."`
	PodName   string        `name:"pod-name" env:"POD_NAME" help:"This process's name as a holder of leases; the host's name if empty."`

	RedisEnabled  *bool  `name:"redis-enabled" env:"REDIS_ENABLED" help:"Keep leases in Redis; true where REDIS_URL or REDIS_HOST is set."`
	RedisURL      string `name:"redis-url" env:"REDIS_URL" help:"Redis, such as redis://user:password@localhost:6379/0; wins over the parts below."`
	RedisHost     string `name:"redis-host" env:"REDIS_HOST" help:"Host of Redis; localhost if empty."`
	RedisPort     int    `name:"redis-port" env:"REDIS_PORT" default:"6379" help:"Port of Redis."`
	RedisTLS      bool   `name:"redis-tls" env:"REDIS_TLS" default:"false" help:"Connect to Redis by TLS."`
	RedisUsername string `name:"redis-username" env:"REDIS_USERNAME" help:"User of Redis."`
	RedisPassword string `name:"redis-password" env:"REDIS_PASSWORD" help:"Password of Redis."`

	DisableCronsOnRedisDown bool `name:"disable-crons-on-redis-down" env:"DISABLE_CRONS_ON_REDIS_DOWN" default:"true" negatable:"" help:"While Redis is down, jobs wait; false runs them as if this process were the only one."`

	redis *redis.Options
}

// Stores of leases.
const (
	leasesAuto  = "auto"
	leasesRedis = "redis"
	leasesMongo = "mongo"
	leasesNone  = "none"
)

var goodPodName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$`)

func (l *Leases) check() (err error) {
	if l.LeaseTTL < time.Second || l.LeaseTTL > time.Hour {
		return fmt.Errorf("LEASE_TTL is %v, but has to be between 1s and 1h", l.LeaseTTL)
	}
	if l.PodName == "" {
		var noName error
		if l.PodName, noName = os.Hostname(); noName != nil || !goodPodName.MatchString(l.PodName) {
			l.PodName = "unknown"
		}
	}
	if !goodPodName.MatchString(l.PodName) {
		return fmt.Errorf("POD_NAME %q is no name for a pod: use letters, digits, . - and _", l.PodName)
	}
	if l.JobLeases == leasesRedis && l.RedisEnabled != nil && !*l.RedisEnabled {
		return errors.New("JOB_LEASES is redis, but REDIS_ENABLED is false: change one of them")
	}
	const ports = 1 << 16
	if l.RedisPort < 1 || l.RedisPort >= ports {
		return fmt.Errorf("REDIS_PORT is %d, but has to be between 1 and %d", l.RedisPort, ports-1)
	}
	l.redis, err = l.redisOptions()
	return err
}

func (l *Leases) redisOptions() (*redis.Options, error) {
	if l.RedisURL != "" {
		o, err := redis.ParseURL(l.RedisURL)
		if err != nil { // its message may quote the password
			return nil, errors.New("REDIS_URL is not a valid address: its form is redis://user:password@host:port/database, rediss:// with TLS")
		}
		return o, nil
	}
	host := l.RedisHost
	if host == "" {
		host = "localhost"
	}
	o := &redis.Options{Addr: net.JoinHostPort(host, strconv.Itoa(l.RedisPort)), Username: l.RedisUsername, Password: l.RedisPassword}
	if l.RedisTLS {
		o.TLSConfig = &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	}
	return o, nil
}

// redisNamed reports whether there is a Redis to be used.
func (l *Leases) redisNamed() bool {
	if l.RedisEnabled != nil {
		return *l.RedisEnabled
	}
	return l.RedisURL != "" || l.RedisHost != ""
}

// LeaseStore is where leases live, redis, mongo or none, and why.
func (l *Leases) LeaseStore() (store, why string) {
	switch {
	case l.JobLeases != leasesAuto:
		return l.JobLeases, "JOB_LEASES=" + l.JobLeases
	case l.RedisEnabled != nil && !*l.RedisEnabled:
		return leasesMongo, "REDIS_ENABLED=false"
	case l.RedisEnabled != nil:
		return leasesRedis, "REDIS_ENABLED=true"
	case l.redisNamed():
		return leasesRedis, "REDIS_URL or REDIS_HOST is set"
	default:
		return leasesMongo, "no Redis is named"
	}
}

// Redis says how to reach Redis.
func (l *Leases) Redis() redis.Options { return *l.redis }

// SharedRedis says how to reach the Redis that processes share for other things
// than leases; nil where there is none.
func (l *Leases) SharedRedis() *redis.Options {
	if !l.redisNamed() {
		return nil
	}
	o := *l.redis
	return &o
}
